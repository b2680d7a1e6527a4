"""The sandbox keeps a hostile block in: no home, no book, no network, no processes, no way out of its limits."""

import json
import os
import socket
import textwrap
import threading
import time
import uuid
from pathlib import Path

import pytest

from cakebook.checks import process
from cakebook.checks import sandbox as module
from cakebook.checks.sandbox import (
    ALLOWED,
    KINDS,
    LIBRARIES,
    Limits,
    Sandbox,
    available,
    environment,
    execute,
    finished,
    interpreter,
    outermost,
    probe,
    python_command,
    scratch,
)

OS = "import random\nos = random._os\nsys = os.sys\n"
"""How a block reaches past the allow-list; any of a hundred ways would do."""


def verdict(sandbox: Sandbox | None, code: str, limits: Limits | None = None) -> dict:
    """The report's second line; `{}` is a pass."""
    ended = execute(code, sandbox, limits or Limits())
    lines = ended.report.split(b"\n")
    assert lines[0] == b"started", ended
    return json.loads(lines[1]) if lines[1] else {"error": "no report", "code": ended.code, "stopped": ended.stopped}


def raw(sandbox: Sandbox, source: str, *, wall: float = 30) -> process.Ended:
    """Run Python inside without limits, filter or allow-list: what the namespaces alone hold back."""
    command = sandbox.command(python_command(interpreter().program, source), Limits())
    return process.run(
        command, lambda _: b"", wall_seconds=wall, output_bytes=65536, environment=environment(sandbox.home), folder="/"
    )


def test_arithmetic_and_numpy_run(sandbox: Sandbox) -> None:
    assert verdict(sandbox, "import math\nassert math.lcm(4, 6) == 12") == {}
    code = "import numpy as np\na = np.arange(9.0).reshape(3, 3)\nassert np.allclose(a @ np.linalg.inv(np.eye(3)), a)"
    assert verdict(sandbox, code) == {}


def test_every_allowed_module_can_be_imported(sandbox: Sandbox) -> None:
    assert verdict(sandbox, "\n".join(f"import {name}" for name in sorted(ALLOWED))) == {}


