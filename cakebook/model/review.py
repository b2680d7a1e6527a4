"""What the gate works with: policy, people, the trust chain, the founding list, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from cakebook.model.base import Model, OpenModel, TermList
from cakebook.model.query import Tier

Lifecycle = Literal["active", "deprecated", "superseded", "withdrawn"]
"""What serves less comes later."""
Decision = Literal["approve", "request-changes", "decline", "deprecate", "supersede", "withdraw", "reinstate"]
Basis = Literal["read-sources", "ran-check", "reproduced-on-hardware", "own-expertise"]


class KindPolicy(Model):
    """What the gate demands of one kind."""

    approvals: int = 1
    stale_days: int = 365
    measured_fields: TermList = ()


class Policy(Model):
    """`book/policy.yaml`. `serve`: the lowest tier that is served."""

    serve: Tier = "founding"
    kinds: dict[str, KindPolicy] = {}
    authors: Literal["any", "known"] = "any"
    open_proposals_per_operator: int = 10
    utility_prior: Literal["off"] = "off"


class Role(Model):
    """What a person may do from trust version `since` on, until version `until`. `kinds`: of entries; `all` for every kind."""

    role: Literal["reviewer", "admin"]
    kinds: TermList = ()
    since: int = Field(ge=1)
    until: int | None = None

    def covers(self, kind: str) -> bool:
        """Whether a reviewer of these kinds may review `kind`."""
        return self.role == "reviewer" and ("all" in self.kinds or kind in self.kinds)


class Key(Model):
    """An OpenSSH public key, and the namespaces in which its signatures count."""

    public: str
    namespaces: TermList = ()
    since: int = Field(ge=1)
    until: int | None = None


class Person(Model):
    """`book/people/<id>.yaml`: a person, or an agent and the person who answers for it."""

    id: str
    kind: Literal["person", "agent"] = "person"
    operator: str | None = None
    name: str = ""
    emails: TermList = ()
    roles: tuple[Role, ...] = ()
    keys: tuple[Key, ...] = ()
    state: Literal["active", "retired", "revoked"] = "active"


class Statement(Model):
    """A decision about an entry, signed beside it. `previous`: the heads that the signer saw, sha256 of their files."""

    schema_: Literal["cakebook-statement-v1"] = Field(alias="schema")
    book: str
    entry: str
    digest: str
    kind: str
    decision: Decision
    reviewer: str
    authors: TermList = ()
    basis: tuple[Basis, ...] = ()
    reason: str = ""
    successor: str | None = None
    acknowledged: TermList = ()
    trust: int = Field(ge=1)
    previous: TermList = ()
    at: str


class Founding(Model):
    """`book/founding.yaml`: entries that the project itself vouches for, by digest."""

    edition: int
    date: str
    reason: str
    statement: str
    entries: dict[str, str]


class Anchor(OpenModel):
    """`book/trust/<n>.yaml`: one version of the trust chain."""

    schema_: str = Field(alias="schema")
    book: str
    n: int
    previous: str | None = None
    forked_from: str | None = None
    edition: int | None = None
    admins: dict[str, TermList] = {}
    admin_approvals: int = 1
    files: dict[str, str] = {}
    statements: TermList = ()
    honoured: dict[str, TermList] = {}


@dataclass(frozen=True)
class EntryBytes:
    """An entry as the gate sees it.

    `status` is the front matter's own word, which can only lower; `evidence` holds, for every own measurement that it brings,
    the names of the fields that are known.
    """

    id: str
    data: bytes
    status: str = ""
    kind: str = ""
    evidence: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True)
class Signed:
    """A statement and the key of its reviewer that made the signature beside it. `sha`: sha256 of the file."""

    sha: str
    statement: Statement
    key: Key


@dataclass(frozen=True)
class TrustFacts:
    """Everything that decides about one entry, gathered beforehand.

    `anchor`, None if none is believed, for `anchor_reason`; `people`, `policy` and `founding` as it covers them; `statements`
    about this id whose signatures hold, and why others are `refused`; `authors` as history shows them, None without history.
    """

    anchor: Anchor | None = None
    people: Mapping[str, Person] = field(default_factory=dict)
    policy: Policy = field(default_factory=Policy)
    founding: Founding | None = None
    statements: tuple[Signed, ...] = ()
    refused: tuple[Reason, ...] = ()
    authors: frozenset[str] | None = None
    anchor_reason: str = ""


@dataclass(frozen=True)
class Reason:
    """Why a verdict is what it is; `who` decided so, and `at` which time by their own clock."""

    code: str
    text: str
    who: str = ""
    at: str = ""


@dataclass(frozen=True)
class Verdict:
    """The gate's judgement of one entry's bytes.

    `independence`: whether approvals were compared with the authors that history shows, or only with those on record.
    """

    id: str
    digest: str
    tier: Tier
    lifecycle: Lifecycle
    served: bool
    reasons: tuple[Reason, ...] = ()
    successor: str | None = None
    independence: Literal["computed", "recorded"] = "recorded"
