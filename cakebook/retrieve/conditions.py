"""Conditions: which facet values a request implies, and whether a case of an entry holds. Three-valued throughout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from typing import Any

from cakebook.model.query import Facets
from cakebook.model.terms import Vocabulary
from cakebook.retrieve.expressions import Value, evaluate

Known = Mapping[str, frozenset[str]]
"""Condition facet → values that hold. A facet that is absent is unknown."""

DTYPE_BYTES = {
    "float32": 4, "float16": 2, "bfloat16": 2, "hifloat8": 1, "float8": 1, "int8": 1, "uint8": 1, "int16": 2, "int32": 4,
    "int64": 8, "bool": 1,
}  # fmt: skip
"""Bytes per element; 4-bit types have none and stay unknown."""


class Conditions(Mapping[str, frozenset[str]]):
    """Every facet value that a request states (`when`) or that a rule of the vocabulary computes from it, when looked at.

    With several dtypes or targets a facet holds the values of each; what one of them leaves open is unknown.
    """

    def __init__(self, facets: Facets, vocabulary: Vocabulary) -> None:
        self._facets, self._vocabulary = facets, vocabulary
        self._known: dict[str, frozenset[str] | None] = {name: frozenset(values) for name, values in facets.when.items()}

    def __getitem__(self, facet: str) -> frozenset[str]:
        if facet not in self._known:
            self._known[facet] = self._compute(facet)
        known = self._known[facet]
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


def holds(match: Mapping[str, Any], known: Known) -> bool | None:
    """Whether a case holds: false if one facet contradicts, else unknown if one is open or nothing is stated, else true."""
    result: bool | None = True if match else None
    for facet, values in match.items():
        if facet not in known:
            result = None
        elif known[facet].isdisjoint(values):
            return False
    return result


def holds_throughout(match: Mapping[str, Any], known: Known) -> bool:
    """Whether a case holds for every value of the request, as a reason to leave an entry out must."""
    return bool(match) and all(facet in known and known[facet] <= {*values} for facet, values in match.items())


def open_facets(match: Mapping[str, Any], known: Known) -> list[str]:
    """Facets of a case that the request leaves open."""
    return [facet for facet in match if facet not in known]


def _computed(cases: list[dict[str, str]], values: Mapping[str, Value]) -> frozenset[str] | None:
    """Values whose case certainly holds; None if there is none."""
    return frozenset(case["value"] for case in cases if evaluate(case["when"], values)) or None


def _product(numbers: tuple[int, ...]) -> int:
    return reduce(lambda a, b: a * b, numbers, 1)
