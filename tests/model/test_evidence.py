"""Evidence: which fields a reader would need and does not have, for each type and however `unknown` was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from cakebook.model.evidence import EvidenceItem, Functional, Ratio, Timed

ITEM = TypeAdapter(EvidenceItem)

FUNCTIONAL = ("level", "hardware", "cann")
RATIO = (
    "level", "metric", "hardware", "cann", "operator", "baseline.kind", "timing.method", "timing.repeats", "timing.statistic",
    "correctness.tolerance",
)  # fmt: skip
TIMED = (
    "level", "metric", "unit", "runs", "spread", "hardware", "cann", "driver", "flags", "operator", "baseline.kind",
    "timing.method", "timing.warmup", "timing.repeats", "timing.statistic", "correctness.tolerance", "correctness.passed", "raw",
)  # fmt: skip

COMPLETE = {
    "id": "e", "type": "timed", "level": "kernel", "metric": "task_duration", "unit": "us", "runs": "5", "spread": "1 %",
    "hardware": "910B3", "cann": "8.2.RC1", "driver": "24.1", "flags": "-O3", "operator": "RmsNorm",
    "baseline": {"kind": "previous", "text": "before"},
    "timing": {"method": "board", "warmup": "3", "repeats": "20", "statistic": "median"},
    "correctness": {"tolerance": "1e-3", "cases": "4", "passed": "4", "reference": "numpy"},
    "rows": [{"inputs": [{"shape": ["4096", "B"], "dtype": "float16"}], "before": "54.3", "after": "49.0"}],
    "raw": "sha256:00", "origin": "own", "measured_by": "someone",
}  # fmt: skip


def without(dotted: str, value: object = None) -> dict:
    """The complete item without one field, or with another value there."""
    first, _, second = dotted.partition(".")
    item = {**COMPLETE, first: dict(COMPLETE[first])} if second else dict(COMPLETE)
    target, name = (item[first], second) if second else (item, first)
    del target[name]
    if value is not None:
        target[name] = value
    return item


def test_nothing_is_missing_from_a_complete_item():
    assert ITEM.validate_python(COMPLETE).missing() == ()


@pytest.mark.parametrize(
    ("type_", "model", "needed"),
    [("functional", Functional, FUNCTIONAL), ("ratio-only", Ratio, RATIO), ("timed", Timed, TIMED)],
)
def test_an_empty_item_lacks_everything_in_the_order_of_the_form(type_, model, needed):
    item = ITEM.validate_python({"id": "e", "type": type_})
    assert type(item) is model
    assert item.missing() == needed


CHOICES = ("level", "baseline.kind", "timing.method")
"""Fields that have no empty form."""


@pytest.mark.parametrize(
    ("dotted", "written"),
    [(dotted, written) for dotted in TIMED for written in (None, "unknown", "") if written != "" or dotted not in CHOICES],
)
def test_exactly_the_unknown_field_is_missing(dotted, written):
    assert ITEM.validate_python(without(dotted, written)).missing() == (dotted,)


@pytest.mark.parametrize("dotted", CHOICES)
def test_a_choice_must_be_one_of_its_words(dotted):
    for written in ("", "other"):
        with pytest.raises(ValueError, match="unknown"):
            ITEM.validate_python(without(dotted, written))


@pytest.mark.parametrize("block", ["baseline", "timing", "correctness"])
def test_a_block_that_is_unknown_as_a_whole_lacks_all_its_needed_fields(block):
    expected = tuple(name for name in TIMED if name.startswith(f"{block}."))
    assert ITEM.validate_python({**COMPLETE, block: "unknown"}).missing() == expected
    assert ITEM.validate_python({k: v for k, v in COMPLETE.items() if k != block}).missing() == expected


def test_an_item_without_a_type_is_held_to_the_strictest_form():
    item = ITEM.validate_python({k: v for k, v in COMPLETE.items() if k != "type"})
    assert type(item) is Timed and item.missing() == ()


@pytest.mark.parametrize("type_", ["", "measured", "Timed", ["timed"]])
def test_another_type_is_refused(type_):
    with pytest.raises(ValueError, match="type"):
        ITEM.validate_python({**COMPLETE, "type": type_})


def test_unknown_numbers_stay_unknown_and_others_become_numbers():
    item = ITEM.validate_python({**COMPLETE, "rows": [{"before": "unknown", "after": "49.0"}, {"before": "", "after": "5e1"}]})
    assert [(row.before, row.after) for row in item.rows] == [("unknown", 49.0), ("unknown", 50.0)]


def test_keys_that_are_not_ours_are_kept_and_never_missing():
    item = ITEM.validate_python({**COMPLETE, "board_serial": "x", "timing": {**COMPLETE["timing"], "clock": "locked"}})
    dumped = item.model_dump()
    assert dumped["board_serial"] == "x" and dumped["timing"]["clock"] == "locked"
    assert item.missing() == ()


@given(st.sets(st.sampled_from(TIMED)))
def test_missing_names_exactly_what_was_left_out(left_out):
    item = {name: dict(value) if isinstance(value, dict) else value for name, value in COMPLETE.items()}
    for dotted in left_out:
        first, _, second = dotted.partition(".")
        target, name = (item[first], second) if second else (item, first)
        target[name] = "unknown"
    assert ITEM.validate_python(item).missing() == tuple(name for name in TIMED if name in left_out)
