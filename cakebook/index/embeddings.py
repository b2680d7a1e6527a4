"""The cache of embeddings: text to vector, by the sha256 of the text and of the model. Rebuilt when it is damaged."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cakebook.index.embedders import ModelInfo

if TYPE_CHECKING:
    from cakebook.index.embedders import Matrix

SHIPPED = Path(__file__).parent.parent / "data" / "vectors"
"""Where the wheel carries the vectors of the shipped book."""
_CREATE = """
CREATE TABLE IF NOT EXISTS vectors (
    model TEXT NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, text)
) WITHOUT ROWID
"""
BATCH = 500
"""Vectors per transaction: a build that is interrupted loses at most so many."""


class EmbeddingCache:
    """Vectors as float16 in one SQLite file, for any number of models. Without a usable file it remembers nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = self._open()

    def _open(self) -> sqlite3.Connection | None:
        for attempt in (1, 2):
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                db = sqlite3.connect(self._path, isolation_level=None, timeout=10)
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                db.execute(_CREATE)
                return db
            except sqlite3.DatabaseError as error:
                if attempt == 2 or isinstance(error, sqlite3.OperationalError):  # locked, full or read-only: not damaged
                    return None
                self._forget()
            except OSError:
                return None
        return None

    def _forget(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                self._path.with_name(self._path.name + suffix).unlink()

    def get(self, model: ModelInfo, digests: Sequence[str]) -> dict[str, bytes]:
        """Text digest → float16 bytes, for those that are there and have the right length."""
        found: dict[str, bytes] = {}
        if self._db is None:
            return found
        try:
            for at in range(0, len(digests), BATCH):
                part = digests[at : at + BATCH]
                marks = ", ".join("?" * len(part))
                sql = f"SELECT text, vector FROM vectors WHERE model = ? AND text IN ({marks})"
                found |= dict(self._db.execute(sql, (model.digest, *part)))
        except sqlite3.DatabaseError:
            self.close()
            self._forget()
            self._db = self._open()
            return {}
        return {text: vector for text, vector in found.items() if len(vector) == 2 * model.dim}

    def put(self, model: ModelInfo, vectors: Mapping[str, bytes]) -> None:
        """Remember vectors; if that fails they are computed again next time."""
        if self._db is None:
            return
        with contextlib.suppress(sqlite3.Error):
            rows = [(model.digest, text, vector) for text, vector in vectors.items()]
            self._db.execute("BEGIN")
            self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            self._db.execute("COMMIT")

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


def shipped_vectors(model: ModelInfo, folder: Path = SHIPPED) -> dict[str, bytes]:
    """Text digest → float16 bytes of the vectors that came with this release; empty if there are none for this model."""
    try:
        data = (folder / vector_file(model)).read_bytes()
    except OSError:
        return {}
    size = 32 + 2 * model.dim
    if len(data) % size:
        return {}
    return {data[at : at + 32].hex(): data[at + 32 : at + size] for at in range(0, len(data), size)}


def pack_vectors(vectors: Mapping[str, bytes]) -> bytes:
    """The content of a file of shipped vectors: for each text 32 bytes of its digest, then its vector, by digest."""
    return b"".join(bytes.fromhex(digest) + vector for digest, vector in sorted(vectors.items()))


def vector_file(model: ModelInfo) -> str:
    """Name of the file of shipped vectors for a model."""
    return f"{model.id.replace(':', '-')}-{model.digest[:12]}.f16"


def to_bytes(vectors: Matrix) -> list[bytes]:
    """Rows as little-endian float16, which holds the vectors of an `Embedder` exactly."""
    return [row.astype("<f2").tobytes() for row in vectors]


def from_bytes(vectors: Sequence[bytes], dim: int) -> Matrix:
    """The inverse of `to_bytes`: float32, shape (vectors, dim)."""
    import numpy as np

    found: Matrix = np.frombuffer(b"".join(vectors), dtype="<f2").reshape(-1, dim).astype(np.float32)
    return found
