"""The meaning of a question: the vectors and the model of one generation, loaded when a question first needs them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from cakebook.errors import EngineUnavailable, IndexIncompatible
from cakebook.index import embedders
from cakebook.index.chroma import FOLDER, collection_name, open_folder, open_server
from cakebook.index.embedders import ModelInfo
from cakebook.index.generation import VERIFY_LIMIT, Generation
from cakebook.index.vectors import FILE, Near, Vectors, read_matrix, verify_matrix
from cakebook.settings import Settings

if TYPE_CHECKING:
    from cakebook.index.embedders import Embedder, Matrix
    from cakebook.index.vectors import Engine

REMEMBERED = 256
"""Questions whose vectors are kept."""


class Meaning:
    """Finds entries near a text. `problem`: why Chroma is not used although it should be, empty otherwise."""

    def __init__(self, generation: Generation, model: ModelInfo, settings: Settings) -> None:
        self.model, self.problem = model, ""
        self._generation, self._settings = generation, settings
        self._asked: dict[str, Matrix] = {}

    @property
    def engine(self) -> str:
        """`scan` or `chroma`: who proposes near vectors."""
        return self._vectors.name

    def prepare(self) -> None:
        """Load what the first question needs.

        Raises:
            EmbedderUnavailable: the model cannot be had here.
            IndexIncompatible: it has other weights than those that the index was made with.
            IndexCorrupt: the matrix is damaged.
        """
        _ = self._embedder, self._vectors

    def nearest(self, text: str, limit: int) -> dict[int, Near]:
        """At most `limit` entry rows near a text, nearest first; raises as `prepare` does."""
        query = self._embed(text)
        try:
            return self._vectors.nearest(query, limit)
        except EngineUnavailable as error:
            if self._vectors.engine is not None:
                self._vectors.engine.close()
            self.problem, self._vectors.engine = error.message, None
            return self._vectors.nearest(query, limit)

    def close(self) -> None:
        """Release the engine, if one was opened."""
        vectors = self.__dict__.get("_vectors")
        if vectors is not None and vectors.engine is not None:
            vectors.engine.close()

    def _embed(self, text: str) -> Matrix:
        if text not in self._asked:
            if len(self._asked) >= REMEMBERED:
                self._asked.clear()
            self._asked[text] = self._embedder.embed_query(text)
        return self._asked[text]

    @cached_property
    def _embedder(self) -> Embedder:
        found = embedders.load(self.model.id, self._settings.cache_folder())
        if found.info != self.model:
            raise IndexIncompatible(
                f"the index was made with other weights of {self.model.id}", hint="run `cakebook sync --rebuild`"
            )
        return found

    @cached_property
    def _vectors(self) -> Vectors:
        catalog = self._generation.catalog
        owners, parts = catalog.passages()
        matrix = read_matrix(self._generation.vectors, len(owners), self.model.dim)
        if 0 < matrix.nbytes <= VERIFY_LIMIT:
            verify_matrix(matrix, self._generation.manifest.files.get(FILE, ""))
        vectors = Vectors(matrix, owners, parts)
        try:
            vectors.engine = self._open_engine()
        except EngineUnavailable as error:
            self.problem = error.message
        return vectors

    def _open_engine(self) -> Engine | None:
        settings, generation = self._settings, self._generation
        manifest, ids = generation.manifest, generation.catalog.passage_ids
        if settings.engine == "scan":
            return None
        if settings.chroma_url:
            return open_server(settings.chroma_url, collection_name(manifest.book, manifest.generation), ids())
        if (generation.folder / FOLDER).is_dir() or settings.engine == "chroma":
            return open_folder(generation.folder, ids())
        return None
