"""Everything that an index holds and answers, as one comparable value; and the same book indexed from nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cakebook.index.generation import Store
from cakebook.index.place import Place
from cakebook.index.sync import sync
from cakebook.service import Book
from cakebook.text.tokens import query_words

QUESTIONS = (
    "vector idles waiting for MTE2",
    "每次循环只处理一行",
    "DataCopyPad",
    "error 507035",
    "tiny-grid-size",
    "double buffer",
    "the last tile is short",
    "lesson",
)

Snapshot = dict[str, Any]


def contents(book: Any, store: Store | None = None, *, ask: bool = True) -> Snapshot:
    """What the current generation is, holds and (with `ask`) answers, without what depends on when and how it was built."""
    store = store or book.store
    opened = store.open()
    try:
        catalog, manifest = opened.catalog, asdict(opened.manifest)
        for name in ("built_at", "files"):
            del manifest[name]
        rows = {entry_id: catalog.row_of(entry_id) for entry_id in catalog.ids()}
        by_row = {row: entry_id for entry_id, row in rows.items()}
        names = catalog._rows("SELECT name, kind, entry FROM names")
        held = {
            "manifest": manifest,
            "cards": {i: catalog.cards([row])[row] for i, row in rows.items()},
            "sections": {i: catalog.sections(row) for i, row in rows.items()},
            "words": {i: catalog.words_of(row) for i, row in rows.items()},
            "names": sorted((name, kind, by_row[row]) for name, kind, row in names),
            "terms": sorted(catalog._rows("SELECT term, doc, cnt FROM terms")),
            "lexicon": sorted(catalog._rows("SELECT word FROM lexicon")),
            "matches": {
                question: sorted((-score, by_row[row]) for row, score in catalog.match(query_words(question), 50).items())
                for question in QUESTIONS
            },
            "withheld": sorted(asdict(item).items() for item in catalog.withheld()),
            "meta": sorted(catalog._rows("SELECT key, value FROM meta")),
        }
    finally:
        opened.close()
    if not ask:
        return held
    with Book(book.root, book.settings) as reader:
        reader._place = Place(book.root, store, True, True)
        held["answers"] = {question: _answer(reader, question) for question in QUESTIONS}
    return held


def _answer(reader: Book, question: str) -> Any:
    result = asdict(reader.search(question, explain=True, limit=50))
    for name in ("took_ms", "degraded"):  # the other folder knows nothing of what it was built from
        del result[name]
    return result


def rebuilt(book: Any, folder: Path, revision: str | None = None, *, ask: bool = True) -> Snapshot:
    """The contents of an index of the same book, built from nothing in `folder`."""
    elsewhere = Place(book.root, Store(folder / "index"), False, True)
    sync(elsewhere, book.settings, revision=revision, rebuild=True)
    return contents(book, elsewhere.store, ask=ask)


@pytest.fixture
def snapshot() -> Callable[..., Snapshot]:
    return contents


@pytest.fixture
def rebuild() -> Callable[..., Snapshot]:
    """`rebuild(book, folder)`: the contents of an index of `book` that was built from nothing in `folder`."""
    return rebuilt


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Snapshot]:
    """`fresh(book)`: the contents of an index of `book` that was built from nothing in another folder."""

    def build(book: Any, revision: str | None = None) -> Snapshot:
        return rebuilt(book, tmp_path_factory.mktemp("fresh"), revision)

    return build
