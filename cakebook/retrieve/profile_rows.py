"""Columns and rows of the profiler's tables: what a column is called, what a cell means, which row speaks for a kernel.

Pure. A column is known here by its name without unit, in lower case, with `_` for blanks: `Task Duration(us)` is
`task_duration`. The tables of the torch profiler call some columns otherwise; they get the names of `op_summary`.
"""

from __future__ import annotations

import difflib
import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from cakebook.errors import NoSuchKernel

CORES = ("aic", "aiv")
Position = int
"""Where a row starts in its file."""
Row = tuple[Position, list[str]]

MAX_OPS = 20_000
"""Operator names kept apart; launches of further ones are only counted."""
PERCENT_FROM = 1.5
"""A busy share cannot be this large: a row with a larger one is written in percent."""
IDLE = 0.01
"""A core type that ran for a smaller part of the other one's time waited or did not take part."""

_SAME = {
    "name": "op_name", "type": "op_type", "accelerator_core": "task_type", "duration": "task_duration",
    "start_time": "task_start_time", "wait_time": "task_wait_time", "block_num": "block_dim", "mix_block_num": "mix_block_dim",
    "device": "device_id",
}  # fmt: skip
_IDENTITY = frozenset(
    "device_id model_name model_id task_id stream_id infer_id step_id context_id pid op_name op_type op_state task_type"
    " task_start_time hf32_eligible input_shapes input_data_types input_formats output_shapes output_data_types output_formats"
    " block_id sub_block_id".split()
)
_LAUNCH = frozenset("task_duration task_wait_time block_dim mix_block_dim current_freq rated_freq".split())
_METRIC = re.compile(
    r"""(?:ai[cv]_)?(?:
        time | total_cycles | icache_miss_rate
      | (?:vec|mac|cube|scalar|mte[123]|fixpipe)_(?:time|ratio|wait_ratio|instructions|active_bw)
      | (?:mac|cube|vec)_(?:fp16|fp32|int8|int16|int32|misc|simt_vf)_ratio
      | (?:cube|vec|vector)_fops | cube_(?:total|fp|int)_instr_number | scalar_[a-z0-9_]+_time
      | vec_(?:total|bankgroup|bank|resc|mte)_cflt_ratio
      | (?:gm_to_ub|ub_to_gm|(?:l0a|l0b|l0c|l1|l2|ub|main_mem)_(?:read|write))_bw(?:_(?:cube|vector|scalar|mte))?
      | (?:read|write|total)_hit_rate | (?:r\d_)?(?:read|write)_cache_(?:hit|miss_allocate)
    )
    | aicore_time | cube_utilization | memory_bound | (?:read|write)_main_memory_datas
    | (?:gm|l0a|l0b|l0c|l1|ub)_to_(?:gm|l0a|l0b|l0c|l1|ub)_(?:datas|bw_usage_rate)""",
    re.VERBOSE,
)
_PIPE_SHARE = re.compile(r"(?:ai[cv]_)?(?:vec|mac|cube|scalar|mte[123]|fixpipe)_ratio")
_UNIT = re.compile(r"[(（]([^()（）]*)[)）]")
_TIME_UNITS = {"ns": 1e-3, "us": 1.0, "μs": 1.0, "µs": 1.0, "ms": 1e3, "s": 1e6}
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_NOTHING = frozenset(("", "n/a", "na", "nan", "none", "null", "-", "--"))


def canonical(column: str) -> str:
    """The name of a column without unit, in lower case."""
    name = "_".join(_UNIT.sub("", column).casefold().split())
    return _SAME.get(name, name)


def is_metric(name: str) -> bool:
    """Whether a column, by its canonical name, holds a number that the profiler measured or set."""
    return name in _LAUNCH or _METRIC.fullmatch(name) is not None


def is_known(name: str) -> bool:
    """Whether the profiler's documents have a column of this canonical name."""
    return name in _IDENTITY or is_metric(name)


def is_share(name: str) -> bool:
    """Whether a column holds a fraction of 1."""
    return name.endswith(("_ratio", "_miss_rate", "_spread"))


def is_pipe_share(name: str) -> bool:
    """Whether a column holds the busy share of a pipe."""
    return _PIPE_SHARE.fullmatch(name) is not None


def number(text: str) -> float | None:
    """A cell as a number of 0 or more, thousands separators allowed; None for all else."""
    text = text.strip()
    try:
        value = float(text)
    except ValueError:
        if not _GROUPED.fullmatch(text):
            return None
        value = float(text.replace(",", ""))
    return value if 0 <= value < math.inf and "_" not in text else None


