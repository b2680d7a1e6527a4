"""Gathering the facts that a verdict needs: the only place that reads `book/trust`, the founding list and the policy."""

from __future__ import annotations

from dataclasses import dataclass

from cakebook.gate.trust import Trust, read_trust
from cakebook.model.query import TIERS
from cakebook.model.review import Founding, Policy, TrustFacts
from cakebook.repo.layout import FOUNDING, GOVERNED, POLICY, BookSource
from cakebook.repo.vocabulary import load_model, load_policy


@dataclass(frozen=True)
class Facts:
    """What holds for a whole book. `uncovered`: files that the anchor should cover and does not."""

    trust: Trust
    policy: Policy
    founding: Founding | None
    uncovered: tuple[str, ...]

    def about(self, entry_id: str) -> TrustFacts:
        """The facts about one entry."""
        return TrustFacts(
            serve=self.policy.serve,
            founding=self.founding.entries if self.founding else None,
            edition=self.founding.edition if self.founding else None,
            anchor_reason=self.trust.reason,
        )


def gather(source: BookSource, pinned: frozenset[str]) -> Facts:
    """Read what decides trust in `source`. `pinned`: roots that the user trusts beyond the shipped ones.

    A founding list that the anchor does not cover is not used. Of a policy that it does not cover only a stricter `serve`
    is taken, the rest is the default.
    """
    trust = read_trust(source, pinned)
    if trust.anchor is None:
        return Facts(trust, Policy(), None, ())
    present = [path for part in (FOUNDING, *GOVERNED) for path in source.paths(part)]
    covered = {p for p in present if trust.covers(p, source.read(p))}
    missing = sorted(set(trust.anchor.files) - set(present))
    uncovered = tuple(sorted([p for p in present if p not in covered] + missing))
    policy = load_policy(source)
    if POLICY not in covered:  # like an entry's own status, what nobody vouches for can only lower what is served
        policy = Policy(serve=max(policy.serve, Policy().serve, key=TIERS.index))
    if FOUNDING in covered:
        return Facts(trust, policy, load_model(source, FOUNDING, Founding), uncovered)
    if FOUNDING not in trust.anchor.files and FOUNDING not in present:  # a team's own book has none
        return Facts(trust, policy, None, uncovered)
    reason = f"{FOUNDING} is not the file that the trust anchor covers: restore it, or run `cakebook founding update`"
    return Facts(Trust(trust.anchor, trust.root, reason), policy, None, uncovered)
