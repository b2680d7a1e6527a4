"""Mending what can be mended mechanically: `cakebook lint --fix`.

Findings carry their edits. Those of one pass over a file are applied together; of two that overlap the first wins, and the
next pass finds what the other was about. Passes end when a file holds nothing more to mend, so that a second run changes
nothing. A pass counts only if its result is the same entry with the same values everywhere else.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cakebook.errors import StoreIO
from cakebook.lint.registry import RULES, Finding
from cakebook.lint.runner import lint_file, lint_view, read_book
from cakebook.lint.subject import BookView
from cakebook.model.terms import Vocabulary
from cakebook.repo.entries import EntryFile, read_entry
from cakebook.repo.layout import FolderSource
from cakebook.text.patch import Edit, apply

MAX_PASSES = 100
"""Over one file or the book; more can only be a rule whose fix does not mend."""


@dataclass
class Mended:
    """A file that was mended: what it was, what it is now, and how often by which rule."""

    was: EntryFile
    now: EntryFile
    rules: Counter[str]

    def __str__(self) -> str:
        counts = (f"{r} {RULES[r].name}" + (f" ({n})" if n > 1 else "") for r, n in sorted(self.rules.items()))
        return f"fixed: {self.was.path}: {', '.join(counts)}"


def fix_folder(
    source: FolderSource,
    vocabulary: Vocabulary,
    founding: Collection[str],
    paths: Sequence[str] | None,
    *,
    vouched: Collection[str],
    named: Collection[str],
    say: Callable[[str], None],
) -> list[Finding]:
    """Mend the entries at `paths` on the disk and return what is left; see `runner.lint_book` for the first arguments.

    Args:
        vouched: digests that somebody vouches for. Such a file is changed only if its path is one of `named`.
        say: told in one line of each file that was mended, or could be and was not.

    Raises:
        NoSuchPath: `paths` names something that is not in the book.
        StoreIO: a file cannot be written. Before the first one is, all are looked at; each is replaced in one step.
    """
    book, mended = mend(
        read_book(source, vocabulary, founding, paths), lambda file: file.digest in vouched and file.path not in named
    )
    for change in mended:
        _check(source.root / change.was.path, change.was)
    for change in mended:
        _write(source.root / change.was.path, change)
        say(str(change))
        if change.was.digest in vouched:
            say(f"edited: {change.was.id} is vouched for in these bytes; it is a draft until it is vouched for again")
    left = lint_view(book)
    for path in dict.fromkeys(finding.path for finding in left if finding.fix):
        kept = next(file for file in book.files if file.path == path)
        why = f"{kept.id} is vouched for in these bytes; name the file to fix it"
        say(f"not fixed: {path}: {why if kept.digest in vouched else 'no edit is certain here; mend it by hand'}")
    return left


def mend(book: BookView, keep: Callable[[EntryFile], bool]) -> tuple[BookView, list[Mended]]:
    """The book with all of its focus mended but the files that `keep` holds back, and what that changed. Writes nothing."""
    mended: dict[str, Mended] = {}
    kept: set[str] = set()
    for _ in range(MAX_PASSES):
        before = book
        for path in dict.fromkeys(finding.path for finding in lint_view(book) if finding.fix):
            file = next(f for f in book.files if f.path == path)
            if path in kept or (path not in mended and keep(file)):
                kept.add(path)
                continue
            now, book, rules = _mend_file(file, book)
            if rules:
                change = mended.setdefault(path, Mended(file, now, Counter()))
                change.now = now
                change.rules += rules
        if book is before:
            break
    return book, list(mended.values())


def _mend_file(file: EntryFile, book: BookView) -> tuple[EntryFile, BookView, Counter[str]]:
    rules: Counter[str] = Counter()
    for _ in range(MAX_PASSES):
        now, used = _pass(file, _first_wins(f for f in lint_file(file, book) if f.fix))
        if not used:
            break
        rules.update(f.rule for f in used)
        book = replace(book, files=[now if f is file else f for f in book.files])
        file = now
    return file, book, rules


def _first_wins(findings: Iterable[Finding]) -> list[Finding]:
    """The findings in their order, without those of which an edit overlaps one of an earlier finding."""
    chosen: list[Finding] = []
    taken: list[Edit] = []
    for finding in findings:
        if not any(_overlap(a, b) for a in finding.fix for b in taken):
            chosen.append(finding)
            taken += finding.fix
    return chosen


def _overlap(a: Edit, b: Edit) -> bool:
    return a.start == b.start or (a.start < b.end and b.start < a.end)


def _pass(file: EntryFile, findings: list[Finding]) -> tuple[EntryFile, list[Finding]]:
    """The file with the findings mended, all at once; if that does not do, those of them that can be, one by one."""
    if now := _patched(file, findings):
        return now, findings
    best, used = file, list[Finding]()
    for finding in findings:
        if now := _patched(file, [*used, finding]):
            best, used = now, [*used, finding]
    return best, used


def _patched(file: EntryFile, findings: Sequence[Finding]) -> EntryFile | None:
    """The file with the edits of `findings`; None if it would be no other, or another entry than it should."""
    edits = [edit for finding in findings for edit in finding.fix]
    data = apply(file.data, edits)
    now = read_entry(file.path, data)
    return now if data != file.data and _is_sound(file, now, edits) else None


def _is_sound(was: EntryFile, now: EntryFile, edits: Sequence[Edit]) -> bool:
    """Whether `now` can be read, has the same id, and the same value under every key that no edit lies in."""
    if was.entry is None or now.entry is None or now.id != was.id:
        return False
    for key, value in was.front.values.items():
        start, end = was.front.keys[(key,)].start, was.front.spans[(key,)].end
        if now.front.values.get(key) != value and not any(e.start <= end and e.end > start for e in edits):
            return False
    return True


def _check(path: Path, was: EntryFile) -> None:
    """Look whether a file may be written, and is what was linted."""
    try:
        status = path.lstat()
        same = stat.S_ISREG(status.st_mode) and path.read_bytes() == was.data
    except OSError as error:
        raise StoreIO(f"{was.path}: {error.strerror}", hint="mend the permissions") from None
    if not same:
        raise StoreIO(f"{was.path}: changed while it was being linted", hint="run the command again")
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise StoreIO(f"{was.path}: read-only", hint="mend the permissions")


def _write(path: Path, change: Mended) -> None:
    """Replace a file in one step: a new one beside it takes its name and its permissions."""
    _check(path, change.was)
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".new")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            stream.write(change.now.data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(stat.S_IMODE(path.lstat().st_mode))
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise StoreIO(f"{change.was.path}: {error.strerror}", hint="free some space or mend the permissions") from None
