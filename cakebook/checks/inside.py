"""What runs in the block's own process, before the block. Standard library only: passed as text to `python -I -c`.

The file descriptor named in the payload takes two lines: `started` before the block runs, then one JSON object, `{}`
when the block came to its end, else `{error, message, line}` (line within the block, 0 if unknown). A process that
ends without the second line did not pass.

The import allow-list keeps checks readable and repeatable: arithmetic, nothing that depends on the machine. It is a
second wall and easily climbed from inside Python. The sandbox that starts this process is the boundary.
"""

from __future__ import annotations

import builtins
import ctypes
import json
import os
import platform
import struct
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

BLOCK = "<check>"
"""File name of the block's code objects."""
MAX_MESSAGE = 2000
BALLAST = 8 << 20
"""Bytes kept aside, so that a block that used up its memory can still be reported."""

SYSCALLS: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "socket": 41, "socketpair": 53, "clone": 56, "fork": 57, "vfork": 58, "shmget": 29, "semget": 64,
            "msgget": 68, "ptrace": 101, "pivot_root": 155, "chroot": 161, "mount": 165, "umount2": 166,
            "mq_open": 240, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
            "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
            "process_vm_writev": 311, "bpf": 321, "userfaultfd": 323,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "socket": 198, "socketpair": 199, "clone": 220, "shmget": 194, "semget": 190, "msgget": 186,
            "ptrace": 117, "pivot_root": 41, "chroot": 51, "mount": 40, "umount2": 39, "mq_open": 180,
            "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97, "perf_event_open": 241,
            "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "bpf": 280,
            "userfaultfd": 282,
        },
    ),
}  # fmt: skip
"""Machine → audit number of its ABI, and the system calls a block is refused besides those below."""
SYSCALLS_EVERYWHERE = {
    "io_uring_setup": 425, "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsmount": 432, "fspick": 433,
    "clone3": 435, "mount_setattr": 442,
}  # fmt: skip
X32_BIT = 0x40000000


def filter_program(machine: str) -> bytes | None:
    """The seccomp filter for `machine` as struct sock_filter[], or None where the numbers are not known.

    Refused with EPERM: new processes and threads, sockets of every family (a network namespace does not hold vsock
    back), key rings (inherited by the session, whatever the namespace), System V memory (outlives every limit),
    io_uring (does all of that unseen), and what only serves to attack the kernel.
    """
    if machine not in SYSCALLS:
        return None
    arch, specific = SYSCALLS[machine]
    refused = sorted({*specific.values(), *SYSCALLS_EVERYWHERE.values()})
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    kill, eperm, allow = 0x80000000, 0x00050001, 0x7FFF0000
    # Offsets in struct seccomp_data: nr 0, arch 4. Jumps count instructions after the next one.
    program = [(load, 0, 0, 4), (equal, 1, 0, arch), (give, 0, 0, kill), (load, 0, 0, 0)]
    program.append((at_least, len(refused) + 1, 0, X32_BIT))
    program += [(equal, len(refused) - k, 0, number) for k, number in enumerate(refused)]
    program += [(give, 0, 0, allow), (give, 0, 0, eperm)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def refuse_syscalls(machine: str) -> None:
    """Install the filter for the rest of this process. Raises OSError where the kernel refuses it."""
    program = filter_program(machine)
    if program is None or sys.maxsize < 2**32:  # a 32-bit process on a 64-bit kernel has other numbers
        return
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_ulong(n) for n in (1, 0, 0, 0)]
    buffer = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    header = Program(len(program) // 8, ctypes.addressof(buffer))
    pr_set_no_new_privs, pr_set_seccomp, mode_filter = 38, 22, ctypes.c_ulong(2)
    if libc.prctl(pr_set_no_new_privs, *words) or libc.prctl(pr_set_seccomp, mode_filter, ctypes.byref(header)):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def set_limits(limits: Mapping[str, int], *, strict: bool) -> None:
    """Apply `limits` (name after `RLIMIT_` → value). Not `strict`: what this system cannot limit is left alone."""
    import resource

    for name, value in limits.items():
        number = getattr(resource, "RLIMIT_" + name, None)
        if number is None and not strict:
            continue
        try:
            ceiling = resource.getrlimit(number)[1]  # type: ignore[arg-type]
            # One second between the processor-time signal, which ends the process, and the kill.
            hard = value + 1 if name == "CPU" else value
            hard = hard if ceiling == resource.RLIM_INFINITY else min(hard, ceiling)
            resource.setrlimit(number, (min(value, hard), hard))  # type: ignore[arg-type]
        except (ValueError, OSError):
            if strict:
                raise


def guard(allowed: frozenset[str], namespace: dict[str, Any]) -> Callable[..., Any]:
    """An `__import__` that refuses the block's own imports outside `allowed`; a library's own imports pass."""
    original = builtins.__import__

    def checked(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        # C code imports on behalf of the frame that called it, and alone passes `fromlist` as a list: let it.
        own = sys._getframe(1).f_globals is namespace and not isinstance(fromlist, list)
        if own and (level or name.partition(".")[0] not in allowed):
            raise ImportError(f"a check may not import `{'.' * level}{name}`; allowed: {', '.join(sorted(allowed))}")
        return original(name, globals, locals, fromlist or (), level)

    return checked


def place(error: BaseException, traceback: TracebackType | None) -> int:
    """The line of the block at which `error` left it, counted from 1; 0 if it never was in the block."""
    if isinstance(error, SyntaxError) and error.filename == BLOCK:
        return error.lineno or 0
    line = 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == BLOCK:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def run(code: str, allowed: frozenset[str]) -> dict[str, Any]:
    """Run the block and return the second line of the report."""
    # The block is `__main__`, as a file would be: dataclasses and `if __name__ == "__main__"` work in it.
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    ballast = bytearray(BALLAST)
    try:
        program = compile(code, BLOCK, "exec", dont_inherit=True)
        builtins.__import__ = guard(allowed, module.__dict__)
        exec(program, module.__dict__)
        sys.stdout.flush()
    except BaseException as error:
        del ballast
        try:
            message = str(error.msg if isinstance(error, SyntaxError) else error)[:MAX_MESSAGE]
        except BaseException:
            message = ""
        return {"error": type(error).__name__, "message": message, "line": place(error, error.__traceback__)}
    return {}


def main() -> None:
    payload = json.loads(sys.stdin.buffer.read())
    report: int = payload["report"]
    # The payload came from a file of the outer world; the block reads from /dev/null instead.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.path.extend(payload["packages"])
    set_limits(payload["limits"], strict=payload["strict"])
    if sys.platform == "linux":
        try:
            refuse_syscalls(platform.machine())
        except OSError:
            if payload["strict"]:
                raise
    os.write(report, b"started\n")
    result = run(payload["code"], frozenset(payload["allowed"]))
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os.write(report, json.dumps(result).encode())
    os._exit(1 if result else 0)  # no exit handlers or threads of the block after its verdict


if __name__ == "__main__":
    main()
