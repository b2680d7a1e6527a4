"""The matrix of a generation under construction: vectors from wherever they are already known, the rest computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cakebook.errors import EmbedderUnavailable, IndexIncompatible
from cakebook.index import embedders
from cakebook.index.catalog import CatalogWriter
from cakebook.index.embedders import NONE, ModelInfo
from cakebook.index.embeddings import EmbeddingCache, from_bytes, shipped_vectors, to_bytes

if TYPE_CHECKING:
    from cakebook.index.embedders import Matrix

BATCH = 50
"""Passages embedded between two writes to the cache: a build that is interrupted loses at most so many."""
Progress = Callable[[int, int], None]
"""Called with the number of passages embedded so far, and of all that have to be."""


@dataclass(frozen=True)
class Before:
    """The matrix of the generation from which a new one starts: its model, text digests and ids of its rows, its folder."""

    model: ModelInfo
    digests: Sequence[str]
    ids: Sequence[str]
    matrix: Matrix
    folder: Path


@dataclass
class MatrixPlan:
    """Where each vector comes from. `model` is None when there will be no vectors, `problem` then says why, if not asked for.

    `known`: text digest → float16 bytes; `wanted`: digests that have to be computed.
    """

    model: ModelInfo | None
    problem: str = ""
    digests: list[str] = field(default_factory=list)
    before: Before | None = None
    known: dict[str, bytes] = field(default_factory=dict)
    wanted: list[str] = field(default_factory=list)
    embedder: embedders.Embedder | None = None

    @property
    def rows(self) -> int:
        """Rows of the matrix."""
        return len(self.digests) if self.model else 0


def plan_matrix(
    name: str, explicit: bool, writer: CatalogWriter, before: Before | None, cache: EmbeddingCache, models: Path
) -> MatrixPlan:
    """Decide the model and where its vectors come from. It is loaded only if there is something to compute.

    `explicit`: the user named it; else the index is built without vectors when it cannot be had. `models`: folder for
    prepared models.

    Raises:
        EmbedderUnavailable: a named model cannot be had. BadArgument: no such name.
        IndexIncompatible: a model of the same name has other weights than those in use.
    """
    if name == NONE:
        return MatrixPlan(None)
    try:
        model = before.model if before and before.model.id == name else embedders.describe(name, models)
        plan = _sources(model, writer, before if before and before.model == model else None, cache)
        if plan.wanted:
            plan.embedder = embedders.load(name, models)
            if plan.embedder.info != model:
                raise IndexIncompatible(f"the weights of {name} have changed", hint="run `cakebook sync --rebuild`")
        return plan
    except EmbedderUnavailable as error:
        if explicit:
            raise
        return MatrixPlan(None, str(error))


def _sources(model: ModelInfo, writer: CatalogWriter, before: Before | None, cache: EmbeddingCache) -> MatrixPlan:
    digests = writer.passage_digests()
    had = {*before.digests} if before else set()
    missing = list(dict.fromkeys(digest for digest in digests if digest not in had))
    known: dict[str, bytes] = {}
    if missing:
        shipped = shipped_vectors(model)
        known = {digest: shipped[digest] for digest in missing if digest in shipped}
        known |= cache.get(model, [digest for digest in missing if digest not in known])
    wanted = [digest for digest in missing if digest not in known]
    return MatrixPlan(model, "", digests, before, known, wanted)


def compute(plan: MatrixPlan, writer: CatalogWriter, cache: EmbeddingCache, progress: Progress | None) -> None:
    """Embed what is wanted, a batch at a time, and remember it."""
    if plan.embedder is None:
        return
    texts = dict(writer.passage_texts())
    for at in range(0, len(plan.wanted), BATCH):
        part = plan.wanted[at : at + BATCH]
        if progress:
            progress(at, len(plan.wanted))
        vectors = to_bytes(plan.embedder.embed_passages([texts[digest] for digest in part]))
        batch = dict(zip(part, vectors, strict=True))
        cache.put(plan.embedder.info, batch)
        plan.known |= batch


def write_matrix(path: Path, plan: MatrixPlan) -> Matrix:
    """Write the matrix; returns it."""
    import numpy as np

    assert plan.model is not None
    matrix = np.zeros((len(plan.digests), plan.model.dim), dtype="<f4")
    had = {digest: row for row, digest in enumerate(plan.before.digests)} if plan.before else {}
    old = [(row, had[digest]) for row, digest in enumerate(plan.digests) if digest in had]
    if plan.before and old:
        matrix[[row for row, _ in old]] = plan.before.matrix[[row for _, row in old]]
    new = [(row, digest) for row, digest in enumerate(plan.digests) if digest in plan.known]
    if new:
        matrix[[row for row, _ in new]] = from_bytes([plan.known[digest] for _, digest in new], plan.model.dim)
    with path.open("wb") as stream:
        stream.write(matrix.data if len(matrix) else b"")
    return matrix
