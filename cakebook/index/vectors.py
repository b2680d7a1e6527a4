"""The vectors of a generation: one matrix in a file, searched exactly or through an engine that proposes rows.

`vectors.f32`: little-endian float32, one row per passage in the order of `Catalog.passages`, no header; the manifest holds
the dimension and the number of rows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Protocol

from cakebook.errors import IndexCorrupt
from cakebook.index.generation import VECTORS

if TYPE_CHECKING:
    from cakebook.index.embedders import Matrix

FILE = VECTORS
_HINT = "run `cakebook sync --rebuild`"
ENGINES = ("auto", "scan", "chroma")
CHROMA_FROM = 60_000
"""Vectors from which `auto` prefers Chroma: below, the exact scan was faster (see the performance chapter)."""
LARGE = 1 << 24
"""Bytes from which a matrix is read by two threads."""
PER_ENTRY = 8
"""Rows that an engine is asked for per wanted entry: the passages of one entry crowd together."""


class Engine(Protocol):
    """Proposes rows of the matrix that lie near a vector; whoever asks scores them from the matrix."""

    name: str

    def near(self, query: Matrix, limit: int) -> list[int]: ...
    def close(self) -> None: ...


class Near(NamedTuple):
    """How near an entry is: cosine of its best passage, and which one that is."""

    cosine: float
    part: str


class Vectors:
    """The matrix of an opened generation. Without an engine every row is looked at."""

    def __init__(self, matrix: Matrix, owners: Sequence[int], parts: Sequence[str], engine: Engine | None = None) -> None:
        """`owners`: the entry row of each row of `matrix`, rows of one entry side by side; `parts`: their names."""
        import numpy as np

        self.matrix, self.parts, self.engine = matrix, parts, engine
        self._owners = np.asarray(owners, dtype=np.int64)
        changes = np.flatnonzero(np.diff(self._owners)) + 1
        self._starts = np.concatenate([[0], changes]).astype(np.int64) if len(owners) else changes
        self._scanned: tuple[Matrix, Matrix] | None = None

    @property
    def name(self) -> str:
        """The engine's name, `scan` without one."""
        return self.engine.name if self.engine else "scan"

    def nearest(self, query: Matrix, limit: int) -> dict[int, Near]:
        """At most `limit` entry rows with a positive cosine, nearest first. A zero vector is near nothing.

        Raises:
            StoreError: the engine fails.
        """
        import numpy as np

        if not query.any() or not len(self._starts):
            return {}
        if self.engine is not None:
            rows = np.array(sorted({*self.engine.near(query, limit * PER_ENTRY)}), dtype=np.int64)
            if not len(rows):
                return {}
            cosines, owners = self.matrix[rows] @ query, self._owners[rows]
            starts = np.concatenate([[0], np.flatnonzero(np.diff(owners)) + 1])
        else:
            rows, cosines, owners, starts = None, self._scan(query), self._owners, self._starts
        lengths = np.diff(np.append(starts, len(cosines)))
        best = np.fmax.reduceat(cosines, starts)
        chosen = np.flatnonzero(best > 0)  # an entry whose passages are not numbers is near nothing
        if limit < len(chosen):
            chosen = chosen[np.argpartition(-best[chosen], limit - 1)[:limit]]
        # The first of the passages of each that reaches its best.
        lengths, best = lengths[chosen], best[chosen]
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts[chosen] - ends + lengths, lengths)
        at = places[cosines[places] == np.repeat(best, lengths)]
        _, first = np.unique(owners[at], return_index=True)
        at = at[first]
        best = cosines[at]
        order = np.lexsort((at, -best))
        at, cosine = at[order], np.round(best[order].astype(np.float64), 6).tolist()
        parts = [self.parts[row] for row in (at if rows is None else rows[at]).tolist()]
        return dict(zip(owners[at].tolist(), map(Near, cosine, parts), strict=True))

    def _scan(self, query: Matrix) -> Matrix:
        """The cosines of all rows, kept until another vector is asked about: a search that filters asks for more and more."""
        if self._scanned is None or self._scanned[0] is not query:
            self._scanned = query, _product(self.matrix, query)
        return self._scanned[1]


def _product(matrix: Matrix, query: Matrix) -> Matrix:
    """`matrix @ query`; a large one in two halves side by side, as it takes as long as its memory takes to be read."""
    import numpy as np

    if matrix.nbytes < LARGE:
        small: Matrix = matrix @ query
        return small
    half = len(matrix) // 2
    found = np.empty(len(matrix), dtype=np.float32)
    other = threading.Thread(target=np.dot, args=(matrix[:half], query, found[:half]))
    other.start()
    np.dot(matrix[half:], query, found[half:])
    other.join()
    return found


def read_matrix(source: Path | IO[bytes] | None, rows: int, dim: int) -> Matrix:
    """The matrix of a generation, from its file or from the open file, mapped into memory.

    Raises:
        IndexCorrupt: it is missing or has another size.
    """
    import numpy as np

    try:
        if source is None:
            raise FileNotFoundError(2, "missing")
        size = source.stat().st_size if isinstance(source, Path) else os.fstat(source.fileno()).st_size
        if size != rows * dim * 4:
            raise IndexCorrupt(f"{FILE} has {size} bytes, not {rows} × {dim} × 4", hint=_HINT)
        if not rows:
            return np.zeros((0, dim), dtype=np.float32)
        # Its subclass of an array is slow to slice.
        return np.memmap(source, dtype="<f4", mode="r", shape=(rows, dim)).view(np.ndarray)
    except OSError as error:
        raise IndexCorrupt(f"{FILE}: {error.strerror}", hint=_HINT) from None


def verify_matrix(matrix: Matrix, digest: str) -> None:
    """Compare a matrix with its sha256.

    Raises:
        IndexCorrupt: it is another one.
    """
    if sha256(matrix.data).hexdigest() != digest:
        raise IndexCorrupt(f"{FILE} does not match its digest", hint=_HINT)
