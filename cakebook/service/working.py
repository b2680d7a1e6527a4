"""Working on a book: lint, new entries, checks, the founding list."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cakebook.errors import AlreadyExists, BadArgument, NoSuchPath, StoreIO
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

    def lint(self, paths: Sequence[str | Path] = (), *, fix: Callable[[str], None] | None = None) -> list[Finding]:
        """Findings of the linter, over the whole book or over `paths` (files or folders inside it).

        Args:
            fix: first mend what can be mended mechanically, and tell this of each file in one line. A file whose bytes are
                vouched for is mended only if it is one of `paths` itself, not if it only lies below one.

        Raises:
            NoSuchPath: a path is not there. BookFileInvalid: the vocabulary cannot be read.
            BadArgument, StoreIO: with `fix`, a path is or passes a symbolic link, a file cannot be written.
        """
        from cakebook.gate.founding import listed_ids
        from cakebook.lint.runner import lint_book
        from cakebook.repo.layout import FolderSource
        from cakebook.repo.vocabulary import load_vocabulary

        source = FolderSource(self.root)
        below = {path: self._entries_below(source, Path(path)) for path in paths}
        wanted = [p for found in below.values() for p in found] if paths else None
        if fix is None:
            return lint_book(source, load_vocabulary(source), listed_ids(source), wanted)
        from cakebook.gate.founding import vouched_digests
        from cakebook.lint.fixing import fix_folder

        for path in paths:
            if self._passes_a_link(Path(path)):
                raise BadArgument(f"{path}: a symbolic link; --fix changes no file behind one", hint="name the file itself")
        named = {found[0] for path, found in below.items() if found and Path(path).name == Path(found[0]).name}
        vouched = vouched_digests(source)
        return fix_folder(source, load_vocabulary(source), listed_ids(source), wanted, vouched=vouched, named=named, say=fix)

    def _passes_a_link(self, path: Path) -> bool:
        """Whether a path into the book is a symbolic link, or leads through one that lies in the book."""
        root = self.root.resolve()
        found = (p for p in (Path.cwd() / path, self.root / path) if p.exists() and p.resolve().is_relative_to(root))
        at = next(found)  # the one that `_entries_below` took
        links = (p for p in (at, *at.parents) if p.is_symlink() and p.resolve() != root)
        return any(p == at or p.parent.resolve().is_relative_to(root) for p in links)

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
