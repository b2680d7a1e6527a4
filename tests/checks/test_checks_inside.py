"""The process of a block: import allow-list, system-call filter, limits."""

import struct
import subprocess
import sys

import pytest

from cakebook.checks import inside
from cakebook.checks.sandbox import Limits, execute

EPERM, ALLOW, KILL = 0x00050001, 0x7FFF0000, 0x80000000


def decide(program: bytes, arch: int, number: int) -> int:
    """A filter's answer to one system call, by the rules of classic BPF."""
    data = struct.pack("=II", number, arch)
    at, accumulator = 0, 0
    while True:
        code, yes, no, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        else:
            at += yes if (accumulator == value if code == 0x15 else accumulator >= value) else no


@pytest.mark.parametrize("machine", inside.SYSCALLS)
def test_the_filter_refuses_exactly_its_list(machine: str) -> None:
    arch, numbers = inside.SYSCALLS[machine]
    program = inside.filter_program(machine)
    assert program is not None
    refused = {*numbers.values(), *inside.SYSCALLS_EVERYWHERE.values()}
    for number in range(600):
        assert decide(program, arch, number) == (EPERM if number in refused else ALLOW)
    assert decide(program, arch, inside.X32_BIT + 1) == EPERM
    assert decide(program, arch ^ 1, 1) == KILL


def test_other_machines_have_no_filter() -> None:
    assert inside.filter_program("riscv64") is None


ALL = frozenset({"math", "dataclasses", "typing", "json"})


@pytest.fixture
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(
    "code",
    [
        "import math",
        "from math import gcd",
        "import json.decoder",
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int' = 1\nassert A().x == 1",
        "assert __name__ == '__main__'",
        "def f(n):\n    return 1 if n == 0 else n * f(n - 1)\nassert f(5) == 120",
    ],
)
def test_allowed(code: str) -> None:
    assert inside.run(code, ALL) == {}


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize(
    ("code", "error", "line"),
    [
        ("import os", "ImportError", 1),
        ("import math, os.path", "ImportError", 1),
        ("\nfrom os import path", "ImportError", 2),
        ("from . import x", "ImportError", 1),
        ("def f():\n    import sys\nf()", "ImportError", 2),
        ("__import__('os')", "ImportError", 1),
        ("assert 1 == 2", "AssertionError", 1),
        ("import json\n\njson.loads('{')", "JSONDecodeError", 3),
        ("x = 1\ny = (", "SyntaxError", 2),
        ("raise SystemExit(0)", "SystemExit", 1),
        ("def f():\n    f()\nf()", "RecursionError", 2),
        ("class E(Exception):\n    def __str__(self):\n        raise E\nraise E", "E", 4),
        ("'\\ud800' + 1", "TypeError", 1),
    ],
)
def test_refused_or_failed_with_its_line(code: str, error: str, line: int) -> None:
    result = inside.run(code, ALL)
    assert (result["error"], result["line"]) == (error, line)


def test_limits_hold_and_lenient_limits_pass() -> None:
    source = (
        "import resource\nfrom cakebook.checks.inside import set_limits\n"
        "set_limits({'NOFILE': 20, 'CPU': 5, 'NO_SUCH': 1}, strict=False)\n"
        "assert resource.getrlimit(resource.RLIMIT_NOFILE) == (20, 20)\n"
        "assert resource.getrlimit(resource.RLIMIT_CPU) == (5, 6)\n"
        "set_limits({'NOFILE': 30}, strict=True)\n"
        "assert resource.getrlimit(resource.RLIMIT_NOFILE) == (20, 20)\n"
    )
    subprocess.run([sys.executable, "-c", source], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="the filter is Linux's")
def test_the_filter_holds_without_a_sandbox_too() -> None:
    ended = execute("import random\nrandom._os.fork()", None, Limits())
    assert b"PermissionError" in ended.report
