"""Where a book's index lies, and whether it is older than the book: everything a search asks before it opens one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cakebook.index.catalog import SCHEMA
from cakebook.index.generation import Store
from cakebook.index.ranking import ranking_digest
from cakebook.repo.head import git_folder, head_commit
from cakebook.repo.layout import JUDGED, PACKAGED_BOOK, TRUST, FolderSource, is_packaged
from cakebook.settings import SHIPPED_ROOTS, Settings

PACKAGED_INDEX = PACKAGED_BOOK.with_name("index")
"""The index that an installed release carries beside its book."""
SMALL_BOOK = 500
"""Entries below which a stale index is brought up to date before a command-line search."""


@dataclass(frozen=True)
class Place:
    """`store`: the index folder. `local`: it lies in the book itself. `writable`: it can be built there.

    `packaged`: the book is the one that an installed release carries; no repository around it is its own.
    """

    root: Path
    store: Store
    local: bool
    writable: bool
    packaged: bool = False


def place(root: Path, settings: Settings, *, building: bool = False) -> Place:
    """The index of the book at `root`: inside it, or in the state folder if the book cannot be written.

    A read-only medium may carry its index: that one is read until another is built (`building`) in the state folder. So does
    an installed release, in whose folder nothing is ever written.
    """
    if is_packaged(root):
        return _packaged(settings, building)
    local = root / ".cakebook" / "index"
    if _can_create(local):
        return Place(root, Store(local), True, True)
    outside = _outside(root, settings)
    writable = _can_create(outside)
    if (local / "CURRENT").is_file() and not (outside / "CURRENT").is_file() and not building:
        return Place(root, Store(local), True, writable)
    return Place(root, Store(outside), False, writable)


def _outside(root: Path, settings: Settings) -> Path:
    return settings.state_folder("index-" + sha256(str(root.resolve()).encode()).hexdigest()[:16]) / "index"


def _packaged(settings: Settings, building: bool) -> Place:
    """The index that the release carries, unless the user has built another one from this very release."""
    own = Store(_outside(PACKAGED_BOOK, settings))
    built = own.built_from()
    if building or (built and built.signature == signature(PACKAGED_BOOK, settings)[0]) or not PACKAGED_INDEX.is_dir():
        return Place(PACKAGED_BOOK, own, False, _can_create(own.folder), True)
    return Place(PACKAGED_BOOK, Store(PACKAGED_INDEX), True, _can_create(own.folder), True)


def book_id(root: Path) -> str | None:
    """The id in the book's trust root, None if it has none. Read line by line: a search loads no YAML parser."""
    try:
        lines = (root / TRUST / "1.yaml").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return next((line.removeprefix("book:").strip() for line in lines if line.startswith("book:")), None)


def signature(root: Path, settings: Settings) -> tuple[str, int]:
    """A digest of what decides the index, taken from file status (no file is read), and the number of entries.

    It covers name, size and time of every entry and governed file, HEAD, the settings, the believed roots and this release's
    own data. The book of a release is as it was released: what a user once built from it holds, whatever is set later.
    """
    source = FolderSource(root)
    lines = [SCHEMA, ranking_digest()]
    if not is_packaged(root):
        lines += [*sorted(settings.trust_roots), str(head_commit(root)), str(git_folder(root) is not None)]
        lines.append(f"{settings.embedder} {settings.engine}")
    status = SHIPPED_ROOTS.stat()
    lines.append(f"{status.st_size} {status.st_mtime_ns}")
    entries = 0
    found = []
    for prefix in JUDGED:
        for path, stat in source.stats(prefix):
            entries += prefix == "entries" and path.endswith(".md")
            found.append(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ctime_ns}\0{stat.st_ino}")
    lines += sorted(found)
    return sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest(), entries


def _can_create(folder: Path) -> bool:
    """Whether `folder` can be written, or created under its nearest existing parent."""
    for candidate in (folder, *folder.parents):
        if candidate.exists():
            return candidate.is_dir() and os.access(candidate, os.W_OK | os.X_OK)
    return False