READERS = {
    "open": "open(path).close()",
    "fromfile": "import numpy\nnumpy.fromfile(path, dtype='u1')",
    "load": "import numpy\nnumpy.load(path, allow_pickle=True)",
    "memmap": "import numpy\nnumpy.memmap(path, mode='r')",
    "os": OS + "os.close(os.open(path, 0))",
    "subclasses": (
        "loader = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'FileLoader'][0]\n"
        "loader('x', path).get_data(path)"
    ),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_what_is_the_users_cannot_be_read(
    sandbox: Sandbox, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "secret").write_text("secret")
    paths = [str(Path.home() / "secret"), __file__, "/etc/passwd", "/proc/self/environ"]
    assert all(Path(path).is_file() for path in paths)
    code = f"def read(path):\n{textwrap.indent(reader, '    ')}\n\nfor path in {paths!r}:"
    code += """
    try:
        read(path)
    except FileNotFoundError:
        continue
    raise AssertionError(path)
"""
    assert verdict(sandbox, code) == {}
    # Not caught, as a block that means no harm has it, the same makes the block fail.
    assert verdict(sandbox, f"path = {paths[0]!r}\n{reader}")["error"] == "FileNotFoundError"


def test_the_real_home_shows_at_most_the_way_to_the_interpreter(sandbox: Sandbox) -> None:
    import pwd

    home = pwd.getpwuid(os.getuid()).pw_dir
    own = interpreter()
    way = {
        part for path in (*own.paths, *LIBRARIES) if path.startswith(home.rstrip("/") + "/")
        for part in [path[len(home.rstrip("/")) + 1 :].split("/")[0]]
    } | ({sandbox.home[1:], "dev"} if home == "/" else set())  # fmt: skip
    code = OS + f"seen = set(os.listdir({home!r})) if os.path.isdir({home!r}) else set()\nassert seen <= {way!r}, seen"
    assert verdict(sandbox, code) == {}


def test_only_scratch_can_be_written(sandbox: Sandbox, tmp_path: Path) -> None:
    own = interpreter()
    folders = ["/", "/dev", "/usr/lib", "/usr", own.packages[0], own.packages[0] + "/numpy", str(Path(own.program).parent)]
    for path in [*(f"{folder}/new" for folder in folders), own.program, own.packages[0] + "/numpy/__init__.py"]:
        report = verdict(sandbox, f"open({path!r}, 'a')")
        assert report["error"] in {"OSError", "PermissionError", "FileNotFoundError"}, (path, report)
    assert verdict(sandbox, f"open({str(tmp_path / 'new')!r}, 'w')")["error"] == "FileNotFoundError"
    assert list(tmp_path.iterdir()) == []


def test_scratch_is_home_and_fresh_and_small(sandbox: Sandbox) -> None:
    code = OS + (
        f"assert os.getcwd() == os.path.expanduser('~') == {sandbox.home!r}\n"
        "assert not os.path.exists('note')\n"
        "open('note', 'w').write('x')"
    )
    assert verdict(sandbox, code) == {}
    assert verdict(sandbox, code) == {}
    small = Limits(scratch_bytes=2 << 20, file_bytes=1 << 20)
    fill = "for n in range(9):\n    with open(str(n), 'wb') as f:\n        f.write(bytes(900_000))"
    report = verdict(sandbox, fill, small)
    assert report["error"] == "OSError" and "No space left" in report["message"]
    report = verdict(sandbox, "with open('big', 'wb') as f:\n    f.write(bytes(2_000_000))", small)
    assert report["error"] == "OSError" and "too large" in report["message"]


def test_scratch_never_holds_what_is_shown(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout may lie anywhere, so also where the empty folder would be."""
    assert scratch(["/usr/lib"]) == "/check"
    assert scratch(["/check/out/.venv/lib", "/usr"]) == scratch(["/check"]) == "/check-1"
    assert scratch(["/check-1/a", "/check/b", "/checks"]) == "/check-2"
    packages = interpreter().packages[0]
    monkeypatch.setattr(module, "SCRATCH", "/" + packages.split("/")[1])
    assert sandbox.home == module.SCRATCH + "-1"
    assert verdict(sandbox, f"{OS}import numpy\nassert os.listdir('.') == [] and os.getcwd() == {sandbox.home!r}") == {}
    assert verdict(sandbox, f"open('{packages}/new', 'a')")["error"] in {"OSError", "PermissionError"}


def test_the_environment_and_the_user_are_not_the_callers(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "value")
    code = OS + "assert os.getuid() == os.getgid() == 1000\nassert set(os.environ) <= {!r}, os.environ"
    assert verdict(sandbox, code.format({*environment(""), "LC_CTYPE", "PWD"})) == {}


def test_other_processes_are_neither_seen_nor_signalled(sandbox: Sandbox) -> None:
    code = (
        OS
        + f"""
seen = 0
for pid in [*range(1, 3000), {os.getpid()}]:
    try:
        os.kill(pid, 0)
        seen += pid == {os.getpid()} > 3 or pid > 3
    except ProcessLookupError:
        pass
assert seen == 0 and os.getpid() <= 3
"""
    )
    assert verdict(sandbox, code) == {}


def test_no_network_even_without_the_filter(sandbox: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        source = f"""
import socket
assert [name for _, name in socket.if_nameindex()] == ["lo"]
for address in ("127.0.0.1", {port}), ("192.0.2.1", 80):
    try:
        socket.create_connection(address, timeout=5)
    except OSError:
        continue
    raise AssertionError(address)
"""
        ended = raw(sandbox, source)
    assert (ended.code, ended.output) == (0, b"")


def test_no_privileges_even_without_the_filter(sandbox: Sandbox) -> None:
    home = os.fsencode(sandbox.home)
    source = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.mount(b"tmpfs", {home}, b"tmpfs", 0, None) == -1 and ctypes.get_errno() == 1
assert libc.umount2({home}, 2) == -1 and ctypes.get_errno() == 1
assert libc.prctl(39, 0, 0, 0, 0) == 1                                 # no new privileges
assert all(libc.prctl(23, n, 0, 0, 0) <= 0 for n in range(64))         # an empty bounding set
header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert libc.capget(header, data) == 0 and not any(data)
"""
    ended = raw(sandbox, source)
    assert (ended.code, ended.output) == (0, b"")


@pytest.mark.parametrize(
    "call",
    [
        "libc.socket(40, 1, 0)",  # vsock: no namespace holds it back
        "libc.socket(2, 1, 0)",
        "libc.unshare(0x10000000)",
        "libc.shmget(0, 4096, 0o1600)",
        "libc.syscall(425, 8, 0)",  # io_uring_setup
        "libc.ptrace(0, 0, 0, 0)",
    ],
)
def test_the_filter_refuses(sandbox: Sandbox, call: str) -> None:
    load = "ctypes = sys.modules['ctypes']\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    code = f"{OS}{load}assert {call} == -1\nassert ctypes.get_errno() == 1"
    assert verdict(sandbox, code) == {}


def test_fork_and_thread_bombs_end(sandbox: Sandbox) -> None:
    assert verdict(sandbox, OS + "while True:\n    os.fork()")["error"] == "PermissionError"
    threads = OS + "while True:\n    sys.modules['_thread'].start_new_thread(sys.modules['time'].sleep, (99,))"
    assert verdict(sandbox, threads)["error"] == "RuntimeError"


@pytest.mark.parametrize(
    "code",
    [
        "x = bytearray(1 << 33)",
        "x = []\nwhile True:\n    x.append(bytearray(1 << 16))",
        "x = []\nwhile True:\n    x.append(None)",
        "import numpy\nx = numpy.ones(1 << 30)",
    ],
)
def test_a_memory_hog_ends(sandbox: Sandbox, code: str) -> None:
    report = verdict(sandbox, code, Limits(memory_bytes=512 << 20))
    assert "MemoryError" in report["error"] and report["line"] == len(code.split("\n"))


def test_endless_printing_ends(sandbox: Sandbox) -> None:
    ended = execute("while True:\n    print('x' * 1000)", sandbox, Limits())
    assert ended.stopped == "output" and len(ended.output) <= Limits().output_bytes


def test_a_loop_ends(sandbox: Sandbox) -> None:
    ended = execute("while True:\n    pass", sandbox, Limits(cpu_seconds=1))
    assert (ended.stopped, ended.code) == (None, 128 + 24)


def test_sleep_ends_whatever_was_closed(sandbox: Sandbox) -> None:
    code = OS + "os.closerange(0, 64)\nsys.modules['time'].sleep(600)"
    ended = execute(code, sandbox, Limits(wall_seconds=3))
    assert (ended.stopped, ended.report) == ("time", b"started\n")


def test_nothing_survives_the_time_limit(sandbox: Sandbox) -> None:
    marker = uuid.uuid4().hex
    source = f"'{marker}'\nimport os, time\nos.fork()\nos.setsid() if os.getpid() > 3 else 0\ntime.sleep(600)"
    assert raw(sandbox, source, wall=3).stopped == "time"
    for _ in range(100):  # the kernel ends a namespace in its own time
        alive = [p for p in Path("/proc").glob("[0-9]*/cmdline") if marker.encode() in _read(p)]
        if not alive:
            break
        time.sleep(0.1)
    assert alive == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_two_at_a_time_do_not_meet(sandbox: Sandbox) -> None:
    wait = "sys.modules['time'].sleep(0.2)\n"
    code = f"{OS}assert os.listdir('.') == []\nopen('x', 'w').close()\n{wait}assert os.listdir('.') == ['x']"
    reports: list[dict] = []
    threads = [threading.Thread(target=lambda: reports.append(verdict(sandbox, code))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reports == [{}] * 4


def test_available_prefers_in_order() -> None:
    working = [found for kind in KINDS if (found := probe(kind)) is not None]
    assert available() == (working[0] if working else None)


def test_a_bwrap_that_does_nothing_is_not_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert probe.__wrapped__("bubblewrap") is None
    fake.write_text("#!/bin/sh\nexit 1\n")
    assert probe.__wrapped__("bubblewrap") is None
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert probe.__wrapped__("bubblewrap") is None


def test_outermost() -> None:
    assert outermost(["/b/c", "/a", "/b", "/bc", "/a"]) == ("/a", "/b", "/bc")


def test_finished_wants_the_whole_report() -> None:
    assert finished(process.Ended(0, b"started\n{}", b"", None, 1.0))
    assert not finished(process.Ended(0, b"started\n", b"", None, 1.0))
    assert not finished(process.Ended(0, b"started\n{}", b"", "time", 1.0))
