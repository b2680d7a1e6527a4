"""From an entry's check blocks to results that name the line in the entry file."""

import tempfile
from pathlib import Path

import pytest

from cakebook.checks import runner
from cakebook.checks.process import Ended
from cakebook.checks.runner import CheckResult, judge, run_checks
from cakebook.checks.sandbox import Limits, Sandbox
from cakebook.repo.entries import EntryFile, read_entry
from cakebook.text.markdown import Fence

HEAD = "---\nid: an-entry\ntitle: An entry\n---\n## Check\n"
PATH = "entries/tiling/an-entry.md"


def entry(*blocks: str, newline: str = "\n") -> EntryFile:
    text = HEAD + "\n".join(f"```python check\n{block}\n```\n" for block in blocks)
    return read_entry(PATH, text.replace("\n", newline).encode())


def only(results: list[CheckResult]) -> CheckResult:
    assert len(results) == 1
    return results[0]


def test_no_check_no_result() -> None:
    text = HEAD + "```python\nassert False\n```\n"
    assert run_checks(read_entry(PATH, text.encode()), sandbox=None, covered=True) == []


def test_without_sandbox_only_covered_blocks_run() -> None:
    two = entry("assert True", "assert False")
    assert run_checks(two, sandbox=None, covered=False) == [
        CheckResult("an-entry", 1, "not-run", "no sandbox", 6),
        CheckResult("an-entry", 2, "not-run", "no sandbox", 10),
    ]
    first, second = run_checks(two, sandbox=None, covered=True)
    assert (first.status, first.reason, first.line) == ("passed", "", 6)
    assert (second.status, second.reason, second.line) == ("failed", f"{PATH}:11: assert False", 11)


@pytest.mark.parametrize("covered", [True, False])
def test_in_a_sandbox_drafts_run(sandbox: Sandbox, covered: bool) -> None:
    two = entry("x = 6 * 7\nassert x == 42", "\nx = 1\nassert x == 2, 'one'")
    first, second = run_checks(two, sandbox=sandbox, covered=covered)
    assert (first.index, first.status, first.reason, first.line) == (1, "passed", "", 6)
    assert (second.index, second.status, second.line) == (2, "failed", 14)
    assert second.reason == f"{PATH}:14: assert x == 2, 'one'"


def test_a_block_that_reads_home_fails(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "notes.txt").write_text("private")
    result = only(run_checks(entry(f"open({str(Path.home() / 'notes.txt')!r}).read()"), sandbox=sandbox, covered=False))
    assert (result.status, result.line) == ("failed", 7)
    assert "FileNotFoundError" in result.reason and "private" not in repr(result)


def test_a_block_that_writes_outside_its_scratch_fails(sandbox: Sandbox, tmp_path: Path) -> None:
    result = only(run_checks(entry(f"open({str(tmp_path / 'new')!r}, 'w')"), sandbox=sandbox, covered=True))
    assert (result.status, result.line) == ("failed", 7)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_line_is_the_files_own(newline: str) -> None:
    file = entry("def f(n):\n    assert n > 0\n\nf(1)\nf(0)", newline=newline)
    result = only(run_checks(file, sandbox=None, covered=True))
    assert (result.reason, result.line) == (f"{PATH}:8: assert n > 0", 8)
    assert file.text.split(newline)[7].strip() == "assert n > 0"


def test_other_exceptions_name_themselves() -> None:
    result = only(run_checks(entry("1 / 0"), sandbox=None, covered=True))
    assert result.reason == f"{PATH}:7: 1 / 0 → ZeroDivisionError: division by zero"
    result = only(run_checks(entry("import os"), sandbox=None, covered=True))
    assert result.reason.startswith(f"{PATH}:7: import os → ImportError: a check may not import `os`; allowed: array, ")
    result = only(run_checks(entry("x = (\n"), sandbox=None, covered=True))
    assert result.status == "failed" and "SyntaxError: '(' was never closed" in result.reason


