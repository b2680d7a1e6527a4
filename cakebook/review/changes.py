"""A change of a Git branch before the gate: two revisions, the authors between them, and who signed the commits."""

from __future__ import annotations

from cakebook.errors import NotABook
from cakebook.gate.check import Checked, Refused, check_change
from cakebook.gate.facts import Facts, gather
from cakebook.gate.signing import PublicKey, SignatureInvalid, public_key, verify
from cakebook.gate.verdict import person_of
from cakebook.model.base import UNKNOWN
from cakebook.model.review import Person
from cakebook.repo.entries import EntryFile, read_entry
from cakebook.repo.git import Commit, Repository
from cakebook.repo.layout import ENTRIES, JUDGED


def check_range(repository: Repository, pinned: frozenset[str], base: str | None, head: str) -> Checked:
    """Judge what the branch becomes when it moves from `base` (None: it is new) to `head`. See `gate.check.check_change`.

    Raises:
        BadRevision: a revision is not there. AnchorInvalid, BookFileInvalid, Unreadable, GitFailed.
    """
    after = repository.at(head, JUDGED)
    before = repository.at(base, JUDGED) if base else None
    if not after.paths(ENTRIES) and not after.paths("book"):
        raise NotABook(f"{head[:12]}: no book there", hint="give a branch that holds `entries/` and `book/`")
    facts, old = gather(after, pinned), gather(before, pinned) if before else None

    def authors(path: str) -> frozenset[str] | None:
        shown = repository.authors(path, before.commit if before else None, after.commit)
        return None if shown is None else shown | generated_by(read_entry(path, after.read(path)))

    checked = check_change(old, facts, after.changed(before), authors)
    forged = _forged(repository.commits(before.commit if before else None, after.commit, ENTRIES), facts)
    return Checked((*checked.refused, *forged), checked.verdicts)


def generated_by(file: EntryFile) -> frozenset[str]:
    """What an entry says about its own origin, as a set of one or none."""
    by = file.entry.generated.by.strip() if file.entry and file.entry.generated else ""
    return frozenset({by} - {"", UNKNOWN})


def trusted_branch(repository: Repository) -> str:
    """The branch that the gate guards: `cakebook.branch` of the Git configuration, else the remote's default, else main."""
    named = repository.config("cakebook.branch")
    candidates = [named] if named else ["refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"]
    return next((name for name in candidates if repository.has(name)), "")


def _forged(commits: list[Commit], facts: Facts) -> list[Refused]:
    """Commits that one person's key signed under another's address: what history says of their authors is not true."""
    keys = [(public_key(key.public), person) for person in facts.people.values() for key in person.keys]
    refused = []
    for commit in commits:
        signer = _signer(commit, keys) if commit.signature else None
        if signer is not None and person_of(commit.author, facts.people) != signer.id:
            text = f"signed by a key of {signer.id}, and written as {commit.author}"
            refused.append(Refused(commit.id[:12], "forged-author", text))
    return refused


def _signer(commit: Commit, keys: list[tuple[PublicKey, Person]]) -> Person | None:
    """Whose key signed a commit."""
    for key, person in keys:
        try:
            verify(key, "git", commit.payload, commit.signature or b"")
        except SignatureInvalid:
            continue
        return person
    return None
