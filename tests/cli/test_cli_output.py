"""What the commands print: results on stdout, the rest on stderr, in the language of the question, in documented shapes."""

import dataclasses
import json
import re
import sys
import types
import typing

import pytest

from cakebook import __version__
from cakebook.cli import COMMANDS
from cakebook.index.catalog import WithheldEntry
from cakebook.index.sync import SyncReport
from cakebook.model.pack import Pack
from cakebook.model.profile import Diagnosis
from cakebook.model.query import SearchResult
from cakebook.service import Status
from cakebook.text import tokens


def conforms(value, hint, where="result"):
    """Whether a JSON value has the form of a type hint: dataclasses without missing or further keys."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, localns={"WithheldEntry": WithheldEntry, "Diagnosis": Diagnosis})
        assert isinstance(value, dict) and set(value) == set(hints), where
        for name, inner in hints.items():
            conforms(value[name], inner, f"{where}.{name}")
    elif origin is typing.Literal:
        assert value in arguments, where
    elif origin in (typing.Union, types.UnionType):
        branches = [b for b in arguments if b is not type(None)]
        assert value is not None or len(branches) < len(arguments), where
        if value is not None:
            conforms(value, branches[0], where)
    elif origin is tuple:
        assert isinstance(value, list), where
        for number, item in enumerate(value):
            conforms(item, arguments[0], f"{where}[{number}]")
    elif origin is dict:
        assert isinstance(value, dict), where
        for key, item in value.items():
            conforms(item, arguments[1], f"{where}[{key}]")
    elif hint is not object and hint is not typing.Any:
        assert isinstance(value, hint) or (hint is float and isinstance(value, int)), (where, value)
        assert hint is not int or not isinstance(value, bool), where


def test_the_shape_check_itself_notices():
    for value, hint in (
        ({}, SearchResult),
        ("x", int),
        (True, int),
        ([1], tuple[str, ...]),
        (None, str),
        ("fr", typing.Literal["en"]),
    ):
        with pytest.raises(AssertionError):
            conforms(value, hint)


# Help


@pytest.mark.parametrize("command", [*COMMANDS, "founding update"])
@pytest.mark.parametrize("ask", ["--help", "-h"])
def test_every_command_explains_itself(cake, command, ask):
    done = cake(*command.split(), ask)
    assert done.status == 0 and done.err == "" and "sage: " in done.out
    assert "--book PATH" in done.out or command in ("founding", "init", "trust", "people", "review")


def test_the_help_lists_every_command(cake):
    done = cake("--help")
    assert done.status == 0 and done.err == ""
    listed = re.findall(r"^  ([a-z]+)  ", done.out, re.MULTILINE)
    assert listed == list(COMMANDS)
    assert cake() == done


def test_every_option_of_the_reading_commands_has_a_help_text(cake):
    for command in ("search", "context", "show"):
        text = " ".join(cake(command, "--help").out.split("options:")[1].split())
        for option in re.findall(r"(--[a-z-]+)", text):
            assert re.search(rf"{option} (\S+ )?\S+ \S+", text), option


def test_version(cake):
    assert cake("--version").out == f"cakebook {__version__}\n"


# Which book


def test_the_book_may_be_named_before_or_after_the_command_or_by_the_environment(cake, indexed_book, tmp_path, monkeypatch):
    question = ["search", "DataCopyPad"]
    expected = cake(*question, cwd=indexed_book / "entries" / "memory")
    assert expected.status == 0 and expected.out
    book = str(indexed_book)
    for given in (
        ["--book", book, *question],
        [f"--book={book}", *question],
        [*question, "--book", book],
        ["search", "--book", book, "DataCopyPad"],
    ):
        assert cake(*given, cwd=tmp_path) == expected
    monkeypatch.setenv("CAKEBOOK_BOOK", book)
    assert cake(*question, cwd=tmp_path) == expected
    assert cake("--book", book, "status", cwd=tmp_path).status == 0
    assert "--reason" in cake("--book", book, "founding", "update", "--help", cwd=tmp_path).out
    assert cake("--book", str(tmp_path), *question, cwd=indexed_book).status == 4  # named goes before found


def test_words_after_two_dashes_are_words(cake):
    assert cake("search", "--", "DataCopyPad", "--json").out.startswith("1. ")
    assert cake("search", "--limit", "1", "--", "DataCopyPad").out.count("   [") == 1
    assert cake("context", "--", "--stage").status == 0


def test_options_may_stand_between_the_words(cake):
    assert cake("search", "DataCopyPad", "--limit", "1", "rows").out == cake("search", "DataCopyPad", "rows", "--limit=1").out


# Text

QUESTIONS = [
    ["vector pipe idles waiting for MTE2", "--target", "910B3"],
    ["DataCopyPad", "--cann", "8.2.RC1", "--toolchain", "driver=24.1"],
    ["--bottleneck", "mte2-bound", "--limit", "20"],
    ["多核切分尾块怎么处理", "--dsl", "ascendc"],
    ["double buffer", "--when", "tiles-per-core=one", "--dsl", "ascendc"],
]


def blocks(out):
    """The hits of a text answer: lists of lines."""
    return [part.splitlines() for part in re.split(r"\n\n", out) if re.match(r"\d+\. ", part)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_hit_is_title_description_at_most_two_caveats_and_last_its_provenance(cake, question):
    result = json.loads(cake("search", *question, "--json").out)
    done = cake("search", *question)
    assert done.status == 0 and done.err == ""
    hits = blocks(done.out)
    assert len(hits) == len(result["hits"]) > 0
    for number, (lines, hit) in enumerate(zip(hits, result["hits"], strict=True), 1):
        assert lines[0] == f"{number}. {hit['title']}" and lines[1] == f"   {hit['description']}"
        caveats = [line for line in lines if line.startswith("   ! ")]
        told = [c for c in hit["caveats"] if c["code"] != "founding"]
        assert [line.removeprefix("   ! ") for line in caveats[:2]] == [c["text"] for c in told[:2]]
        assert len(caveats) == min(len(told), 3)
        if len(told) > 2:
            assert str(len(told) - 2) in caveats[2]
        assert lines[-1].startswith(f"   [{hit['id']}] ")
        assert lines[-1].endswith(f"· {hit['kind']} · {hit['tier']} · {hit['digest'][7:19]} · {hit['score']:.2f}")
    for item in result["withheld"]:
        assert f"{item['id']} — {item['reason']}" in done.out
    assert all(signal in done.out for signal in result["missing_signals"])
    assert done.out.splitlines()[-1].startswith("founding")


def test_a_chinese_question_gets_chinese_labels(cake):
    done = cake("search", "多核切分尾块怎么处理", "--dsl", "ascendc")
    for lines in blocks(done.out):
        assert tokens.has_cjk(lines[0]) and tokens.has_cjk(lines[1])
        assert all(tokens.has_cjk(line) for line in lines if line.startswith("   ! "))
    assert "补充以下信息会更准确" in done.out and "founding：由本项目对照来源复核" in done.out
    english = cake("search", "多核切分尾块怎么处理", "--dsl", "ascendc", "--lang", "en")
    assert "It would help to know" in english.out and "applies when" in english.out
    assert "适用条件" in cake("search", "double buffer", "--lang", "zh").out


def test_no_answer_is_an_answer(cake):
    assert cake("search", "how do I bake bread").out == "No reviewed entry answers this.\n"
    assert cake("search", "怎么做红烧肉").out == "没有经过审核的条目能回答这个问题。\n"
    done = cake("search", "DataCopyPad", "--dsl", "aclnn", "--kind", "tiling")
    assert done.status == 0 and done.out.startswith("No reviewed entry passes the filters.\n\nWithheld: ")


def test_explanations_are_printed(cake):
    done = cake("search", "DataCopyPad", "--explain", "--limit", "1")
    assert re.search(r"^   lexical \+\d\.\d{3}, exact \+\d\.\d{3}.*exact_names 1$", done.out, re.MULTILINE)


def test_a_terminal_that_knows_no_chinese_gets_question_marks(process):
    done = process("search", "多核切分尾块怎么处理", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0 and done.stdout.isascii() and b"? " in done.stdout and done.stderr == b""


# JSON


@pytest.mark.parametrize("question", [*QUESTIONS, ["how do I bake bread"], ["DataCopyPad", "--explain"]])
def test_search_json_has_the_shape_of_a_search_result(cake, question):
    done = cake("search", *question, "--json")
    conforms(json.loads(done.out), SearchResult)
    assert done.err == ""


@pytest.mark.parametrize(
    "question",
    [
        ["--operator", "layernorm", "--dsl", "ascendc", "--target", "950PR", "--stage", "evolve", "--applied", "my trick"],
        ["--error", "aclrtSynchronizeStream failed: 507035", "--shape", "4096,8192", "--dtype", "fp16"],
        ["how do I bake bread"],
        ["多核切分尾块怎么处理", "--when", "tail=present"],
    ],
)
def test_context_json_has_the_shape_of_a_pack_and_the_text_is_what_is_printed(cake, question):
    done = cake("context", *question, "--json")
    value = json.loads(done.out)
    conforms(value, Pack)
    assert done.err == "" and cake("context", *question, "--format", "json").out == done.out
    plain = cake("context", *question)
    assert plain.out == value["text"]
    assert plain.err == "" or (value["unrecognised"] and "nothing was left out for: my trick" in plain.err)


def test_status_and_sync_json(cake, own_book):
    conforms(json.loads(cake("sync", "--json", cwd=own_book).out), SyncReport)
    value = json.loads(cake("status", "--json", cwd=own_book).out)
    conforms(value, Status)
    assert value["fresh"] and value["entries"] and value["book"].startswith("cakebook-")


def test_verify_and_lint_json(cake):
    results = json.loads(cake("verify", "ascendc-double-buffer", "--json").out)
    assert [set(r) >= {"entry_id", "index", "status"} for r in results] == [True]
    assert json.loads(cake("lint", "--format", "json").out) == json.loads(cake("lint", "--json").out) == []


# show


def test_show_levels_grow_and_source_is_every_section(cake):
    sizes = [
        len(cake("show", "ascendc-double-buffer", "--level", level).out)
        for level in ("title", "summary", "pattern", "full", "source")
    ]
    assert sizes == sorted(set(sizes))
    source = cake("show", "ascendc-double-buffer", "--level", "SOURCE").out
    assert "## Check" in source and "```python check" in source and "[^db-guide]: " in source
    assert "```python check" not in cake("show", "ascendc-double-buffer").out


def test_show_names_sources_missing_evidence_and_on_demand_why(cake):
    done = cake("show", "ascendc-double-buffer")
    lines = done.out.splitlines()
    assert sum(line.startswith("source [") for line in lines) >= 5 and any(
        line.startswith("missing evidence: ") for line in lines
    )
    assert lines[-1].startswith("[ascendc-double-buffer] ascendc · npu-1001") and "founding · sha256:" in lines[-1]
    assert not any(line.startswith("why: ") for line in lines)
    assert lines[-2].startswith("founding: ") and lines[-2].endswith("nothing run on hardware by us")
    assert "why: founding: founding edition" in cake("show", "ascendc-double-buffer", "--why").out


def test_show_json_and_chinese(cake):
    card = json.loads(cake("show", "ascendc-double-buffer", "--json").out)
    assert card["id"] == "ascendc-double-buffer" and card["text"].startswith(card["title"]) and card["sources"]
    assert cake("show", "ascendc-double-buffer", "--lang", "zh").out.startswith(card["title_zh"])


# context on a terminal


def test_on_a_terminal_a_pack_is_readable_text_without_fences(cake, monkeypatch, capsys):
    piped = cake("context", "DataCopyPad")
    assert "<<<" in piped.out
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    done = cake("context", "DataCopyPad")
    assert "<<<" not in done.out and ">>>" not in done.out
    assert re.search(r"^   \[ascendc-datacopypad-units\] \w+ · founding · [0-9a-f]{12} · ", done.out, re.MULTILINE)
    assert re.fullmatch(r"pack [0-9a-f]{16} · \d+/2000 tokens \(approx-1\) · founding: .*", done.out.splitlines()[-1])
    assert "No reviewed entry answers this." in cake("context", "how do I bake bread").out
    assert (
        "not known here, so nothing was left out for: my trick" in cake("context", "DataCopyPad", "--applied", "my trick").err
    )


# Keeping up to date


def test_a_stale_index_is_synced_with_one_line_or_answers_as_it_is_and_says_so(cake, own_book):
    (own_book / "entries" / "memory" / "draft.md").write_text("---\nid: draft\ntitle: T\n---\n## Summary\nx\n")
    done = cake("search", "DataCopyPad", "--no-sync", cwd=own_book)
    assert done.status == 0 and done.out and done.err == "note: the index is older than the book: run `cakebook sync`\n"
    zh = cake("search", "搬运", "--no-sync", "--json", cwd=own_book)
    assert (
        json.loads(zh.out)["degraded"] == [{"code": "stale", "text": "索引早于书的内容：请运行 `cakebook sync`"}]
        and zh.err == ""
    )
    done = cake("search", "DataCopyPad", cwd=own_book)
    assert re.fullmatch(r"synced: \d+ entries served, 1 withheld\n", done.err)
    again = cake("search", "DataCopyPad", cwd=own_book)
    assert again.err == "" and again.out == done.out
    assert "nothing had changed" in cake("sync", cwd=own_book).out


def test_new_writes_a_scaffold_that_lint_reads(cake, own_book):
    done = cake("new", "my-lesson", "--kind", "memory", "--dsl", "ascendc", "--title", "A lesson", cwd=own_book)
    assert done.status == 0 and done.out == "entries/memory/my-lesson.md\n"
    assert done.err == "fill in the blanks, then: cakebook lint entries/memory/my-lesson.md\n"
    done = cake("lint", "entries/memory/my-lesson.md", cwd=own_book)
    assert re.search(r"^\d+ errors, \d+ warnings$", done.err, re.MULTILINE) and "Traceback" not in done.err
    assert json.loads(cake("new", "other", "--json", cwd=own_book).out) == {"path": "entries/proposals/other.md"}