def test_a_block_must_come_to_its_end() -> None:
    leave = "import random\nrandom._os._exit(0)"
    result = only(run_checks(entry(leave), sandbox=None, covered=True))
    assert (result.status, result.reason) == ("failed", f"{PATH}:6: ended early, exit status 0")
    assert only(run_checks(entry("raise SystemExit"), sandbox=None, covered=True)).status == "failed"
    crash = "import random\nrandom._os.kill(random._os.getpid(), 11)"
    assert "was killed by signal 11" in only(run_checks(entry(crash), sandbox=None, covered=True)).reason


def test_limits_without_a_sandbox() -> None:
    loop = entry("while True:\n    pass")
    result = only(run_checks(loop, sandbox=None, covered=True, limits=Limits(cpu_seconds=1)))
    assert (result.status, result.reason) == ("timed-out", f"{PATH}:6: used more than 1 s of processor time")
    sleep = entry("import random\nrandom._os.sys.modules['time'].sleep(600)")
    result = only(run_checks(sleep, sandbox=None, covered=True, limits=Limits(wall_seconds=3)))
    assert (result.status, result.reason) == ("timed-out", f"{PATH}:6: still running after 3 s")
    endless = entry("while True:\n    print('x' * 99)")
    result = only(run_checks(endless, sandbox=None, covered=True))
    assert (result.status, result.reason) == ("failed", f"{PATH}:6: printed more than 65,536 bytes")


def test_without_a_sandbox_the_folder_is_fresh_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "value")
    code = (
        "import random\nos = random._os\nassert 'A_SECRET' not in os.environ\nassert os.listdir('.') == []\n"
        "assert os.path.realpath('.') == os.path.realpath(os.path.expanduser('~'))\n"
        "open('x', 'w').close()\nprint(os.getcwd())"
    )
    result = only(run_checks(entry(code), sandbox=None, covered=True))
    assert result.status == "passed", result
    (folder,) = result.output
    assert Path(folder) != Path.cwd() and Path(folder).parent == Path(tempfile.gettempdir())
    assert not Path(folder).exists()


def test_what_is_shown_is_printable() -> None:
    code = "print('\\x1b[2J\\nsecond')\nassert False, 'a\\x1b[31mb\\n\\u202ec'"
    result = only(run_checks(entry(code), sandbox=None, covered=True))
    assert result.reason.isprintable() and result.reason.endswith("(a?[31mb ?c)")
    assert result.output == ("?[2J", "second")
    long = only(run_checks(entry("assert False, 'x' * 5000"), sandbox=None, covered=True))
    assert len(long.reason) == runner.MAX_REASON


def test_a_sandbox_that_stopped_working_is_not_a_failure() -> None:
    gone = Sandbox("bubblewrap", "/no/such/bwrap")
    result = only(run_checks(entry("assert True"), sandbox=gone, covered=True))
    assert (result.status, result.reason) == ("not-run", "could not be started: No such file or directory")
    broken = Sandbox("bubblewrap", "/bin/false")
    result = only(run_checks(entry("assert True"), sandbox=broken, covered=True))
    assert (result.status, result.reason) == ("not-run", "did not start: exit status 1")


@pytest.mark.parametrize(
    ("report", "code", "status"),
    [
        (b"started\n{}", 0, "passed"),
        (b"started\n{}", 1, "failed"),
        (b"started\n", 0, "failed"),
        (b"started\nnull", 0, "failed"),
        (b"started\n[]", 0, "failed"),
        (b"started\n{\"error\": 5, \"line\": \"x\"}", 1, "failed"),
        (b"started\n{\"error\": \"E\", \"line\": 999}", 1, "failed"),
        (b"started\n{\"error\": \"E\", \"line\": -1}", 1, "failed"),
        (b"started\n" + b"[" * 60000, 1, "failed"),
        (b"\xff", 0, "not-run"),
        (b"", 1, "not-run"),
    ],
)  # fmt: skip
def test_a_report_is_believed_only_as_far_as_it_makes_sense(report: bytes, code: int, status: str) -> None:
    fence = Fence("python check", "assert True", 10, "Check")
    found, reason, line = judge(Ended(code, report, b"", None, 0.1), fence, PATH, Limits())
    assert found == status and bool(reason) == (status != "passed") and 10 <= line <= 11
