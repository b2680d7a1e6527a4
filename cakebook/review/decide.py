"""Deciding about entries: a statement is made, judged as the gate will judge it, signed, and filed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cakebook.errors import BadArgument, GateRefuses, NoSuchEntry, NotAuthorised
from cakebook.gate.admin import administered, signature_of
from cakebook.gate.facts import Facts
from cakebook.gate.founding import write_files
from cakebook.gate.ledger import make_statement, statement_path, statement_yaml
from cakebook.gate.signing import Signer, public_key
from cakebook.gate.verdict import REVIEW, objection, person_of
from cakebook.model.review import Basis, Decision, EntryBytes, Key, Person, Signed, Statement
from cakebook.repo.entries import EntryFile
from cakebook.repo.git import Repository
from cakebook.repo.layout import FolderSource
from cakebook.review.changes import generated_by
from cakebook.review.proposals import Proposal, find
from cakebook.settings import Settings

DECLINE_REASONS = ("duplicate", "unverifiable", "too-specific", "wrong", "out-of-scope")
"""What a decline gives as its reason, or begins it with."""


@dataclass(frozen=True)
class Decided:
    """A statement as filed."""

    id: str
    decision: Decision
    reviewer: str
    path: str
    digest: str


def decide(
    root: Path,
    settings: Settings,
    ids: Sequence[str],
    decision: Decision,
    signer: Signer,
    at: str,
    *,
    basis: Sequence[Basis] = (),
    reason: str = "",
    successor: str = "",
) -> list[Decided]:
    """Sign `decision` about each of `ids`, as proposed, else as in the work tree. Nothing is written unless all is good.

    Raises:
        NoSuchEntry: a file of this id is not there. NotAuthorised: the key is nobody's who may review.
        GateRefuses: the gate would not count the statement; nothing was signed.
        BadArgument: basis, reason or successor is missing or wrong. CannotSign, StoreIO.
    """
    source = FolderSource(root)
    facts, anchor = administered(root, settings)
    person, key = _reviewer(facts, signer)
    repository = Repository.around(root)
    _check_arguments(decision, basis, reason, successor, repository, source)
    made: list[tuple[EntryFile, Statement, bytes]] = []
    for entry_id in dict.fromkeys(ids):
        proposal = find(repository, source, entry_id)
        if proposal is None or (entry := proposal.file.entry) is None or proposal.file.problems:
            raise NoSuchEntry(f"no readable entry `{entry_id[:80]}`", hint="`cakebook review list` shows what waits")
        file = proposal.file
        authors = authors_of(proposal, repository, facts)
        statement = make_statement(
            {
                "book": anchor.book, "entry": file.id, "digest": file.digest, "kind": entry.kind, "decision": decision,
                "reviewer": person.id, "authors": sorted(authors), "basis": tuple(basis), "reason": reason,
                "successor": successor or None, "trust": anchor.n, "previous": heads(facts, file.id), "at": at,
            }
        )  # fmt: skip
        about = facts.about(file.id, authors)
        data = statement_yaml(statement)
        why = objection(EntryBytes(file.id, file.data, "", entry.kind), Signed("", statement, key), about)
        if why is not None:
            raise GateRefuses(f"{file.id}: {why.text}", hint="somebody else has to decide this", refused=[why.code])
        made.append((file, statement, data))
    signed = [(file, statement, data, signature_of(signer, REVIEW, data)) for file, statement, data in made]
    return [_file(root, *each) for each in signed]


def authors_of(proposal: Proposal, repository: Repository | None, facts: Facts) -> frozenset[str]:
    """Who wrote an entry: those whom history shows, and what it says about its own origin.

    Raises:
        BadArgument: the file is not committed as it is, so history says nothing about these bytes.
    """
    path, found = proposal.file.path, generated_by(proposal.file)
    if repository is not None:
        if not proposal.revision and repository.differs((path,)):
            raise BadArgument(f"{path} is not committed as it is", hint="commit it first")
        found |= repository.authors(path, proposal.since, proposal.revision or "HEAD") or frozenset()
    return frozenset(person_of(author, facts.people) for author in found)


def heads(facts: Facts, entry_id: str) -> tuple[str, ...]:
    """sha256 of the statements about an entry that no other one had seen."""
    known = facts.about(entry_id).statements
    seen = {sha for signed in known for sha in signed.statement.previous}
    return tuple(sorted(signed.sha for signed in known if signed.sha not in seen))


def _reviewer(facts: Facts, signer: Signer) -> tuple[Person, Key]:
    for person in facts.people.values():
        for key in person.keys:
            if public_key(key.public).blob == signer.public.blob:
                return person, key
    raise NotAuthorised(
        f"{signer.public.fingerprint} is the key of nobody in this book", hint="an admin adds people: cakebook people add"
    )


def _check_arguments(
    decision: Decision,
    basis: Sequence[Basis],
    reason: str,
    successor: str,
    repository: Repository | None,
    source: FolderSource,
) -> None:
    if decision in ("approve", "reinstate") and not basis:
        raise BadArgument("--basis is missing: on what is this decided?", hint="read-sources, ran-check, own-expertise …")
    if decision != "approve" and not reason.strip():
        raise BadArgument(f"--reason is missing: why {decision}?", hint="one sentence for whoever meets the entry later")
    if decision == "decline" and reason.split(":")[0].strip() not in DECLINE_REASONS:
        raise BadArgument("a decline begins with its reason", hint=" | ".join(DECLINE_REASONS) + ", then `: text` if you like")
    if decision == "supersede" and find(repository, source, successor) is None:
        raise BadArgument("--successor names the entry that takes its place", hint="the id of an entry of this book")
    if decision != "supersede" and successor:
        raise BadArgument("--successor belongs to supersede", hint="leave it out")


def _file(root: Path, file: EntryFile, statement: Statement, data: bytes, signature: bytes) -> Decided:
    path = statement_path(statement, data)
    # The signature first: a statement without one would count against its signer.
    write_files(root, {f"{path}.sig": signature, path: data})
    return Decided(file.id, statement.decision, statement.reviewer, path, file.digest)
