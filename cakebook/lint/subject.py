"""What a rule looks at: one entry file, the book around it and the vocabulary."""

from __future__ import annotations

import difflib
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from cakebook.lint.body import Body, read_body
from cakebook.lint.registry import Hit
from cakebook.model.entry import Entry
from cakebook.model.terms import Vocabulary
from cakebook.repo.entries import EntryFile
from cakebook.text.frontmatter import FrontMatter
from cakebook.text.markdown import Document
from cakebook.text.patch import Edit


def fold(text: str) -> str:
    """`text` as a file system without case, or one that normalises names, would compare it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def nearest(text: str, known: Iterable[str]) -> str:
    """The known name that looks most like `text`, or nothing."""
    by_fold = {k.casefold(): k for k in known}
    close = difflib.get_close_matches(text[:80].casefold(), list(by_fold), n=1, cutoff=0.6)
    return by_fold[close[0]] if close else ""


@dataclass(frozen=True)
class BookView:
    """All entries of a book. `focus`: the paths that are being changed, None for all."""

    files: Sequence[EntryFile]
    vocabulary: Vocabulary
    founding: Collection[str]
    focus: Collection[str] | None = None
    every_path: Collection[str] = ()

    @cached_property
    def by_id(self) -> dict[str, EntryFile]:
        """The first file with each id, by path."""
        table: dict[str, EntryFile] = {}
        for file in self.files:
            table.setdefault(file.id, file)
        return table

    @cached_property
    def _by_folded_id(self) -> dict[str, list[EntryFile]]:
        return _group(self.files, lambda file: fold(file.id))

    @cached_property
    def _by_folded_path(self) -> dict[str, list[EntryFile]]:
        return _group(self.files, lambda file: fold(file.path))

    def rivals_by_id(self, file: EntryFile) -> list[EntryFile]:
        """Other files whose id a file system without case could not tell from this one's."""
        return [f for f in self._by_folded_id[fold(file.id)] if f.path != file.path]

    def rivals_by_path(self, file: EntryFile) -> list[EntryFile]:
        """Other files whose path a file system without case could not tell from this one's."""
        return [f for f in self._by_folded_path[fold(file.path)] if f.path != file.path]

    def settled(self, file: EntryFile) -> bool:
        """Whether the file need not change: it is on the founding list, or is not what is being changed."""
        return file.id in self.founding or (self.focus is not None and file.path not in self.focus)

    def answers(self, file: EntryFile, rival: EntryFile) -> bool:
        """Which of two files that do not go together must change: the one not settled, else the later by name.

        No rule may require editing an admitted entry because another was added.
        """
        if self.settled(file) != self.settled(rival):
            return not self.settled(file)
        return (file.id, file.path) > (rival.id, rival.path)


def _group(files: Iterable[EntryFile], key: Callable[[EntryFile], str]) -> dict[str, list[EntryFile]]:
    table: dict[str, list[EntryFile]] = defaultdict(list)
    for file in files:
        table[key(file)].append(file)
    return table


@dataclass(frozen=True)
class Subject:
    """One entry file within its book."""

    file: EntryFile
    book: BookView

    @property
    def entry(self) -> Entry:
        """The validated front matter; only for rules that need the entry."""
        assert self.file.entry is not None
        return self.file.entry

    @property
    def front(self) -> FrontMatter:
        return self.file.front

    @property
    def document(self) -> Document:
        return self.file.document

    @property
    def vocabulary(self) -> Vocabulary:
        return self.book.vocabulary

    @cached_property
    def body(self) -> Body:
        """Parts of the body that `document` does not hold."""
        return read_body(self.front.body, self.front.body_line)

    def hit(self, message: str, *path: str | int, hint: str = "", fix: tuple[Edit, ...] = ()) -> Hit:
        """A hit at the value at `path` in the front matter, or at the nearest thing around it that is there."""
        for end in range(len(path), 0, -1):
            if span := self.front.spans.get(path[:end]):
                return Hit(message, span.line, span.column, hint, fix)
        return Hit(message, hint=hint, fix=fix)

    def hit_key(self, message: str, *path: str | int, hint: str = "", fix: tuple[Edit, ...] = ()) -> Hit:
        """A hit at the key at `path`."""
        span = self.front.keys.get(path)
        return Hit(message, span.line, span.column, hint, fix) if span else self.hit(message, *path, hint=hint, fix=fix)

    def term_list(self, field: str) -> list[tuple[tuple[str | int, ...], str]]:
        """The terms of a facet list as written, each with its path; `unknown` and empty ones left out."""
        value = self.front.values.get(field)
        if isinstance(value, str):
            return [((field,), value)] if value not in ("", "unknown") else []
        if not isinstance(value, list):
            return []
        return [((field, i), v) for i, v in enumerate(value) if isinstance(v, str) and v not in ("", "unknown")]
