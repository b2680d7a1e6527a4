"""What this user has seen of a book: a chain of trust that shrinks, or a statement that is gone, is a rollback."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from cakebook.errors import RolledBack
from cakebook.gate.facts import Facts
from cakebook.gate.founding import write_file
from cakebook.settings import Settings

FILE = "seen.json"


def check(settings: Settings, facts: Facts) -> None:
    """Compare a book with what was seen of it before, and with what its own chain lists.

    Raises:
        RolledBack: it is at a lower version or edition, or a statement is gone.
    """
    hint = "fetch what is newer, or `cakebook sync --accept-rollback` if this is meant"
    if facts.lost:
        sha = facts.lost[0]
        raise RolledBack(f"{len(facts.lost)} statements that the chain of trust lists are gone, {sha[:12]} first", hint=hint)
    n, edition, statements = _read(_file(settings, facts))
    anchor = facts.trust.anchor
    now = anchor.n if anchor else 0
    if now < n:
        raise RolledBack(f"the book is at trust version {now}; version {n} was here before", hint=hint)
    shipped = (anchor.edition or 0) if anchor else 0
    if anchor and not anchor.admins and shipped < edition:
        raise RolledBack(f"the book is at founding edition {shipped}; edition {edition} was here before", hint=hint)
    if gone := sorted(statements - facts.held):
        raise RolledBack(f"{len(gone)} statements that were here before are gone, {gone[0][:12]} first", hint=hint)


def remember(settings: Settings, facts: Facts) -> None:
    """Write down what is here now. That it cannot be written is no reason to fail: nothing is believed more for it."""
    if facts.trust.anchor is None:
        return
    path = _file(settings, facts)
    anchor = facts.trust.anchor
    values = {"n": anchor.n, "edition": anchor.edition or 0, "statements": sorted(facts.held)}
    data = json.dumps(values).encode()
    with contextlib.suppress(OSError):
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, data)


def _file(settings: Settings, facts: Facts) -> Path:
    return settings.state_folder(facts.trust.book) / FILE


def _read(path: Path) -> tuple[int, int, set[str]]:
    """What was seen; what cannot be read was not."""
    try:
        values = json.loads(path.read_bytes())
        return int(values["n"]), int(values["edition"]), {str(sha) for sha in values["statements"]}
    except (OSError, ValueError, KeyError, TypeError):
        return 0, 0, set()
