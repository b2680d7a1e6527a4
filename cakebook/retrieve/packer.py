"""What goes into a pack: a greedy choice of entries and of how much of each, within the budget."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

from cakebook.index.ranking import ranking
from cakebook.model.pack import Item, Level, Role
from cakebook.model.query import Lang, Withheld
from cakebook.retrieve.blocks import Body, body
from cakebook.retrieve.labels import in_lang, say
from cakebook.retrieve.rank import Candidate, Ranker
from cakebook.retrieve.render import Form
from cakebook.retrieve.search import notes_of
from cakebook.retrieve.view import View

CAVEATS = 2
"""Caveats of an item that are put into the text; the item itself holds all."""
SAID_ELSEWHERE = frozenset({"founding", "condition", "avoid-if"})
"""Caveats that the frame, or the entry's own When and Avoid lines, already say."""
ORDER: tuple[Role, ...] = ("diagnosis", "constraint", "skeleton", "lever")
SHARED: tuple[Role, ...] = ("constraint",)
"""Roles that are the same in every one of several packs."""
LEVER_SHARE = 0.3
"""Share of levers from which a stage is about them, and a form that shows only levers leaves out the rest."""
DEALT: tuple[Role, ...] = ("skeleton", "lever")
"""Roles whose groups are dealt out to several packs."""


@dataclass
class Choice:
    """A candidate that may enter the pack; `wanted` is False for one that may only come with an entry that requires it."""

    candidate: Candidate
    role: Role
    body: Body
    relevance: float
    wanted: bool = True
    level: Level | None = None

    @property
    def id(self) -> str:
        return str(self.candidate.card["id"])

    @property
    def group(self) -> str:
        """What several packs must not share: variants of one idea are one lever."""
        return str(self.candidate.card["variant_of"] or self.id)


Move = tuple[float, int, list[tuple[Choice, Level]]]
"""Value per token, tokens, changes."""


