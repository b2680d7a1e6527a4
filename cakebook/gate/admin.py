"""What admins do: begin a chain of trust, add people and take them out, sign the next version."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cakebook.errors import AlreadyExists, AnchorInvalid, BadArgument, CannotSign, NotAuthorised
from cakebook.gate.facts import Facts, gather
from cakebook.gate.founding import anchor_yaml, covered_files, write_files
from cakebook.gate.pins import pin
from cakebook.gate.signing import Signer, SigningFailed, public_key, sign
from cakebook.gate.trust import ADMIN, ROOT, shipped_roots, signature_path, signers, version_path
from cakebook.gate.verdict import REVIEW
from cakebook.model.entry import is_id
from cakebook.model.review import Anchor, Key, Person, Role
from cakebook.repo.layout import PEOPLE, FolderSource
from cakebook.repo.people import person_path, read_people
from cakebook.settings import Settings


@dataclass(frozen=True)
class Version:
    """A trust version as written. `missing`: how many admins of the version before must still sign; `empty`: nothing new."""

    n: int
    book: str
    digest: str
    signed_by: tuple[str, ...]
    missing: int
    files: tuple[str, ...]
    statements: int
    empty: bool = False


def begin(root: Path, settings: Settings, person: Person, signer: Signer, name: str = "") -> Version:
    """Start a chain: a new root, signed by `person`, the first admin, and pinned for this user. The founding list is frozen.

    Raises:
        AlreadyExists: the book has admins. AnchorInvalid: its present root is not believed.
        BadArgument: the person or the name has the wrong form. CannotSign, StoreIO.
    """
    source = FolderSource(root)
    facts = gather(source, settings.trust_roots)
    anchor = facts.trust.anchor
    if anchor is None:
        raise AnchorInvalid(facts.trust.reason, hint="a chain starts from a root that you believe")
    if anchor.admins:
        raise AlreadyExists(f"the book {anchor.book} has admins: {', '.join(sorted(anchor.admins))}", hint="ask one of them")
    book = anchor.book
    if book in {r.book for r in shipped_roots()}:  # a fork of the shipped book is another book
        name = name or f"{root.resolve().name.lower()}"
        stem = "-".join(filter(None, "".join(c if c.isascii() and c.isalnum() else "-" for c in name).split("-")))
        book = f"{stem or 'book'}-{secrets.token_hex(4)}"
    files = covered_files(source) | {person_path(person.id): sha256(person_yaml(person)).hexdigest()}
    data = anchor_yaml(
        book, anchor.edition, files, forked_from=facts.trust.root, admins=admins_of({person.id: person}),
    )  # fmt: skip
    signature = signature_of(signer, ADMIN, data)
    write_files(root, {person_path(person.id): person_yaml(person), signature_path(1, person.id): signature, ROOT: data})
    digest = sha256(data).hexdigest()
    pin(settings, digest, book)
    return Version(1, book, digest, (person.id,), 0, tuple(sorted(files)), 0)


def advance(
    root: Path,
    settings: Settings,
    signer: Signer,
    *,
    people: Mapping[str, Person] | None = None,
    honoured: Mapping[str, Sequence[str]] | None = None,
    approvals: int | None = None,
) -> Version:
    """Write and sign the next version over what stands in the work tree, with `people` changed; or sign the one that waits.

    `honoured`: statements of people who left that still count, for those named; `approvals`: signatures that versions after
    this one need.

    Raises:
        NotAuthorised: the key is none of an admin. BadArgument: the version would leave the book without admins, or a
            version that differs waits for signatures. AnchorInvalid, CannotSign, StoreIO, BookFileInvalid.
    """
    source = FolderSource(root)
    facts, old = administered(root, settings)
    who = admin_of(old, signer)
    if people and facts.uncovered:
        files_here = ", ".join(facts.uncovered)
        raise BadArgument(
            f"{files_here} differ from what the book covers", hint="restore them, or `cakebook trust update` first"
        )
    all_people = {**_people(source), **(people or {})}
    admins = admins_of(all_people)
    wanted = approvals or old.admin_approvals
    if len(admins) < max(1, wanted):
        raise BadArgument(f"{len(admins)} admins would be left, and {max(1, wanted)} must sign", hint="add an admin first")
    written = {person_path(p): person_yaml(person) for p, person in (people or {}).items()}
    files = covered_files(source) | {path: sha256(data).hexdigest() for path, data in written.items()}
    new = facts.held - facts.trust.recorded
    kept = {**old.honoured, **(honoured or {})}
    data = anchor_yaml(
        old.book, old.edition, files, n=old.n + 1, previous=facts.trust.head, admins=admins, admin_approvals=wanted,
        statements=sorted(new), honoured={p: sorted(kept[p]) for p in kept if kept[p]},
    )  # fmt: skip
    path = version_path(old.n + 1)
    waits = source.read(path) if path in source.paths(path) else None
    if waits is not None and waits != data:
        raise BadArgument(
            f"{path} waits for signatures and does not cover what is here", hint="restore the files, or remove it"
        )
    changed = tuple(sorted(p for p in {**files, **old.files} if files.get(p) != old.files.get(p)))
    if waits is None and not changed and not new and kept == dict(old.honoured) and wanted == old.admin_approvals:
        return Version(old.n, old.book, facts.trust.head, (), 0, (), 0, empty=True)
    write_files(root, {**written, signature_path(old.n + 1, who): signature_of(signer, ADMIN, data), path: data})
    got = signers(source, old.n + 1, data, old.admins)
    missing = max(0, max(1, old.admin_approvals) - len(got))
    return Version(old.n + 1, old.book, sha256(data).hexdigest(), tuple(got), missing, changed, len(new))


def administered(root: Path, settings: Settings) -> tuple[Facts, Anchor]:
    """The facts of a book with admins, and its anchor.

    Raises:
        AnchorInvalid: its root is not believed. NotAuthorised: it has no admin yet.
    """
    facts = gather(FolderSource(root), settings.trust_roots)
    if facts.trust.anchor is None:
        raise AnchorInvalid(facts.trust.reason, hint="cakebook trust pin, if you know where the book comes from")
    if not facts.trust.anchor.admins:
        raise NotAuthorised("the book has no admin yet", hint="cakebook trust init --id YOU starts a chain of trust")
    return facts, facts.trust.anchor


def admin_of(anchor: Anchor, signer: Signer) -> str:
    """The admin whose key it is.

    Raises:
        NotAuthorised: it is nobody's.
    """
    for person, keys in anchor.admins.items():
        if any(public_key(key).blob == signer.public.blob for key in keys):
            return person
    raise NotAuthorised(
        f"{signer.public.fingerprint} is no key of an admin ({', '.join(sorted(anchor.admins))})",
        hint="--sign-with",
    )


def new_person(
    person_id: str, n: int, *, keys: Sequence[str], roles: Sequence[Role], emails: Sequence[str] = (), name: str = "",
    operator: str = "",
) -> Person:  # fmt: skip
    """A person, or with `operator` an agent, from trust version `n` on.

    Raises:
        BadArgument: the id cannot be one, a key cannot be read, or an agent gets a role.
    """
    from cakebook.gate.signing import SignatureInvalid

    if not is_id(person_id):
        raise BadArgument(f"`{person_id[:80]}` cannot be an id", hint="lower-case letters, digits and single hyphens")
    if operator and roles:
        raise BadArgument("an agent has no roles: only people decide", hint="leave out --role")
    spaces = [REVIEW] if not operator else []
    if any(role.role == "admin" for role in roles):
        spaces.append(ADMIN)
    try:
        made = tuple(Key(public=public_key(text).text, namespaces=tuple(spaces), since=n) for text in keys)
    except SignatureInvalid as error:
        raise BadArgument(f"--key: {error}", hint="give an OpenSSH public key, or its .pub file") from None
    return Person(
        id=person_id,
        kind="agent" if operator else "person",
        operator=operator or None,
        name=name,
        emails=tuple(emails),
        roles=tuple(roles),
        keys=made,
    )


def admins_of(people: Mapping[str, Person]) -> dict[str, list[str]]:
    """Active admins, and their keys for trust versions."""
    found = {}
    for person in people.values():
        active = person.state == "active" and any(r.role == "admin" and r.until is None for r in person.roles)
        keys = [key.public for key in person.keys if key.until is None and ADMIN in key.namespaces]
        if active and keys:
            found[person.id] = keys
    return found


def counting_statements(facts: Facts, person_id: str) -> list[str]:
    """sha256 of a person's statements that count today: what is honoured when they leave."""
    every = (signed for entry_id in facts.statement_paths for signed in facts.about(entry_id).statements)
    return sorted(s.sha for s in every if s.statement.reviewer == person_id and facts.objection(s) is None)


def person_yaml(person: Person) -> bytes:
    """The bytes of a person's file."""
    given: dict[str, Any] = person.model_dump(mode="json", exclude_defaults=True)
    given = {"id": person.id, "kind": person.kind, **given}
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in given.items()).encode()


def _people(source: FolderSource) -> dict[str, Person]:
    return read_people(source, [p for p in source.paths(PEOPLE) if p.endswith(".yaml")])


def signature_of(signer: Signer, namespace: str, data: bytes) -> bytes:
    """A signature under `data`.

    Raises:
        CannotSign: the key cannot be used.
    """
    try:
        return sign(signer, namespace, data)
    except SigningFailed as error:
        raise CannotSign(str(error), hint=error.hint) from None
