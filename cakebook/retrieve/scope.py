"""Filters: what an entry declares against what the caller set. A contradiction withholds, the unknown passes with a caveat."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field, replace
from typing import Any

from cakebook.model.query import TIERS, Facets, Lang, Tier, Withheld
from cakebook.model.terms import Vocabulary
from cakebook.retrieve.conditions import Conditions, Known, holds_throughout
from cakebook.retrieve.labels import in_lang, say
from cakebook.text import versions

Card = dict[str, Any]


KEPT = 16
"""Requests whose judgement of every card is kept."""
Caveat = tuple[str, str, dict[str, str]]
"""Code, name of the sentence and its values: few of the entries looked at are shown."""


@dataclass
class Scope:
    """What the filters make of one entry.

    `withheld` is set when it must not be shown. `unknown` counts filters that the entry says nothing about. `met`: a case of
    `applies_when` is certainly true; `not_met`: all are certainly false. `avoid`: by what was recognised in the text it is a
    case to avoid. `open`: facets that would decide a case.
    """

    withheld: Withheld | None = None
    caveats: list[Caveat] = field(default_factory=list)
    unknown: int = 0
    met: str = ""
    not_met: bool = False
    avoid: bool = False
    open: list[str] = field(default_factory=list)


class Filter:
    """The caller's filters, ready to be applied to many cards. `stated`: conditions that the caller set or implied."""

    def __init__(
        self, facets: Facets, stated: Conditions, recognised: Conditions | None, vocabulary: Vocabulary, serve: Tier, lang: Lang
    ) -> None:
        self.facets, self.stated = facets, stated
        self.either: Known | None = ChainMap(stated, recognised) if recognised is not None else None  # type: ignore[arg-type]
        self.vocabulary, self.lang = vocabulary, lang
        self.minimum = TIERS.index(facets.tier or serve)
        # Who asks again about the same chip and operator, with other words, gets the same judgement of each card.
        kept: dict[object, dict[str, Scope]] = vocabulary.memo.setdefault("scopes", {})
        key = repr(facets), lang, serve
        if key not in kept and len(kept) >= KEPT:
            kept.clear()
        self._kept = kept.setdefault(key, {})
        self.targets = [t for name in facets.targets for t in vocabulary.expand_target(name)]

    def apply(self, card: Card) -> Scope:
        """Judge one card; the result is shared and must not be changed."""
        scope = self._kept.get(card["id"])
        if scope is None:
            scope = self._kept[card["id"]] = self._judge_all(card)
        return scope if self.either is None or scope.withheld is not None else self._as_recognised(scope, card, self.either)

    def _as_recognised(self, scope: Scope, card: Card, either: Known) -> Scope:
        """What the text lets us recognise is no reason to leave an entry out, but a grave caveat."""
        texts = [in_lang(c, "text", self.lang) for c in card["avoid_when"] if holds_throughout(c["match"], either)]
        if not texts:
            return scope
        grave = [("avoid-when", "avoid", {"text": text}) for text in texts]
        others = [c for c in scope.caveats if c[0] != "avoid-if" or c[2]["text"] not in texts]
        return replace(scope, avoid=True, caveats=[*grave, *others])

    def _judge_all(self, card: Card) -> Scope:
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
            scope.caveats.append(("not-verified", "not-verified", {"name": name, "asked": asked}))
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
            scope.caveats.append(("only-sku", "only-sku", {"sku": ", ".join(only)}))
        return bool(only)

    def _conditions(self, scope: Scope, card: Card) -> None:
        for case in card["avoid_when"]:
            found = self.stated.outcome(case["match"])
            if found.throughout:
                scope.withheld = Withheld(card["id"], "avoid-when", in_lang(case, "text", self.lang))
                return
            if found.holds is not False:
                scope.caveats.append(("avoid-if", "avoid-if", {"text": in_lang(case, "text", self.lang)}))
                scope.open += found.open
        cases = [(self.stated.outcome(c["match"]), c) for c in card["applies_when"]]
        for found, case in cases:
            if found.holds and not scope.met:
                scope.met = in_lang(case, "text", self.lang)
            elif found.holds is None:
                scope.open += found.open
                scope.caveats.append(("condition", "condition", {"text": in_lang(case, "text", self.lang)}))
        if cases and all(found.holds is False for found, _ in cases):
            scope.not_met = True
            scope.caveats.insert(0, ("conditions-not-met", "not-met", {}))


def _within(declared: list[str], wanted: tuple[str, ...]) -> bool | None:
    """Whether a declared facet list admits one of the wanted terms; None if nothing is declared."""
    if not declared:
        return None
    return "any" in declared or any(w in declared for w in wanted)
