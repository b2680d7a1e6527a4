"""The verdict: a pure function of an entry's bytes and the facts about it. Nothing else decides trust."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from cakebook.model.query import TIERS, Tier
from cakebook.model.review import EntryBytes, Lifecycle, Person, Reason, Signed, TrustFacts, Verdict
from cakebook.repo.entries import digest

FOUNDING_MEANS = (
    "written and re-read against pinned sources by the project, machine-checked; not approved by an independent person, "
    "nothing run on hardware by us"
)
"""What an answer of the founding tier must say about itself."""
REVIEW = "cakebook-review"
"""Namespace of signatures under statements."""
LIFECYCLE: dict[str, Lifecycle] = {
    "reinstate": "active", "deprecate": "deprecated", "supersede": "superseded", "withdraw": "withdrawn",
}  # fmt: skip
"""Decision about an id → what it makes of the entry; what serves less comes later."""
_SERVED = ("active", "deprecated")
_ORDER = [*LIFECYCLE.values()]


def verdict(entry: EntryBytes, facts: TrustFacts) -> Verdict:
    """Judge `entry`. Its own `status` can only lower: `draft` makes a draft, `deprecated` deprecates."""
    mine = digest(entry.id, entry.data)
    if facts.anchor is None:
        return Verdict(entry.id, mine, "draft", "active", False, (Reason("no-anchor", facts.anchor_reason),))
    objections = {signed.sha: objection(entry, signed, facts) for signed in facts.statements}
    counting = [signed for signed in facts.statements if objections[signed.sha] is None]
    tier, reasons = _tier(entry, mine, counting, facts)
    about = [r for s in facts.statements if s.statement.digest == mine and (r := objections[s.sha])]
    lifecycle, successor, why = _lifecycle(counting, facts.statements)
    reasons += [*why, *about, *facts.refused]
    status = entry.status.strip().lower()
    if status == "draft" and tier != "draft":
        tier = "draft"
        reasons.append(Reason("status-draft", "its own front matter says `status: draft`"))
    if status == "deprecated" and lifecycle == "active":
        lifecycle = "deprecated"
        reasons.append(Reason("status-deprecated", "its own front matter says `status: deprecated`"))
    least = max(facts.policy.serve, "founding", key=TIERS.index)
    served = lifecycle in _SERVED and TIERS.index(tier) >= TIERS.index(least)
    if not served and lifecycle in _SERVED and tier != "draft":
        reasons.append(Reason("below-policy", f"tier {tier}; this book serves {facts.policy.serve} and above"))
    return Verdict(
        entry.id, mine, tier, lifecycle, served, tuple(reasons), successor, "recorded" if facts.authors is None else "computed"
    )


def objection(entry: EntryBytes, signed: Signed, facts: TrustFacts) -> Reason | None:
    """Why a statement with a good signature does not count for `entry`, None if it does. Bytes are not compared here."""
    s, anchor = signed.statement, facts.anchor
    person = facts.people.get(s.reviewer)
    no = partial(Reason, who=s.reviewer, at=s.at)
    if anchor is None or person is None:
        return no("unknown-reviewer", f"{s.reviewer} is nobody whom this book knows")
    honoured = signed.sha in anchor.honoured.get(person.id, ())
    if s.book != anchor.book:
        return no("other-book", f"{s.decision} by {s.reviewer} was given in the book {s.book}")
    if s.entry != entry.id:
        return no("other-entry", f"{s.decision} by {s.reviewer} is about {s.entry}")
    if s.trust > anchor.n:
        return no("trust-ahead", f"{s.decision} by {s.reviewer} names trust version {s.trust}; the book is at {anchor.n}")
    if person.kind != "person":
        return no("agent", f"{s.reviewer} is an agent; only a person decides")
    if REVIEW not in signed.key.namespaces or signed.key.since > s.trust:
        return no("key-not-active", f"the key of {s.reviewer} was not one for reviews in trust version {s.trust}")
    if person.state != "active" and not honoured:
        return no(person.state, f"{s.reviewer} is {person.state}, and the book does not honour this {s.decision}")
    if signed.key.until is not None and not honoured:
        return no("key-ended", f"the key of {s.reviewer} ended with trust version {signed.key.until}")
    roles = [r for r in person.roles if r.covers(entry.kind) and r.since <= s.trust and (r.until is None or honoured)]
    if not roles:
        return no("no-role", f"{s.reviewer} is no reviewer of kind {entry.kind or 'unknown'}")
    if s.decision in ("approve", "reinstate"):
        return _dependence(s.authors, facts, person, no)
    return None


def _dependence(recorded: Iterable[str], facts: TrustFacts, reviewer: Person, no: partial[Reason]) -> Reason | None:
    """Whether a reviewer had a hand in what is approved, or the record of authors leaves one out."""
    named = {person_of(author, facts.people) for author in recorded}
    shown = {person_of(author, facts.people) for author in facts.authors or ()}
    if reviewer.id in answerable(named | shown, facts.people):
        return no("author", f"{reviewer.id} is an author, or answers for the agent that is one")
    if missing := sorted(shown - named):
        return no("authors-incomplete", f"the approval by {reviewer.id} does not name {', '.join(missing)} as authors")
    return None


def person_of(author: str, people: Mapping[str, Person]) -> str:
    """The id of the person or agent whom an id or an e-mail address means, else the address itself in lower case."""
    if author in people:
        return author
    address = author.casefold()
    return next((p.id for p in people.values() if address in map(str.casefold, p.emails)), address)


def answerable(authors: Iterable[str], people: Mapping[str, Person]) -> frozenset[str]:
    """`authors` and, for each agent among them, who answers for it."""
    found = {*authors}
    return frozenset(found | {operator for a in found if a in people and (operator := people[a].operator)})


def _tier(entry: EntryBytes, mine: str, counting: list[Signed], facts: TrustFacts) -> tuple[Tier, list[Reason]]:
    policy = facts.policy.kinds.get(entry.kind)
    wanted = max(1, policy.approvals if policy else 1)
    last = _last_words([s for s in counting if s.statement.digest == mine and s.statement.decision not in LIFECYCLE])
    against = [s for s in last if s.statement.decision != "approve"]
    approvals = [s for s in last if s.statement.decision == "approve"]
    said = [
        Reason(s.statement.decision, f"{s.statement.decision} by {s.statement.reviewer}: {s.statement.reason or '-'}",
               s.statement.reviewer, s.statement.at)
        for s in [*approvals, *against]
    ]  # fmt: skip
    if not against and len(approvals) >= wanted:
        complete = policy is not None and policy.measured_fields and any({*policy.measured_fields} <= e for e in entry.evidence)
        return ("measured" if complete else "reviewed"), said
    listed = facts.founding.entries.get(entry.id) if facts.founding else None
    edition = facts.founding.edition if facts.founding else None
    if listed == mine:
        return "founding", [Reason("founding", f"founding edition {edition}: {FOUNDING_MEANS}"), *said]
    if against:
        return "draft", said
    if approvals:
        said.append(Reason("approvals-missing", f"{len(approvals)} of {wanted} approvals"))
    elif listed is not None:
        said.append(Reason("edited", f"edited since founding edition {edition}, which vouches for other bytes"))
    elif any(s.statement.decision == "approve" for s in counting):
        said.append(Reason("edited", "edited since it was approved"))
    elif facts.anchor_reason:
        said.append(Reason("no-anchor", facts.anchor_reason))
    elif edition is not None and not facts.people:
        said.append(Reason("not-admitted", f"not on the founding list of edition {edition}"))
    else:
        said.append(Reason("not-admitted", "nobody has admitted it"))
    return "draft", said


def _last_words(statements: list[Signed]) -> list[Signed]:
    """Of each reviewer what no later statement of theirs replaces; of parallel ones the one that admits less."""
    before = _ancestry(statements)
    order = ("approve", "request-changes", "decline")
    last: dict[str, Signed] = {}
    for signed in statements:
        who = signed.statement.reviewer
        if any(signed.sha in before[o.sha] for o in statements if o.statement.reviewer == who):
            continue
        if who not in last or order.index(signed.statement.decision) > order.index(last[who].statement.decision):
            last[who] = signed
    return [last[who] for who in sorted(last)]


def _lifecycle(counting: list[Signed], known: tuple[Signed, ...]) -> tuple[Lifecycle, str | None, list[Reason]]:
    """What the decisions about the id make of it: those that no later one replaces, of parallel ones what serves less."""
    decisions = [s for s in counting if s.statement.decision in LIFECYCLE]
    before = _ancestry(known)
    heads = [s for s in decisions if not any(s.sha in before[o.sha] for o in decisions)]
    if not heads:
        return "active", None, []
    first = max(heads, key=lambda s: (_ORDER.index(LIFECYCLE[s.statement.decision]), s.sha))
    s, state = first.statement, LIFECYCLE[first.statement.decision]
    why = [Reason(state, f"{s.decision} by {s.reviewer}: {s.reason or '-'}", s.reviewer, s.at)] if state != "active" else []
    return state, s.successor if state == "superseded" else None, why


def _ancestry(statements: Iterable[Signed]) -> dict[str, set[str]]:
    """sha of each statement → shas of all that its signer had seen, directly or through others."""
    previous = {s.sha: s.statement.previous for s in statements}
    found: dict[str, set[str]] = {}
    for sha in previous:
        seen: set[str] = set()
        stack = [*previous[sha]]
        while stack:
            at = stack.pop()
            if at not in seen:
                seen.add(at)
                stack += previous.get(at, ())
        seen.discard(sha)
        found[sha] = seen
    return found
