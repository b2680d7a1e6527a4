"""The trust anchor: which `book/trust/1.yaml` is believed, and what it covers.

A root is believed when the sha256 of its bytes is one of the shipped editions (`cakebook/data/roots.txt`) or is named in
`CAKEBOOK_TRUST_ROOT`. The chain of signed versions on top of it comes with people and signatures; until then a book has
version 1 only, unsigned, because nobody is its admin yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from cakebook.errors import AnchorInvalid, BookFileInvalid
from cakebook.model.review import Anchor
from cakebook.repo.layout import TRUST, UNANCHORED, BookSource
from cakebook.repo.vocabulary import load_model
from cakebook.settings import SHIPPED_ROOTS

ROOT = f"{TRUST}/1.yaml"
SCHEMA = "cakebook-trust-v1"


@dataclass(frozen=True)
class ShippedRoot:
    """One line of `roots.txt`: a root that this project once shipped."""

    digest: str
    book: str
    edition: int


@cache
def shipped_roots(path: Path = SHIPPED_ROOTS) -> tuple[ShippedRoot, ...]:
    """Every root ever shipped, oldest first: an older revision of the book reads as it was.

    Raises:
        BookFileInvalid: a line is not a digest, a book id and an edition.
    """
    roots = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            try:
                root, book, edition = line.split()
                roots.append(ShippedRoot(root, book, int(edition)))
            except ValueError:
                where = f"{path.name}:{number}"
                raise BookFileInvalid(f"{where}: not a digest, a book id and an edition", hint="restore the file") from None
    return tuple(roots)


@dataclass(frozen=True)
class Trust:
    """`anchor` is None where no root is believed; `reason` then says what to do."""

    anchor: Anchor | None
    root: str | None
    reason: str = ""

    @property
    def book(self) -> str:
        """The book's id; a folder without an anchor has none of its own."""
        return self.anchor.book if self.anchor else UNANCHORED

    def covers(self, path: str, data: bytes) -> bool:
        """Whether the anchor lists `path` with exactly these bytes."""
        return self.anchor is not None and self.anchor.files.get(path) == sha256(data).hexdigest()


def read_trust(source: BookSource, pinned: frozenset[str]) -> Trust:
    """The anchor of `source`, if its root is believed.

    Raises:
        AnchorInvalid: the root is believed and is not a version 1, or another version stands beside it that this release
            cannot verify.
    """
    if ROOT not in source.paths(TRUST):
        return Trust(None, None, f"there is no {ROOT}, so nothing in this book is vouched for")
    data = source.read(ROOT)
    root = sha256(data).hexdigest()
    if root not in pinned and root not in {r.digest for r in shipped_roots()}:
        reason = (
            f"the root sha256:{root} is not one that this release knows: upgrade cakebook, or, if you know where the book "
            f"comes from, set CAKEBOOK_TRUST_ROOT={root}"
        )
        return Trust(None, root, reason)
    anchor = load_model(source, ROOT, Anchor)
    if anchor.n != 1 or anchor.schema_ != SCHEMA or anchor.previous is not None:
        raise AnchorInvalid(f"{ROOT}: not version 1 of {SCHEMA}", hint="restore the file from a known good commit")
    if anchor.admins or any(p.endswith("/2.yaml") for p in source.paths(TRUST)):
        raise AnchorInvalid(f"{TRUST}: signed versions need a newer release", hint="upgrade cakebook")
    return Trust(anchor, root)
