"""A new founding edition of the shipped book: the list of vouched-for digests, and the root that covers it."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cakebook.errors import BadArgument, BookFileInvalid, HasAdmins, NotShippedBook, StoreIO, Unreadable
from cakebook.gate.ledger import statement_paths
from cakebook.gate.trust import ROOT, SCHEMA, ShippedRoot, shipped_roots
from cakebook.gate.verdict import FOUNDING_MEANS
from cakebook.model.review import Anchor, Founding, Statement
from cakebook.repo.entries import EntryFile, read_entries
from cakebook.repo.layout import FOUNDING, GOVERNED, TRUST, BookSource, FolderSource
from cakebook.repo.vocabulary import load_model
from cakebook.text import frontmatter

_PLAIN = re.compile(r"[^\x00-\x1f\x7f-\x9f]+")
COMMAND = "cakebook founding update --reason TEXT"


@dataclass(frozen=True)
class Edition:
    """What an edition changes: ids added, changed and removed against the one before; governed files likewise."""

    number: int
    book: str
    root: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def empty(self) -> bool:
        """Whether nothing differs from the edition before."""
        return not (self.added or self.changed or self.removed or self.files)


def listed_ids(source: BookSource) -> frozenset[str]:
    """Ids on the founding list as it stands, covered or not: lint holds these entries to the full standard."""
    return frozenset(load_model(source, FOUNDING, Founding).entries) if source.paths(FOUNDING) else frozenset()


def vouched_digests(source: BookSource) -> frozenset[str]:
    """Digests that the founding list or an approval names, whether or not these count."""
    digests = set(load_model(source, FOUNDING, Founding).entries.values()) if source.paths(FOUNDING) else set()
    for path in (path for paths in statement_paths(source).values() for path in paths):
        try:
            statement = load_model(source, path, Statement)
        except (BookFileInvalid, Unreadable):
            continue
        if statement.decision == "approve":
            digests.add(statement.digest)
    return frozenset(digests)


def pending(root: Path) -> Edition:
    """What differs between the work tree and the last edition; `number` and `root` are the last edition's.

    The list itself counts as a governed file: after an interrupted update it is not the one that the root covers.

    Raises:
        Unreadable, BookFileInvalid: an entry cannot be vouched for, since it cannot be read or shares its id.
    """
    source = FolderSource(root)
    return _compare(source, *_current(source), *_digests(source))


def _compare(
    source: FolderSource, old_list: Founding | None, old_anchor: Anchor | None, entries: dict[str, str], files: dict[str, str]
) -> Edition:
    files = files | {p: sha256(source.read(p)).hexdigest() for p in source.paths(FOUNDING)}
    before = old_list.entries if old_list else {}
    covered = old_anchor.files if old_anchor else {}
    return Edition(
        number=(old_anchor.edition or 0) if old_anchor else 0,
        book=old_anchor.book if old_anchor else "",
        root=sha256(source.read(ROOT)).hexdigest() if old_anchor else "",
        added=tuple(sorted(set(entries) - set(before))),
        changed=tuple(sorted(i for i in entries if i in before and entries[i] != before[i])),
        removed=tuple(sorted(set(before) - set(entries))),
        files=tuple(sorted(p for p in {**files, **covered} if files.get(p) != covered.get(p))),
    )


def update(root: Path, reason: str, date: str) -> Edition:
    """Write the next edition of the book at `root`: `founding.yaml`, `1.yaml` and a line of `roots.txt`.

    Returns the edition written, or the pending one, untouched, if nothing differs.

    Raises:
        BadArgument: `reason` is empty or not one line.
        NotShippedBook: `root` is not a checkout of the project whose book this is.
        HasAdmins: the book has admins, and from then on the list can only shrink.
        Unreadable, BookFileInvalid: see `pending`.
        StoreIO: writing failed.
    """
    reason = _reason(reason)
    roots_file = root / "cakebook" / "data" / "roots.txt"
    shipped = shipped_roots(roots_file) if roots_file.is_file() else None
    source = FolderSource(root)
    old_list, anchor = _current(source)
    entries, files = _digests(source)
    changes = _compare(source, old_list, anchor, entries, files)
    # Without a root the first edition was interrupted; the roots already name the book.
    book = changes.book or (shipped[-1].book if shipped else f"cakebook-{secrets.token_hex(4)}")
    if shipped is None or (shipped and book != shipped[-1].book):
        hint = "a team's own book starts its own chain of trust; it has no founding entries"
        raise NotShippedBook(f"{root}: not the book that this project ships", hint=hint)
    if anchor and anchor.admins:
        raise HasAdmins("the book has admins: founding editions have ended", hint="admit entries by review")
    if anchor and changes.empty:
        return changes
    number = changes.number + 1
    listing = _founding_yaml(number, date, reason, entries)
    files[FOUNDING] = sha256(listing).hexdigest()
    trust = anchor_yaml(book, number, files)
    new_root = ShippedRoot(sha256(trust).hexdigest(), book, number)
    try:
        (root / TRUST).mkdir(parents=True, exist_ok=True)
        # The roots come first: an interrupted update leaves the old, still known root in place.
        known, line = roots_file.read_bytes(), f"{new_root.digest} {new_root.book} {new_root.edition}\n".encode()
        if line not in known:  # an interrupted update may have written it
            write_file(roots_file, known + line)
        write_file(root / FOUNDING, listing)
        write_file(root / ROOT, trust)
    except OSError as error:
        raise StoreIO(f"{error.filename}: {error.strerror}", hint="free some space or mend the permissions") from None
    shipped_roots.cache_clear()
    return Edition(number, book, new_root.digest, changes.added, changes.changed, changes.removed, changes.files)


def _current(source: FolderSource) -> tuple[Founding | None, Anchor | None]:
    listing = load_model(source, FOUNDING, Founding) if source.paths(FOUNDING) else None
    anchor = load_model(source, ROOT, Anchor) if source.paths(ROOT) else None
    return listing, anchor


def _digests(source: FolderSource) -> tuple[dict[str, str], dict[str, str]]:
    """Digests of all entries by id, and sha256 of all governed files but the list by path."""
    entries: dict[str, EntryFile] = {}
    paths: dict[str, str] = {}
    for file in read_entries(source):
        path = file.path
        if file.problems:
            problem = file.problems[0]
            raise Unreadable(f"{path}:{problem.line}: {problem.message}", hint="mend the file, or move it out of `entries/`")
        if other := paths.get(file.id.casefold()):
            raise BookFileInvalid(f"id `{file.id}`: both {other} and {path} have it", hint="rename one of them")
        paths[file.id.casefold()] = path
        entries[file.id] = file
    return {i: e.digest for i, e in entries.items()}, covered_files(source, GOVERNED)


def covered_files(source: BookSource, parts: Sequence[str] = (FOUNDING, *GOVERNED)) -> dict[str, str]:
    """Path → sha256 of the files that a trust version covers, as they stand."""
    return {path: sha256(source.read(path)).hexdigest() for part in parts for path in source.paths(part)}


def _reason(text: str) -> str:
    """`text` itself if it can stand in a YAML file as it is."""
    text = text.strip()
    loaded = frontmatter.load_yaml(f"reason: {json.dumps(text, ensure_ascii=False)}\n")
    if not text or isinstance(loaded, frontmatter.Problem) or loaded[0]["reason"] != text or not _PLAIN.fullmatch(text):
        raise BadArgument("--reason must be one line of text", hint=COMMAND)
    return text


def _founding_yaml(number: int, date: str, reason: str, entries: dict[str, str]) -> bytes:
    lines = [
        "# Written by `cakebook founding update`; never by hand.",
        f"edition: {number}",
        f"date: {json.dumps(date)}",
        f"reason: {json.dumps(reason, ensure_ascii=False)}",
        f"statement: {json.dumps(FOUNDING_MEANS, ensure_ascii=False)}",
        "entries:" if entries else "entries: {}",
        *(f"  {entry_id}: {json.dumps(entries[entry_id])}" for entry_id in sorted(entries)),
    ]
    return ("\n".join(lines) + "\n").encode()


def anchor_yaml(
    book: str,
    edition: int | None,
    files: Mapping[str, str],
    *,
    n: int = 1,
    previous: str | None = None,
    forked_from: str | None = None,
    admins: Mapping[str, Sequence[str]] | None = None,
    admin_approvals: int = 1,
    statements: Sequence[str] = (),
    honoured: Mapping[str, Sequence[str]] | None = None,
) -> bytes:
    """The bytes of a trust version that covers `files`; `edition` is None for a book without founding entries."""

    def mapping(key: str, values: Mapping[str, Sequence[str]] | None) -> list[str]:
        if not values:
            return [f"{key}: {{}}"]
        return [f"{key}:", *(f"  {name}: {json.dumps([*values[name]])}" for name in sorted(values))]

    lines = [
        f"schema: {SCHEMA}",
        f"book: {book}",
        f"n: {n}",
        *([f"previous: {json.dumps(previous)}"] if previous else []),
        *([f"forked_from: {json.dumps(forked_from)}"] if forked_from else []),
        *([f"edition: {edition}"] if edition is not None else []),
        *mapping("admins", admins),
        f"admin_approvals: {admin_approvals}",
        "files:",
        *(f"  {path}: {json.dumps(files[path])}" for path in sorted(files)),
        f"statements: {json.dumps([*statements])}",
        *mapping("honoured", honoured),
    ]
    return ("\n".join(lines) + "\n").encode()


def write_file(path: Path, data: bytes) -> None:
    """Replace a file in one step."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def write_files(root: Path, files: Mapping[str, bytes]) -> None:
    """Write files of the book at `root` in order, each in one step; the one that makes the others count comes last.

    Raises:
        StoreIO: writing failed.
    """
    try:
        for path, data in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            write_file(root / path, data)
    except OSError as error:
        raise StoreIO(f"{error.filename}: {error.strerror}", hint="free some space or mend the permissions") from None
