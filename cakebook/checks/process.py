"""Running one command to its end, its time or its output limit, whichever comes first."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Ended:
    """How a command ended. `stopped` says which limit of ours ended it, None if it ended by itself.

    `code`: exit status, 128 + n for signal n. `report` and `output` (standard output and error, mixed) are cut at the
    limit. `seconds` are wall-clock.
    """

    code: int
    report: bytes
    output: bytes
    stopped: Literal["time", "output"] | None
    seconds: float


def run(
    command: Sequence[str],
    payload: Callable[[int], bytes],
    *,
    wall_seconds: float,
    output_bytes: int,
    environment: Mapping[str, str],
    folder: str,
) -> Ended:
    """Run `command` in `folder` with `payload(report descriptor)` on its standard input.

    Never blocks beyond `wall_seconds` and never holds more than `output_bytes` of output or of report: a command that
    goes on is killed with its process group, which takes a sandbox's namespace with it. Raises OSError if the command
    cannot be started.
    """
    started = time.monotonic()
    deadline = started + wall_seconds
    report_read, report_write = os.pipe()
    received: dict[str, bytearray] = {"report": bytearray(), "output": bytearray()}
    stopped: Literal["time", "output"] | None = None
    try:
        try:
            # A file and not a pipe: writing a large block to a pipe could wait for a reader that never comes.
            with tempfile.TemporaryFile() as source:
                source.write(payload(report_write))
                source.seek(0)
                process = subprocess.Popen(
                    command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
                    env=dict(environment), pass_fds=(report_write,), start_new_session=True,
                )  # fmt: skip
        finally:
            os.close(report_write)
        assert process.stdout is not None
        with process, selectors.DefaultSelector() as selector:
            try:
                selector.register(report_read, selectors.EVENT_READ, "report")
                selector.register(process.stdout, selectors.EVENT_READ, "output")
                while selector.get_map() and stopped is None:
                    ready = selector.select(max(0.0, deadline - time.monotonic()))
                    for key, _ in ready:
                        data = os.read(key.fd, 65536)
                        if not data:
                            selector.unregister(key.fileobj)
                        received[key.data] += data
                        if len(received[key.data]) > output_bytes:
                            stopped = "output"
                    if stopped is None and time.monotonic() >= deadline:
                        stopped = "time"
                if stopped is None:
                    try:
                        process.wait(max(0.0, deadline - time.monotonic()))
                    except subprocess.TimeoutExpired:
                        stopped = "time"
            finally:
                # Also on Ctrl-C. Not after an orderly end: by then the number may be another group's.
                if process.returncode is None:
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
    finally:
        os.close(report_read)
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Ended(
        code, bytes(received["report"][:output_bytes]), bytes(received["output"][:output_bytes]), stopped,
        time.monotonic() - started,
    )  # fmt: skip
