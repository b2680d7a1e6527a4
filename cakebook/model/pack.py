"""A pack: a budgeted, cited answer for a generator. Standard dataclasses: see the package docstring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cakebook.model.notes import Note
from cakebook.model.query import DEFAULT_BUDGET, Facets, Mode, Withheld

if TYPE_CHECKING:
    from cakebook.model.profile import Diagnosis  # only where there is a profile: a search should not wait for it

Role = Literal["constraint", "skeleton", "lever", "diagnosis"]
Level = Literal["title", "summary", "pattern", "full"]
LEVELS: tuple[Level, ...] = ("title", "summary", "pattern", "full")
"""From least to most text: title and description; + summary and when; + pattern; everything."""

STAGES = ("route", "draft", "lower", "evolve", "debug", "review")
"""The stages that a pack can be made for."""
PURPOSES = {"generation": "draft", "evolution": "evolve"}
"""What a generator calls its two modes → the stage that each means."""
FORMATS = ("markdown", "advisor", "strategies")
"""Forms of the text; the last two have a line per entry."""
MAX_CODE = 200_000
"""Characters of code."""
MAX_PACKS = 16
"""Packs of one request."""


@dataclass(frozen=True)
class ContextRequest:
    """What a generator is doing. `stage` empty: `debug` with an error text, `review` with code, else `draft`.

    `pass_`: the lowering pass. `applied`, `tried`: ids, pack ids or free text of what the kernel already does and of what did
    not help; known entries are left out. `pack` of `packs`: which of several packs with different levers, from 1.
    `tokenizer`: `approx-1`, or the path of a tokenizer file.
    """

    facets: Facets = field(default_factory=Facets)
    stage: str = ""
    task: str = ""
    error_text: str = ""
    applied: tuple[str, ...] = ()
    budget_tokens: int = DEFAULT_BUDGET
    lang: Literal["auto", "en", "zh"] = "auto"
    tokenizer: str = "approx-1"
    mode: Mode = "auto"
    code: str = ""
    pass_: str = ""
    tried: tuple[str, ...] = ()
    packs: int = 1
    pack: int = 1
    format: str = "markdown"


@dataclass(frozen=True)
class Item:
    """One entry of a pack. `why` says what it was chosen for, `text` is what reaches the prompt, without fences."""

    id: str
    digest: str
    title: str
    tier: str
    role: Role
    level: Level
    why: str
    text: str
    caveats: tuple[Note, ...]
    missing_evidence: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True)
class DslEntries:
    """A DSL, how many applicable entries speak of the operators asked for, and the id of the best of them."""

    dsl: str
    entries: int
    best: str


@dataclass(frozen=True)
class Pack:
    """`tokens` counts all of `text`, which never exceeds `budget_tokens`; equal inputs give equal bytes and `pack_id`.

    `exhausted`: there is nothing in it, or, of several packs, no lever was left for this one. `diagnosis`: what a profile
    showed. `dsls`: for stage `route`, the DSLs that have entries.
    """

    pack_id: str
    request: dict[str, object]
    generation: str
    commit: str | None
    embedder: str | None
    engine: str
    deterministic: Literal["machine", "everywhere"]
    items: tuple[Item, ...]
    tokens: int
    budget_tokens: int
    tokenizer: str
    withheld: tuple[Withheld, ...]
    missing_signals: tuple[str, ...]
    unrecognised: tuple[str, ...]
    exhausted: bool
    text: str
    degraded: tuple[Note, ...] = ()
    diagnosis: Diagnosis | None = None
    dsls: tuple[DslEntries, ...] = ()
