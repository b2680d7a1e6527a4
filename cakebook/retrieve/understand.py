"""Understanding a question without a model: the vocabulary's own words, found in the text in two languages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from cakebook.index.catalog import Catalog
from cakebook.model.query import Lang
from cakebook.retrieve.aliases import AliasFinder
from cakebook.retrieve.labels import language_of
from cakebook.text import tokens

QueryClass = Literal["identifier", "en", "zh", "mixed", "facets"]
_WORD = re.compile(r"[A-Za-z0-9_]+(?:(?:::|[.\-])[A-Za-z0-9_]+)*")


@dataclass(frozen=True)
class Reading:
    """What a text says, in terms of the vocabulary and of the names in the index.

    `subjects`: those of `words` that name an operator. `expansion`: search tokens that the glossary adds. `exact`: rows → the
    API, code or id that the text names in full.
    """

    lang: Lang
    query_class: QueryClass
    words: tuple[str, ...]
    expansion: tuple[str, ...] = ()
    subjects: frozenset[str] = frozenset()
    targets: tuple[str, ...] = ()
    dsls: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    bottlenecks: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    error_codes: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    toolchain: dict[str, str] = field(default_factory=dict)
    exact: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def facet_count(self) -> int:
        """Number of things recognised; counts towards confidence."""
        lists = (self.targets, self.dsls, self.operators, self.bottlenecks, self.error_codes, self.apis, tuple(self.conditions))
        return sum(map(len, lists))


def understand(text: str, catalog: Catalog, lang: Lang | None = None) -> Reading:
    """Read `text`. `lang` overrides the language that the text is written in."""
    if not text.strip():
        return Reading(lang or "en", "facets", ())
    vocabulary = catalog.vocabulary
    finder = AliasFinder(text, vocabulary)
    codes = tuple(dict.fromkeys([*finder.messages(), *finder.find("error_codes")]))
    exact, apis, named_codes = _exact(text, codes, finder, catalog)
    every = tokens.query_words(text)
    # A chip is a scope, not a subject: its name must not find the entries that happen to spell it out.
    chips = finder.words("targets")
    words = tuple(w for w in every if w not in chips) or tuple(every)
    conditions = finder.values()
    more = dict.fromkeys(w for title in finder.expansion() for w in tokens.query_words(title))
    return Reading(
        lang=lang or language_of(text),
        query_class=_class(text, words, bool(exact), bool(codes)),
        words=words,
        expansion=tuple(w for w in more if w not in every),
        subjects=finder.words("operators"),
        targets=tuple(dict.fromkeys(t for name in finder.find("targets") for t in vocabulary.expand_target(name))),
        dsls=finder.find("dsls"),
        operators=finder.find("operators"),
        stages=finder.find("stages"),
        bottlenecks=finder.find("bottlenecks"),
        dtypes=conditions.get("dtype", ()),
        error_codes=tuple(dict.fromkeys([*codes, *named_codes])),
        apis=apis,
        conditions=conditions,
        toolchain=finder.versions(),
        exact=exact,
    )


def _exact(
    text: str, codes: tuple[str, ...], finder: AliasFinder, catalog: Catalog
) -> tuple[dict[int, tuple[str, ...]], tuple[str, ...], tuple[str, ...]]:
    """Rows named in full by the text; the APIs and the codes that did it."""
    written = [m.group() for m in _WORD.finditer(text[:4000])]
    alone = len(written) == 1 and len(text.split()) == 1
    # In a sentence `LayerNorm` is the operator that is being written, and a profiler column what somebody observed; neither
    # is an API whose name is asked for.
    subjects = frozenset() if alone else finder.words("operators") | _columns(catalog)
    candidates = {w.casefold(): w for w in written if alone or (_is_name(w) and w.casefold() not in subjects)}
    names = [*candidates, *(c.casefold() for c in codes)]
    exact: dict[int, list[str]] = {}
    apis: dict[str, None] = {}
    found_codes: dict[str, None] = {}
    for name, kind, row in sorted(catalog.named(names[:200])):
        exact.setdefault(row, []).append(name)
        if kind == "api":
            apis[candidates.get(name, name)] = None
        elif kind == "code":
            found_codes[name] = None
    return {row: tuple(found) for row, found in exact.items()}, tuple(apis), tuple(found_codes)


def _columns(catalog: Catalog) -> frozenset[str]:
    """Names of profiler columns, without their units."""
    memo = catalog.vocabulary.memo
    if "columns" not in memo:
        terms = catalog.vocabulary.files.get("bottlenecks", {}).values()
        memo["columns"] = frozenset(column.split("(")[0].casefold() for term in terms for column in term.get("columns", ()))
    found: frozenset[str] = memo["columns"]
    return found


def _is_name(word: str) -> bool:
    """Whether a word can be an id, an API or an error code rather than a word of a sentence."""
    return tokens.is_identifier(word) or "-" in word or (word.isdigit() and len(word) >= 5)


def _class(text: str, words: tuple[str, ...], exact: bool, error: bool) -> QueryClass:
    plain = [w for w in words if not tokens.has_cjk(w)]
    if tokens.has_cjk(text):
        return "mixed" if len(plain) > 2 else "zh"
    written = text.split()
    if exact and (error or len(written) <= 2 or sum(map(tokens.is_identifier, written)) * 2 >= len(written)):
        return "identifier"
    return "en"
