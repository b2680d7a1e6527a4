"""The form of `book/vocabulary/*.yaml`: each file holds `terms`, each term an id, labels in two languages and aliases.

These models validate; what retrieval works with is `terms.Vocabulary`, built from the same data without pydantic.
"""

from __future__ import annotations

from typing import Literal

from cakebook.model.base import Model, TermList

Role = Literal["constraint", "skeleton", "lever", "diagnosis"]


class Term(Model):
    """A controlled term. `aliases` are matched on word boundaries without case, `aliases_zh` as substrings."""

    id: str
    title: str
    title_zh: str
    aliases: TermList = ()
    aliases_zh: TermList = ()
    note: str = ""
    note_zh: str = ""
    source: str = ""
    sources: TermList = ()


class Kind(Term):
    """`type` is the OKF type written into entries; `role` is the part that the kind plays in a pack."""

    type: str
    role: Role


class Target(Term):
    """An architecture, a SKU of one, or a product name that stands for either.

    `facts`: sizes in bytes and core counts; only what a source states.
    """

    level: Literal["architecture", "sku", "product"]
    arch: str = ""
    resolves_to: TermList = ()
    facts: dict[str, int] = {}


class ProfilerRule(Model):
    """`when` is an expression over profiler columns; see `retrieve.conditions` for its grammar."""

    when: str
    source: str
    note: str = ""
    note_zh: str = ""


class Bottleneck(Term):
    """`columns`: the profiler columns that show it."""

    columns: TermList = ()
    rules: tuple[ProfilerRule, ...] = ()


class Operator(Term):
    """`parent`: the family; an entry for a family holds for its members."""

    parent: str = ""
    mix: Literal["", "vector-only", "cube-only", "cube-vector"] = ""


class Value(Term):
    """One value of a condition facet."""


class Case(Model):
    """`value` holds when the expression over the request does."""

    value: str
    when: str


class ConditionFacet(Term):
    """A facet of `match`. Either `rule: given` (only a caller can say) or `cases` that compute it from the request."""

    values: tuple[Value, ...]
    rule: Literal["", "given"] = ""
    cases: tuple[Case, ...] = ()
    formula: str = ""


class Component(Term):
    """A component of the toolchain."""

    examples: TermList = ()


class ErrorCode(Term):
    """`messages`: distinctive lower-case parts of the text that comes with the code."""

    messages: TermList = ()
    meaning: str = ""
    meaning_zh: str = ""


FILES: dict[str, type[Term]] = {
    "kinds": Kind,
    "dsls": Term,
    "targets": Target,
    "stages": Term,
    "bottlenecks": Bottleneck,
    "operators": Operator,
    "conditions": ConditionFacet,
    "toolchain": Component,
    "error_codes": ErrorCode,
    "glossary": Term,
}
"""File stem → the form of its terms."""
