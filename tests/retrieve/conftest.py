"""Libraries of made-up entries, indexed without a gate so that every tier and relation can be tried, and the shipped book."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cakebook import Book
from cakebook.index.catalog import SCHEMA, Catalog, CatalogWriter
from cakebook.index.chunks import chunk
from cakebook.model.manifest import Manifest
from cakebook.model.pack import ContextRequest, Pack
from cakebook.model.query import SearchRequest, SearchResult
from cakebook.model.review import Policy, Verdict
from cakebook.model.terms import Vocabulary
from cakebook.repo.entries import read_entry
from cakebook.repo.layout import FolderSource
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.retrieve import request as requests
from cakebook.retrieve.context import context, contexts
from cakebook.retrieve.search import search
from cakebook.retrieve.view import View

REPO = Path(__file__).parents[2]
FIELDS: dict[str, Any] = {
    "type": "Kernel Pattern",
    "kind": "memory",
    "dsl": ["ascendc"],
    "targets": ["any"],
    "dtypes": ["any"],
    "operators": ["any"],
    "stages": ["any"],
    "sources": [{"id": "s", "resource": "https://example.org/s", "title": "S", "license": "MIT", "accessed": "2026-11-30"}],
}
BODY = """## Summary
{summary}

## 摘要
{summary_zh}

## Pattern
```cpp
copy(a, b);  // {id}
```

## Why
Because of {id}.

## Pitfalls
- none for {id}
"""


def make_entry(entry_id: str, *, body: str = "", summary: str = "", summary_zh: str = "", **fields: Any) -> tuple[str, bytes]:
    """Path and bytes of an entry; fields not given are harmless."""
    front = {"id": entry_id, "title": f"Title of {entry_id}", "description": f"Description of {entry_id}."} | FIELDS | fields
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items()]
    text = body or BODY.format(id=entry_id, summary=summary or f"Summary of {entry_id}.", summary_zh=summary_zh or "一句话。")
    return f"entries/{front['kind']}/{entry_id}.md", ("---\n" + "\n".join(lines) + "\n---\n" + text).encode()


@dataclass
class Library:
    """An index of made-up entries, asked as `Book` would ask it."""

    view: View

    def search(
        self, text: str = "", *, limit: int = 8, lang: Any = "auto", explain: bool = False, **facets: Any
    ) -> SearchResult:
        given = requests.facets(self.view.catalog.vocabulary, self.view.serve, **facets)
        return search(self.view, SearchRequest(text, given, limit, lang, explain))

    def pack(
        self, *, stage: str = "", task: str = "", error_text: str = "", applied: tuple[str, ...] = (), budget: int = 2000,
        lang: Any = "auto", **facets: Any,
    ) -> Pack:  # fmt: skip
        given = requests.facets(self.view.catalog.vocabulary, self.view.serve, **facets)
        return context(self.view, ContextRequest(given, stage, task, error_text, applied, budget, lang))

    def packs(self, n: int, *, stage: str = "", budget: int = 2000, **facets: Any) -> list[Pack]:
        given = requests.facets(self.view.catalog.vocabulary, self.view.serve, **facets)
        return contexts(self.view, ContextRequest(given, stage, budget_tokens=budget, packs=n), None, list(range(1, n + 1)))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CAKEBOOK_BOOK", "CAKEBOOK_TRUST_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path / "state"))


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    """The shipped one."""
    return load_vocabulary(FolderSource(REPO))


@pytest.fixture(scope="session")
def entry() -> Callable[..., tuple[str, bytes]]:
    return make_entry


@pytest.fixture(scope="session")
def library(vocabulary: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Library]]:
    """Make a library: `library(entry("a"), entry("b"), tiers={"b": "measured"}, stale=["a"])`."""
    folder = tmp_path_factory.mktemp("libraries")
    empty = folder / "empty.sqlite"
    writer = CatalogWriter(empty, fresh=True)
    writer.set_vocabulary(vocabulary)
    writer.close()
    opened: list[Catalog] = []

    def make(
        *entries: tuple[str, bytes], tiers: dict[str, str] | None = None, stale: tuple[str, ...] = (), serve: Any = "founding"
    ) -> Library:
        path = folder / f"{len(opened)}.sqlite"
        shutil.copyfile(empty, path)
        writer = CatalogWriter(path, fresh=False)
        for name, data in entries:
            file = read_entry(name, data)
            assert file.entry is not None, file.problems
            tier: Any = (tiers or {}).get(file.id, "founding")
            verdict = Verdict(file.id, file.digest, tier, "active", True)
            writer.add(chunk(file, file.entry, verdict, sha256(data).hexdigest(), vocabulary, Policy()))
        writer.close()
        opened.append(Catalog(path))
        generation = sha256(repr((entries, tiers)).encode()).hexdigest()[:16]
        manifest = Manifest(
            SCHEMA, generation, "made-up", None, False, None, None, "", "", "", SCHEMA, None, "", len(entries), 0, 0, "", {}
        )
        return Library(View(opened[-1], manifest, serve, frozenset(stale)))

    yield make
    for catalog in opened:
        catalog.close()


def indexed_copy(root: Path, embedder: str, models: Path) -> Iterator[Book]:
    """A copy of the shipped book, indexed. A copy is trusted as the original is: its root has the same bytes."""
    for name in ("entries", "book"):
        shutil.copytree(REPO / name, root / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CAKEBOOK_BOOK", raising=False)
        patch.setenv("CAKEBOOK_STATE", str(root.parent / "state"))
        patch.setenv("CAKEBOOK_EMBEDDER", embedder)
        patch.setenv("CAKEBOOK_CACHE", str(models))
        book = Book.open(root)
        book.sync()
        yield book
        book.close()


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Book]:
    """The shipped book without vectors."""
    yield from indexed_copy(tmp_path_factory.mktemp("shipped") / "book", "none", models)


@pytest.fixture(scope="session")
def shipped_vectors(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Book]:
    """The shipped book with the vectors of the default model."""
    yield from indexed_copy(tmp_path_factory.mktemp("vectors") / "book", "use", models)
