"""Filters: what an entry declares against what the caller set. A contradiction withholds, the unknown passes with a caveat."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field
from typing import Any

from cakebook.model.notes import Note
from cakebook.model.query import TIERS, Facets, Lang, Tier, Withheld
from cakebook.model.terms import Vocabulary
from cakebook.retrieve.conditions import Known, holds, holds_throughout, open_facets
from cakebook.retrieve.labels import in_lang, say
from cakebook.text import versions

Card = dict[str, Any]


@dataclass
class Scope:
    """What the filters make of one entry.

    `withheld` is set when it must not be shown. `unknown` counts filters that the entry says nothing about. `met`: a case of
    `applies_when` is certainly true; `not_met`: all are certainly false. `avoid`: by what was recognised in the text it is a
    case to avoid. `open`: facets that would decide a case.
    """

    withheld: Withheld | None = None
    caveats: list[Note] = field(default_factory=list)
    unknown: int = 0
    met: str = ""
    not_met: bool = False
    avoid: bool = False
    open: list[str] = field(default_factory=list)


class Filter:
    """The caller's filters, ready to be applied to many cards. `stated`: conditions that the caller set or implied."""

    def __init__(
        self, facets: Facets, stated: Known, recognised: Known, vocabulary: Vocabulary, serve: Tier, lang: Lang
    ) -> None:
        self.facets, self.stated = facets, stated
        self.either: Known = ChainMap(stated, recognised)  # type: ignore[arg-type]  # it is only read
        self.vocabulary, self.lang = vocabulary, lang
        self.minimum = TIERS.index(facets.tier or serve)
        self.targets = [t for name in facets.targets for t in vocabulary.expand_target(name)]

    def apply(self, card: Card) -> Scope:
        """Judge one card."""
        scope = Scope()
        if TIERS.index(card["tier"]) < self.minimum:
            scope.withheld = Withheld(card["id"], "tier", say("tier", self.lang, tier=card["tier"]))
            return scope
        checks = (
            ("dsl", self.facets.dsls, self._dsl),
            ("target", tuple(self.targets), self._target),
            ("kind", self.facets.kinds, self._kind),
            ("dtype", self.facets.dtypes, self._dtype),
        )
        for name, wanted, check in checks:
            if wanted and not self._judge(scope, card, name, wanted, check(card, wanted, scope)):
                return scope
        for component, version in self.facets.toolchain.items():
            fits = versions.satisfies(version, card["toolchain"].get(component, "unknown"))
            if not self._judge(scope, card, component, (version,), fits):
                return scope
        self._conditions(scope, card)
        return scope

    def _judge(self, scope: Scope, card: Card, name: str, wanted: tuple[str, ...], fits: bool | None) -> bool:
        """Record one filter's outcome; False when the entry is withheld."""
        asked = ", ".join(wanted)
        if fits is False:
            declared = self._declared(card, name)
            scope.withheld = Withheld(
                card["id"], f"scope-{name}", say("scope", self.lang, name=name, declared=declared, asked=asked)
            )
        elif fits is None:
            scope.unknown += 1
            scope.caveats.append(Note("not-verified", say("not-verified", self.lang, name=name, asked=asked)))
            if self.facets.strict_scope:
                scope.withheld = Withheld(card["id"], "scope-unknown", say("not-verified", self.lang, name=name, asked=asked))
        return scope.withheld is None

    def _declared(self, card: Card, name: str) -> str:
        value = {"dsl": card["dsl"], "target": card["targets"], "kind": [card["kind"]], "dtype": card["dtypes"]}.get(name)
        return ", ".join(value) if value is not None else str(card["toolchain"].get(name, ""))

    def _dsl(self, card: Card, wanted: tuple[str, ...], _: Scope) -> bool | None:
        return _within(card["dsl"], wanted)

    def _kind(self, card: Card, wanted: tuple[str, ...], _: Scope) -> bool | None:
        return card["kind"] in wanted if card["kind"] else None

    def _dtype(self, card: Card, wanted: tuple[str, ...], _: Scope) -> bool | None:
        return _within(card["dtypes"], wanted)

    def _target(self, card: Card, wanted: tuple[str, ...], scope: Scope) -> bool | None:
        """A SKU meets its own entries and its architecture's; an architecture its own, and its SKUs' with a caveat."""
        declared = card["targets"]
        if not declared:
            return None
        architecture = self.vocabulary.architecture
        if "any" in declared or any(w in declared or architecture(w) in declared for w in wanted):
            return True
        only = [d for d in declared if architecture(d) in wanted]
        if only:
            scope.caveats.append(Note("only-sku", say("only-sku", self.lang, sku=", ".join(only))))
        return bool(only)

    def _conditions(self, scope: Scope, card: Card) -> None:
        for case in card["avoid_when"]:
            text = in_lang(case, "text", self.lang)
            if holds_throughout(case["match"], self.stated):
                scope.withheld = Withheld(card["id"], "avoid-when", text)
                return
            if holds_throughout(case["match"], self.either):
                scope.avoid = True
                scope.caveats.insert(0, Note("avoid-when", say("avoid", self.lang, text=text)))
            elif holds(case["match"], self.stated) is not False:
                scope.caveats.append(Note("avoid-if", say("avoid-if", self.lang, text=text)))
                scope.open += open_facets(case["match"], self.stated)
        cases = [(holds(c["match"], self.stated), c) for c in card["applies_when"]]
        for fits, case in cases:
            text = in_lang(case, "text", self.lang)
            if fits and not scope.met:
                scope.met = text
            elif fits is None:
                scope.open += open_facets(case["match"], self.stated)
                scope.caveats.append(Note("condition", say("condition", self.lang, text=text)))
        if cases and all(fits is False for fits, _ in cases):
            scope.not_met = True
            scope.caveats.insert(0, Note("conditions-not-met", say("not-met", self.lang)))


def _within(declared: list[str], wanted: tuple[str, ...]) -> bool | None:
    """Whether a declared facet list admits one of the wanted terms; None if nothing is declared."""
    if not declared:
        return None
    return "any" in declared or any(w in declared for w in wanted)
