"""Chroma as an engine: a folder of a generation, or a collection of a server. It proposes rows and decides nothing.

Vectors are computed by us and handed over; no embedding function is ever attached. A folder belongs to one generation and is
never written again, because a Chroma client does not see what another process writes. Its data files are mapped by native
code that trusts them, so their sizes are compared before it is opened.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cakebook.errors import EngineUnavailable

if TYPE_CHECKING:
    from cakebook.index.embedders import Matrix

FOLDER = "chroma"
RECORD = "chroma.json"
"""What the folder was when it was complete; digested in the manifest, as the folder itself cannot be."""
COLLECTION = "passages"
BATCH = 2_000
SECONDS = 5.0
"""How long a server may take to answer a search."""
_SPACE = {"hnsw": {"space": "cosine"}}
_HINT = "run `cakebook sync`, or set CAKEBOOK_ENGINE=scan"


def installed() -> bool:
    """Whether the library is there; finding it does not import it."""
    return importlib.util.find_spec("chromadb") is not None


class ChromaEngine:
    """An opened collection. `rows`: id of a passage → its row in the matrix."""

    name = "chroma"

    def __init__(self, client: Any, collection: Any, ids: Sequence[str]) -> None:
        self._client, self._collection = client, collection
        self._rows = {name: row for row, name in enumerate(ids)}

    def near(self, query: Matrix, limit: int) -> list[int]:
        """Rows near a vector, at most `limit`.

        Raises:
            EngineUnavailable: the collection cannot be searched.
        """
        with _chroma_errors("search"):
            limit = max(1, min(limit, len(self._rows)))
            found = self._collection.query(query_embeddings=[query], n_results=limit, include=[])["ids"][0]
        return [self._rows[name] for name in found if name in self._rows]

    def close(self) -> None:
        """Release the client."""
        _close(self._client)


def build(folder: Path, ids: Sequence[str], matrix: Matrix, before: tuple[Path, Sequence[str], Matrix] | None) -> None:
    """Write `folder/chroma` and its record.

    `before`: the folder of a generation, its passage ids and its matrix; then its collection is copied and only what differs
    is written.

    Raises:
        EngineUnavailable: the library fails.
    """
    import numpy as np

    target = folder / FOLDER
    old: dict[str, int] = {}
    if before is not None and (before[0] / FOLDER).is_dir():
        shutil.copytree(before[0] / FOLDER, target)
        old = {name: row for row, name in enumerate(before[1])}
    with _chroma_errors("write"):
        client = _local(target)
        try:
            collection = client.get_or_create_collection(COLLECTION, embedding_function=None, configuration=_SPACE)
            gone = sorted(old.keys() - {*ids})
            earlier = before[2] if before is not None else matrix
            changed = [row for row, name in enumerate(ids) if name not in old or (earlier[old[name]] != matrix[row]).any()]
            for at in range(0, len(gone), BATCH):
                collection.delete(ids=gone[at : at + BATCH])
            _upsert(collection, ids, np.asarray(matrix), changed)
        finally:
            client.close()
    (folder / RECORD).write_text(json.dumps({"rows": len(ids), "sizes": _sizes(target)}, sort_keys=True))


def open_folder(folder: Path, ids: Sequence[str]) -> ChromaEngine:
    """The collection of a generation.

    Raises:
        EngineUnavailable: the library is missing, or the folder is not what was recorded or cannot be opened.
    """
    try:
        record = json.loads((folder / RECORD).read_text())
        whole = record["sizes"] == _sizes(folder / FOLDER) and record["rows"] == len(ids)
    except (OSError, ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise EngineUnavailable("the Chroma folder of the index is damaged", hint="run `cakebook sync --rebuild`")
    with _chroma_errors("open"):
        return _opened(_local(folder / FOLDER), COLLECTION, ids)


def open_server(url: str, name: str, ids: Sequence[str]) -> ChromaEngine:
    """The collection `name` of a server.

    Raises:
        EngineUnavailable: the library is missing, the server does not answer, or it does not hold this generation.
    """
    with _chroma_errors("open"):
        return _opened(_remote(url), name, ids)


def upload(url: str, book: str, generation: str, ids: Sequence[str], matrix: Matrix, keep: set[str]) -> int:
    """Make a server hold a generation; collections of this book's generations outside `keep` are removed.

    Returns the number of vectors written: none if the collection was there and complete.

    Raises:
        EngineUnavailable: the library is missing, or the server does not answer.
    """
    with _chroma_errors("upload"):
        client = _remote(url)
        try:
            name = collection_name(book, generation)
            collection = client.get_or_create_collection(name, embedding_function=None, configuration=_SPACE)
            missing = collection.count() != len(ids)
            if missing:
                _upsert(collection, ids, matrix, range(len(ids)))
            kept = {collection_name(book, g) for g in keep} | {name}
            prefix = collection_name(book, "")
            for other in [c.name for c in client.list_collections() if c.name.startswith(prefix) and c.name not in kept]:
                client.delete_collection(other)
            return len(ids) if missing else 0
        finally:
            _close(client)


def collection_name(book: str, generation: str) -> str:
    """Name of the collection that holds a generation of a book."""
    return f"cakebook-{sha256(book.encode()).hexdigest()[:12]}-{generation}"


def _opened(client: Any, name: str, ids: Sequence[str]) -> ChromaEngine:
    try:
        collection = client.get_collection(name, embedding_function=None)
        if (count := collection.count()) != len(ids):
            raise EngineUnavailable(f"Chroma holds {count} of {len(ids)} vectors", hint=_HINT)
    except BaseException:
        _close(client)
        raise
    return ChromaEngine(client, collection, ids)


def _local(folder: Path) -> Any:
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient
    from chromadb.config import Settings

    try:
        return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
    except Exception:
        # The library remembers clients by path, a broken one too: a generation may have been mended meanwhile.
        SharedSystemClient.clear_system_cache()
        return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))


def _remote(url: str) -> Any:
    """A client of a server that has just answered. The library itself waits for ever, so its session gets a limit."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EngineUnavailable(f"CAKEBOOK_CHROMA_URL `{url[:80]}` is no URL", hint="for example http://localhost:8000")
    import urllib.request

    with urllib.request.urlopen(f"{url.rstrip('/')}/api/v2/heartbeat", timeout=SECONDS):
        pass
    import chromadb
    import httpx
    from chromadb.config import Settings

    client = chromadb.HttpClient(
        parts.hostname,
        parts.port or (443 if parts.scheme == "https" else 80),
        ssl=parts.scheme == "https",
        settings=Settings(anonymized_telemetry=False),
    )
    if (session := _session(client)) is not None:
        session.timeout = httpx.Timeout(SECONDS)
    return client