def is_nothing(text: str) -> bool:
    """Whether a cell says that there is no value."""
    return text.strip().casefold() in _NOTHING


def reading(name: str, text: str) -> float | None:
    """The cell of a column as a number; `62%` of a share is 0.62."""
    text = text.strip()
    if not text.endswith(("%", "％")):
        return number(text)
    value = number(text[:-1])
    return value / 100 if value is not None and is_share(name) else value


def as_fractions(values: Mapping[str, float]) -> tuple[dict[str, float], bool]:
    """`values` with shares as fractions, and whether they were in percent: one above `PERCENT_FROM` speaks for all."""
    shares = {name: value for name, value in values.items() if is_share(name)}
    if not shares or max(shares.values()) <= PERCENT_FROM:
        return dict(values), False
    return {**values, **{name: value / 100 for name, value in shares.items()}}, True


class Header:
    """The columns of a table: where they stand and in which unit."""

    def __init__(self, cells: Sequence[str]) -> None:
        self.written = tuple(cell.strip() for cell in cells)
        self.width = len(cells)
        self.place: dict[str, int] = {}
        self._factor: dict[str, float] = {}
        for i, cell in enumerate(self.written):
            name = canonical(cell)
            if name and name not in self.place:
                self.place[name] = i
                unit = "".join(_UNIT.findall(cell)[:1]).strip().casefold()
                if unit in _TIME_UNITS and name.endswith(("_time", "_duration")):
                    self._factor[name] = _TIME_UNITS[unit]
                elif unit == "%" and is_share(name):
                    self._factor[name] = 0.01
        self.metrics = tuple(name for name in self.place if is_metric(name))
        self.per_block = "block_id" in self.place

    def text(self, cells: Sequence[str], name: str) -> str:
        """The cell of a column, empty if there is none."""
        place = self.place.get(name)
        return "" if place is None else cells[place].strip()

    def value(self, cells: Sequence[str], name: str) -> float | None:
        """The cell of a column as a number, times in microseconds."""
        place = self.place.get(name)
        found = None if place is None else reading(name, cells[place])
        return None if found is None else found * self._factor.get(name, 1.0)

    def values(self, cells: Sequence[str]) -> tuple[dict[str, float], list[str]]:
        """The numbers of a row, and the columns whose cells hold neither a number nor a word for nothing."""
        found: dict[str, float] = {}
        unreadable = []
        for name in self.metrics:
            value = self.value(cells, name)
            if value is not None:
                found[name] = value
            elif not is_nothing(self.text(cells, name)):
                unreadable.append(name)
        if "aic_time" not in found and "aicore_time" in found and any(n.startswith("aic_") for n in self.place):
            found["aic_time"] = found["aicore_time"]  # op_summary names the time of the cube core so
        return found, unreadable


@dataclass
class Slowest:
    """The slowest block of one core type: the one that a kernel waits for."""

    core: str
    block: tuple[str, str]
    cells: list[str]
    position: Position
    longest: float
    shortest: float
    of: int = 1

    @property
    def spread(self) -> float | None:
        """(longest - shortest) / longest over the blocks; None for one block or without times."""
        return (self.longest - self.shortest) / self.longest if self.of > 1 and self.longest > 0 else None


def slowest_blocks(rows: Iterable[Row], header: Header, wanted: Mapping[str, tuple[str, str]]) -> dict[str, Slowest]:
    """Core type → its slowest block in one pass; the block named in `wanted` instead, where the table has it.

    A block belongs to the core types that have a value in it. Core times are compared, else cycles.
    """
    clocks = {core: _clock(header, core) for core in CORES}
    columns = {core: [n for n in header.metrics if n.startswith(core)] for core in CORES}
    found: dict[str, Slowest] = {}
    fixed: set[str] = set()
    for position, cells in rows:
        block = (header.text(cells, "block_id"), header.text(cells, "sub_block_id"))
        for core in CORES:
            if clocks[core]:
                time = header.value(cells, clocks[core])
                if not time:
                    continue
            elif any(header.value(cells, name) is not None for name in columns[core]):
                time = 0.0
            else:
                continue
            best = found.get(core)
            if best is None:
                found[core] = best = Slowest(core, block, cells, position, time, time)
            else:
                if core not in fixed and time > best.longest:
                    best.block, best.cells, best.position = block, cells, position
                best.longest, best.shortest, best.of = max(best.longest, time), min(best.shortest, time), best.of + 1
            if wanted.get(core) == block:
                best.block, best.cells, best.position = block, cells, position
                fixed.add(core)
    return found


