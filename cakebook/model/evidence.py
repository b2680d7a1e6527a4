"""Evidence: what was observed, by whom, under which conditions; and what is missing from it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from cakebook.model.base import UNKNOWN, OpenModel, Unknown


def _blank_is_unknown(value: Any) -> Any:
    return UNKNOWN if value == "" else value


Number = Annotated[Annotated[float, Field(allow_inf_nan=False)] | Unknown, BeforeValidator(_blank_is_unknown)]
Text = Annotated[str, BeforeValidator(_blank_is_unknown)]


class TensorSpec(OpenModel):
    """One input: `shape` in elements (a symbol such as `B` is allowed), `dtype` and `layout` as vocabulary terms."""

    shape: tuple[int | str, ...] = ()
    dtype: Text = UNKNOWN
    layout: Text = UNKNOWN


class Row(OpenModel):
    """One measurement pair, in the item's unit."""

    inputs: tuple[TensorSpec, ...] = ()
    before: Number = UNKNOWN
    after: Number = UNKNOWN
    note: str = ""


class Baseline(OpenModel):
    """What `before` stands for."""

    kind: Literal["hand-optimised", "vendor-library", "previous", "eager", "other-system", "unknown"] = UNKNOWN
    text: str = ""


class Timing(OpenModel):
    """How the time was taken. A simulator is a method of its own, never a kind of board."""

    method: Literal[
        "board", "simulator", "formula", "counter", "event-timer", "board-or-simulator", "not-stated", "unknown"
    ] = UNKNOWN
    warmup: Text = UNKNOWN
    repeats: Text = UNKNOWN
    statistic: Text = UNKNOWN


class Correctness(OpenModel):
    """The check that went with the measurement."""

    tolerance: Text = UNKNOWN
    cases: Text = UNKNOWN
    passed: Text = UNKNOWN
    reference: Text = UNKNOWN


class Evidence(OpenModel):
    """What every item has. `level`: only items of one level compare."""

    id: str
    type: str
    level: Literal["kernel", "operator", "model", "unknown"] = UNKNOWN
    hardware: Text = UNKNOWN
    cann: Text = UNKNOWN
    origin: Literal["own", "reported", "unknown"] = UNKNOWN
    measured_by: Text = UNKNOWN
    raw: Text = UNKNOWN
    source: Text = UNKNOWN

    def missing(self) -> tuple[str, ...]:
        """Dotted names of the fields that a reader would need to repeat the observation and that are not known."""
        return tuple(name for name in self._needed() if _is_unknown(self, name))

    def _needed(self) -> tuple[str, ...]:
        return ("level", "hardware", "cann")


class Functional(Evidence):
    """Something compiles, runs or is correct now and did not before."""

    type: Literal["functional"]
    check: Literal["compiles", "runs", "correct", "unknown"] = UNKNOWN
    before: Text = UNKNOWN
    after: Text = UNKNOWN
    error: Text = UNKNOWN
    tries: Text = UNKNOWN


class Ratio(Evidence):
    """A speed-up or share without the absolute numbers behind it."""

    type: Literal["ratio-only"]
    metric: Text = UNKNOWN
    rows: tuple[Row, ...] = ()
    min: Number = UNKNOWN
    max: Number = UNKNOWN
    geomean: Number = UNKNOWN
    n: Text = UNKNOWN
    operator: Text = UNKNOWN
    baseline: Baseline | Unknown = UNKNOWN
    timing: Timing | Unknown = UNKNOWN
    correctness: Correctness | Unknown = UNKNOWN

    def _needed(self) -> tuple[str, ...]:
        return (
            "level", "metric", "hardware", "cann", "operator", "baseline.kind", "timing.method", "timing.repeats",
            "timing.statistic", "correctness.tolerance",
        )  # fmt: skip


class Timed(Ratio):
    """Absolute times (or another metric) in `unit`, per input or as a summary over `n` cases."""

    type: Literal["timed"] = "timed"  # type: ignore[assignment]
    unit: Text = UNKNOWN
    runs: Text = UNKNOWN
    spread: Text = UNKNOWN
    driver: Text = UNKNOWN
    flags: Text = UNKNOWN

    def _needed(self) -> tuple[str, ...]:
        return (
            "level", "metric", "unit", "runs", "spread", "hardware", "cann", "driver", "flags", "operator",
            "baseline.kind", "timing.method", "timing.warmup", "timing.repeats", "timing.statistic",
            "correctness.tolerance", "correctness.passed", "raw",
        )  # fmt: skip


def _is_unknown(item: Any, dotted: str) -> bool:
    for name in dotted.split("."):
        if item == UNKNOWN:
            return True
        item = getattr(item, name)
    return bool(item == UNKNOWN)


def _kind_of(value: Any) -> str:
    kind = value.get("type", "") if isinstance(value, dict) else getattr(value, "type", "")
    return kind if kind in ("functional", "ratio-only", "timed") else "timed"


EvidenceItem = Annotated[
    Annotated[Functional, Tag("functional")] | Annotated[Ratio, Tag("ratio-only")] | Annotated[Timed, Tag("timed")],
    Discriminator(_kind_of),
]
