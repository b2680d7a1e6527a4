"""Starts a command in fresh namespaces that show a chosen few paths. Linux, standard library only: passed as text.

Takes one argument, JSON: `{paths, devices, scratch, scratch_size, command}`. Works as root and as an ordinary user
where the kernel allows user namespaces. Three processes: the outer one waits and passes on the exit status (128 + n for
signal n); the first in the new process namespace waits too, and its end ends all others; the third is the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

NEW_NAMESPACES = 0x10000000 | 0x00020000 | 0x40000000 | 0x20000000 | 0x08000000 | 0x04000000
"""CLONE_NEW: user, mount, net, pid, ipc, uts."""
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, NOATIME, NODIRATIME = 1, 2, 4, 8, 32, 1024, 2048
BIND, REC, PRIVATE, RELATIME = 4096, 16384, 1 << 18, 1 << 21
DETACH = 2
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
INSIDE_ID = 1000
"""User and group number inside. Not 0: the command then loses every capability when it is started."""

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise OSError for `what` if a C call reported failure."""
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """mount(2)."""
    type_ = kind.encode() if kind else None
    result = libc.mount(os.fsencode(source), os.fsencode(target), type_, ctypes.c_ulong(flags), options.encode() or None)
    check(result, f"mount {target}")


def prctl(option: int, value: int) -> int:
    """prctl(2) with one argument."""
    return int(libc.prctl(option, *(ctypes.c_ulong(n) for n in (value, 0, 0, 0))))


def kept(path: str) -> int:
    """Flags that a remount must repeat: the kernel locks what the outer world had set."""
    have = os.statvfs(path).f_flag
    pairs = (
        (os.ST_NOSUID, NOSUID), (os.ST_NODEV, NODEV), (os.ST_NOEXEC, NOEXEC),
        (os.ST_NOATIME, NOATIME), (os.ST_NODIRATIME, NODIRATIME), (os.ST_RELATIME, RELATIME),
    )  # fmt: skip
    return sum(flag for bit, flag in pairs if have & bit)


def mount_points(under: str) -> list[str]:
    """Mount points at or below `under`, outermost first."""
    points = []
    for line in Path("/old/proc/self/mountinfo").read_bytes().splitlines():
        # Spaces and the like stand as `\040`. By hand: the codec's module is no longer where the interpreter looks.
        escaped = line.split(b" ")[4]
        point = os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), escaped))
        if point == under or point.startswith(under + "/"):
            points.append(point)
    return sorted(set(points), key=len)


def show(path: str, *, device: bool = False) -> None:
    """Make `path` of the outer world visible at the same place, read-only; a symlink is copied as it is."""
    source, target = Path("/old" + path), Path("/new" + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    if source.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    mount(str(source), str(target), None, BIND | REC)
    if device:
        return
    for point in mount_points(str(target)):
        mount("none", point, None, BIND | REMOUNT | RDONLY | NOSUID | NODEV | kept(point))


def build_view(view: dict[str, Any]) -> None:
    """Replace the file tree of this mount namespace by the chosen paths."""
    mount("none", "/", None, REC | PRIVATE)
    mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, "mode=0755,size=1m")
    Path("/tmp/old").mkdir()
    Path("/tmp/new").mkdir()
    check(libc.pivot_root(b"/tmp", b"/tmp/old"), "pivot_root")
    os.chdir("/")
    mount("tmpfs", "/new", "tmpfs", NOSUID | NODEV, "mode=0755,size=1m")
    scratch = "/new" + view["scratch"]
    Path(scratch).mkdir(parents=True)
    mount("tmpfs", scratch, "tmpfs", NOSUID | NODEV, f"mode=0700,size={view['scratch_size']},nr_inodes=4096")
    for path in view["paths"]:
        show(path)
    for path in view["devices"]:
        show(path, device=True)
    mount("none", "/new", None, BIND | REMOUNT | RDONLY | NOSUID | NODEV)
    # The old root is mounted over the new one for an instant, then taken away with everything in it.
    os.chdir("/new")
    check(libc.pivot_root(b".", b"."), "pivot_root")
    check(libc.umount2(b".", DETACH), "umount")
    os.chdir(view["scratch"])


def wait(child: int) -> NoReturn:
    """Reap until `child` ends, then end with its status."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def main() -> None:
    view = json.loads(sys.argv[1])
    user, group = os.geteuid(), os.getegid()
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    check(libc.unshare(NEW_NAMESPACES), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{INSIDE_ID} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{INSIDE_ID} {group} 1")
    first = os.fork()
    if first:
        wait(first)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    build_view(view)
    for capability in range(64):  # nothing that is started from here on can gain one again
        if prctl(PR_CAPBSET_DROP, capability):
            break
    check(prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    command = os.fork()
    if command:
        wait(command)
    os.execve(view["command"][0], view["command"], dict(os.environ))


if __name__ == "__main__":
    main()
