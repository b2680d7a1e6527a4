"""The sandbox in which check blocks of unreviewed entries may run.

What is inside: the interpreter, its standard library, numpy, the shared libraries of the system, three devices and an
empty folder in memory, which is home and working folder. What is not: the user's files, the book, other programs, the
processes, the network, the environment. Two kinds do the same: `bubblewrap` (the `bwrap` program) and `namespaces`
(`cell.py`). On x86-64 and aarch64 a system-call filter further refuses new processes, threads and sockets; elsewhere the
number of processes is limited only for users other than root. This boundary is what security rests on; the import
allow-list in `inside.py` is for readable, repeatable checks and only incidentally in an attacker's way.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from cakebook.checks import process
from cakebook.checks.process import Ended

Kind = Literal["bubblewrap", "namespaces"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In order of preference."""

ALLOWED = frozenset({
    "array", "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools",
    "heapq", "itertools", "json", "math", "numbers", "numpy", "operator", "random", "re", "statistics", "string",
    "struct", "textwrap", "typing",
})  # fmt: skip
"""Top-level modules that a block may import."""

SCRATCH = "/check"
"""The empty folder inside; see `scratch` for a machine on which something shown lies there."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
LIBRARIES = (
    "/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib",
    "/usr/local/lib64", "/etc/ld.so.cache", "/etc/alternatives", "/nix/store", "/gnu/store",
)  # fmt: skip
"""Where a dynamic loader finds libraries: usual places, Debian's links to the chosen BLAS, Nix, Guix."""
IN_HARMONY = ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMEXPR")
"""Libraries whose thread pools are set to one thread: none could be started inside, and sums stay in one order."""


@dataclass(frozen=True)
class Limits:
    """What one block may use. Seconds and bytes; `processes` counts per user where the kernel counts so."""

    wall_seconds: float = 30
    cpu_seconds: int = 10
    memory_bytes: int = 1 << 30
    file_bytes: int = 8 << 20
    scratch_bytes: int = 32 << 20
    open_files: int = 64
    processes: int = 16
    output_bytes: int = 64 << 10

    def as_rlimits(self) -> dict[str, int]:
        """Name after `RLIMIT_` → value."""
        return {
            "CPU": self.cpu_seconds, "AS": self.memory_bytes, "FSIZE": self.file_bytes, "NOFILE": self.open_files,
            "NPROC": self.processes, "CORE": 0,
        }  # fmt: skip


