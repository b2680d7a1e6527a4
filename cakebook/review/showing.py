"""A proposal as its reviewer wants it: what changed, what is wrong or missing, what it resembles, what its checks are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cakebook.gate.facts import Facts
from cakebook.lint.runner import lint_book
from cakebook.repo.entries import EntryFile, read_entries, read_entry
from cakebook.repo.git import Repository
from cakebook.repo.layout import BookSource, MemorySource
from cakebook.review.proposals import Proposal, declined, grouped, proposals, resembling, standing

if TYPE_CHECKING:
    from cakebook.lint.runner import Finding
    from cakebook.model.terms import Vocabulary
    from cakebook.review.duplicates import Similar

WORDS_A_MINUTE = 150
"""That a reviewer reads and compares with a source."""


@dataclass(frozen=True)
class Waiting:
    """A proposal in the queue. `state`: ready, lint (it has errors), author (changes were asked for), declined. `minutes`: how
    long it will take, by its length; `alike`: ids of proposals that are nearly the same."""

    id: str
    title: str
    kind: str
    state: str
    days: int
    warnings: int
    minutes: int
    alike: tuple[str, ...] = ()


@dataclass(frozen=True)
class Neighbour:
    """An entry that resembles a proposal, with what both are about, to be put side by side."""

    id: str
    score: float
    why: tuple[str, ...]
    title: str
    summary: str


@dataclass(frozen=True)
class ReviewSheet:
    """Everything about one proposal. `changes`: a unified diff against the bytes admitted last, the whole text if none were."""

    waiting: Waiting
    path: str
    digest: str
    revision: str
    authors: tuple[str, ...]
    changes: tuple[str, ...]
    findings: tuple[Finding, ...]
    asked: tuple[str, ...]
    declined_before: str
    neighbours: tuple[Neighbour, ...]
    checks: tuple[str, ...]


def queue(repository: Repository | None, source: BookSource, facts: Facts, vocabulary: Vocabulary, now: int) -> list[Waiting]:
    """Proposals by what a reviewer gains from them: ready ones first, the more complete, then the older; near-duplicates
    together, and those that wait for their author last. `now`: seconds of the epoch."""
    items = proposals(repository, source, facts)
    rows: list[list[Waiting]] = []
    for group in grouped(items):
        ids = [proposal.id for proposal in group]
        rows.append([_waiting(p, facts, vocabulary, now, tuple(i for i in ids if i != p.id)) for p in group])
    order = ("ready", "author", "lint", "declined")

    def value(row: Waiting) -> tuple[int, int, int, str]:
        return order.index(row.state), row.warnings, -row.days, row.id

    rows = sorted((sorted(group, key=value) for group in rows), key=lambda group: value(group[0]))
    return [row for group in rows for row in group]


def sheet(
    proposal: Proposal, repository: Repository | None, source: BookSource, facts: Facts, vocabulary: Vocabulary, now: int,
    authors: Sequence[str],
) -> ReviewSheet:  # fmt: skip
    """The sheet of one proposal."""
    others = list(read_entries(source))
    alike = resembling(proposal.file, others)
    waits = [p.file for p in proposals(repository, source, facts)]
    before = declined(proposal.file, facts, [*waits, *others])
    return ReviewSheet(
        waiting=_waiting(proposal, facts, vocabulary, now, tuple(s.id for s in alike if s.same)),
        path=proposal.file.path,
        digest=proposal.file.digest,
        revision=proposal.revision,
        authors=tuple(sorted(authors)),
        changes=tuple(_changes(proposal, repository, facts)),
        findings=tuple(_lint(proposal.file, vocabulary)),
        asked=tuple(f"{s.statement.reviewer}: {s.statement.reason}" for s in standing(proposal, facts)),
        declined_before=f"{before[0]}: {before[1]}" if before else "",
        neighbours=tuple(_neighbours(alike, others)),
        checks=tuple(fence.code for fence in proposal.file.document.checks),
    )


def _waiting(proposal: Proposal, facts: Facts, vocabulary: Vocabulary, now: int, alike: tuple[str, ...]) -> Waiting:
    file, entry = proposal.file, proposal.file.entry
    findings = _lint(file, vocabulary)
    errors = sum(f.severity == "error" for f in findings)
    said = {signed.statement.decision for signed in standing(proposal, facts)}
    state = "declined" if "decline" in said else "lint" if errors else "author" if said else "ready"
    return Waiting(
        id=proposal.id,
        title=(entry.title or entry.title_zh) if entry else "",
        kind=entry.kind if entry else "",
        state=state,
        days=max(0, now - proposal.at) // 86_400 if proposal.at else 0,
        warnings=len(findings) - errors,
        minutes=max(1, round(len(file.text.split()) / WORDS_A_MINUTE)),
        alike=alike,
    )


def _lint(file: EntryFile, vocabulary: Vocabulary) -> list[Finding]:
    """Findings about one file, looked at alone: whether the entries that it names exist is for `cakebook lint`."""
    return lint_book(MemorySource({file.path: file.data}), vocabulary, frozenset(), [file.path])


def _changes(proposal: Proposal, repository: Repository | None, facts: Facts) -> Iterable[str]:
    before = ""
    if repository is not None and facts.spoken_of(proposal.id):
        for data in repository.versions(proposal.file.path, "HEAD"):
            if facts.judge(read_entry(proposal.file.path, data)).tier != "draft":
                before = data.decode("utf-8", "replace")
                break
    if not before:
        return proposal.file.text.splitlines()
    old, new = before.splitlines(), proposal.file.text.splitlines()
    return difflib.unified_diff(old, new, "as last approved", "as proposed", lineterm="", n=2)


def _neighbours(alike: Sequence[Similar], others: Sequence[EntryFile]) -> Iterable[Neighbour]:
    by_id = {file.id: file for file in others}
    for similar in alike:
        file = by_id[similar.id]
        summary = next((s.prose for s in file.document.sections if s.title in ("Summary", "摘要")), "")
        title = (file.entry.title or file.entry.title_zh) if file.entry else ""
        yield Neighbour(similar.id, similar.score, similar.why, title, summary)
