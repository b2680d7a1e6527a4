"""A new founding edition of the shipped book: the list of vouched-for digests, and the root that covers it."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cakebook.errors import BadArgument, HasAdmins, NotShippedBook, StoreIO
from cakebook.gate.trust import ROOT, SCHEMA, ShippedRoot, shipped_roots
from cakebook.gate.verdict import FOUNDING_MEANS
from cakebook.model.review import Anchor, Founding
from cakebook.repo.entries import read_entry
from cakebook.repo.layout import FOUNDING, POLICY, TRUST, VOCABULARY, BookSource, FolderSource, entry_paths
from cakebook.repo.vocabulary import load_model

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


def pending(root: Path) -> Edition:
    """What differs between the work tree and the last edition; `number` and `root` are the last edition's."""
    source = FolderSource(root)
    old_list, old_anchor = _current(source)
    entries, files = _digests(source)
    before = old_list.entries if old_list else {}
    covered = {p: d for p, d in (old_anchor.files if old_anchor else {}).items() if p != FOUNDING}
    return Edition(
        number=old_list.edition if old_list else 0,
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
        StoreIO: writing failed.
    """
    if not reason.strip() or "\n" in reason:
        raise BadArgument("--reason must be one line of text", hint=COMMAND)
    roots_file = root / "cakebook" / "data" / "roots.txt"
    shipped = shipped_roots(roots_file) if roots_file.is_file() else None
    changes = pending(root)
    if shipped is None or (shipped and changes.book != shipped[-1].book):
        hint = "a team's own book starts its own chain of trust; it has no founding entries"
        raise NotShippedBook(f"{root}: not the book that this project ships", hint=hint)
    source = FolderSource(root)
    _, anchor = _current(source)
    if anchor and anchor.admins:
        raise HasAdmins("the book has admins: founding editions have ended", hint="admit entries by review")
    if anchor and changes.empty:
        return changes
    entries, files = _digests(source)
    number = changes.number + 1
    book = changes.book or f"cakebook-{secrets.token_hex(4)}"
    listing = _founding_yaml(number, date, reason.strip(), entries)
    files[FOUNDING] = sha256(listing).hexdigest()
    trust = _anchor_yaml(book, number, files)
    new_root = ShippedRoot(sha256(trust).hexdigest(), book, number)
    try:
        (root / TRUST).mkdir(parents=True, exist_ok=True)
        # The roots come first: an interrupted update leaves the old, still known root in place.
        _write(roots_file, roots_file.read_bytes() + f"{new_root.digest} {new_root.book} {new_root.edition}\n".encode())
        _write(root / FOUNDING, listing)
        _write(root / ROOT, trust)
    except OSError as error:
        raise StoreIO(f"{error.filename}: {error.strerror}", hint="free some space or mend the permissions") from None
    shipped_roots.cache_clear()
    return Edition(number, book, new_root.digest, changes.added, changes.changed, changes.removed, changes.files)


def _current(source: FolderSource) -> tuple[Founding | None, Anchor | None]:
    listing = load_model(source, FOUNDING, Founding) if source.paths(FOUNDING) else None
    anchor = load_model(source, ROOT, Anchor) if source.paths(ROOT) else None
    return listing, anchor


def _digests(source: FolderSource) -> tuple[dict[str, str], dict[str, str]]:
    """Digests of all entries by id, and sha256 of all governed files by path."""
    entries = {e.id: e.digest for e in (read_entry(p, source.read(p)) for p in entry_paths(source))}
    governed = [*source.paths(POLICY), *source.paths("book/people"), *source.paths(VOCABULARY), *source.paths("book/agents")]
    return entries, {p: sha256(source.read(p)).hexdigest() for p in governed}


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


def _anchor_yaml(book: str, number: int, files: dict[str, str]) -> bytes:
    lines = [
        f"schema: {SCHEMA}",
        f"book: {book}",
        "n: 1",
        f"edition: {number}",
        "admins: {}",
        "admin_approvals: 1",
        "files:",
        *(f"  {path}: {json.dumps(files[path])}" for path in sorted(files)),
        "statements: []",
        "honoured: {}",
    ]
    return ("\n".join(lines) + "\n").encode()


def _write(path: Path, data: bytes) -> None:
    """Replace a file in one step."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)
