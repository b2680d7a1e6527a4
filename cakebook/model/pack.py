"""A pack: a budgeted, cited answer for a generator. Standard dataclasses: see the package docstring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cakebook.model.query import DEFAULT_BUDGET, Facets, Mode, Note, Withheld

Role = Literal["constraint", "skeleton", "lever", "diagnosis"]
Level = Literal["title", "summary", "pattern", "full"]
LEVELS: tuple[Level, ...] = ("title", "summary", "pattern", "full")
"""From least to most text: title and description; + summary and when; + pattern; everything."""

STAGES = ("draft", "evolve", "debug")
"""The stages that a pack can be made for."""


@dataclass(frozen=True)
class ContextRequest:
    """What a generator is doing. `stage` empty: `debug` with an error text, else `draft`.

    `applied`: ids, pack ids or free text of what the kernel already does; known entries are left out.
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
class Pack:
    """`tokens` counts all of `text`, which never exceeds `budget_tokens`; equal inputs give equal bytes and `pack_id`."""

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
    diagnosis: dict[str, object] | None = None