@dataclass(frozen=True)
class Interpreter:
    """The Python that runs blocks: real path of the program, paths it needs, folders to add to `sys.path`."""

    program: str
    paths: tuple[str, ...]
    packages: tuple[str, ...]


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """`paths` sorted, without those that lie below another and without repetitions."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path == k or path.startswith(k + "/") for k in kept):
            kept.append(path)
    return tuple(kept)


@cache
def interpreter() -> Interpreter:
    """The base interpreter of this process (not the virtual environment's link to it) and this process's numpy.

    Only `lib` of its prefix and the packages themselves are named: either may lie in the user's home.
    """
    program = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    prefix = os.path.realpath(sys.base_prefix)
    paths = [program, os.path.realpath(sysconfig.get_path("stdlib"))]
    paths += [path for name in ("lib", "lib64") if Path(path := f"{prefix}/{name}").is_dir()]
    packages = []
    spec = importlib.util.find_spec("numpy")  # found, not imported
    if spec is not None and spec.origin:
        folder = Path(os.path.realpath(spec.origin)).parent
        packages.append(str(folder.parent))
        paths += [str(p) for p in (folder, folder.with_name("numpy.libs")) if p.exists()]
    return Interpreter(program, outermost(paths), tuple(packages))


def scratch(shown: Iterable[str]) -> str:
    """`SCRATCH`, or that with a number: the first that is neither at, above nor below a path of `shown`.

    Whatever is shown below it would be found in the empty folder, and be writable.
    """
    taken = {path.split("/")[1] for path in shown}
    names = (SCRATCH + (f"-{n}" if n else "") for n in itertools.count())
    return next(name for name in names if name[1:] not in taken)


def python_command(program: str, source: str) -> list[str]:
    """Command that runs `source`: isolated, no site packages, no byte code written, UTF-8 whatever the locale."""
    return [program, "-I", "-S", "-B", "-X", "utf8", "-c", source]


def environment(home: str) -> dict[str, str]:
    """The whole environment of a block."""
    threads = {f"{name}_NUM_THREADS": "1" for name in IN_HARMONY}
    return {"PATH": "/usr/bin:/bin", "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", **threads}


def _source(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Sandbox:
    """One working kind. `program` is the path of `bwrap`, unused by `namespaces`."""

    kind: Kind
    program: str = ""

    def command(self, inner: Sequence[str], limits: Limits) -> list[str]:
        """The command that runs `inner` inside."""
        own = interpreter()
        # Links to folders (`/lib` → `usr/lib`) are kept as links, so they stand beside what they point to.
        present = {path for path in LIBRARIES if os.path.lexists(path)}
        links = sorted(path for path in present if Path(path).is_symlink())
        paths = outermost([*(present - set(links)), *own.paths])
        if self.kind == "bubblewrap":
            return self._bubblewrap(inner, limits, paths, links)
        settings = {
            "paths": [*paths, *links], "devices": DEVICES, "scratch": self.home, "scratch_size": limits.scratch_bytes,
            "command": list(inner),
        }  # fmt: skip
        return [*python_command(own.program, _source("cell.py")), json.dumps(settings)]

    @property
    def home(self) -> str:
        """The empty folder in memory, home and working folder of what runs inside."""
        return scratch([*LIBRARIES, *DEVICES, *interpreter().paths])

    def _bubblewrap(self, inner: Sequence[str], limits: Limits, paths: Sequence[str], links: Sequence[str]) -> list[str]:
        command = [self.program]
        command += [f"--unshare-{name}" for name in ("user", "ipc", "pid", "net", "uts", "cgroup-try")]
        command += ["--uid", "1000", "--gid", "1000", "--die-with-parent", "--cap-drop", "ALL"]
        command += ["--size", str(limits.scratch_bytes), "--tmpfs", self.home]
        for path in paths:
            command += ["--ro-bind", path, path]
        for path in links:
            command += ["--symlink", str(Path(path).readlink()), path]
        for path in DEVICES:
            command += ["--dev-bind", path, path]
        return [*command, "--remount-ro", "/", "--chdir", self.home, "--", *inner]


def execute(code: str, sandbox: Sandbox | None, limits: Limits) -> Ended:
    """Run a block in `sandbox`, or with None as an ordinary process with the same limits in a fresh folder.

    Without a sandbox the block has the user's rights: the caller must have decided that it may run. Raises OSError if
    the command cannot be started.
    """
    own = interpreter()
    inner = python_command(own.program, _source("inside.py"))

    def payload(report: int) -> bytes:
        content: Mapping[str, object] = {
            "code": code, "report": report, "limits": limits.as_rlimits(), "allowed": sorted(ALLOWED),
            "packages": own.packages, "strict": sandbox is not None,
        }  # fmt: skip
        return json.dumps(content).encode()

    with tempfile.TemporaryDirectory(prefix="cakebook-check-", ignore_cleanup_errors=True) as folder:
        return process.run(
            inner if sandbox is None else sandbox.command(inner, limits), payload,
            wall_seconds=limits.wall_seconds, output_bytes=limits.output_bytes,
            environment=environment(folder if sandbox is None else sandbox.home), folder=folder,
        )  # fmt: skip


def finished(ended: Ended) -> bool:
    """Whether the block came to its end without an exception."""
    return ended.code == 0 and ended.stopped is None and ended.report == b"started\n{}"


PROBE = """
import math
assert math.gcd(12, 18) == 6
try:
    open("/etc/passwd").close()
except OSError:
    pass
else:
    raise AssertionError("a sandbox that shows this is none")
"""


@cache
def probe(kind: Kind) -> Sandbox | None:
    """The sandbox of this kind if it works here. Tried once per process."""
    if sys.platform != "linux":
        return None
    program = ""
    if kind == "bubblewrap":
        program = shutil.which("bwrap") or ""
        if not program:
            return None
    sandbox = Sandbox(kind, os.path.realpath(program) if program else "")
    try:
        return sandbox if finished(execute(PROBE, sandbox, Limits())) else None
    except OSError:
        return None


def available() -> Sandbox | None:
    """The best kind that works here, or None (not Linux, a container that allows no namespaces)."""
    return next((sandbox for kind in KINDS if (sandbox := probe(kind)) is not None), None)
