"""Bringing a proposal into the trusted branch: the merge is made aside, judged as the hook judges it, and only then taken."""

from __future__ import annotations

from dataclasses import dataclass

from cakebook.errors import GateRefuses, NoSuchEntry
from cakebook.repo.git import Repository
from cakebook.review.changes import check_range
from cakebook.review.proposals import BRANCH


@dataclass(frozen=True)
class Merged:
    """What a merge did."""

    id: str
    branch: str
    commit: str


def merge(repository: Repository, pinned: frozenset[str], entry_id: str) -> Merged:
    """Merge `proposal/<id>` into the current branch.

    Raises:
        NoSuchEntry: there is no such branch. GateRefuses: the gate does not let it pass; nothing has changed.
        GitFailed: there are conflicts, or the work tree has changes of its own in the way.
    """
    found = repository.refs(BRANCH + entry_id)
    if not found:
        raise NoSuchEntry(f"no branch {BRANCH}{entry_id[:80]}", hint="git fetch; `cakebook review list` shows what waits")
    head = repository.resolve("HEAD")
    commit = repository.merge_aside(head, found[0], f"Merge {BRANCH}{entry_id}")
    refused = check_range(repository, pinned, head, commit).refused
    if refused:
        why = [f"{r.path}: {r.code}: {r.text}" for r in refused]
        raise GateRefuses(why[0], hint="`cakebook review check` lists everything", refused=why)
    repository.fast_forward(commit)
    return Merged(entry_id, found[0], commit)
