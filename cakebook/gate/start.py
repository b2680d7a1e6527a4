"""Starting a book of one's own: policy and vocabulary of this release, an id and a root of its own, no founding entries."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cakebook.errors import AlreadyExists, BadArgument, NotABook, StoreIO
from cakebook.gate.founding import anchor_yaml
from cakebook.gate.pins import pin
from cakebook.gate.trust import ROOT
from cakebook.repo.layout import GOVERNED, PACKAGED_BOOK, POLICY, VOCABULARY, FolderSource, is_book
from cakebook.settings import Settings

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
README = """\
# {name}

Lessons in `entries/`, one per Markdown file; policy, vocabulary and trust in `book/`.

    cakebook new my-lesson --title "…" --dsl ascendc     # a scaffold
    cakebook lint                                        # what is missing
    cakebook preview entries --query "…"                 # search drafts, marked as such
    cakebook sync                                        # index what the gate admits

Nothing is admitted yet: this book has no reviewers. Its root is `sha256:{root}`; whoever else uses it sets
`CAKEBOOK_TRUST_ROOT` to that.
"""


@dataclass(frozen=True)
class Started:
    """A new book: its folder, its id, and the sha256 of its root, which is pinned for this user."""

    folder: str
    book: str
    root: str


def start(folder: Path, name: str, settings: Settings) -> Started:
    """Write a book into `folder`, which must be new or empty, and pin its root. It is built aside and moved into place.

    Raises:
        BadArgument: `name` (the folder's by default) cannot begin an id.
        AlreadyExists: there is something in the folder.
        StoreIO: writing failed; nothing is left but, at most, the pin of a root that no book has.
        NotABook: this installation has no book to take the vocabulary from.
    """
    folder = Path(os.path.realpath(folder))  # a link to an empty folder means that folder
    name = name or re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")
    if not _NAME.fullmatch(name) or len(name) > 40:
        raise BadArgument(f"`{name[:80]}` cannot begin a book's id", hint="--name: lower-case words joined by hyphens")
    shipped = FolderSource(_shipped_book())
    book = f"{name}-{secrets.token_hex(4)}"
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            what = "holds a book already" if is_book(folder) else "is not empty" if folder.is_dir() else "is a file"
            raise AlreadyExists(f"{folder} {what}", hint="name a new folder, or an empty one")
        # A folder that is there stays: somebody may stand in it, and its mode is its owner's business.
        aside = folder if folder.exists() else folder.parent
        aside.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=aside, prefix=".cakebook-init-") as building:
            made = Path(building) / "book"
            for path in (POLICY, *shipped.paths(VOCABULARY)):
                _put(made / path, shipped.read(path))
            own = FolderSource(made)
            files = {p: sha256(own.read(p)).hexdigest() for part in GOVERNED for p in own.paths(part)}
            anchor = anchor_yaml(book, None, files)
            root = sha256(anchor).hexdigest()
            _put(made / ROOT, anchor)
            _put(made / "entries" / ".gitkeep", b"")
            _put(made / "README.md", README.format(name=name, root=root).encode())
            _put(made / ".gitignore", b".cakebook/\n")
            _put(made / ".gitattributes", b"entries/** -text\nbook/** -text\n")
            pin(settings, root, book)
            _move(made, folder)
    except OSError as error:
        raise StoreIO(f"{error.filename or folder}: {error.strerror}", hint="mend the permissions or free some space") from None
    return Started(str(folder), book, root)


def _move(made: Path, folder: Path) -> None:
    """Put `made` where `folder` is to be; if that fails half-way, take back what was put there."""
    if not folder.exists():
        made.rename(folder)
        return
    done: list[Path] = []
    try:
        for part in sorted(made.iterdir()):
            target = folder / part.name
            if os.path.lexists(target):  # somebody else is at work here
                raise AlreadyExists(f"{target} has just been written", hint="name a new folder, or an empty one")
            part.rename(target)
            done.append(target)
    except BaseException:
        for path in done:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        raise


def _put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _shipped_book() -> Path:
    """The book that this installation carries, or that lies beside the code."""
    for candidate in (PACKAGED_BOOK, Path(__file__).parents[2]):
        if (candidate / POLICY).is_file():
            return candidate
    raise NotABook("this installation carries no book", hint="reinstall cakebook")
