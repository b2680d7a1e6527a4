"""Ranking: channels, facet boosts and penalties for each candidate, and how sure the text makes us."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cakebook.index.ranking import ranking
from cakebook.model.query import Facets
from cakebook.model.terms import Vocabulary
from cakebook.retrieve.conditions import Conditions, conditions_of
from cakebook.retrieve.fuse import convex
from cakebook.retrieve.scope import Card, Filter, Scope
from cakebook.retrieve.understand import Reading
from cakebook.retrieve.view import Nearest, View
from cakebook.text import tokens

if TYPE_CHECKING:
    from cakebook.index.vectors import Near


@dataclass(slots=True)
class Candidate:
    """An entry under consideration: its terms of the score, and what the filters say."""

    row: int
    card: Card
    scope: Scope
    terms: dict[str, float]
    exact: int
    near: Near | None = None

    _sums: tuple[float, float] | None = None

    def add(self, **terms: float) -> None:
        """Add terms to the score."""
        self.terms |= terms
        self._sums = None

    @property
    def score(self) -> float:
        """Rounded, so that the last bits of a float never decide an order."""
        return self._both[0]

    @property
    def merit(self) -> float:
        """What speaks for it: penalties rank an entry lower, they never leave it out."""
        return self._both[1]

    @property
    def _both(self) -> tuple[float, float]:
        if self._sums is None:
            score = merit = 0.0
            for value in self.terms.values():
                score += value
                merit += max(value, 0.0)
            self._sums = round(score, 4), round(merit, 4)
        return self._sums

    @property
    def order(self) -> tuple[int, float, str]:
        """Sort key: full exact hits first, then the score, ties by id."""
        return -self.exact, -self.score, self.card["id"]


class Ranker:
    """Scores candidates of one request."""

    def __init__(self, view: View, facets: Facets, reading: Reading, nearest: Nearest | None = None) -> None:
        """`nearest`: what is near the text in meaning; None where only words and names count.

        Beside the text a pack may bring channels of its own in `more`, and in `apis` the APIs that each entry shares with code.
        """
        self.catalog, self.facets, self.reading, self.stale = view.catalog, facets, reading, view.stale
        self.near: dict[int, Near] = {}
        self.more: dict[str, dict[int, float]] = {}
        self.pruned = False
        self.apis: dict[int, tuple[str, ...]] = {}
        self._nearest = nearest
        self.weights: dict[str, Any] = ranking()
        vocabulary = self.catalog.vocabulary
        heard = Facets(operators=reading.operators, targets=reading.targets, dtypes=reading.dtypes, when=reading.conditions)
        recognised = Conditions(heard, vocabulary) if heard != Facets() else None
        stated = conditions_of(facets, vocabulary)
        self.filter = Filter(facets, stated, recognised, vocabulary, view.serve, reading.lang)
        self.lines = {o: vocabulary.operator_line(o) for o in (*facets.operators, *reading.operators)}

    def channels(self, limit: int) -> dict[str, Mapping[int, float]]:
        """Raw scores by channel. `limit`: candidates that a channel may name."""
        lexical = self.catalog.match(self.reading.words, limit, self.reading.subjects)
        exact = {row: float(len(names)) for row, names in self.reading.exact.items()}
        # A name that hundreds of entries carry singles none of them out: the words around it choose.
        best = sorted(exact, key=lambda row: (-exact[row], -lexical.get(row, 0.0), row))[:limit]
        channels: dict[str, Mapping[int, float]] = {
            "lexical": lexical,
            "expansion": self.catalog.match(self.reading.expansion, limit),
            "exact": {row: exact[row] for row in best},
        }
        if self._nearest is not None:
            self.near = self._nearest(limit)
            floor = self.weights["cosine_floor"]
            channels["vector"] = {row: n.cosine - floor for row, n in self.near.items() if n.cosine > floor}
        return channels

    def declaring(self, limit: int) -> Sequence[int]:
        """Rows that declare what the text names, whatever words they use."""
        terms = [term for o in self.reading.operators for term in self.lines[o]]
        return self.catalog.declaring([*terms, *self.reading.bottlenecks], limit)

    def candidates(self, channels: Mapping[str, Mapping[int, float]], rows: list[int], prune: bool = False) -> list[Candidate]:
        """Scored candidates for `rows`, best first; withheld ones included.

        `prune`: without those that are too far behind to be shown; `pruned` then says whether there were any.
        """
        weights = dict(self.weights["channels"][self.reading.query_class])
        if lexical := channels.get("lexical"):
            # The best of poor matches is still a poor match: facets then decide.
            weights["lexical"] *= self.share(max(lexical, key=lambda row: (lexical[row], -row)))
        fused = convex({**channels, **self.more}, weights | self.weights["packs"]["channels"])
        excluded = {name.casefold() for name in self.facets.exclude}
        exact, unjudged = self.reading.exact, Scope()
        found = [
            Candidate(
                row, card, unjudged, fused.get(row, {}) | self._facet_terms(card), len(exact.get(row, ())), self.near.get(row)
            )
            for row, card in self.catalog.cards(rows).items()
            if not excluded or card["id"].casefold() not in excluded
        ]
        self.pruned = False
        return sorted(self._judged(sorted(found, key=lambda c: c.order), prune), key=lambda c: c.order)

    def _judged(self, candidates: list[Candidate], prune: bool) -> Iterator[Candidate]:
        """Candidates with what the filters say.

        With `prune` those are left out that could not be shown whatever the filters say: what a filter can still add is
        known, and the best that passes is the yardstick.
        """
        gain = self.weights["conditions"]["met"] + max(self.weights["tiers"].values())
        best = 0.0
        for candidate in candidates:
            if prune and not candidate.exact and candidate.merit + gain < self.weights["relative_floor"] * best:
                self.pruned = True
                continue
            self._judge(candidate)
            if candidate.scope.withheld is None:
                best = max(best, candidate.merit)
            yield candidate

    def _judge(self, candidate: Candidate) -> None:
        card, weights = candidate.card, self.weights
        scope = candidate.scope = self.filter.apply(card)
        conditions = weights["conditions"]
        if scope.met:
            candidate.add(conditions=conditions["met"])
        elif scope.not_met or scope.avoid:
            candidate.add(conditions=conditions["not_met"])
        if scope.unknown:
            candidate.add(scope=self.weights["scope_unknown"] * scope.unknown)
        if card["lifecycle"] == "deprecated":
            candidate.add(deprecated=self.weights["deprecated"])
        if card["id"] in self.stale:
            candidate.add(stale=self.weights["stale"])
        if tier := self.weights["tiers"][card["tier"]]:
            candidate.add(tier=tier)

    @cached_property
    def _asked(self) -> list[tuple[str, str, list[tuple[str, float]]]]:
        """Facet, key of the card, and the terms asked for with the weight of each; what was set weighs more."""
        boosts = self.weights["boosts"]
        asked = []
        for name, key in (("operators", "operators"), ("stages", "stages"), ("bottlenecks", "bottlenecks"), ("dsls", "dsl")):
            sources = ((getattr(self.facets, name), "set"), (getattr(self.reading, name), "recognised"))
            if terms := [(term, float(boosts[how][name])) for given, how in sources for term in given]:
                asked.append((name, key, terms))
        return asked

    @cached_property
    def _target_names(self) -> frozenset[str]:
        targets = [*self.filter.targets, *self.reading.targets]
        return frozenset([*targets, *map(self.catalog.vocabulary.architecture, targets)])

    def _facet_terms(self, card: Card) -> dict[str, float]:
        """One term per facet: the best of what was asked."""
        terms: dict[str, float] = {}
        for name, key, asked in self._asked:
            if best := max(weight * self._fit(name, term, card[key]) for term, weight in asked):
                terms[name] = best
        if not self._target_names.isdisjoint(card["targets"]):
            terms["targets"] = self.weights["boosts"]["set"]["targets"]
        return terms

    def _fit(self, facet: str, term: str, declared: list[str]) -> float:
        if term in declared:
            return 1.0
        boosts = self.weights["boosts"]
        if facet == "operators" and any(parent in declared for parent in self.lines.get(term, ())):
            return float(boosts["family"])
        return float(boosts["any"]) if "any" in declared else 0.0

    def confidence(self, best: Candidate | None) -> float:
        """How sure we are that `best` answers the text, 0..1: a logistic of what the text and the entry have in common.

        The share is the part of the text's IDF weight whose words occur in the entry. A word that no entry has weighs as
        much as the rarest one, unless the vocabulary knows it: then the question is of this field, only its answer may be
        missing. In hybrid mode the cosine of the nearest passage counts too, within the range in which it tells something.
        """
        if best is None or not self.reading.words:
            return 0.0
        limits, c = self.weights["confidence"], self.weights["confidence"][self.mode]
        share = self.share(best.row, self._declared_words(best.card))
        z = c["intercept"] + c["share"] * share + c["exact"] * bool(best.exact)
        z += c["facets"] * min(self.reading.facet_count, limits["max_facets"])
        z += c["field"] * min(len(self._field), limits["max_field"])
        if self.near:
            low, high = c["cosine_range"]
            nearest = min(max([low, *(n.cosine for n in self.near.values())]), high)
            z += c["cosine"] * (nearest - c["cosine_zero"]) + c["strong"] * max(0.0, nearest - c["strong_from"])
        return round(1 / (1 + math.exp(-z)), 4)

    @property
    def sure(self) -> float:
        """The confidence below which a text is taken for one about something else."""
        return float(self.weights["confidence"][self.mode]["threshold"])

    @property
    def mode(self) -> str:
        return "hybrid" if self.near else "lexical"

    def share(self, row: int, more: frozenset[str] = frozenset()) -> float:
        """The part of the text's weight that an entry's words, and `more`, hold, 0..1; see `confidence`."""
        held = self.catalog.words_of(row) | more
        return sum(w for word, w in self._word_weights.items() if word in held) / sum(self._word_weights.values())

    @cached_property
    def _field(self) -> frozenset[str]:
        """Words of the text that the vocabulary knows."""
        return self.catalog.of_the_field(self.reading.words)

    @cached_property
    def _word_weights(self) -> dict[str, float]:
        """IDF of each word of the text; see `confidence` for words that no entry has."""
        c = self.weights["confidence"]
        words = self.reading.words
        frequencies = self.catalog.frequencies(words)
        size = self.catalog.size()
        weight = {w: math.log(1 + (size + 0.5) / (frequencies.get(w, 0) + 0.5)) for w in words}
        for word in words:
            if word not in frequencies:
                weight[word] *= c["unseen_field"] if word in self._field else c["unseen_cjk"] if tokens.has_cjk(word) else 1.0
        return weight

    def _declared_words(self, card: Card) -> frozenset[str]:
        """Words of the terms that the text names and the entry declares: it need not use the same word for them."""
        vocabulary = self.catalog.vocabulary
        found: set[str] = set()
        for file, names, declared in (
            ("operators", self.reading.operators, card["operators"]),
            ("bottlenecks", self.reading.bottlenecks, card["bottlenecks"]),
            ("dsls", self.reading.dsls, card["dsl"]),
        ):
            for name in names:
                if {*self.lines.get(name, (name,)), "any"} & {*declared}:
                    found |= _words_of_term(vocabulary, file, name)
        return frozenset(found)


def _words_of_term(vocabulary: Vocabulary, file: str, name: str) -> frozenset[str]:
    """Search tokens of all the ways to write a term."""
    key = "words", file, name
    if key not in vocabulary.memo:
        term = vocabulary.term(file, name)
        texts = [term["title"], term["title_zh"], *term.get("aliases", ()), *term.get("aliases_zh", ())]
        vocabulary.memo[key] = frozenset(w for text in texts for w in tokens.query_words(text))
    found: frozenset[str] = vocabulary.memo[key]
    return found