class Packer:
    """Greedy choice: most relevance × novelty × need of the role per added token."""

    def __init__(
        self,
        view: View,
        ranker: Ranker,
        stage: str,
        lang: Lang,
        form: Form,
        count: Callable[[str], int],
        left_out: Collection[str],
    ) -> None:
        """`count`: tokens of a text. `left_out`: ids that the caller already has or has given up."""
        self.view, self.ranker, self.stage, self.lang = view, ranker, stage, lang
        self.form, self.count, self.left_out = form, count, left_out
        self.shares: dict[str, float] = ranking()["packs"]["stages"][stage]
        self.gain: dict[str, float] = ranking()["packs"]["levels"]
        self.dropped: tuple[Withheld, ...] = ()
        self.required: dict[str, tuple[Choice, ...]] = {}
        self.conflicts: dict[str, list[str]] = {}
        self.costs: dict[tuple[int, Level], int] = {}

    def choices(self, candidates: list[Candidate]) -> list[Choice]:
        """What may enter a pack, with what it requires."""
        passing = [c for c in candidates if c.scope.withheld is None and c.merit > 0]
        for candidate in passing:
            if bonus := ranking()["packs"]["kinds"][self.stage].get(candidate.card["kind"]):
                candidate.add(**{"stage-kind": bonus})
        passing = self._without_superseded([c for c in self._near_enough(passing) if self._fits_stage(c)])
        best = max(map(_worth, passing), default=0.0)
        wanted = [self._choice(c, best) for c in passing]
        choices = wanted + self._with_required(wanted, best)
        for choice in choices:  # only the newer side of a contradiction names the other; the pack marks both
            for other in choice.candidate.card["conflicts_with"]:
                self.conflicts.setdefault(choice.id, []).append(other)
                self.conflicts.setdefault(other, []).append(choice.id)
        return choices

    def fill(self, choices: list[Choice], budget: int, pack: int = 1, of: int = 1) -> tuple[list[Choice], bool]:
        """Choose for one pack of several; returns what it shows, in order, and whether no lever was left for it.

        Several packs have the same constraints; their levers are dealt out group by group, the best first.
        """
        for choice in choices:
            choice.level = None
        chosen: list[Choice] = []
        if of == 1:
            self._greedy(choices, chosen, budget, budget)
            exhausted = not chosen
        else:
            shared = [c for c in choices if c.role in SHARED or not c.wanted]
            share = max(self.shares[role] for role in SHARED)
            self._greedy(shared, chosen, int(share * budget), budget)
            fixed = {c.id for c in chosen}
            mine = self.dealt(choices, pack, of)
            pool = [c for c in choices if not c.wanted or c.role not in (*SHARED, *DEALT) or c in mine]
            spent = sum(self.cost(c, c.level) for c in chosen)
            self._greedy([c for c in pool if c.id not in fixed], chosen, budget - spent, budget)
            exhausted = not any(c in mine for c in chosen)
        shown = sorted(chosen, key=self._place)
        return shown, exhausted

    def _place(self, choice: Choice) -> tuple[int, tuple[int, float, str]]:
        """Where an item stands: by role; in a review by relevance alone, and a fault's exact name before everything."""
        by_role = ORDER.index(choice.role) if self.stage != "review" else 0
        return -1 if self.stage == "debug" and choice.candidate.exact else by_role, choice.candidate.order

    def dealt(self, choices: list[Choice], pack: int, of: int) -> list[Choice]:
        """The levers of one pack: every `of`-th group."""
        groups: dict[str, list[Choice]] = {}
        for choice in sorted((c for c in choices if c.wanted and c.role in DEALT), key=lambda c: c.candidate.order):
            groups.setdefault(choice.group, []).append(choice)
        return [choice for group in list(groups.values())[pack - 1 :: of] for choice in group]

    def _greedy(self, choices: list[Choice], chosen: list[Choice], room: int, budget: int) -> None:
        """Take the best move as long as one fits into `room`; `budget` is what the shares of the roles refer to."""
        wanted = [c for c in choices if c.wanted]
        first = self._first_of_each_role(wanted)
        if named := [c for c in wanted if c.candidate.exact]:  # what the text names goes before any role
            first.insert(0, min(named, key=lambda c: c.candidate.order))
        while True:
            # Every role that the stage needs gets its best entry before any gets a second one.
            last = not first
            pool = choices if last else [first.pop(0)]
            if self.form.items and len(chosen) >= self.form.items:
                pool = [c for c in pool if c.level]
            moves = [m for c in pool if (c.wanted or c.level) and (m := self._move(c, chosen, room, budget)) is not None]
            if not moves and last:
                return
            for _, cost, unit in sorted(moves, key=lambda m: (-m[0], m[2][0][0].id))[:1]:
                for choice, level in unit:
                    choice.level = level
                    if choice not in chosen:
                        chosen.append(choice)
                room -= cost

    def item(self, choice: Choice) -> Item:
        """The pack item of a choice."""
        card = choice.candidate.card
        assert choice.level is not None
        return Item(
            id=card["id"],
            digest=card["digest"],
            title=in_lang(card, "title", self.lang),
            tier=card["tier"],
            role=choice.role,
            level=choice.level,
            why=self._why(choice),
            text=self._text(choice, choice.level),
            caveats=notes_of(choice.candidate, self.view.stale, self.lang),
            missing_evidence=tuple(card["missing_evidence"]),
            sources=tuple(s["resource"] for s in card["sources"]),
        )

    def cost(self, choice: Choice, level: Level | None) -> int:
        """Tokens that an item adds to the pack at a level: its text, its citation, its fences."""
        assert level is not None
        key = choice.candidate.row, level
        if key not in self.costs:  # asked for at every step
            text = self.form.item(choice.candidate.card, choice.role, self._text(choice, level), self.lang)
            self.costs[key] = self.count(text)
        return self.costs[key]

    def _first_of_each_role(self, choices: list[Choice]) -> list[Choice]:
        """The best choice of each role with a real share, the largest share first."""
        first: list[Choice] = []
        for role, share in sorted(self.shares.items(), key=lambda item: -item[1]):
            mine = [c for c in choices if c.role == role]
            if mine and share >= ranking()["packs"]["reserved_share"]:
                first.append(min(mine, key=lambda c: c.candidate.order))
        return first

    def _near_enough(self, passing: list[Candidate]) -> list[Candidate]:
        """Without the long tail; what an exact name adds to the best one is no yardstick for the others.

        Hardware facts of the very target that was asked for always come near: whatever the operator, they bound it.
        """
        best = max((c.merit - c.terms.get("exact", 0.0) for c in passing), default=0.0)
        floor = ranking()["packs"]["relative_floor"] * best
        asked = bool(self.ranker.facets.targets)
        return [
            c
            for c in passing
            if c.exact or c.merit >= floor or (asked and c.card["kind"] == "hardware" and "targets" in c.terms)
        ]

    def _fits_stage(self, candidate: Candidate) -> bool:
        """Whether the stage has a use for the entry.

        A first version and a lowering get no tips that only make a working kernel faster; a choice of the DSL is no place for
        advice about a fault.
        """
        card, declared = candidate.card, {*candidate.card["stages"]}
        role = self._role(card)
        levers_only = self.form.roles and self.shares["lever"] >= LEVER_SHARE
        if self.shares[role] <= 0 or (levers_only and role not in self.form.roles):
            return False
        if not declared or "any" in declared or self.stage in declared:
            return True
        return not (role == "lever" and self.stage in ("draft", "lower")) and not (
            role == "diagnosis" and self.stage == "route"
        )

    def _role(self, card: dict[str, Any]) -> Role:
        return self.view.catalog.vocabulary.role(card["kind"])  # type: ignore[return-value]

    def _choice(self, candidate: Candidate, best: float) -> Choice:
        sections = self.view.catalog.sections(candidate.row)
        text = body(candidate.card, sections, self.lang, self.stage == "review", self.form.one_fence)
        relevance = 2.0 if candidate.exact else (_worth(candidate) / best) ** 2 if best else 0.0
        return Choice(candidate, self._role(candidate.card), text, relevance)

    def _without_superseded(self, candidates: list[Candidate]) -> list[Candidate]:
        newer = {old: c.card["id"] for c in candidates for old in c.card["supersedes"]}
        gone = [c for c in candidates if c.card["id"] in newer]
        self.dropped = tuple(
            Withheld(c.card["id"], "superseded", say("superseded", self.lang, id=newer[c.card["id"]])) for c in gone
        )
        return [c for c in candidates if c not in gone]

    def _with_required(self, wanted: list[Choice], best: float) -> list[Choice]:
        """Note for every choice what it requires, directly or not; returns what did not come near by itself.

        Filters hold for it too, and what the caller already has is not repeated.
        """
        known: dict[str, Choice | None] = {c.id: c for c in wanted} | dict.fromkeys(self.left_out)
        more: list[Choice] = []
        queue = list(wanted)
        for choice in queue:
            closure: dict[str, None] = {}
            names = list(choice.candidate.card["requires"])
            while names:
                name = names.pop(0)
                if name == choice.id or name in closure:
                    continue
                closure[name] = None
                if name not in known:
                    known[name] = self._companion(name, best)
                    if found := known[name]:
                        more.append(found)
                        queue.append(found)
                if found := known[name]:
                    names += found.candidate.card["requires"]
            self.required[choice.id] = tuple(found for name in closure if (found := known[name]) is not None)
        return more

    def _companion(self, name: str, best: float) -> Choice | None:
        row = self.view.catalog.row_of(name)
        for candidate in self.ranker.candidates({}, [row]) if row is not None else ():
            if candidate.scope.withheld is None:
                return replace(self._choice(candidate, best), wanted=False)
        return None

    def _move(self, choice: Choice, chosen: list[Choice], room: int, budget: int) -> Move | None:
        """The best next step for one candidate: enter the pack, or rise a level."""
        if choice.level is None:
            needed = [c for c in self.required[choice.id] if c.level is None]
            for level in ("summary", "title"):
                unit = [(choice, self._at(choice, level)), *((n, self._at(n, "summary")) for n in needed)]
                cost = sum(self.cost(c, lv) for c, lv in unit)
                if cost <= room:
                    return self._value(choice, chosen, unit[0][1], 0.0, cost, budget), cost, unit
            return None
        levels = self._levels(choice)
        higher = levels[levels.index(choice.level) + 1 :]
        for level in higher[:1]:
            cost = self.cost(choice, level) - self.cost(choice, choice.level)
            if cost <= room:
                had = self.gain[choice.level]
                return self._value(choice, chosen, level, had, cost, budget), cost, [(choice, level)]
        return None

    def _levels(self, choice: Choice) -> tuple[Level, ...]:
        return tuple(level for level in choice.body.levels() if level in self.form.levels)

    def _at(self, choice: Choice, level: Level) -> Level:
        """`level`, or the lowest one that the entry has."""
        levels = self._levels(choice)
        return level if level in levels else levels[0]

    def _value(self, choice: Choice, chosen: list[Choice], level: Level, had: float, cost: int, budget: int) -> float:
        others = [c for c in chosen if c is not choice]
        share = self.shares[choice.role]
        used = sum(self.cost(c, c.level) for c in others if c.role == choice.role and c.level)
        need = share * max(0.05, 1 - used / (share * budget)) if share else 0.0
        return choice.relevance * self._novelty(choice, others) * need * (self.gain[level] - had) / max(cost, 1)

    def _novelty(self, choice: Choice, chosen: list[Choice]) -> float:
        """How little of an entry's subject the pack already covers, 1 for all new."""
        mine = self._subject(choice.candidate.card)
        theirs = [self._subject(c.candidate.card) for c in chosen]
        overlap = max((len(mine & other) / len(mine | other) for other in theirs if mine | other), default=0.0)
        if choice.candidate.card["variant_of"] and any(c.group == choice.group for c in chosen):
            overlap = 1.0
        return max(float(ranking()["packs"]["novelty_floor"]), 1 - overlap)

    def _subject(self, card: dict[str, Any]) -> frozenset[str]:
        """What an entry is about; where a DSL is chosen, that is the DSL."""
        if self.stage == "route":
            return frozenset([*card["dsl"], card["kind"]])
        return frozenset([*card["apis"], *card["bottlenecks"], card["kind"]])

    def _text(self, choice: Choice, level: Level) -> str:
        """What is quoted: the entry, then the gravest caveats; in one line, the best figure first."""
        notes = [n for n in notes_of(choice.candidate, self.view.stale, self.lang) if n.code not in SAID_ELSEWHERE]
        others = dict.fromkeys(self.conflicts.get(choice.id, ()))
        warnings = [*(say("conflict", self.lang, id=i) for i in others), *(n.text for n in notes)][:CAVEATS]
        return "\n".join([choice.body.texts[level], *(f"! {w}" for w in warnings)])

    def _why(self, choice: Choice) -> str:
        card, facets = choice.candidate.card, self.ranker.facets
        vocabulary = self.view.catalog.vocabulary
        parts: list[str] = [choice.candidate.scope.met] if choice.candidate.scope.met else []
        parts += self.ranker.reading.exact.get(choice.candidate.row, ())
        parts += self.ranker.apis.get(choice.candidate.row, ())
        for file, asked, key in (
            ("bottlenecks", (*facets.bottlenecks, *self.ranker.reading.bottlenecks), "bottlenecks"),
            ("operators", (*facets.operators, *self.ranker.reading.operators), "operators"),
        ):
            lines = {name: vocabulary.operator_line(name) if file == "operators" else (name,) for name in asked}
            parts += [vocabulary.label(file, n, self.lang) for n in lines if set(lines[n]) & {*card[key]}]
        parts += [t for t in card["targets"] if t in map(vocabulary.architecture, self.ranker.filter.targets)]
        # Nothing that was asked is declared: it is there for the part that its kind plays.
        return "; ".join(dict.fromkeys(parts)) or vocabulary.label("kinds", card["kind"], self.lang)


def _worth(candidate: Candidate) -> float:
    """The score, or, where penalties take more than speaks for the entry, a small positive part of its merit."""
    return max(candidate.score, 0.1 * candidate.merit)
