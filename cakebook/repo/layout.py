"""Where things lie in a book, and reading them from a folder or from a Git revision through one interface."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cakebook.errors import NotABook, Unreadable

PACKAGED_BOOK = Path(__file__).parent.parent / "data" / "book"
"""The book that an installed release carries; a clone has none there."""
ENTRIES = "entries"
POLICY = "book/policy.yaml"
FOUNDING = "book/founding.yaml"
TRUST = "book/trust"
UNANCHORED = "unanchored"
"""What stands for the id of a book without a believed root."""
LEDGER = "book/ledger"
PEOPLE = "book/people"
VOCABULARY = "book/vocabulary"
RESERVED = frozenset({"index.md", "log.md"})
"""OKF's own file names, never an entry."""
GOVERNED = (POLICY, PEOPLE, VOCABULARY, "book/agents")
"""What the trust anchor covers, file by file, beside the founding list."""
JUDGED = ("entries", FOUNDING, TRUST, LEDGER, *GOVERNED)
"""What decides which entries are served and how they are read; anything else in the repository does not matter here."""


@dataclass(frozen=True)
class Skipped:
    """A file under `entries/` that is not read, and why."""

    path: str
    code: str
    text: str


class BookSource(Protocol):
    """A book's files, by POSIX path relative to the book's root."""

    def paths(self, prefix: str) -> list[str]:
        """Sorted paths of regular files at or below `prefix`; empty if there are none."""
        ...

    def read(self, path: str) -> bytes:
        """The bytes of a file.

        Raises:
            Unreadable: it is missing or cannot be read.
        """
        ...

    def skipped(self) -> list[Skipped]:
        """Files that `paths` left out: symbolic links and what is not a regular file."""
        ...


class FolderSource:
    """A folder as it stands on the disk. Symbolic links are never followed: they may lead out of the book."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._skipped: dict[str, Skipped] = {}

    def paths(self, prefix: str) -> list[str]:
        return sorted(path for path, _ in self.stats(prefix))

    def stats(self, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
        """Regular files below `prefix` with their status, in no particular order."""
        top = self.root / prefix
        try:
            status = top.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise Unreadable(f"{prefix}: {error.strerror}", hint="check the permissions") from None
        yield from self._walk(prefix, status)

    def _walk(self, path: str, status: os.stat_result) -> Iterator[tuple[str, os.stat_result]]:
        if stat.S_ISREG(status.st_mode):
            yield path, status
        elif stat.S_ISDIR(status.st_mode):
            try:
                with os.scandir(self.root / path) as entries:
                    children = [(f"{path}/{e.name}", e.stat(follow_symlinks=False)) for e in entries if e.name != ".git"]
            except OSError as error:
                raise Unreadable(f"{path}: {error.strerror}", hint="check the permissions") from None
            for child, child_status in children:
                if unreadable := unreadable_name(child):
                    self._skipped[child] = unreadable
                else:
                    yield from self._walk(child, child_status)
        else:
            text = "symbolic links are not followed" if stat.S_ISLNK(status.st_mode) else "not a regular file"
            self._skipped[path] = Skipped(path, "not-a-file", text)

    def read(self, path: str) -> bytes:
        target = self.root / path
        try:
            if stat.S_ISLNK(target.lstat().st_mode):
                raise Unreadable(f"{path}: a symbolic link", hint="put the file itself there")
            return target.read_bytes()
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror}", hint="check that it exists and its permissions") from None

    def skipped(self) -> list[Skipped]:
        return [self._skipped[path] for path in sorted(self._skipped)]


class MemorySource:
    """Files given as a mapping: what a test or a revision reader has at hand."""

    def __init__(self, files: dict[str, bytes], skipped: list[Skipped] | None = None) -> None:
        self._files = files
        self._skip = skipped or []

    def paths(self, prefix: str) -> list[str]:
        return sorted(p for p in self._files if p == prefix or p.startswith(prefix + "/"))

    def read(self, path: str) -> bytes:
        try:
            return self._files[path]
        except KeyError:
            raise Unreadable(f"{path}: no such file", hint="check the path") from None

    def skipped(self) -> list[Skipped]:
        return self._skip


def unreadable_name(path: str) -> Skipped | None:
    """The reason for passing over a file whose name is not UTF-8: it could be neither stored nor printed."""
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return Skipped(shown, "not-a-file", "its name is not UTF-8")
    return None


def entry_paths(source: BookSource) -> list[str]:
    """Paths of all entries: Markdown below `entries/`, without OKF's reserved files."""
    return [p for p in source.paths(ENTRIES) if p.endswith(".md") and p.rsplit("/", 1)[-1] not in RESERVED]


def is_book(root: Path) -> bool:
    """Whether `root` looks like a book."""
    return (root / "entries").is_dir() and (root / "book").is_dir()


def is_packaged(root: Path) -> bool:
    """Whether `root` is the book of this release, by whatever path."""
    if root == PACKAGED_BOOK:
        return True
    try:
        return root.samefile(PACKAGED_BOOK)
    except OSError:
        return False


def find_book(start: Path) -> Path | None:
    """The nearest enclosing book at or above `start`."""
    return next((folder for folder in (start, *start.parents) if is_book(folder)), None)


def require_book(root: Path) -> Path:
    """`root` itself.

    Raises:
        NotABook: it has no `entries/` and `book/`.
    """
    if not is_book(root):
        raise NotABook(f"{root}: no `entries/` and `book/` there", hint="pass --book PATH or set CAKEBOOK_BOOK")
    return root
