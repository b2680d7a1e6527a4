"""Working on a book: lint, new entries, checks, the founding list."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cakebook.errors import AlreadyExists, NoSuchPath, StoreIO
from cakebook.service.base import Base, nearest_id

if TYPE_CHECKING:
    from cakebook.checks.runner import CheckResult
    from cakebook.gate.founding import Edition
    from cakebook.gate.start import Started
    from cakebook.lint.runner import Finding
    from cakebook.model.query import SearchResult
    from cakebook.service.doctor import Finding as Symptom


class Working(Base):
    """The methods that read and write the files of the book."""

    @classmethod
    def start(cls, folder: Path, name: str = "") -> Started:
        """Write a new book of one's own; see `gate.start.start`."""
        from cakebook.gate.start import start
        from cakebook.settings import Settings

        return start(folder, name, Settings.from_environment())

    @classmethod
    def examine(cls, path: str | Path | None = None) -> list[Symptom]:
        """What is missing, broken or stale around the book at `path`; see `service.doctor`."""
        from cakebook.service.doctor import examine

        return examine(lambda: cls.open(path), named=path is not None)  # type: ignore[arg-type,return-value]  # it is a `Book`

    def preview(
        self,
        paths: Sequence[str | Path],
        text: str = "",
        *,
        limit: int = 8,
        lang: str = "auto",
        explain: bool = False,
        **facets: Any,
    ) -> tuple[SearchResult, tuple[str, ...]]:
        """Search drafts by words; relative paths are looked for in the current folder, then in the book."""
        from cakebook.service.preview import preview

        found = [path if os.path.lexists(path) else self.root / path for path in paths]
        return preview(self.root, found, text, limit, lang, explain, facets)

    def lint(self, paths: Sequence[str | Path] = ()) -> list[Finding]:
        """Findings of the linter, over the whole book or over `paths` (files or folders inside it).

        Raises:
            NoSuchPath: a path is not there. BookFileInvalid: the vocabulary cannot be read.
        """
        from cakebook.gate.founding import listed_ids
        from cakebook.lint.runner import lint_book
        from cakebook.repo.layout import FolderSource
        from cakebook.repo.vocabulary import load_vocabulary

        source = FolderSource(self.root)
        wanted = [p for path in paths for p in self._entries_below(source, Path(path))] if paths else None
        return lint_book(source, load_vocabulary(source), listed_ids(source), wanted)

    def new(self, entry_id: str, *, title: str = "", dsl: str = "", kind: str = "", full: bool = False) -> str:
        """Write the scaffold of a new entry; returns its path relative to the book.

        Raises:
            BadArgument: the id cannot be one, or the vocabulary does not have the DSL or kind.
            AlreadyExists: the book has an entry of this id. StoreIO: writing failed.
        """
        from cakebook.lint.scaffold import scaffold
        from cakebook.repo.entries import read_entries
        from cakebook.repo.layout import FolderSource
        from cakebook.repo.vocabulary import load_vocabulary

        source = FolderSource(self.root)
        text = scaffold(entry_id, title=title, dsl=dsl, kind=kind, full=full, vocabulary=load_vocabulary(source))
        for file in read_entries(source):
            if file.id.casefold() == entry_id.casefold():
                raise AlreadyExists(f"{file.path} has the id `{entry_id}`", hint="choose another id, or edit that entry")
        path = f"entries/{kind or 'proposals'}/{entry_id}.md"
        try:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            with (self.root / path).open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except FileExistsError:
            raise AlreadyExists(f"{path} is there already", hint="choose another id, or edit that entry") from None
        except OSError as error:
            raise StoreIO(f"{path}: {error.strerror}", hint="mend the permissions") from None
        return path

    def verify(self, ids: Sequence[str] = ()) -> list[CheckResult]:
        """Run the check blocks of the entries named, drafts too, or of all entries.

        Raises:
            NoSuchEntry: no file of the book has this id.
        """
        from cakebook.checks.runner import run_checks
        from cakebook.checks.sandbox import available
        from cakebook.gate.facts import gather
        from cakebook.repo.entries import read_entries
        from cakebook.repo.layout import FolderSource

        source = FolderSource(self.root)
        files = {file.id: file for file in read_entries(source)}
        for entry_id in ids:
            if entry_id not in files:
                raise nearest_id(entry_id, sorted(files))
        facts = gather(source, self.settings.trust_roots)
        covered = facts.founding.entries if facts.founding else {}
        sandbox = available()
        return [
            result
            for entry_id in (ids or sorted(files))
            for result in run_checks(files[entry_id], sandbox=sandbox, covered=covered.get(entry_id) == files[entry_id].digest)
        ]

    def founding_update(self, reason: str, date: str) -> Edition:
        """Write the next founding edition of the shipped book; see `gate.founding.update`."""
        from cakebook.gate import founding

        return founding.update(self.root, reason, date)

    def _entries_below(self, source: Any, path: Path) -> list[str]:
        from cakebook.repo.layout import entry_paths

        inside = (Path.cwd() / path) if not path.is_absolute() else path
        candidates = [inside, self.root / path]
        for candidate in candidates:
            if candidate.exists() and candidate.resolve().is_relative_to(self.root.resolve()):
                name = candidate.resolve().relative_to(self.root.resolve()).as_posix()
                below = [p for p in entry_paths(source) if name == "." or p == name or p.startswith(name + "/")]
                return below if below or candidate.is_dir() else [name]
        raise NoSuchPath(f"{path}: not in the book at {self.root}", hint="give a file or folder under entries/")
