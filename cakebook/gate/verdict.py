"""The verdict: a pure function of an entry's bytes and the facts about it. Nothing else decides trust."""

from __future__ import annotations

from cakebook.model.query import TIERS, Tier
from cakebook.model.review import EntryBytes, Lifecycle, Reason, TrustFacts, Verdict
from cakebook.repo.entries import digest

FOUNDING_MEANS = (
    "written and re-read against pinned sources by the project, machine-checked; not approved by an independent person, "
    "nothing run on hardware by us"
)
"""What an answer of the founding tier must say about itself."""


def verdict(entry: EntryBytes, facts: TrustFacts) -> Verdict:
    """Judge `entry`. The front matter's `status` can only lower: `draft` makes a draft, `deprecated` withholds."""
    mine = digest(entry.id, entry.data)
    status = entry.status.strip().lower()
    tier, reasons = _tier(entry.id, mine, facts)
    lifecycle: Lifecycle = "active"
    if status == "draft" and tier != "draft":
        tier = "draft"
        reasons.append(Reason("status-draft", "its own front matter says `status: draft`"))
    if status == "deprecated":
        lifecycle = "deprecated"
        reasons.append(Reason("status-deprecated", "its own front matter says `status: deprecated`"))
    served = lifecycle == "active" and TIERS.index(tier) >= max(TIERS.index(facts.serve), TIERS.index("founding"))
    if not served and lifecycle == "active" and tier != "draft":
        reasons.append(Reason("below-policy", f"tier {tier}; this book serves {facts.serve} and above"))
    return Verdict(entry.id, mine, tier, lifecycle, served, tuple(reasons))


def _tier(entry_id: str, mine: str, facts: TrustFacts) -> tuple[Tier, list[Reason]]:
    if facts.founding is None and not facts.anchor_reason:
        return "draft", [Reason("not-admitted", "nobody has admitted it")]
    if facts.founding is None:
        return "draft", [Reason("no-anchor", facts.anchor_reason)]
    listed = facts.founding.get(entry_id)
    if listed is None:
        return "draft", [Reason("not-admitted", f"not on the founding list of edition {facts.edition}")]
    if listed != mine:
        return "draft", [Reason("edited", f"edited since founding edition {facts.edition}, which vouches for other bytes")]
    return "founding", [Reason("founding", f"founding edition {facts.edition}: {FOUNDING_MEANS}")]
