"""Proposals: entries on branches `proposal/<id>`, here or fetched from a remote, and drafts on the trusted branch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from cakebook.gate.facts import Facts
from cakebook.gate.ledger import judge_statement
from cakebook.gate.verdict import objection
from cakebook.model.review import EntryBytes, Signed
from cakebook.repo.entries import EntryFile, read_entries, read_entry
from cakebook.repo.git import Repository
from cakebook.repo.layout import ENTRIES, BookSource, entry_paths
from cakebook.review.changes import trusted_branch
from cakebook.review.duplicates import Fingerprints, Similar, clusters

BRANCH = "proposal/"


@dataclass(frozen=True)
class Proposal:
    """An entry that somebody proposes. `revision` is empty for a draft in the work tree; `since`: where its branch left the
    trusted one; `at`: seconds of the epoch at which it was last written, 0 if unknown."""

    file: EntryFile
    revision: str
    since: str | None = None
    at: int = 0

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.file.id


def proposals(repository: Repository | None, source: BookSource, facts: Facts) -> list[Proposal]:
    """Everything that is proposed and not admitted in these bytes, by id; a branch goes before a draft in the work tree."""
    found: dict[str, Proposal] = {}
    for proposal in [*_on_branches(repository), *(Proposal(file, "") for file in read_entries(source))]:
        if proposal.id not in found and facts.judge(proposal.file).tier == "draft":
            found[proposal.id] = proposal
    return [found[entry_id] for entry_id in sorted(found)]


def find(repository: Repository | None, source: BookSource, entry_id: str) -> Proposal | None:
    """The entry that a decision about `entry_id` is about: the one on its branch, else the one in the work tree."""
    for proposal in _on_branches(repository, entry_id):
        if proposal.id == entry_id:
            return proposal
    return next((Proposal(file, "") for file in read_entries(source) if file.id == entry_id), None)


def _on_branches(repository: Repository | None, entry_id: str = "") -> Iterable[Proposal]:
    if repository is None:
        return
    trusted = trusted_branch(repository)
    for ref in repository.refs(BRANCH + entry_id if entry_id else BRANCH):
        after = repository.at(ref, (ENTRIES,))
        since = repository.merge_base(trusted, ref) if trusted else None
        changed = after.changed(repository.at(since, (ENTRIES,)) if since else None)
        for path in sorted({*entry_paths(after)} & changed):
            file = read_entry(path, after.read(path))
            if file.id == PurePosixPath(path).stem:
                yield Proposal(file, after.commit, since, repository.time_of(after.commit))


def standing(proposal: Proposal, facts: Facts) -> list[Signed]:
    """Decisions about these bytes that count, but for approvals: what holds the proposal back."""
    about = facts.about(proposal.id)
    entry = EntryBytes(proposal.id, proposal.file.data, "", proposal.file.entry.kind if proposal.file.entry else "")
    counting = [s for s in about.statements if s.statement.digest == proposal.file.digest and not objection(entry, s, about)]
    seen = {sha for s in counting for sha in s.statement.previous}
    return [s for s in counting if s.statement.decision in ("request-changes", "decline") and s.sha not in seen]


def declined(file: EntryFile, facts: Facts, others: Iterable[EntryFile]) -> tuple[str, str] | None:
    """Who declined this entry, or one that is nearly the same, and why: (id, reason). `others`: where to look for such."""
    prints = Fingerprints()
    texts = {other.id: other for other in others if other.id != file.id}
    for entry_id, other in texts.items():
        prints.add(entry_id, other)
    near = [similar.id for similar in prints.near(file) if similar.same]
    for entry_id in [file.id, *near]:
        digests = {file.digest} if entry_id == file.id else {texts[entry_id].digest}
        for filed in facts.statements(entry_id):
            judged = judge_statement(facts.source, filed, facts.people)
            if isinstance(judged, Signed) and judged.statement.decision == "decline" and judged.statement.digest in digests:
                return entry_id, judged.statement.reason
    return None


def resembling(file: EntryFile, others: Iterable[EntryFile], limit: int = 5) -> list[Similar]:
    """Entries that resemble a proposal, nearest first."""
    prints = Fingerprints()
    for other in others:
        if other.id != file.id:
            prints.add(other.id, other)
    return prints.near(file, limit)


def grouped(items: list[Proposal]) -> list[list[Proposal]]:
    """Proposals that are nearly the same side by side: whoever decides about one decides about all."""
    by_id = {proposal.id: proposal for proposal in items}
    return [[by_id[entry_id] for entry_id in cluster] for cluster in clusters([p.file for p in items])]