def _clock(header: Header, core: str) -> str:
    return next((name for name in (f"{core}_time", f"{core}_total_cycles") if name in header.place), "")


def without_idle_cores(values: dict[str, float]) -> tuple[dict[str, float], str]:
    """`values` without the columns of a core type that did not run, and its name if it ran a little and is left out.

    A row of a launch has zeros for the cores that took no part, which are no measurements.
    """
    times = {core: values.get(f"{core}_time", values.get(f"{core}_total_cycles")) for core in CORES}
    longest = max((time for time in times.values() if time is not None), default=0.0)
    waiting = ""
    for core, time in times.items():
        if time is not None and (time == 0 or time < IDLE * longest):
            values = {name: value for name, value in values.items() if not name.startswith(f"{core}_")}
            waiting = core if time else waiting
    return values, waiting


@dataclass
class Operator:
    """The launches of one operator: durations in microseconds (0 where none is written) and where their rows are."""

    name: str
    kind: str
    core: str
    on_core: bool
    durations: array[float] = field(default_factory=lambda: array("d"))
    places: array[int] = field(default_factory=lambda: array("q"))
    shapes: set[str] = field(default_factory=set)

    @property
    def total(self) -> float:
        """Microseconds of all launches."""
        return math.fsum(self.durations)

    def median(self) -> int:
        """Which launch is the median of those with a duration; the lower one of an even number, the first of equals."""
        order = sorted(time for time in self.durations if time) or [0.0]
        return self.durations.index(order[(len(order) - 1) // 2])

    def says(self) -> str:
        """Name, launches and time, for a message."""
        return f"{self.name[:80]} ({len(self.durations):,} x, {self.total:,.1f} us)"


class Launches:
    """Launches by operator name, gathered row by row: 16 bytes for each, whatever the width of the table."""

    def __init__(self) -> None:
        self._ops: dict[tuple[str, bool], Operator] = {}
        self.rows = self.beyond = 0
        """Rows counted; those of operators after the first `MAX_OPS` names, or that were not read."""

    def add(self, name: str, kind: str, core: str, duration: float | None, place: int, shapes: str = "") -> None:
        """One launch; `place` is for the caller to find it again."""
        self.rows += 1
        on_core = _is_on_core(core)
        op = self._ops.get((name, on_core))
        if op is None:
            if len(self._ops) >= MAX_OPS:
                self.beyond += 1
                return
            op = self._ops[name, on_core] = Operator(name, kind, core, on_core)
        op.durations.append(duration or 0.0)
        op.places.append(place)
        if len(op.shapes) < 9:
            op.shapes.add(shapes)

    def __bool__(self) -> bool:
        return bool(self._ops)

    def off_core(self) -> list[Operator]:
        """Operators that ran on the AI CPU, the host or the network."""
        return [op for op in self._ops.values() if not op.on_core]

    def by_time(self) -> list[Operator]:
        """Operators by total time, longest first; those on AI cores before the others."""
        return sorted(self._ops.values(), key=lambda op: (not op.on_core, -op.total, -len(op.durations), op.name))

    def matching(self, wanted: str) -> list[Operator]:
        """The operators that `wanted` names, by time: by name, else by name or type without case, else as a part of them.

        Raises:
            NoSuchKernel: there is none.
        """
        ops, folded = self.by_time(), wanted.strip().casefold()
        stages: list[Iterator[Operator]] = [
            (op for op in ops if op.name == wanted.strip()),
            (op for op in ops if op.name.casefold() == folded),
            (op for op in ops if op.kind.casefold() == folded),
            (op for op in ops if folded and folded in op.name.casefold()),
            (op for op in ops if folded and folded in op.kind.casefold()),
        ]
        for stage in stages:
            if found := list(stage):
                return found
        names = {op.name.casefold(): op.name for op in ops[:2000]}
        near = [names[n] for n in difflib.get_close_matches(folded, names, n=1, cutoff=0.6)]
        raise NoSuchKernel(
            f"no operator `{wanted[:80]}` in the profile",
            hint=(f"did you mean `{near[0][:80]}`? " if near else "") + "it has " + "; ".join(op.says() for op in ops[:5]),
            ops=[{"name": op.name, "launches": len(op.durations), "total_us": round(op.total, 3)} for op in ops[:20]],
        )


_OFF_CORE = ("CPU", "HCCL", "COMMUNICATION", "SDMA", "DSA", "HOST", "DVPP")


@lru_cache(maxsize=256)
def _is_on_core(core: str) -> bool:
    """Whether a `Task Type` is that of an AI core; one that is not written counts as one."""
    return not any(word in core.upper() for word in _OFF_CORE)
