"""An entry's front matter: one lesson, as written in `entries/<kind>/<id>.md`.

The model says what form a value must have; which fields an entry needs is a matter for lint, because a proposal of six
things is a valid entry too.
"""

from __future__ import annotations

import re

from cakebook.model.base import OpenModel, TermList
from cakebook.model.evidence import EvidenceItem

ID_PATTERN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""kebab-case ASCII: what an id, and so a file stem, may look like."""
ID_MAX = 80


def is_id(text: str) -> bool:
    """Whether `text` can be an entry's id."""
    return len(text) <= ID_MAX and ID_PATTERN.fullmatch(text) is not None


class Condition(OpenModel):
    """One case in which the lesson applies (or must be avoided).

    `match` maps facets to values, as `book/vocabulary/conditions.yaml` names them: all facets must hold, any value of a
    facet suffices.
    """

    text: str = ""
    text_zh: str = ""
    match: dict[str, TermList] = {}


class Source(OpenModel):
    """Where a claim comes from (OKF `sources`); footnotes of the body use `id`."""

    id: str
    resource: str
    title: str = ""
    license: str = ""
    accessed: str = ""
    author: str = ""


class Generated(OpenModel):
    """Who or what wrote the text (OKF `generated`)."""

    by: str = ""
    at: str = ""


class Entry(OpenModel):
    """The front matter. Facet lists: see `TermList`; every other field is empty when not known."""

    id: str = ""
    type: str = ""
    title: str = ""
    title_zh: str = ""
    description: str = ""
    description_zh: str = ""
    kind: str = ""
    dsl: TermList = ()
    targets: TermList = ()
    toolchain: dict[str, str] = {}
    dtypes: TermList = ()
    operators: TermList = ()
    stages: TermList = ()
    bottlenecks: TermList = ()
    symptoms: TermList = ()
    symptoms_zh: TermList = ()
    apis: TermList = ()
    error_codes: TermList = ()
    applies_when: tuple[Condition, ...] = ()
    avoid_when: tuple[Condition, ...] = ()
    requires: TermList = ()
    related: TermList = ()
    conflicts_with: TermList = ()
    supersedes: TermList = ()
    variant_of: str = ""
    sources: tuple[Source, ...] = ()
    evidence: tuple[EvidenceItem, ...] = ()
    generated: Generated | None = None
    status: str = ""
    stale_after: str = ""
    tags: TermList = ()
