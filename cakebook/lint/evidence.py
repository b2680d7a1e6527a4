"""Rules CB801 to CB804: what an observation must say. `unknown` is an answer; leaving a field out is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cakebook.lint.examples import edit
from cakebook.lint.registry import Hit, rule
from cakebook.lint.subject import Subject
from cakebook.model.base import UNKNOWN
from cakebook.model.evidence import Ratio


@rule(
    "CB801",
    "evidence-fields",
    "evidence",
    completeness=True,
    what="An evidence item leaves out fields that a reader would need to repeat the observation.",
    why="An entry cannot become `measured` without them, and wherever the figure is shown, so is what is missing from it.",
    fix="Write the value, or `unknown` where you do not know it.",
    bad=(edit("    runs: 5\n", ""), edit("warmup: 3, ", "")),
    good=(edit("    runs: 5\n", "    runs: unknown\n"),),
)
def evidence_fields(s: Subject) -> Iterator[Hit]:
    for i, item in enumerate(s.entry.evidence):
        own = item.origin == "own"
        needed = [name for name in item.missing() if own or name != "raw"]  # nobody keeps the raw data of somebody else
        left_out = [name for name in needed if not _says_unknown(s.front.values["evidence"][i], name)]
        if left_out:
            without = "the entry cannot become `measured`" if own else "readers cannot repeat it"
            message = f"evidence `{item.id}` leaves out {', '.join(left_out)}"
            yield s.hit(message, "evidence", i, hint=f"without, {without}; write the value, or `unknown`")


def _says_unknown(item: Any, dotted: str) -> bool:
    for name in dotted.split("."):
        item = item.get(name, "") if isinstance(item, dict) else item
        if item == UNKNOWN:
            return True
    return False


@rule(
    "CB802",
    "timed-without-method",
    "evidence",
    completeness=True,
    what="A timed observation or a ratio does not say how it was taken.",
    why="A simulator's microseconds and a board's are different things; a figure without its method cannot be compared.",
    fix="Write `timing: {method: …}`: board, simulator, formula, counter, event-timer, board-or-simulator, or not-stated if "
    "the source does not say.",
    bad=(
        edit("{method: board, warmup: 3, repeats: 20, statistic: median}", "unknown"),
        edit("method: board", "method: unknown"),
    ),
    good=(edit("method: board", "method: not-stated"),),
)
def timed_without_method(s: Subject) -> Iterator[Hit]:
    for i, item in enumerate(s.entry.evidence):
        if isinstance(item, Ratio) and (item.timing == UNKNOWN or item.timing.method == UNKNOWN):
            hint = "write board, simulator, formula, counter, … or not-stated"
            yield s.hit(f"evidence `{item.id}` does not say how the time was taken", "evidence", i, "timing", hint=hint)


@rule(
    "CB803",
    "evidence-id",
    "evidence",
    what="Two evidence items have the same id.",
    why="Notes and reports refer to an observation by its id.",
    fix="Rename one of them.",
    bad=(edit("evidence:\n", "evidence:\n  - {id: rows, type: functional, check: runs, source: story}\n"),),
)
def evidence_id(s: Subject) -> Iterator[Hit]:
    seen: set[str] = set()
    for i, item in enumerate(s.entry.evidence):
        if item.id in seen:
            yield s.hit(f"evidence id `{item.id}` stands twice", "evidence", i, "id", hint="rename one of them")
        seen.add(item.id)


@rule(
    "CB804",
    "evidence-without-value",
    "evidence",
    what="A timed observation or a ratio holds no number: no row with one, no minimum, maximum or mean.",
    why="There is nothing to compare; what is only said belongs into the text.",
    fix="Give `rows` with `before` and `after`, or `min`, `max`, `geomean` and `n`; for what works now and did not, write "
    "`type: functional`.",
    bad=(edit("before: 54.3, after: 49.0", "note: faster"),),
    good=(
        edit(
            "    rows: [{inputs: [{shape: [4096, 8192], dtype: float16}], before: 54.3, after: 49.0}]\n",
            "    geomean: 1.1\n    n: 12\n",
        ),
    ),
)
def evidence_without_value(s: Subject) -> Iterator[Hit]:
    for i, item in enumerate(s.entry.evidence):
        if not isinstance(item, Ratio):
            continue
        values = [item.min, item.max, item.geomean, *(v for row in item.rows for v in (row.before, row.after))]
        if all(v == UNKNOWN for v in values):
            yield s.hit(f"evidence `{item.id}` holds no number", "evidence", i, hint="give rows, or min, max, geomean and n")
