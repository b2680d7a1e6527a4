"""Which files of a profile are read.

    PROF_*/mindstudio_profiler_output/op_summary_<time>.csv      msprof: a row for each launch of each operator
    *_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv        torch profiler: the same rows under other names
    OPPROF_*/[<kernel>/<launch>/]OpBasicInfo[_<time>].csv        msprof op: a folder for each launch; one row
                                 PipeUtilization[_<time>].csv    ... a row for each block, and its siblings

Of several runs in a folder the newest is read, of several exports of a run the newest. A file that is named is read
whatever it is called; files named together are taken as one capture.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any

from cakebook.errors import BadProfile
from cakebook.retrieve.profile_sheet import EXPORT, Remark, Sheet

MAX_DEPTH, MAX_ENTRIES, MAX_FILES = 8, 50_000, 4_000
"""Of a folder: levels below it, files and folders looked at, CSVs read."""

_LAUNCHES = ("op_summary", "kernel_details", "opbasicinfo")
_BLOCKS = (
    "pipeutilization", "arithmeticutilization", "resourceconflictratio", "l2cache", "memoryub", "memoryl0", "memory",
)  # fmt: skip
_NAME = re.compile(rf"({'|'.join((*_LAUNCHES, *_BLOCKS))})(?:[_.-].*)?\.csv", re.IGNORECASE)
RUN = re.compile(r"(?:PROF|OPPROF)_.*|.*_ascend_(?:pt|ms)")
_TIME = re.compile(r"\d{14,}")
_RAW = frozenset(("dump", "data", "sqlite", "log", "logs"))


@dataclass
class Capture:
    """Tables that belong together: those of a folder, or the files that were named. `rows`: launches read from them."""

    folder: Path
    launches: list[Sheet] = field(default_factory=list)
    blocks: list[Sheet] = field(default_factory=list)
    rows: int = 0


def find_tables(paths: Sequence[Path]) -> tuple[list[Capture], list[Remark]]:
    """The tables of folders and files.

    Raises:
        BadProfile: there is no known CSV, or one that was named is not a table of the profiler.
    """
    remarks: list[Remark] = []
    named = Capture(Path())
    captures: dict[Path, Capture] = {}
    for path in paths:
        if path.is_dir():
            for file in _files_of(path, remarks):
                try:
                    sheet = Sheet(file, file.relative_to(path).as_posix())
                except BadProfile as error:
                    remarks.append(("profile-skipped", {"file": file.relative_to(path).as_posix(), "why": error.message}))
                    continue
                if sheet.usable:
                    _sort_in(captures.setdefault(file.parent, Capture(file.parent)), sheet)
                else:
                    remarks.append(("profile-skipped", {"file": sheet.label, "why": ", ".join(sheet.header.written)[:120]}))
        else:
            if not _is_regular(path):
                raise BadProfile(f"{path.name} is not a regular file", hint="give a folder or a CSV of the profiler")
            sheet = Sheet(path, path.name)
            if not sheet.usable:
                raise BadProfile(
                    f"{path.name} has no column of the profiler",
                    hint="expected columns such as `Task Duration(us)` or `aiv_mte2_ratio`; it has "
                    + ", ".join(f"`{c[:40]}`" for c in sheet.header.written[:8]),
                    columns=[c[:80] for c in sheet.header.written[:100]],
                )
            _sort_in(named, sheet)
    found = [c for c in (named, *captures.values()) if c.launches or c.blocks]
    if not found:
        why = "; ".join(f"{r[1]['file']}: {r[1]['why']}" for r in remarks if r[0] == "profile-skipped")[:300]
        raise BadProfile(f"no table of the profiler that can be read{f': {why}' if why else ''}", hint=EXPORT)
    return found, remarks


def _sort_in(capture: Capture, sheet: Sheet) -> None:
    (capture.blocks if sheet.header.per_block else capture.launches).append(sheet)


def _files_of(root: Path, remarks: list[Remark]) -> list[Path]:
    """The CSVs of the newest run below `root`, in reading order.

    Raises:
        BadProfile: there is none.
    """
    runs: dict[Path, list[Path]] = {}
    entries, simulated, complete = 0, False, True
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        entries += len(folders) + len(files)
        simulated = simulated or "simulator" in folders or here.name == "simulator"
        folders[:] = sorted(f for f in folders if f not in _RAW) if len(here.relative_to(root).parts) < MAX_DEPTH else []
        for name in files:
            if _NAME.fullmatch(name) and _is_regular(here / name):
                runs.setdefault(_run_of(here, root), []).append(here / name)
        if entries > MAX_ENTRIES:
            complete = False
            break
    if not runs:
        simulator = "; a simulator run holds traces and no table of shares" if simulated else ""
        raise BadProfile(f"{root.name or root} holds no CSV of the profiler{simulator}", hint=EXPORT)
    newest = max(runs, key=_age(list(runs)))
    if len(runs) > 1:
        remarks.append(("profile-newest", {"n": len(runs), "run": newest.relative_to(root).as_posix()}))
    stems = {path: _stem(path) for path in runs[newest]}
    if "op_summary" in stems.values():  # the same launches as the torch profiler's
        stems = {path: stem for path, stem in stems.items() if stem != "kernel_details"}
    times: dict[tuple[Path, str], str] = {}
    for path, stem in stems.items():
        times[path.parent, stem] = max(times.get((path.parent, stem), ""), _time(path))
    chosen = [path for path, stem in stems.items() if _time(path) == times[path.parent, stem]]
    if left := len(runs[newest]) - len(chosen):
        remarks.append(("profile-export", {"n": left}))
    if len(chosen) > MAX_FILES or not complete:
        remarks.append(("profile-many-files", {"n": min(len(chosen), MAX_FILES)}))
    order = (*_LAUNCHES, *_BLOCKS)
    return sorted(chosen, key=lambda path: (_numbered(path.parent), order.index(stems[path]), path.name))[:MAX_FILES]


def _stem(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    return match.group(1).casefold() if match else ""


def _time(path: Path) -> str:
    """The time in a name, as written; empty if there is none."""
    return max(_TIME.findall(path.name), default="")[:17]


def _numbered(folder: Path) -> list[tuple[int, str]]:
    """A key that puts launch 2 before launch 10."""
    return [(int(part), "") if part.isdecimal() and len(part) < 19 else (-1, part) for part in folder.parts]


def _run_of(folder: Path, root: Path) -> Path:
    """The outermost folder of a run that `folder` is in, `root` if there is none."""
    run = root
    for part in folder.relative_to(root).parts:
        if RUN.fullmatch(root.name):
            break
        run = run / part
        if RUN.fullmatch(part):
            return run
    return root


def _age(runs: Sequence[Path]) -> Callable[[Path], tuple[Any, str]]:
    """What orders runs by age: the time in their names where all have one, else that of the file system."""
    if all(_time(run) for run in runs):
        return lambda run: (_time(run)[:14], run.name)
    return lambda run: (_modified(run), run.name)


def _modified(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _is_regular(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return S_ISREG(path.stat().st_mode)
    return False
