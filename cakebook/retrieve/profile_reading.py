"""From the items of `--profile` to the values of one operator.

What is combined: of all launches of the operator the median one by duration (the lower one of an even number) is taken
whole, never an average of rows. Where its tables have a row for each block, the slowest block of each core type speaks for
that core type, and the same block is looked up in the sibling tables, whose times come from other replays of the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from cakebook.errors import BadArgument, BadProfile, NoSuchPath, one_line
from cakebook.model.profile import RowUsed
from cakebook.retrieve.profile_files import RUN, Capture, find_tables
from cakebook.retrieve.profile_rows import (
    CORES,
    MAX_OPS,
    PERCENT_FROM,
    Header,
    Launches,
    Operator,
    as_fractions,
    canonical,
    is_pipe_share,
    is_share,
    slowest_blocks,
    without_idle_cores,
)
from cakebook.retrieve.profile_sheet import Remark, Sheet

MAX_ROWS = 5_000_000
"""Launches of one question; further ones are not read."""
MAX_SOURCES = 50
"""Files that the answer names; those whose rows are used come first."""

_PLACE_BITS = 44
_GIVE = "give a PROF_* or OPPROF_* folder, a CSV of it, or column=value"


@dataclass(frozen=True)
class Reading:
    """What was read, before any rule: see `Diagnosis` for the fields of the same name.

    `spread`: (longest - shortest) / longest core time over the blocks, if there are several. `columns`: headers as written.
    `pairs`: canonical name → name as it was given, of `column=value` items.
    """

    source: tuple[str, ...] = ()
    op: str = ""
    core: str = ""
    on_core: bool = True
    launches: int = 0
    rows: tuple[RowUsed, ...] = ()
    values: dict[str, float] = field(default_factory=dict)
    spread: float | None = None
    columns: tuple[str, ...] = ()
    pairs: dict[str, str] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()


def read_profile(given: Sequence[str], op: str) -> Reading:
    """The values of one operator from folders, CSVs and `column=value` items; the items win over the files.

    Raises:
        NoSuchPath: an item is neither a path nor a pair.
        BadArgument: the value of a pair is no number of its column.
        BadProfile: there is no known CSV, or one that was named cannot be read.
        NoSuchKernel: `op` names no operator.
    """
    paths, pairs = [], []
    for item in given:
        if _exists(item):
            paths.append(Path(item))
        elif is_pair(item):
            pairs.append(item)
        else:
            raise NoSuchPath(f"no profile at `{item[:200]}`", hint=_GIVE)
    found, written, percent = read_pairs(pairs)
    if paths:
        captures, remarks = find_tables(paths)
        result = _read_tables(captures, op.strip(), remarks)
    elif pairs:
        result = Reading(op=op.strip())
    else:
        raise BadProfile("no profile was given", hint=_GIVE)
    remark: list[Remark] = [("profile-percent", {"file": "column=value"})] if percent else []
    return replace(
        result,
        source=(*result.source, *pairs),
        values=result.values | found,
        pairs=written,
        remarks=(*result.remarks, *remark),
    )


def is_pair(item: str) -> bool:
    """Whether an item can only be `column=value`: all that a service without files may be given."""
    column, equals, _ = item.partition("=")
    return bool(equals) and not re.search(r"[/\\]", column.replace("GB/s", ""))


def read_pairs(items: Sequence[str]) -> tuple[dict[str, float], dict[str, str], bool]:
    """`column=value` items as canonical name → number, canonical name → name as given, and whether shares were in percent.

    Raises:
        BadArgument: an item has no number, or a column stands twice.
    """
    bare: dict[str, float] = {}
    marked: dict[str, float] = {}
    written: dict[str, str] = {}
    for item in items:
        parts = item.split(",")
        for part in parts if all("=" in p for p in parts) else [item]:
            column, _, text = part.partition("=")
            name = canonical(column)
            value = Header([column]).value([text], name)
            if not name or value is None or (is_share(name) and value > 100):
                raise BadArgument(
                    f"`{part[:100]}` does not give a column a number", hint="for example --profile aiv_mte2_ratio=0.62"
                )
            if name in written:
                raise BadArgument(f"column `{name[:80]}` is given twice", hint="give each column once")
            written[name] = column.strip()
            (marked if text.strip().endswith(("%", "％")) else bare)[name] = value
    values, percent = as_fractions(bare)
    return values | marked, written, percent


def _exists(item: str) -> bool:
    with suppress(OSError, ValueError):
        return bool(item) and Path(item).exists()
    return False


def _read_tables(captures: list[Capture], op: str, remarks: list[Remark]) -> Reading:
    launches, sheets = Launches(), [sheet for capture in captures for sheet in capture.launches]
    place = 0
    for i, capture in enumerate(captures):
        before = launches.rows
        for sheet in capture.launches:
            _gather(launches, sheet, place << _PLACE_BITS)
            place += 1
        capture.rows = launches.rows - before
        if capture.blocks and not capture.rows:
            launches.add(_kernel_of(capture.folder), "", "", None, -1 - i)
    if not launches:
        raise BadProfile(
            f"{', '.join(sheet.label for sheet in sheets)[:200]} has no row that can be read",
            hint="a header alone, or rows of another width: collect the profile again",
        )
    chosen = _choose(launches, op, remarks)
    place = chosen.places[chosen.median()]
    values: dict[str, float] = {}
    rows: list[RowUsed] = []
    if place >= 0:
        sheet, position = sheets[place >> _PLACE_BITS], place & ((1 << _PLACE_BITS) - 1)
        capture = next(c for c in captures if sheet in c.launches)
        values = _values(sheet, sheet.row_at(position), remarks)
        values, waiting = without_idle_cores(values)
        if waiting:
            remarks.append(("profile-waiting", {"core": waiting}))
        rows.append(RowUsed(sheet.label, sheet.line_at(position), len(chosen.places)))
        if capture.blocks and capture.rows > 1:
            remarks.append(("profile-assumed", {"file": capture.blocks[0].label, "op": chosen.name}))
    else:
        capture = captures[-1 - place]
    spread = None
    if capture.blocks:
        measured, spread = _read_blocks(capture.blocks, rows, remarks)
        values |= measured
    used = dict.fromkeys(row.file for row in rows)
    for sheet in (*sheets, *capture.blocks):
        remarks += sheet.remarks()
    columns = dict.fromkeys(name for sheet in (*sheets, *capture.blocks) for name in sheet.header.written)
    return Reading(
        source=tuple(dict.fromkeys((*used, *(sheet.label for sheet in sheets))))[:MAX_SOURCES],
        op=chosen.name or op,
        core=chosen.core,
        on_core=chosen.on_core,
        launches=len(chosen.places),
        rows=tuple(rows),
        values=values,
        spread=spread,
        columns=tuple(columns),
        remarks=tuple(remarks),
    )


def _gather(launches: Launches, sheet: Sheet, base: int) -> None:
    """Every launch of a table, counted; its place is `base` and where its row starts."""
    text, value = sheet.header.text, sheet.header.value
    for position, cells in sheet.rows():
        if launches.rows >= MAX_ROWS:
            launches.beyond += 1
            return
        kind = text(cells, "op_type")
        core = text(cells, "task_type") or (kind if kind.casefold() in ("vector", "cube", "mix") else "")
        shapes = text(cells, "input_shapes")[:200]
        launches.add(text(cells, "op_name")[:200], kind[:80], core[:40], value(cells, "task_duration"), base | position, shapes)


def _choose(launches: Launches, op: str, remarks: list[Remark]) -> Operator:
    """The operator asked for, else the one that took most time; what else there is becomes a remark."""
    ops = launches.by_time()
    if op and not any(o.name or o.kind for o in ops):
        remarks.append(("profile-no-names", {"op": op}))
        found = ops
    else:
        found = launches.matching(op) if op else ops
    chosen, others = found[0], [o for o in found[1:] if o.on_core == found[0].on_core]
    if others:
        listed = "; ".join(o.says() for o in others[:3]) + ("; …" if len(others) > 3 else "")
        code = "profile-op-of" if op else "profile-op-longest"
        remarks.append((code, {"op": chosen.says(), "n": len(others), "others": listed}))
    off = launches.off_core()
    if not chosen.on_core:
        remarks.append(("profile-not-on-core", {"op": chosen.says(), "core": chosen.core}))
    elif off:
        n, total = sum(len(o.places) for o in off), sum(o.total for o in off)
        remarks.append(("profile-off-core", {"n": n, "total": f"{total:,.1f}"}))
    if launches.beyond:
        remarks.append(("profile-beyond", {"ops": MAX_OPS, "rows": MAX_ROWS}))
    if len(chosen.shapes) > 1:
        remarks.append(("profile-shapes", {"n": f"{len(chosen.shapes)}{'+' if len(chosen.shapes) > 8 else ''}"}))
    times = [t for t in chosen.durations if t]
    if len(times) > 1 and max(times) > 1.2 * min(times):
        low, high = f"{min(times):,.2f}", f"{max(times):,.2f}"
        remarks.append(("profile-varies", {"n": len(times), "low": low, "high": high}))
    return chosen


def _read_blocks(blocks: list[Sheet], rows: list[RowUsed], remarks: list[Remark]) -> tuple[dict[str, float], float | None]:
    """The values of the slowest block of each core type, the same block in every table, and the spread of the core times."""
    values: dict[str, float] = {}
    wanted: dict[str, tuple[str, str]] = {}
    spreads: dict[str, float | None] = {}
    for sheet in sorted(blocks, key=lambda s: -sum(map(is_pipe_share, s.header.metrics))):  # PipeUtilization comes first
        found = slowest_blocks(sheet.rows(), sheet.header, wanted)
        if not found:
            remarks.append(("profile-skipped", {"file": sheet.label, "why": f"{sheet.rows_seen} x N/A"}))
        for core, slow in sorted(found.items(), key=lambda item: -item[1].longest):
            wanted.setdefault(core, slow.block)
            spreads.setdefault(core, slow.spread)
            other = tuple(f"{c}_" for c in CORES if c != core)
            for name, value in _values(sheet, slow.cells, remarks).items():
                if not name.startswith(other):
                    values.setdefault(name, value)
            rows.append(RowUsed(sheet.label, sheet.line_at(slow.position), slow.of, core, one_line(" ".join(slow.block))[:40]))
    values, waiting = without_idle_cores(values)
    if waiting:
        remarks.append(("profile-waiting", {"core": waiting}))
    ran = [s for core, s in spreads.items() if s is not None and any(n.startswith(f"{core}_") for n in values)]
    return values, max(ran, default=None)


def _values(sheet: Sheet, cells: list[str], remarks: list[Remark]) -> dict[str, float]:
    """The numbers of a row, shares as fractions; what cannot be a share is left out."""
    values, unreadable = sheet.header.values(cells)
    values, percent = as_fractions(values)
    wrong = [name for name, value in values.items() if is_share(name) and value > PERCENT_FROM]
    if percent:
        remarks.append(("profile-percent", {"file": sheet.label}))
    if unreadable or wrong:
        remarks.append(("profile-cells", {"file": sheet.label, "columns": ", ".join([*unreadable, *wrong][:6])}))
    return {name: value for name, value in values.items() if name not in wrong}


def _kernel_of(folder: Path) -> str:
    """The kernel's name from `OPPROF_*/<kernel>/<launch>`, where no table says it."""
    name = folder.parent.name if folder.name.isdecimal() else folder.name
    return "" if RUN.fullmatch(name) else name
