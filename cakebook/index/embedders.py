"""Embedding models: from a name to something that turns texts into vectors, without ever downloading by itself.

| name | what | needs |
|---|---|---|
| `use` | packaged multilingual USE v3, Chinese and English in one space | the light core |
| `st:minilm` | packaged English MiniLM through sentence-transformers | extra `st` |
| `st:<folder or hub name>` | any sentence-transformers model; a hub name is downloaded because the user named it | extra `st` |
| `none` | no vectors: search by words and names alone | nothing |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cakebook.errors import BadArgument, EmbedderUnavailable

if TYPE_CHECKING:
    import numpy as np

    Matrix = np.ndarray[Any, np.dtype[np.float32]]
    """float32, one row per text."""

NONE = "none"
DEFAULT = "use"
MAX_CHARACTERS = 4_000
"""A text is cut there before it is embedded: the mean over a long text says little about any part of it."""


@dataclass(frozen=True)
class ModelInfo:
    """What vectors were made with. `id`: the name; `digest` identifies the weights, hex; `dim`: components of a vector."""

    id: str
    digest: str
    dim: int


class Model(Protocol):
    """What gives raw vectors."""

    info: ModelInfo

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Matrix: ...


class Embedder:
    """A model whose vectors can be compared: float32 of unit length, each component a float16 value.

    Rounding to float16 makes vectors equal whether they were computed here or shipped in half the space. A zero vector
    means that there is no result: the text was empty, or the model gave something that is not a number.
    """

    def __init__(self, model: Model) -> None:
        self._model, self.info = model, model.info

    def embed_query(self, text: str) -> Matrix:
        """The vector of a question, shape (dim,)."""
        row: Matrix = self._embed([text], query=True)[0]
        return row

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Vectors of passages, shape (texts, dim), in order.

        Raises:
            EmbedderUnavailable: the model gave another shape than it declares.
        """
        return self._embed(texts, query=False)

    def _embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        import numpy as np

        found = np.zeros((len(texts), self.info.dim), dtype=np.float32)
        given = [at for at, text in enumerate(texts) if text.strip()]
        if given:
            cut = [texts[at][:MAX_CHARACTERS] for at in given]
            raw = np.asarray(self._model.encode(cut, query=query), dtype=np.float32)
            wanted = len(given), self.info.dim
            if raw.shape != wanted:
                raise EmbedderUnavailable(
                    f"{self.info.id} gave shape {raw.shape}, not {wanted}", hint="run `cakebook sync --rebuild`"
                )
            found[given] = unit(raw)
        return found


def unit(raw: Matrix) -> Matrix:
    """Rows at unit length, rounded to float16 values; zero where a row is zero or holds what is not a number."""
    import numpy as np

    finite = np.where(np.isfinite(raw).all(axis=1, keepdims=True), raw, 0).astype(np.float64)  # squares need the range
    length = np.linalg.norm(finite, axis=1, keepdims=True)
    rounded: Matrix = (finite / np.where(length > 0, length, 1)).astype(np.float16).astype(np.float32)
    return rounded


@lru_cache(4)
def load(name: str, cache: Path) -> Embedder:
    """The embedder of that name. `cache`: folder for prepared forms.

    Raises:
        BadArgument: no such name.
        EmbedderUnavailable: its package is missing, or its weights are not the pinned ones or cannot be read.
    """
    _check(name)
    if name == "use":
        from cakebook.index.use import Use

        return Embedder(Use(cache))
    from cakebook.index.sentence import SentenceModel

    return Embedder(SentenceModel(name))


def describe(name: str, cache: Path) -> ModelInfo:
    """What an embedder's vectors are, without loading it where that is known beforehand. Raises as `load` does."""
    _check(name)
    if name == "use":
        from cakebook.index.use import INFO, require

        require()
        return INFO
    return load(name, cache).info


def is_embedder(name: str) -> bool:
    """Whether `name` is of the form of one that makes vectors."""
    return name == "use" or (name.startswith("st:") and len(name) > 3)


def _check(name: str) -> None:
    if not is_embedder(name):
        raise BadArgument(f"no embedder `{name[:80]}`", hint="use, st:minilm, st:<folder or hub name>, none")
