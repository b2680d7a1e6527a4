"""Everything that can be wrong on the command line: the right exit status and code, one line, the next step, no traceback."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cakebook.cli.output import run
from cakebook.errors import StoreIO

LINE = re.compile(r"error: CB-E(\d)\d\d \S.*")
STATUS = {"1": 1, "2": 2, "3": 3, "4": 4, "9": 70}


def check(done, status, code, *parts):
    """One printable line on stderr with the code, nothing on stdout."""
    lines = done.err.splitlines()
    assert done.out == "" and len(lines) == 1, done
    assert LINE.fullmatch(lines[0]) and lines[0].isprintable(), lines
    assert lines[0].startswith(f"error: {code} ") and "Traceback" not in done.err
    assert done.status == status == STATUS[code[4]]
    for part in parts:
        assert part in lines[0], lines[0]


BAD = [
    # (arguments, exit status, code, parts of the line)
    (["search"], 2, "CB-E204", "nothing was asked"),
    (["search", ""], 2, "CB-E204", "nothing was asked"),
    (["search", " \t\n"], 2, "CB-E204", "nothing was asked"),
    (["search", "--strict-scope"], 2, "CB-E204", "nothing was asked"),
    (["context"], 2, "CB-E204", "nothing was asked"),
    (["search", "a" * 100_000], 2, "CB-E205", "100,000 characters", "20,000"),
    (["context", "--task", "核" * 20_001], 2, "CB-E205", "the task"),
    (["context", "--error", "x\n" * 20_000], 2, "CB-E205", "the error text"),
    (["search", "x", "--dsl", "ascend-cc"], 2, "CB-E202", "dsl `ascend-cc`", "did you mean `ascendc`?", "triton-ascend"),
    (["search", "x", "--target", "910B33"], 2, "CB-E202", "did you mean `910B3`?"),
    (["search", "x", "--kind", "tilling"], 2, "CB-E202", "did you mean `tiling`?"),
    (["search", "x", "--operator", "softmx"], 2, "CB-E202", "did you mean `softmax`?"),
    (["search", "x", "--bottleneck", "mte9"], 2, "CB-E202", "valid: "),
    (["search", "x", "--stage", "evolv"], 2, "CB-E202", "did you mean `evolve`?"),
    (["search", "x", "--dtype", "float17"], 2, "CB-E202", "did you mean `float16`?"),
    (["search", "x", "--layout", "XX"], 2, "CB-E202", "NC1HWC0"),
    (["search", "x", "--lang", "fr"], 2, "CB-E202", "valid: auto, en, zh"),
    (["search", "x", "--tier", "gold"], 2, "CB-E202", "valid: draft, founding, reviewed, measured"),
    (["search", "x", "--tier", "draft"], 2, "CB-E207", "founding"),
    (["search", "x", "--when", "tail"], 2, "CB-E201", "name=value", "tail=present"),
    (["search", "x", "--when", "tale=present"], 2, "CB-E202", "did you mean `tail`?"),
    (["search", "x", "--when", "tail=presents"], 2, "CB-E202", "did you mean `present`?"),
    (["search", "x", "--cann", "newest"], 2, "CB-E201", "8.2.RC1"),
    (["search", "x", "--toolchain", "can=8.0"], 2, "CB-E202", "did you mean `cann`?"),
    (["search", "x", "--shape", "4096,big"], 2, "CB-E201", "4096,8192"),
    (["search", "x", "--shape", "0"], 2, "CB-E201", "positive"),
    (["search", "x", "--limit", "0"], 2, "CB-E201", "1..50"),
    (["search", "x", "--limit", "51"], 2, "CB-E201", "1..50"),
    (["search", "x", "--limit", "many"], 2, "CB-E201", "invalid int value"),
    (["search", "x", "--limit"], 2, "CB-E201", "--limit"),
    (["search", "x", "--no-such-option"], 2, "CB-E201", "--no-such-option", "cakebook search --help"),
    (["search", "-x"], 2, "CB-E201", "-x"),
    (["context", "--operator", "softmax", "--budget", "255"], 2, "CB-E203", "at least 256"),
    (["context", "--operator", "softmax", "--budget", "-5"], 2, "CB-E203", "at least 256"),
    (["context", "--operator", "softmax", "--budget", "2.5"], 2, "CB-E201", "invalid int value"),
    (["context", "--operator", "softmax", "--budget", "1e3"], 2, "CB-E201", "invalid int value"),
    (["context", "--operator", "softmax", "--format", "xml"], 2, "CB-E202", "json, markdown"),
    (["context", "--operator", "softmax", "--stage", "polish"], 2, "CB-E202", "route, draft, lower, evolve, debug, review"),
    (["context", "--operator", "softmax", "--stage", "lower", "--pass", "x"], 2, "CB-E202", "tiling, init, process, nonaligned"),
    (["context", "--operator", "softmax", "--format", "xml"], 2, "CB-E202", "json, markdown, advisor, strategies"),
    (["context", "--operator", "softmax", "--mode", "both"], 2, "CB-E202", "lexical, hybrid, generation, evolution"),
    (["context", "--operator", "softmax", "--packs", "0"], 2, "CB-E201", "1 to"),
    (["context", "--operator", "softmax", "--packs", "99"], 2, "CB-E201", "1 to 16"),
    (["context", "--operator", "softmax", "--packs", "3", "--pack", "4"], 2, "CB-E201", "from 1 to --packs"),
    (["context", "--operator", "softmax", "--tokenizer", "no-such.json"], 2, "CB-E209", "no such file"),
    (["context", "--code", "no-such.cpp"], 4, "CB-E402", "no-such.cpp"),
    (["context", "--operator", "softmax", "--op", "Foo"], 2, "CB-E201", "--profile"),
    (["context", "--profile", "no-such-folder"], 2, "CB-E209", "no-such-folder"),
    (["search", "x", "--mode", "semantic"], 2, "CB-E202", "auto, lexical, hybrid"),
    (["search", "x", "--mode", "hybrid"], 3, "CB-E301", "cakebook sync --embedder use"),
    (["sync", "--embedder", "word2vec"], 2, "CB-E201", "st:minilm"),
    (["context", "--operator", "softmax", "--stage", "nonsense"], 2, "CB-E202", "valid: "),
    (["show", "ascendc-double-bufer"], 2, "CB-E206", "did you mean `ascendc-double-buffer`?"),
    (["show", "ASCENDC-DOUBLE-BUFER"], 2, "CB-E206", "did you mean `ascendc-double-buffer`?"),
    (["show", "zzz"], 2, "CB-E206", "cakebook search"),
    (["show", ""], 2, "CB-E206", "no entry ``"),
    (["show"], 2, "CB-E201", "required"),
    (["show", "a", "b"], 2, "CB-E201", "b"),
    (["show", "ascendc-double-buffer", "--level", "everything"], 2, "CB-E202", "title, summary, pattern, full, source"),
    (["show", "ascendc-double-buffer", "--lang", "de"], 2, "CB-E202", "auto, en, zh"),
    (["verify", "ascendc-double-bufer"], 2, "CB-E206", "did you mean `ascendc-double-buffer`?"),
    (["lint", "entries/nothing.md"], 2, "CB-E209", "entries/nothing.md"),
    (["lint", "--format", "xml"], 2, "CB-E202", "text, json"),
    (["lint", "--explain", "CB999"], 2, "CB-E208", "CB999"),
    (["new", "Not An Id"], 2, "CB-E201", "cannot be an id"),
    (["new", "ascendc-double-buffer"], 1, "CB-E102", "ascendc-double-buffer"),
    (["new", "fresh-thing", "--kind", "tilling"], 2, "CB-E201", "tilling"),
    (["sync", "--rev", "HEAD"], 4, "CB-E401", "Git"),
    (["founding", "update", "--reason", "because"], 1, "CB-E101", "ships"),
    (["founding", "update"], 2, "CB-E201", "--reason"),
    (["founding", "dance"], 2, "CB-E201", "dance"),
    (["search", "x", "--book", "nowhere"], 4, "CB-E401", "nowhere"),
    (["--book", "nowhere", "search", "x"], 4, "CB-E401", "nowhere"),
    (["--book=nowhere", "status"], 4, "CB-E401", "nowhere"),
    (["--book", "somewhere"], 2, "CB-E201", "--book"),
    (["--book"], 2, "CB-E201", "--book"),
    (["serach", "x"], 2, "CB-E201", "serach", "--help"),
    (["--verbose"], 2, "CB-E201", "--verbose"),
    (["status", "--fast"], 2, "CB-E201", "--fast"),
    (["status", "extra"], 2, "CB-E201", "extra"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "status", "code", "parts"), [(a, s, c, p) for a, s, c, *p in BAD])
def test_bad_input(cake, arguments, status, code, parts):
    check(cake(*arguments), status, code, *parts)


HOSTILE = ["\x1b[2J\x07", "line\nbreak", "\ud800\udfff", "\udcff", "\u202eevil", "\x85", "a\tb", "😀" * 50, "\x00"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "before", [["search", "x", "--dsl"], ["show"], ["search", "--cann"], ["sync", "--nonsense"], ["search", "x", "--book"]]
)
def test_hostile_values_are_echoed_on_one_printable_line(cake, before, text):
    done = cake(*before, f"{text}zz")
    assert done.status in (2, 4)
    check(done, done.status, done.err[7:14])


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_questions_are_questions(cake, text):
    done = cake("search", f"DataCopyPad {text}")
    assert done.status == 0 and done.out.startswith("1. ") and done.err == ""


@pytest.mark.parametrize(
    ("arguments", "status", "code", "parts"),
    [(a, s, c, p) for a, s, c, *p in BAD if a[0] in ("search", "context", "show", "sync", "status", "verify")],
)
def test_with_json_an_error_is_the_error_shape_on_stdout_and_still_one_line_on_stderr(cake, arguments, status, code, parts):
    done = cake(*arguments, "--json")
    assert done.status == status and done.err.startswith(f"error: {code} ") and done.err.count("\n") == 1
    shape = json.loads(done.out)
    assert set(shape) == {"error"} and set(shape["error"]) == {"code", "message", "hint", "details"}
    assert shape["error"]["code"] == code and shape["error"]["message"] and isinstance(shape["error"]["details"], dict)
    assert shape["error"]["message"] in done.err


# The index


def test_without_an_index_and_without_leave_to_build_one(cake, own_book):
    shutil.rmtree(own_book / ".cakebook")
    for arguments in (["search", "x"], ["context", "x"], ["show", "ascendc-double-buffer"]):
        check(cake(*arguments, "--no-sync", cwd=own_book), 3, "CB-E301", "cakebook sync")
    check(cake("status", cwd=own_book), 3, "CB-E301", "cakebook sync")
    assert cake("search", "DataCopyPad", cwd=own_book).status == 0


@pytest.mark.parametrize("damage", ["generation", "manifest", "catalog", "cut", "foreign", "garbage", "current"])
def test_a_damaged_or_foreign_index_is_refused_with_what_mends_it(cake, own_book, damage):
    index = own_book / ".cakebook" / "index"
    folder = index / (index / "CURRENT").read_text().strip()
    manifest, catalog = folder / "manifest.json", folder / "catalog.sqlite"
    expected = {
        "generation": "CB-E301", "manifest": "CB-E301", "catalog": "CB-E304", "cut": "CB-E304", "foreign": "CB-E302",
        "garbage": "CB-E304", "current": "CB-E301",
    }[damage]  # fmt: skip
    if damage == "generation":
        shutil.rmtree(folder)
    elif damage == "manifest":
        manifest.unlink()
    elif damage == "catalog":
        catalog.unlink()
    elif damage == "cut":
        catalog.write_bytes(catalog.read_bytes()[:-4096])
    elif damage == "foreign":
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "schema": "cakebook-catalog-0"}))
    elif damage == "garbage":
        manifest.write_text("not json")
    else:
        (index / "CURRENT").unlink()
    check(cake("search", "x", "--no-sync", cwd=own_book), 3, expected, "cakebook sync")
    done = cake("sync", "--rebuild", cwd=own_book)
    assert done.status == 0, done
    assert cake("search", "DataCopyPad", "--no-sync", cwd=own_book).status == 0


def test_a_malformed_entry_withholds_itself_and_nothing_else(cake, own_book):
    (own_book / "entries" / "memory" / "broken.md").write_text("---\nid: [unclosed\n---\n## Summary\n")
    done = cake("search", "DataCopyPad", cwd=own_book)
    assert done.status == 0 and done.out.startswith("1. ") and "Traceback" not in done.err
    check(cake("show", "broken", cwd=own_book), 2, "CB-E206", "withheld", "cakebook lint")
    assert "broken" in cake("status", cwd=own_book).out
    done = cake("lint", "entries/memory/broken.md", cwd=own_book)
    assert done.status == 1 and "broken.md:" in done.out and "error" in done.out


def test_an_edited_entry_is_withheld_and_named(cake, own_book):
    path = next(own_book.glob("entries/*/ascendc-double-buffer.md"))
    path.write_bytes(path.read_bytes() + b"\nOne more word.\n")
    done = cake("show", "ascendc-double-buffer", cwd=own_book)
    assert done.status == 2 and done.err.splitlines()[0].startswith("synced: ")  # the one line beside the error
    check(cake("show", "ascendc-double-buffer", cwd=own_book), 2, "CB-E206", "edited")
    done = cake("search", "double buffer", cwd=own_book)
    assert "[ascendc-double-buffer]" not in done.out and "note: " in done.err and "ascendc-double-buffer" in done.err
    check(cake("show", "ascendc-double-bufer", cwd=own_book), 2, "CB-E206", "did you mean `ascendc-double-buffer`")
    shown = json.loads(cake("show", "npu-2201-onchip-budget", "--json", cwd=own_book).out)
    assert [n["code"] for n in shown["degraded"]] == ["edited"]


def test_a_vocabulary_that_the_anchor_does_not_cover_is_named_in_every_answer(cake, own_book):
    path = own_book / "book" / "vocabulary" / "stages.yaml"
    path.write_bytes(path.read_bytes() + b"# edited\n")
    for arguments in (["search", "DataCopyPad"], ["show", "ascendc-double-buffer"], ["context", "--operator", "add"]):
        done = cake(*arguments, cwd=own_book)
        assert done.status == 0 and "anchor does not cover: book/vocabulary/stages.yaml" in done.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vocabulary/dsls.yaml", "terms: ["),
        ("policy.yaml", "serve: nonsense"),
        ("trust/1.yaml", "n: 7\n"),
        ("founding.yaml", ""),
    ],
)
def test_a_damaged_book_file_serves_nothing_it_should_not(cake, own_book, name, text):
    """What the anchor does not cover is not used; a vocabulary that cannot be read is an error of one line."""
    (own_book / "book" / name).write_text(text)
    done = cake("search", "DataCopyPad", cwd=own_book)
    assert "Traceback" not in done.err
    if done.status:
        check(done, 4, "CB-E405", name)
    elif name in ("trust/1.yaml", "founding.yaml"):
        assert done.out.startswith("No reviewed entry") and "nothing is served" in done.err


def test_outside_of_any_book(cake, tmp_path):
    for command in (["search", "x"], ["status"], ["lint"], ["sync"], ["verify"], ["new", "some-id"]):
        check(cake(*command, cwd=tmp_path), 4, "CB-E401", "--book")


# Error texts from files


def test_an_error_text_or_a_file_that_holds_it(cake, tmp_path):
    path = tmp_path / "log.txt"
    path.write_bytes(b"\xff\xfe broken bytes\naclrtSynchronizeStream failed: 507035\n")
    for given in (str(path), "aclrtSynchronizeStream failed: 507035", "507035 " + "x" * 300, "a/b" * 200 + " 507035"):
        done = cake("context", "--error", given)
        assert done.status == 0 and "[ascendc-vector-core-exception-507035] diagnosis" in done.out


def test_an_error_file_that_cannot_be_read(cake, tmp_path, monkeypatch):
    path = tmp_path / "log.txt"
    path.write_text("507035")

    read = Path.read_text

    def refuse(self, *given):
        if self == path:
            raise PermissionError(13, "Permission denied")
        return read(self, *given)

    monkeypatch.setattr(Path, "read_text", refuse)
    check(cake("context", "--error", str(path)), 4, "CB-E402", "log.txt: Permission denied", "permissions")


def test_of_a_very_long_log_the_beginning_and_the_end_are_used(cake, tmp_path):
    (tmp_path / "log.txt").write_text("x\n" * 500_000 + "aivec error, error code 507035\n")
    done = cake("context", "--error", str(tmp_path / "log.txt"), "--budget", "600")
    assert done.status == 0 and "[ascendc-vector-core-exception-507035]" in done.out
    assert done.err.count("\n") == 1 and "1,000,0" in done.err
    check(cake("context", "--task", "x" * 30_000), 2, "CB-E205", "30,000 characters")
    check(cake("context", "--error", "x" * 30_000), 2, "CB-E205", "30,000 characters")


def test_code_that_is_too_long_is_refused(cake, tmp_path):
    (tmp_path / "kernel.cpp").write_text("DataCopyPad();\n" * 20_000)
    check(cake("context", "--code", str(tmp_path / "kernel.cpp")), 2, "CB-E205", "300,000 characters")


# Processes: bytes for arguments, streams that are gone


def test_arguments_that_are_no_text(process):
    done = process("search", b"caf\xe9 \xff DataCopyPad")
    assert done.returncode == 0 and done.stdout.startswith(b"1. ") and done.stderr == b""
    done = process("show", b"\xff\xfe")
    assert done.returncode == 2 and done.stderr.startswith(b"error: CB-E206 ") and done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_result_that_cannot_be_written(process, unbuffered):
    with open("/dev/full", "wb") as full:
        for arguments in (["search", "DataCopyPad"], ["--version"], ["search", "x", "--dsl", "zz", "--json"]):
            done = process(*arguments, stdout=full, env={"PYTHONUNBUFFERED": unbuffered})
            assert done.returncode in (2, 3) and b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr
            assert all(line.startswith(b"error: CB-E") for line in done.stderr.splitlines()) and done.stderr
        done = process("search", "x", "--dsl", "zz", stderr=full, env={"PYTHONUNBUFFERED": unbuffered})
        assert done.returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["search", "DataCopyPad"], 0),
        (["search", "DataCopyPad", "--json"], 0),
        (["context", "DataCopyPad"], 0),
        (["--version"], 0),
        (["search", "--help"], 0),
        (["search", "x", "--dsl", "zz", "--json"], 2),
    ],
)
def test_a_reader_that_goes_away_is_no_failure(process, arguments, status, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process(*arguments, stdout=writer, env={"PYTHONUNBUFFERED": unbuffered})
    finally:
        os.close(writer)
    assert done.returncode == status
    assert b"Traceback" not in done.stderr and b"Exception ignored" not in done.stderr and b"Broken" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="streams cannot be closed that way there")
@pytest.mark.parametrize(
    ("closing", "arguments", "status"),
    [
        (">&-", ["search", "DataCopyPad"], 0),
        ("2>&-", ["search", "DataCopyPad"], 0),
        ("2>&-", ["search", "x", "--dsl", "zz"], 2),
        (">&- 2>&-", ["search", "x", "--dsl", "zz", "--json"], 2),
    ],
)
def test_streams_that_were_closed_beforehand(indexed_book, closing, arguments, status):
    command = ["sh", "-c", f'exec "$@" {closing}', "sh", sys.executable, "-m", "cakebook", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, cwd=indexed_book, env=environment, capture_output=True, check=False)
    assert done.returncode == status and b"Traceback" not in done.stderr


# What should not happen


def test_a_bug_is_one_line_with_exit_70_and_a_traceback_only_on_demand(capsys, monkeypatch):
    def broken(**_):
        raise KeyError("oh\nno")

    assert run(broken, ["search"]) == 70
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("error: CB-E901 KeyError: ") and captured.err.count("\n") == 1
    monkeypatch.setenv("CAKEBOOK_TRACEBACK", "1")
    with pytest.raises(KeyError):
        run(broken, ["search"])


def test_an_interruption_and_a_failure_with_json(capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    def failing(**_):
        raise StoreIO("disk\x1b full", hint="buy\none", path="x")

    assert run(interrupted, ["search"]) == 130 and capsys.readouterr().err == "interrupted\n"
    assert run(failing, ["--format=json"]) == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"] == {
        "code": "CB-E305",
        "message": "disk? full",
        "hint": "buy one",
        "details": {"path": "x"},
    }
    assert captured.err == "error: CB-E305 disk? full (buy one)\n"
