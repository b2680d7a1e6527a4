"""What can be asked, and what a search answers. Standard dataclasses: see the package docstring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cakebook.model.notes import Note

if TYPE_CHECKING:
    from cakebook.model.profile import Diagnosis  # only where there is a profile: a search should not wait for it

Lang = Literal["en", "zh"]
Mode = Literal["auto", "lexical", "hybrid"]
MODES: tuple[Mode, ...] = ("auto", "lexical", "hybrid")
"""By words and names; by meaning too; `auto`: by meaning too unless the text is only names and codes."""
Tier = Literal["draft", "founding", "reviewed", "measured"]
TIERS: tuple[Tier, ...] = ("draft", "founding", "reviewed", "measured")
"""From least to most trusted."""

MAX_TEXT = 20_000
"""Characters of a query, a task or an error text."""
MAX_LIMIT = 50
DEFAULT_BUDGET = 2_000
"""Tokens of a pack."""


@dataclass(frozen=True)
class Facets:
    """Who asks, in vocabulary terms. Empty means not said.

    dsls, targets, dtypes, kinds, when, toolchain and exclude are hard filters; operators, stages and bottlenecks only rank.
    `when`: condition facet → values that hold. `toolchain`: component → version. `shapes`: one per input, in elements.
    """

    dsls: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    bottlenecks: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    layout: str = ""
    when: dict[str, tuple[str, ...]] = field(default_factory=dict)
    toolchain: dict[str, str] = field(default_factory=dict)
    shapes: tuple[tuple[int, ...], ...] = ()
    exclude: tuple[str, ...] = ()
    strict_scope: bool = False
    tier: Tier | None = None


@dataclass(frozen=True)
class SearchRequest:
    """`limit` hits at most; `lang` decides the language of labels, `auto` takes that of the text."""

    text: str = ""
    facets: Facets = field(default_factory=Facets)
    limit: int = 8
    lang: Literal["auto", "en", "zh"] = "auto"
    explain: bool = False
    mode: Mode = "auto"


@dataclass(frozen=True)
class Understood:
    """What was recognised in the text, in vocabulary terms, together with what the caller set."""

    targets: tuple[str, ...] = ()
    dsls: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    error_codes: tuple[str, ...] = ()
    bottlenecks: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    toolchain: dict[str, str] = field(default_factory=dict)
    lang: Lang = "en"


@dataclass(frozen=True)
class Withheld:
    """A near answer that a filter kept back."""

    id: str
    code: str
    reason: str


@dataclass(frozen=True)
class Hit:
    """One answer. `score` is comparable within one result only; `section` and `snippet` show where the text matched."""

    id: str
    digest: str
    title: str
    description: str
    kind: str
    dsl: tuple[str, ...]
    targets: tuple[str, ...]
    tier: str
    lifecycle: str
    score: float
    section: str
    snippet: str
    caveats: tuple[Note, ...]
    missing_evidence: tuple[str, ...]
    uri: str
    explain: dict[str, float] | None = None


@dataclass(frozen=True)
class SearchResult:
    """`confidence` in 0..1 gates free text; `missing_signals` names facets that would decide more; `mode` is what was done;
    `diagnosis` what a profile showed.

    `took_ms` is outside every promise of determinism.
    """

    query: str
    understood: Understood
    hits: tuple[Hit, ...]
    withheld: tuple[Withheld, ...]
    confidence: float
    missing_signals: tuple[str, ...]
    generation: str
    commit: str | None
    dirty: bool
    degraded: tuple[Note, ...]
    took_ms: float
    mode: Literal["lexical", "hybrid"] = "lexical"
    diagnosis: Diagnosis | None = None
