"""Run an entry's check blocks and say, per block, what came of it and at which line of the entry."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass, replace
from typing import Any, Literal

from cakebook.checks.process import Ended
from cakebook.checks.sandbox import Limits, Sandbox, execute
from cakebook.errors import one_line
from cakebook.repo.entries import EntryFile
from cakebook.text.markdown import Fence

Status = Literal["passed", "failed", "timed-out", "not-run"]
MAX_REASON = 400


@dataclass(frozen=True)
class CheckResult:
    """What came of one block.

    `index` counts the entry's check blocks from 1. `reason`: one line, printable, empty if passed. `line`: line of the
    entry file where it failed, else where the block's fence opens. `output`: the lines that the block printed, made
    printable, cut at the limit. `seconds`: wall-clock, 0 if not run.
    """

    entry_id: str
    index: int
    status: Status
    reason: str
    line: int
    seconds: float = 0.0
    output: tuple[str, ...] = ()


def run_checks(entry: EntryFile, *, sandbox: Sandbox | None, covered: bool, limits: Limits | None = None) -> list[CheckResult]:
    """Run the check blocks of `entry` in order; none gives an empty list.

    `covered`: whether the trust anchor covers these bytes. In a sandbox every block runs; without one only those of a
    covered entry, as ordinary processes under the same limits, and the others are `not-run`. Never raises for what a
    block does.
    """
    chosen = limits or Limits()
    return [_run(entry, number, fence, sandbox, covered, chosen) for number, fence in enumerate(entry.document.checks, 1)]


def _run(entry: EntryFile, number: int, fence: Fence, sandbox: Sandbox | None, covered: bool, limits: Limits) -> CheckResult:
    idle = CheckResult(entry.id, number, "not-run", "no sandbox", fence.line)
    if sandbox is None and not covered:
        return idle
    if os.name != "posix":
        return replace(idle, reason="processes cannot be limited on this system")
    try:
        ended = execute(fence.code, sandbox, limits)
    except OSError as error:
        return replace(idle, reason=one_line(f"could not be started: {error.strerror or error}"))
    status, reason, line = judge(ended, fence, entry.path, limits)
    output = tuple(one_line(line) for line in ended.output.decode("utf-8", "replace").splitlines())
    return CheckResult(entry.id, number, status, reason, line, ended.seconds, output)


def judge(ended: Ended, fence: Fence, path: str, limits: Limits) -> tuple[Status, str, int]:
    """Status, reason and line of a block that `ended` so. Pure. Believes the report only as far as it makes sense."""
    first, _, rest = ended.report.partition(b"\n")
    if first != b"started":
        if ended.stopped == "time":
            return "timed-out", _reason(path, fence.line, f"not started within {limits.wall_seconds:g} s"), fence.line
        last = ended.output.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return "not-run", _reason("", 0, f"did not start: {last or f'exit status {ended.code}'}"), fence.line
    verdict = _verdict(rest)
    if ended.stopped == "time":
        return "timed-out", _reason(path, fence.line, f"still running after {limits.wall_seconds:g} s"), fence.line
    if ended.stopped == "output":
        return "failed", _reason(path, fence.line, f"printed more than {limits.output_bytes:,} bytes"), fence.line
    if verdict is None:
        if ended.code == 128 + signal.SIGXCPU:
            what = f"used more than {limits.cpu_seconds} s of processor time"
            return "timed-out", _reason(path, fence.line, what), fence.line
        how = f"was killed by signal {ended.code - 128}" if ended.code > 128 else f"ended early, exit status {ended.code}"
        return "failed", _reason(path, fence.line, how), fence.line
    if not verdict and ended.code == 0:
        return "passed", "", fence.line
    lines = fence.code.split("\n")
    at = verdict.get("line", 0)
    if not isinstance(at, int) or not 1 <= at <= len(lines):
        at = 0
    error, message = str(verdict.get("error", "")), str(verdict.get("message", ""))
    source = lines[at - 1].strip() if at else ""
    if error == "AssertionError":
        text = source if message in source else f"{source} ({message})"
    elif source:
        text = f"{source} → {error}: {message}" if message else f"{source} → {error}"
    else:
        text = f"{error}: {message}".rstrip(": ")
    line = fence.line + at
    return "failed", _reason(path, line, text or "failed"), line


def _verdict(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reason(path: str, line: int, text: str) -> str:
    """`path:line: text` as one printable line of bounded length."""
    whole = one_line(f"{path}:{line}: {text}" if path else text)
    return whole if len(whole) <= MAX_REASON else whole[: MAX_REASON - 1] + "…"
