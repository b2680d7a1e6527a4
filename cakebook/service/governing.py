"""Governing a book: who may decide, what was decided, and whether a change may pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cakebook.errors import BadArgument, CannotSign, NoSuchEntry, NotABook
from cakebook.service.base import Base

if TYPE_CHECKING:
    from cakebook.gate.admin import Version
    from cakebook.gate.signing import Signer
    from cakebook.model.review import Person, Role


@dataclass(frozen=True)
class TrustShown:
    """What counts in a book, and what does not. `lost`: sha256 of statements that the chain lists and nobody has."""

    book: str
    root: str | None
    believed: bool
    n: int | None
    edition: int | None
    admins: tuple[str, ...]
    uncovered: tuple[str, ...]
    lost: tuple[str, ...]
    notes: tuple[str, ...]


class Governing(Base):
    """The methods behind `trust`, `people` and `review`."""

    def trust_init(
        self, person_id: str, *, name: str = "", emails: Sequence[str] = (), key: str = "", book: str = ""
    ) -> Version:
        """Start a chain of trust with one admin, who may also review every kind; see `gate.admin.begin`."""
        from cakebook.gate.admin import begin, new_person
        from cakebook.model.review import Role

        signer = self._signer(key)
        roles = [Role(role="admin", since=1), Role(role="reviewer", kinds=("all",), since=1)]
        addresses = tuple(emails) or self._own_address()
        person = new_person(person_id, 1, keys=[signer.public.text], roles=roles, emails=addresses, name=name)
        version = begin(self.root, self.settings, person, signer, book)
        self._reload()
        return version

    def trust_update(self, *, key: str = "", approvals: int | None = None) -> Version:
        """Sign a version that covers the governed files as they stand, or the one that waits; see `gate.admin.advance`."""
        from cakebook.gate.admin import advance

        return advance(self.root, self.settings, self._signer(key), approvals=approvals)

    def trust_pin(self, digest: str = "") -> tuple[str, str]:
        """Believe the root that is here; `digest` must be its sha256 if given. Returns digest and book id.

        Raises:
            BadArgument: it is another root. NotABook: there is none.
        """
        from hashlib import sha256

        from cakebook.gate.pins import pin
        from cakebook.gate.trust import ROOT
        from cakebook.model.review import Anchor
        from cakebook.repo.layout import FolderSource
        from cakebook.repo.vocabulary import load_model

        source = FolderSource(self.root)
        if ROOT not in source.paths(ROOT):
            raise NotABook(f"there is no {ROOT} here", hint="cakebook init DIR starts a book")
        found = sha256(source.read(ROOT)).hexdigest()
        if digest and digest.lower().removeprefix("sha256:") != found:
            raise BadArgument(f"the root here is sha256:{found}", hint="compare it with what its admins told you")
        anchor = load_model(source, ROOT, Anchor)
        pin(self.settings, found, anchor.book)
        self._reload()
        return found, anchor.book

    def trust_show(self) -> TrustShown:
        """The state of the chain of trust."""
        facts = self._facts()
        trust, anchor = facts.trust, facts.trust.anchor
        return TrustShown(
            book=trust.book,
            root=trust.root,
            believed=anchor is not None,
            n=anchor.n if anchor else None,
            edition=facts.founding.edition if facts.founding else None,
            admins=tuple(sorted(anchor.admins)) if anchor else (),
            uncovered=facts.uncovered,
            lost=facts.lost,
            notes=tuple(filter(None, (trust.reason, trust.broken))),
        )

    def people(self) -> list[Person]:
        """The people whom the book's chain of trust covers, by id."""
        facts = self._facts()
        return [facts.people[person] for person in sorted(facts.people)]

    def people_add(
        self, person_id: str, *, keys: Sequence[str], roles: Sequence[str] = (), emails: Sequence[str] = (), name: str = "",
        operator: str = "", replace_keys: bool = False, signing_key: str = "",
    ) -> Version:  # fmt: skip
        """Add a person or an agent, or give one that is there further keys, roles and addresses; signed by an admin.

        `keys`: public keys or files that hold one; `roles`: `admin`, `reviewer` or `reviewer:kind,kind`; `replace_keys`: the
        keys that there were end here, and what was decided with them is honoured.
        """
        from cakebook.gate.admin import administered, advance, counting_statements, new_person

        facts, anchor = administered(self.root, self.settings)
        n = anchor.n + 1
        made = new_person(
            person_id, n, keys=[_public_text(k) for k in keys], roles=[_role(text, n) for text in roles], emails=emails,
            name=name, operator=operator,
        )  # fmt: skip
        honoured: dict[str, Sequence[str]] = {}
        if old := facts.people.get(person_id):
            if replace_keys:
                old = old.model_copy(update={"keys": _ended(old, old.state, n).keys})
                honoured = {person_id: counting_statements(facts, person_id)}
                # What takes a key's place counts for what that one counted for.
                spaces = _union((), [space for k in old.keys for space in k.namespaces])
                heirs = tuple(k.model_copy(update={"namespaces": _union(k.namespaces, spaces)}) for k in made.keys)
                made = made.model_copy(update={"keys": heirs})
            made = _merged(old, made)
        self._check_kinds(made)
        return advance(self.root, self.settings, self._signer(signing_key), people={person_id: made}, honoured=honoured)

    def people_retire(self, person_id: str, *, signing_key: str = "") -> Version:
        """Take a person out and keep what they decided; see `people_revoke`."""
        from cakebook.gate.admin import administered, advance, counting_statements

        facts, anchor = administered(self.root, self.settings)
        person = self._person(facts.people, person_id)
        gone = _ended(person, "retired", anchor.n + 1)
        kept = {person_id: counting_statements(facts, person_id)}
        return advance(self.root, self.settings, self._signer(signing_key), people={person_id: gone}, honoured=kept)

    def people_revoke(self, person_id: str, *, keep: Sequence[str] = (), signing_key: str = "") -> Version:
        """Take a person out, and with them every decision but those whose sha256 is in `keep`."""
        from cakebook.gate.admin import administered, advance

        facts, anchor = administered(self.root, self.settings)
        gone = _ended(self._person(facts.people, person_id), "revoked", anchor.n + 1)
        return advance(
            self.root, self.settings, self._signer(signing_key), people={person_id: gone}, honoured={person_id: tuple(keep)}
        )

    def people_losing(self, person_id: str) -> list[str]:
        """Ids that would no longer be served if everything that a person decided were void."""
        from cakebook.gate.admin import administered
        from cakebook.repo.entries import read_entries

        facts, anchor = administered(self.root, self.settings)
        gone = _ended(self._person(facts.people, person_id), "revoked", anchor.n)
        without = replace(facts, people={**facts.people, person_id: gone})
        void = replace(without, trust=replace(facts.trust, anchor=anchor.model_copy(update={"honoured": {}})))
        return [file.id for file in read_entries(facts.source) if facts.judge(file).served and not void.judge(file).served]

    def install_hook(self, bare: Path, branch: str, root: str = "") -> tuple[Path, str]:
        """Put the gate into a bare repository, which believes `root` (default: that of this book); see `review.hook.install`.

        Returns the hook's path and the root.
        """
        from cakebook.review.hook import install

        trust = self._facts().trust
        believed = root or (trust.root if trust.anchor else "") or ""
        return install(bare, branch, believed), believed.lower().removeprefix("sha256:")

    def _facts(self) -> Any:
        from cakebook.gate.facts import gather
        from cakebook.repo.layout import FolderSource

        return gather(FolderSource(self.root), self.settings.trust_roots)

    def _signer(self, key: str) -> Signer:
        from cakebook.gate.signing import SigningFailed, find_signer

        try:
            return find_signer(key, self.root)
        except SigningFailed as error:
            raise CannotSign(str(error), hint=error.hint) from None

    def _own_address(self) -> tuple[str, ...]:
        from cakebook.repo.git import Repository

        repository = Repository.around(self.root)
        address = repository.config("user.email") if repository else ""
        return (address,) if address else ()

    def _person(self, people: Any, person_id: str) -> Person:
        if person_id not in people:
            raise NoSuchEntry(f"nobody `{person_id[:80]}` here", hint=f"there are: {', '.join(sorted(people))}")
        found: Person = people[person_id]
        return found

    def _check_kinds(self, person: Person) -> None:
        from cakebook.repo.layout import FolderSource
        from cakebook.repo.vocabulary import load_vocabulary

        known = load_vocabulary(FolderSource(self.root)).files.get("kinds", {})
        for kind in (k for role in person.roles for k in role.kinds):
            if kind != "all" and kind not in known:
                raise BadArgument(f"--role: no kind `{kind[:80]}`", hint=f"all, or: {', '.join(known)}")

    def _reload(self) -> None:
        """The pins have changed."""
        from cakebook.settings import Settings

        self.settings = Settings.from_environment()


