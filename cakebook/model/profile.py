"""What a profile of a kernel says. Standard dataclasses: see the package docstring."""

from __future__ import annotations

from dataclasses import dataclass

from cakebook.model.notes import Note


@dataclass(frozen=True)
class RowUsed:
    """The row of a file that values were taken from.

    `of`: how many rows it was chosen from, launches where `core` is empty, else the blocks of one core type.
    `line` counts lines from 1, `block` is `block_id sub_block_id` as the file writes them.
    """

    file: str
    line: int
    of: int
    core: str = ""
    block: str = ""


@dataclass(frozen=True)
class Finding:
    """One rule of the vocabulary, judged. `rule` is the expression with its threshold, `values` what stood in it.

    A rule that does not hold is reported where another one of the same bottleneck does: the pages disagree.
    """

    bottleneck: str
    rule: str
    holds: bool
    values: dict[str, float]
    source: str
    note: str = ""
    note_zh: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """What the profile of one operator shows.

    `source`: the files read, relative to the folder that was given, or the values given.
    `core`: the kind of core, as the profiler writes it (`AI_VECTOR_CORE`, `MIX_AIC`, `vector`).
    `launches`: launches of the operator in the profile; the values are those of one of them, see `rows_used`.
    `values`: column without unit, in lower case → value. Times are in microseconds and shares are fractions; hit rates,
    bandwidth use and `cube_utilization` are in percent; frequencies are as the profiler writes them.
    `findings`: first those of the bottleneck that comes first. `bottlenecks`: vocabulary ids, best first.
    `unknown_columns`: columns of the files that nobody here knows, as written.
    """

    source: tuple[str, ...]
    op: str
    core: str
    launches: int
    rows_used: tuple[RowUsed, ...]
    values: dict[str, float]
    findings: tuple[Finding, ...]
    bottlenecks: tuple[str, ...]
    traps: tuple[Note, ...]
    unknown_columns: tuple[str, ...]
    notes: tuple[Note, ...]