def _session(client: Any) -> Any:
    """The HTTP session of a remote client, None of a local one."""
    return getattr(getattr(client, "_server", None), "_session", None)


def _close(client: Any) -> None:
    """Release a client; the library leaves the connections of a remote one open."""
    session = _session(client)
    with contextlib.suppress(Exception):
        client.close()
    if session is not None:
        session.close()


def _upsert(collection: Any, ids: Sequence[str], matrix: Matrix, rows: Sequence[int]) -> None:
    for at in range(0, len(rows), BATCH):
        part = list(rows[at : at + BATCH])
        collection.upsert(ids=[ids[row] for row in part], embeddings=matrix[part])


def _sizes(folder: Path) -> dict[str, int]:
    """Sizes of the data files; the database beside them may grow when it is only read."""
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in sorted(folder.rglob("*.bin"))}


@contextlib.contextmanager
def _chroma_errors(doing: str) -> Iterator[None]:
    """Whatever the library and its parts raise, as one kind of error."""
    if not installed():
        raise EngineUnavailable("chromadb is not installed", hint="pip install 'cakebook[chroma]', or CAKEBOOK_ENGINE=scan")
    try:
        yield
    except EngineUnavailable:
        raise
    except Exception as error:
        first = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise EngineUnavailable(f"Chroma could not {doing}: {first[:200]}", hint=_HINT) from None