def _public_text(given: str) -> str:
    path = Path(given).expanduser()
    try:
        return path.read_text("utf-8").strip() if path.is_file() else given
    except (OSError, ValueError) as error:
        raise BadArgument(f"--key: {path}: {error}", hint="give an OpenSSH public key, or its .pub file") from None


def _role(text: str, n: int) -> Role:
    from cakebook.model.review import Role

    name, _, kinds = text.partition(":")
    if name == "admin" and not kinds:
        return Role(role="admin", since=n)
    if name == "reviewer":
        return Role(role="reviewer", kinds=tuple(k for k in (kinds or "all").split(",") if k), since=n)
    raise BadArgument(f"--role `{text[:80]}`", hint="admin, reviewer, or reviewer:tiling,memory")


def _merged(old: Person, new: Person) -> Person:
    """`old` with what `new` adds; a key that both have keeps its beginning, and counts for what either says."""
    if old.kind != new.kind:
        raise BadArgument(f"{old.id} is {'an agent' if old.kind == 'agent' else 'a person'}", hint="choose another id")
    known = {key.public for key in old.keys}
    had = {(role.role, role.kinds) for role in old.roles if role.until is None}
    spaces = {key.public: key.namespaces for key in new.keys}
    return old.model_copy(
        update={
            "name": new.name or old.name,
            "emails": _union(old.emails, new.emails),
            "roles": (*old.roles, *(r for r in new.roles if (r.role, r.kinds) not in had)),
            "keys": (
                *(k.model_copy(update={"namespaces": _union(k.namespaces, spaces.get(k.public, ()))}) for k in old.keys),
                *(key for key in new.keys if key.public not in known),
            ),
        }
    )


def _union(some: Sequence[str], more: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*some, *more]))


def _ended(person: Person, state: Any, n: int) -> Person:
    return person.model_copy(
        update={
            "state": state,
            "roles": tuple(r if r.until is not None else r.model_copy(update={"until": n}) for r in person.roles),
            "keys": tuple(k if k.until is not None else k.model_copy(update={"until": n}) for k in person.keys),
        }
    )
