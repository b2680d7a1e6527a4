"""Receipts: which entries a pack held, so that a later request can say `applied` by the pack's id. In the state folder."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

KEPT = 10_000
"""Receipts kept; the oldest go first."""
_PACK_ID = re.compile(r"[0-9a-f]{16}")


def is_pack_id(name: str) -> bool:
    """Whether `name` has the form of a pack id."""
    return _PACK_ID.fullmatch(name) is not None


class Receipts:
    """Written at every pack, read seldom; a receipt that cannot be written is a loss that nobody waits for."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def remember(self, pack_id: str, entries: Sequence[str]) -> None:
        """Write a receipt down, if it can be."""
        with contextlib.suppress(OSError, sqlite3.Error):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.closing(self._open()) as db:
                db.execute("CREATE TABLE IF NOT EXISTS receipts (n INTEGER PRIMARY KEY, pack TEXT UNIQUE, entries TEXT)")
                db.execute("INSERT OR REPLACE INTO receipts (pack, entries) VALUES (?, ?)", (pack_id, json.dumps(entries)))
                db.execute("DELETE FROM receipts WHERE n <= (SELECT max(n) FROM receipts) - ?", (KEPT,))
                db.commit()

    def entries(self, pack_id: str) -> tuple[str, ...]:
        """The entries of a pack, none if its receipt is not here."""
        if not is_pack_id(pack_id) or not self._path.is_file():
            return ()
        with contextlib.suppress(sqlite3.Error, ValueError), contextlib.closing(self._open()) as db:
            row = db.execute("SELECT entries FROM receipts WHERE pack = ?", (pack_id,)).fetchone()
            return tuple(str(name) for name in json.loads(row[0])) if row else ()
        return ()

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=1)
        db.execute("PRAGMA synchronous = OFF")  # losing the last ones in a crash of the system is no harm
        return db
