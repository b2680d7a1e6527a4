"""The trust anchor: which `book/trust/1.yaml` is believed, and what it covers.

A root is believed when the sha256 of its bytes is one of the shipped editions (`cakebook/data/roots.txt`) or is pinned, in
`CAKEBOOK_TRUST_ROOT` or by `cakebook trust pin`. It is unsigned while the book has no admin, and no version follows it then.
With admins it is signed by one of them, and each further version by as many admins of the one before as that one asks for. The
chain is checked upward from the root alone, so it says the same in a clone, an export and a plain folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
ADMIN = "cakebook-admin"
"""Namespace of signatures under trust versions."""


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
    """`anchor`: the version that counts, None where no root is believed; `reason` then says what to do.

    `broken`: why the next version does not count, although its file is there. `recorded`: sha256 of every statement that some
    version of the chain lists: one that is no longer in the ledger was lost.
    """

    anchor: Anchor | None
    root: str | None
    reason: str = ""
    broken: str = ""
    recorded: frozenset[str] = frozenset()
    head: str = ""

    @property
    def book(self) -> str:
        """The book's id; a folder without an anchor has none of its own."""
        return self.anchor.book if self.anchor else UNANCHORED

    def covers(self, path: str, data: bytes) -> bool:
        """Whether the anchor lists `path` with exactly these bytes."""
        return self.anchor is not None and self.anchor.files.get(path) == sha256(data).hexdigest()


def read_trust(source: BookSource, pinned: frozenset[str]) -> Trust:
    """The chain of `source`, if its root is believed, as far as every version is signed by the admins of the one before.

    Raises:
        AnchorInvalid: the root is believed and is not a version 1, or lists admins none of whom has signed it.
        BookFileInvalid: the root has not the form of a trust version.
    """
    paths = frozenset(source.paths(TRUST))
    if ROOT not in paths:
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
    if anchor.admins and not signers(source, 1, data, anchor.admins):
        raise AnchorInvalid(f"{ROOT}: none of its admins has signed it", hint="restore the files from a known good commit")
    recorded = {*anchor.statements}
    while (path := version_path(anchor.n + 1)) in paths:
        try:
            following, data = _following(source, path, anchor, data)
        except (BookFileInvalid, VersionInvalid) as error:
            why = error.message if isinstance(error, BookFileInvalid) else str(error)
            return Trust(anchor, root, broken=why, recorded=frozenset(recorded), head=sha256(data).hexdigest())
        anchor = following
        recorded |= {*anchor.statements}
    return Trust(anchor, root, recorded=frozenset(recorded), head=sha256(data).hexdigest())


class VersionInvalid(Exception):
    """Why a version of the chain does not count: one line."""


def version_path(n: int) -> str:
    """Where version `n` of the chain lies."""
    return f"{TRUST}/{n}.yaml"


def signature_path(n: int, person: str) -> str:
    """Where a person's signature under version `n` lies."""
    return f"{TRUST}/{n}.{person}.sig"


def _following(source: BookSource, path: str, before: Anchor, data: bytes) -> tuple[Anchor, bytes]:
    """The version after `before`, whose bytes are `data`, and its own bytes.

    Raises:
        VersionInvalid, BookFileInvalid: it does not count.
    """
    new = source.read(path)
    anchor = load_model(source, path, Anchor)
    if anchor.schema_ != SCHEMA or anchor.n != before.n + 1 or anchor.book != before.book:
        raise VersionInvalid(f"{path}: not version {before.n + 1} of the book {before.book}")
    if anchor.previous != sha256(data).hexdigest():
        raise VersionInvalid(f"{path}: does not follow the version {before.n} that is here")
    if not anchor.admins:
        raise VersionInvalid(f"{path}: leaves the book without an admin")
    wanted, got = max(1, before.admin_approvals), signers(source, anchor.n, new, before.admins)
    if len(got) < wanted:
        raise VersionInvalid(f"{path}: signed by {', '.join(got) or 'no admin'} of version {before.n}; {wanted} must sign")
    return anchor, new


def signers(source: BookSource, n: int, data: bytes, admins: Mapping[str, Sequence[str]]) -> list[str]:
    """Who of `admins` has signed version `n`, whose bytes are `data`. A key that two of them list signs for the first."""
    paths = frozenset(source.paths(TRUST))
    used: set[str] = set()
    found = []
    for person in sorted(admins):
        path = signature_path(n, person)
        keys = [key for key in admins[person] if key not in used]
        used |= {*keys}
        if path in paths and any(_signed(key, data, source.read(path)) for key in keys):
            found.append(person)
    return found


def _signed(key: str, data: bytes, signature: bytes) -> bool:
    from cakebook.gate.signing import SignatureInvalid, public_key, verify

    try:
        verify(public_key(key), ADMIN, data, signature)
    except SignatureInvalid:
        return False
    return True
