"""Processes that meet a fault: killed, or refused by the system, at their n-th change of a file.

The changes are seen through Python's audit events, so that a new one needs no hook of its own. A hook cannot be removed, so
every fault happens in a child process.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cakebook.errors import CakeBookError

CHANGES = frozenset(
    "os.mkdir os.rename os.remove os.rmdir os.truncate os.link os.symlink shutil.copyfile shutil.rmtree sqlite3.connect".split()
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Outcome:
    """How a child process ended. `met`: the fault happened. `code` and `text`: of the error that it raised, if any."""

    killed: bool
    met: bool
    code: str = ""
    text: str = ""
    result: Any = None


def watch(folder: Path, act: Callable[[str], None]) -> None:
    """From now on, call `act` before everything that changes files below `folder`."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if isinstance(path, str) and path.startswith(str(folder)) and (flags or 0) & WRITING:
                act(f"open {path}")
        elif event in CHANGES:
            act(f"{event} {args[0]}")

    sync = os.fsync

    def fsync(descriptor: int) -> None:
        act("fsync")
        sync(descriptor)

    os.fsync = fsync
    sys.addaudithook(hook)


def in_child(call: Callable[[], Any], prepare: Callable[[Callable[[], None]], None]) -> Outcome:
    """`call` in a child process. `prepare` arms the fault; it is given what to call when the fault happens."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        met: list[bool] = []
        try:
            prepare(lambda: met.append(True))
            try:
                outcome = Outcome(False, False, result=call())
            except CakeBookError as error:
                outcome = Outcome(False, False, error.code, str(error))
            except BaseException:
                outcome = Outcome(False, False, "traceback", traceback.format_exc())
            outcome = Outcome(False, bool(met), outcome.code, outcome.text, outcome.result)
            os.write(into, pickle.dumps(outcome))
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as stream:
        data = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == -signal.SIGKILL:
        return Outcome(True, True)
    assert status == 0 and data, status
    found = pickle.loads(data)
    assert isinstance(found, Outcome)
    return found


def kill_at(n: int, folder: Path) -> Callable[[Callable[[], None]], None]:
    """Kill the process before its change number `n`, counted from 1."""

    def prepare(_met: Callable[[], None]) -> None:
        count = [0]

        def act(_what: str) -> None:
            count[0] += 1
            if count[0] == n:
                os.kill(os.getpid(), signal.SIGKILL)

        watch(folder, act)

    return prepare


def refuse_at(n: int, folder: Path, number: int, *, ever_after: bool = False) -> Callable[[Callable[[], None]], None]:
    """Let the change number `n` fail with errno `number`; with `ever_after`, all that follow too."""

    def prepare(met: Callable[[], None]) -> None:
        count = [0]

        def act(what: str) -> None:
            count[0] += 1
            if count[0] == n or (ever_after and count[0] > n):
                met()
                raise OSError(number, os.strerror(number), what)

        watch(folder, act)

    return prepare


@pytest.fixture
def killed() -> Callable[..., bool]:
    """`killed(call, n, folder)`: run `call` in a child that is killed at its n-th change; False if it ended before."""

    def run(call: Callable[[], Any], n: int, folder: Path) -> bool:
        outcome = in_child(call, kill_at(n, folder))
        assert not outcome.code, outcome.text
        return outcome.killed

    return run


@pytest.fixture
def refused() -> Callable[..., Outcome]:
    """`refused(call, n, folder, errno)`: run `call` in a child whose n-th change fails."""

    def run(call: Callable[[], Any], n: int, folder: Path, number: int, *, ever_after: bool = False) -> Outcome:
        return in_child(call, refuse_at(n, folder, number, ever_after=ever_after))

    return run


@pytest.fixture
def child() -> Callable[..., Outcome]:
    """`child(call, before)`: run `before` and then `call` in a child process."""

    def run(call: Callable[[], Any], before: Callable[[], None]) -> Outcome:
        return in_child(call, lambda _met: before())

    return run
