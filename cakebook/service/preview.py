"""Searching drafts: the files that somebody names, judged by nobody, in an index that is thrown away."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from cakebook.errors import NoSuchPath
from cakebook.index.catalog import SCHEMA, Catalog, CatalogWriter
from cakebook.index.chunks import chunk
from cakebook.index.generation import store_errors
from cakebook.model.manifest import Manifest
from cakebook.model.query import SearchRequest, SearchResult
from cakebook.model.review import Policy, Verdict
from cakebook.repo.entries import EntryFile, read_entry
from cakebook.repo.layout import RESERVED, FolderSource, unreadable_name
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.retrieve import request as requests
from cakebook.retrieve.search import search
from cakebook.retrieve.view import View


def preview(
    root: Path, paths: Sequence[str | Path], text: str, limit: int, lang: str, explain: bool, facets: dict[str, Any]
) -> tuple[SearchResult, tuple[str, ...]]:
    """Search the Markdown files at or below `paths` by words, as drafts; returns the result and what could not be read.

    Raises:
        NoSuchPath: a path is not there, or there is no entry at it. UsageError: a value is wrong.
    """
    vocabulary = load_vocabulary(FolderSource(root))
    text = requests.check_text("the query", text)
    given = requests.facets(vocabulary, "draft", **facets)
    requests.require_something(text, given)
    language: Any = requests.check_lang(lang)
    request = SearchRequest(text, given, requests.check_limit(limit), language, explain, "lexical")
    files, notes = _read(paths)
    with store_errors(), tempfile.TemporaryDirectory(prefix="cakebook-preview-") as folder:
        writer = CatalogWriter(Path(folder) / "catalog.sqlite", fresh=True)
        writer.set_vocabulary(vocabulary)
        for file in files:
            assert file.entry is not None
            entry = file.entry if file.entry.id else file.entry.model_copy(update={"id": file.id})
            verdict = Verdict(id=entry.id, digest=file.digest, tier="draft", lifecycle="active", served=False)
            writer.add(chunk(file, entry, verdict, sha256(file.data).hexdigest(), vocabulary, Policy()))
        writer.close()
        catalog = Catalog(Path(folder) / "catalog.sqlite")
        try:
            return search(View(catalog, _manifest(len(files)), "draft", frozenset()), request), notes
        finally:
            catalog.close()


def _read(paths: Sequence[str | Path]) -> tuple[list[EntryFile], tuple[str, ...]]:
    found: dict[str, EntryFile] = {}
    notes: list[str] = []
    for given in paths:
        if not os.path.lexists(given):
            raise NoSuchPath(f"{given}: not there", hint="name Markdown files, or folders that hold some")
        for each in _below(Path(given), notes) if Path(given).is_dir() else [Path(given)]:
            if bad := unreadable_name(each.as_posix()):
                notes.append(f"{bad.path}: {bad.text}")
                continue
            try:
                if not stat.S_ISREG(each.stat().st_mode):  # reading a pipe could take for ever
                    notes.append(f"{each}: not a regular file")
                    continue
                file = read_entry(each.as_posix(), each.read_bytes())
            except OSError as error:
                notes.append(f"{each}: {error.strerror}")
                continue
            if file.entry is None or file.problems:
                problem = file.problems[0]
                notes.append(f"{each}:{problem.line}: {problem.message}")
            elif file.id in found:
                notes.append(f"{each}: id `{file.id}` is that of {found[file.id].path}")
            else:
                found[file.id] = replace(file, path=each.as_posix())
    if not found and not notes:
        raise NoSuchPath("no Markdown file at the paths given", hint="name Markdown files, or folders that hold some")
    return list(found.values()), tuple(notes)


def _below(folder: Path, notes: list[str]) -> list[Path]:
    """Markdown below a folder but OKF's reserved files; a folder that cannot be listed is a note."""
    found: list[Path] = []
    for top, _, names in os.walk(folder, onerror=lambda error: notes.append(f"{error.filename}: {error.strerror}")):
        found += [Path(top) / name for name in names if name.endswith(".md") and name not in RESERVED]
    return sorted(found)


def _manifest(entries: int) -> Manifest:
    return Manifest(
        schema=SCHEMA, generation="0" * 16, book="preview", commit=None, dirty=True, trust_n=None, edition=None,
        policy_digest="", vocabulary_digest="", ranking_digest="", code_schema=SCHEMA, embedder=None, content="",
        entries=entries, vectors=0, withheld=0, built_at="", files={},
    )  # fmt: skip
