"""Conditions: which facet values a request implies, and whether a case of an entry holds. Three-valued throughout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from typing import Any, NamedTuple

from cakebook.model.query import Facets
from cakebook.model.terms import Vocabulary
from cakebook.retrieve.expressions import Value, evaluate

Known = Mapping[str, frozenset[str]]
"""Condition facet → values that hold. A facet that is absent is unknown."""

Match = Mapping[str, Any]
"""Facet → values of one case."""
KEPT = 64
"""Requests whose conditions are kept."""
DTYPE_BYTES = {
    "float32": 4, "float16": 2, "bfloat16": 2, "hifloat8": 1, "float8": 1, "int8": 1, "uint8": 1, "int16": 2, "int32": 4,
    "int64": 8, "bool": 1,
}  # fmt: skip
"""Bytes per element; 4-bit types have none and stay unknown."""


class Outcome(NamedTuple):
    """Whether a case holds, whether for every value of the request, and the facets that the request leaves open."""

    holds: bool | None
    throughout: bool
    open: tuple[str, ...]


class Conditions(Mapping[str, frozenset[str]]):
    """Every facet value that a request states (`when`) or that a rule of the vocabulary computes from it, when looked at.

    With several dtypes or targets a facet holds the values of each; what one of them leaves open is unknown.
    """

    def __init__(self, facets: Facets, vocabulary: Vocabulary) -> None:
        self._facets, self._vocabulary = facets, vocabulary
        self._known: dict[str, frozenset[str] | None] = {name: frozenset(values) for name, values in facets.when.items()}
        self._cases: dict[int, tuple[Match, Outcome]] = {}

    def outcome(self, match: Match) -> Outcome:
        """What the conditions make of a case. Kept with the case itself: cards of a catalog stay, and so do the conditions."""
        kept = self._cases.get(id(match))
        if kept is None or kept[0] is not match:
            found = Outcome(holds(match, self), holds_throughout(match, self), tuple(open_facets(match, self)))
            kept = self._cases[id(match)] = match, found
        return kept[1]

    def get(self, facet: str, default: Any = None) -> Any:
        """The values of a facet, `default` if it is not known. Unknown is the common case: no exception is raised for it."""
        if facet not in self._known:
            self._known[facet] = self._compute(facet)
        known = self._known[facet]
        return default if known is None else known

    def __contains__(self, facet: object) -> bool:
        return self.get(str(facet)) is not None

    def __getitem__(self, facet: str) -> frozenset[str]:
        known: frozenset[str] | None = self.get(facet)
        if known is None:
            raise KeyError(facet)
        return known

    def __iter__(self) -> Iterator[str]:
        facets = self._vocabulary.files.get("conditions", {})
        return iter([facet for facet in facets if facet in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _compute(self, facet: str) -> frozenset[str] | None:
        cases = self._vocabulary.term("conditions", facet).get("cases")
        found = [_computed(cases, v) if cases else None for v in self._variants]
        values = [f for f in found if f is not None]
        return frozenset().union(*values) if values and len(values) == len(found) else None

    @cached_property
    def _variants(self) -> list[dict[str, Value]]:
        """The variables for each combination of target and dtype."""
        f, vocabulary = self._facets, self._vocabulary
        targets = [t for name in f.targets for t in vocabulary.expand_target(name)] or [""]
        return [variables(f, vocabulary, target, dtype) for target in targets for dtype in f.dtypes or ("",)]


def conditions_of(facets: Facets, vocabulary: Vocabulary) -> Conditions:
    """The conditions of what a caller set, kept: generators ask again and again about the same operator on the same chip."""
    kept: dict[Any, Conditions] = vocabulary.memo.setdefault("conditions", {})
    f = facets
    key = f.targets, f.dtypes, f.shapes, f.layout, f.operators, tuple(sorted(f.when.items()))
    if key not in kept:
        if len(kept) >= KEPT:
            kept.clear()
        kept[key] = Conditions(facets, vocabulary)
    return kept[key]


def variables(facets: Facets, vocabulary: Vocabulary, target: str, dtype: str) -> dict[str, Value]:
    """The variables that condition rules may use, for one target and dtype; what is not known is absent."""
    values: dict[str, Value] = {}
    if dtype:
        values["dtype"] = dtype
        if dtype in DTYPE_BYTES:
            values["dtype_bytes"] = DTYPE_BYTES[dtype]
    if facets.layout:
        values["layout"] = facets.layout
    if facets.shapes:
        shape = facets.shapes[0]
        values |= {"rank": len(shape), "elements": _product(shape)}
        if shape:
            values |= {"last_dim": shape[-1], "rows": _product(shape[:-1])}
        if "dtype_bytes" in values:
            values["input_bytes"] = sum(_product(s) for s in facets.shapes) * int(values["dtype_bytes"])
        if len(facets.shapes) == 2 and all(len(s) >= 2 for s in facets.shapes) and shape[-1] == facets.shapes[1][-2]:
            values |= {"m": shape[-2], "k": shape[-1], "n": facets.shapes[1][-1]}
    if target:
        term = vocabulary.term("targets", target)
        architecture = vocabulary.architecture(target)
        values["target_arch"] = architecture
        if term.get("level") == "sku":
            values["sku"] = target
        facts = {**vocabulary.term("targets", architecture).get("facts", {}), **term.get("facts", {})}
        values |= {name: int(number) for name, number in facts.items()}
    # A family's mix is not its members': the vocabulary leaves it out where it varies.
    mixes = {str(vocabulary.term("operators", name).get("mix") or "") for name in facets.operators}
    if len(mixes) == 1 and "" not in mixes:
        values["operator_mix"] = mixes.pop()
    return values


def holds(match: Match, known: Known) -> bool | None:
    """Whether a case holds: false if one facet contradicts, else unknown if one is open or nothing is stated, else true."""
    result: bool | None = True if match else None
    for facet, values in match.items():
        found = known.get(facet)
        if found is None:
            result = None
        elif found.isdisjoint(values):
            return False
    return result


def holds_throughout(match: Match, known: Known) -> bool:
    """Whether a case holds for every value of the request, as a reason to leave an entry out must."""
    return bool(match) and all(
        (found := known.get(facet)) is not None and found <= {*values} for facet, values in match.items()
    )


def open_facets(match: Mapping[str, Any], known: Known) -> list[str]:
    """Facets of a case that the request leaves open."""
    return [facet for facet in match if facet not in known]


def _computed(cases: list[dict[str, str]], values: Mapping[str, Value]) -> frozenset[str] | None:
    """Values whose case certainly holds; None if there is none."""
    return frozenset(case["value"] for case in cases if evaluate(case["when"], values)) or None


def _product(numbers: tuple[int, ...]) -> int:
    return reduce(lambda a, b: a * b, numbers, 1)
