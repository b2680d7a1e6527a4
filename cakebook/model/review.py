"""What the gate works with: policy, people, the trust chain, the founding list, and its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from cakebook.model.base import Model, OpenModel, TermList
from cakebook.model.query import Tier

Lifecycle = Literal["active", "deprecated", "superseded", "withdrawn"]


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
    """An entry as the gate sees it. `status` is the front matter's own word, which can only lower."""

    id: str
    data: bytes
    status: str = ""


@dataclass(frozen=True)
class TrustFacts:
    """Everything that decides about one entry, gathered beforehand.

    `founding` is what the anchor covers, None without a trusted anchor; `anchor_reason` says why there is none.
    """

    serve: Tier
    founding: dict[str, str] | None
    edition: int | None = None
    anchor_reason: str = ""


@dataclass(frozen=True)
class Reason:
    """Why a verdict is what it is."""

    code: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """The gate's judgement of one entry's bytes."""

    id: str
    digest: str
    tier: Tier
    lifecycle: Lifecycle
    served: bool
    reasons: tuple[Reason, ...] = ()
    successor: str | None = None
    independence: Literal["computed", "recorded"] = "recorded"
