"""Gathering the facts that a verdict needs: the only place that reads `book/trust`, people, the ledger, the founding list and
the policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

from cakebook.gate.ledger import Filed, judge_statement, read_statement, statement_paths
from cakebook.gate.trust import Trust, read_trust
from cakebook.gate.verdict import objection, verdict
from cakebook.model.entry import is_id
from cakebook.model.query import TIERS
from cakebook.model.review import EntryBytes, Founding, Person, Policy, Reason, Signed, TrustFacts, Verdict
from cakebook.repo.entries import EntryFile
from cakebook.repo.layout import FOUNDING, GOVERNED, LEDGER, PEOPLE, POLICY, BookSource
from cakebook.repo.people import read_people
from cakebook.repo.vocabulary import load_model, load_policy


@dataclass(frozen=True)
class Facts:
    """What holds for a whole book. `uncovered`: files that the anchor should cover and does not."""

    source: BookSource
    trust: Trust
    policy: Policy
    founding: Founding | None
    uncovered: tuple[str, ...]
    people: Mapping[str, Person] = field(default_factory=dict)

    def about(self, entry_id: str, authors: frozenset[str] | None = None) -> TrustFacts:
        """The facts about one entry. `authors`: those that history shows, None if nobody looked.

        Raises:
            Unreadable: a statement cannot be read.
        """
        judged = [judge_statement(self.source, filed, self.people) for filed in self.statements(entry_id)]
        return TrustFacts(
            anchor=self.trust.anchor,
            people=self.people,
            policy=self.policy,
            founding=self.founding,
            statements=tuple(s for s in judged if isinstance(s, Signed)),
            refused=tuple(r for r in judged if isinstance(r, Reason)),
            authors=authors,
            anchor_reason=self.trust.reason,
        )

    def judge(self, file: EntryFile, authors: frozenset[str] | None = None) -> Verdict:
        """The verdict on an entry as read; a file that cannot be read is a draft."""
        entry = file.entry if not file.problems else None
        status, kind = (entry.status, entry.kind) if entry else ("draft", "")
        return verdict(EntryBytes(file.id, file.data, status, kind), self.about(file.id, authors))

    def statements(self, entry_id: str) -> list[Filed]:
        """What the ledger holds about an entry, oldest name first."""
        paths = self._about(entry_id)
        return [read_statement(self.source, path, paths) for path in sorted(paths) if path.endswith(".yaml")]

    def spoken_of(self, entry_id: str) -> bool:
        """Whether the founding list or the ledger names an id: only then can any bytes of it be admitted."""
        return bool(self.founding and entry_id in self.founding.entries) or bool(self._about(entry_id))

    def key(self, entry_id: str) -> str:
        """Changes whenever the facts about an entry do; no signature is looked at."""
        listed = self.founding.entries.get(entry_id) if self.founding else None
        files = [(filed.sha, filed.signature) for filed in self.statements(entry_id)]
        return sha256(repr((self._everywhere, listed, files)).encode()).hexdigest()

    @cached_property
    def statement_paths(self) -> dict[str, list[str]]:
        """Id → paths of the statements about it."""
        return statement_paths(self.source)

    @cached_property
    def lost(self) -> tuple[str, ...]:
        """sha256 of statements that the chain lists and the ledger does not hold."""
        return tuple(sorted(self.trust.recorded - self.held)) if self.trust.recorded else ()

    @cached_property
    def held(self) -> frozenset[str]:
        """sha256 of every statement in the ledger."""
        return frozenset(filed.sha for entry_id in self.statement_paths for filed in self.statements(entry_id))

    def objection(self, signed: Signed) -> Reason | None:
        """Why a statement does not count for any bytes of the entry that it names, None if it does; see `verdict.objection`."""
        s = signed.statement
        return objection(EntryBytes(s.entry, b"", "", s.kind), signed, self.about(""))

    def _about(self, entry_id: str) -> frozenset[str]:
        """Paths of the ledger's files about an entry; what cannot be an id has none."""
        return frozenset(self.source.paths(f"{LEDGER}/{entry_id}") if is_id(entry_id) else ())

    @cached_property
    def _everywhere(self) -> str:
        """The part of the facts that is the same for every entry."""
        edition = self.founding.edition if self.founding else None
        text = repr((self.trust, self.policy, sorted(self.people.items()), edition))
        return sha256(text.encode()).hexdigest()


def gather(source: BookSource, pinned: frozenset[str]) -> Facts:
    """Read what decides trust in `source`. `pinned`: roots that the user trusts beyond the shipped ones.

    People and a founding list that the anchor does not cover are not used. Of a policy that it does not cover only a stricter
    `serve` is taken, the rest is the default.

    Raises:
        AnchorInvalid, BookFileInvalid, Unreadable: a believed file cannot be read or has the wrong form.
    """
    trust = read_trust(source, pinned)
    if trust.anchor is None:
        return Facts(source, trust, Policy(), None, ())
    present = [path for part in (FOUNDING, *GOVERNED) for path in source.paths(part)]
    covered = {p for p in present if trust.covers(p, source.read(p))}
    missing = sorted(set(trust.anchor.files) - set(present))
    uncovered = tuple(sorted([p for p in present if p not in covered] + missing))
    policy = _policy(source, POLICY in covered)
    people = read_people(source, [p for p in covered if p.startswith(f"{PEOPLE}/") and p.endswith(".yaml")])
    if FOUNDING in covered:
        return Facts(source, trust, policy, load_model(source, FOUNDING, Founding), uncovered, people)
    if FOUNDING not in trust.anchor.files and FOUNDING not in present:  # a team's own book has none
        return Facts(source, trust, policy, None, uncovered, people)
    reason = f"{FOUNDING} is not the file that the trust anchor covers: restore it, or run `cakebook founding update`"
    return Facts(source, replace(trust, reason=reason), policy, None, uncovered, people)


def _policy(source: BookSource, covered: bool) -> Policy:
    """The policy; like an entry's own status, one that nobody vouches for can only lower what is served."""
    policy = load_policy(source)
    return policy if covered else Policy(serve=max(policy.serve, Policy().serve, key=TIERS.index))
