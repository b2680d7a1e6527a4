"""Drafts from lessons: what a lesson says and nothing else, in a file that lints without errors whatever it says."""

import datetime
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cakebook.errors import BadArgument, CakeBookError, TooLarge
from cakebook.lint import Severity, lint_book
from cakebook.lint.safety import _is_bidi, _is_control, _is_unseen
from cakebook.model.entry import is_id
from cakebook.repo.entries import read_entry
from cakebook.repo.layout import FolderSource, MemorySource
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.review import quoting, reading
from cakebook.review.lesson import ID_MAX, draft_from_lesson, drafts_from_lessons
from cakebook.text import markdown

REPO = Path(__file__).parents[2]
DAY = datetime.date(2026, 11, 30)

LESSONS = [
    {
        "id": "x1", "title": "Copy eight rows at a time in the row scaler", "problem": "one DataCopyPad per row, MTE2 mostly idle",
        "change": "copy 8 rows with one AscendC DataCopyPad and loop over them in UB", "before": "25.40 us", "after": "13.7 us (1.85x)",
        "hardware": "Ascend910B3", "cann_version": "8.3.RC1", "shapes": "4096 x 512", "dtype": "fp16, bf16",
        "timing_method": "NPU events, median of 20", "baseline": "one row per copy", "source": "some-org/some-repo#123",
        "state": "merged", "what_is_missing": ["spread", "tolerance used for the check"],
    },
    {
        "id": "x2", "title": "Fuse gate and cast", "problem": "two launches where one would do", "change": "one kernel for both",
        "before": "fp16 25.0 us / bf16 24.1 us", "after": "fp16 13.7 us / bf16 13.9 us", "hardware": "A2, A3", "cann_version": "",
        "shapes": "", "dtype": "bf16/fp16 head parameters", "timing_method": "", "baseline": "", "source": "some-org/some-repo#7 (kernel: other-org/kernels#8)",
        "state": "open", "what_is_missing": ["CANN version", "not merged"],
    },
    {
        "id": "x3", "title": "Bound the grid", "problem": "device fault 507035 on long prompts", "change": "loop in the kernel",
        "before": "crash", "after": "no crash", "hardware": "", "cann_version": "", "shapes": "384 x 50001", "dtype": "int32",
        "timing_method": "functional", "baseline": "previous Triton kernel", "source": "https://example.org/post/1", "state": "", "what_is_missing": [],
    },
    {
        "title": "尾块改用掩码搬运", "dsl": "Ascend C", "kind": "memory", "problem": "尾块多一次标量搬运", "change": "用 DataCopyPad 一次搬完尾块",
        "when": "行长不是 32 B 的整数倍", "before": "7.75 ms", "after": "7.23 ms", "hardware": "910B3", "dtype": "fp16",
        "source": "https://example.org/a。", "what_is_missing": "波动；容差",
    },
    {
        "title": "Reuse sin/cos", "change": ["compute once", "keep for all layers"], "observed": "faster", "hardware": "Ascend950DT_9999",
        "source": "pkg:pypi/some-package@1.2.3", "dsl": "CUDA", "batch": 4, "nested": {"a": [1, 2.50, {"b": None}], "c": True}, "kind": "cookery",
    },
    {
        "title": "用掩码", "change": "怎么做都行", "source": "some-org/some-repo#9", "before": 12.50, "after": 9, "operators": ["LayerNorm"],
        "targets": "910B", "apis": "TPipe::InitBuffer, DataCopyPad", "error_codes": "507035", "avoid": "只有一块时", "why": "少一次搬运",
    },
]  # fmt: skip


VOCABULARY = load_vocabulary(FolderSource(REPO))


@pytest.fixture
def draft():
    """A draft from an object, or from a text and its file name."""

    def make(content, name="lesson.json", **options):
        data = (
            content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode()
        )
        return draft_from_lesson(name, data, VOCABULARY, **{"accessed": DAY, **options})

    return make


def read(found):
    return read_entry(found.path, found.text.encode())


def errors(found):
    findings = lint_book(MemorySource({found.path: found.text.encode()}), VOCABULARY, ())
    return [f for f in findings if f.severity is Severity.ERROR]


def section(found, title):
    return s.source if (s := read(found).document.section(title)) else ""


# What the lesson says


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson["title"])
def test_every_draft_lints_without_errors_and_says_what_the_lesson_says(draft, lesson):
    found = draft(lesson, by="kim")
    file = read(found)
    assert errors(found) == [] and file.entry and file.id == found.id and is_id(found.id)
    assert found.path == f"entries/{file.entry.kind}/{found.id}.md"
    assert lesson["title"] in (file.entry.title, file.entry.title_zh)
    assert (file.entry.generated.by, file.entry.generated.at) == ("kim", "2026-11-30")
    assert all(s.accessed == "2026-11-30" for s in file.entry.sources)
    text = found.text.replace("\\", "")
    for key, value in lesson.items():
        if isinstance(value, str | int | float) and key not in ("dsl", "targets", "apis", "what_is_missing"):
            assert str(value) in text, key
    assert len(set(found.asks)) == len(found.asks) and all(0 < len(a) <= 220 and "\n" not in a for a in found.asks)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson["title"])
def test_every_number_of_a_draft_stands_in_the_lesson(draft, lesson):
    """Beside those of the tool: dates, the address made of the reference, and the places in the format."""
    found = draft(lesson)
    text = found.text.replace("2026-11-30", "").replace("/issues/", "#")
    text = re.sub(r"\[\^src\d?\]|id: src\d?|npu-\d+|float\d+|bfloat\d+|int\d+|id: .*|910B3", "", text)
    given_text = json.dumps(lesson, ensure_ascii=False)
    for number in re.findall(r"\d+(?:\.\d+)?", text):
        assert number in given_text, number


def test_front_matter_holds_what_a_field_states_and_no_more(draft):
    first = read(draft(LESSONS[0])).entry
    assert (first.targets, first.dtypes) == (("910B3",), ("float16", "bfloat16"))
    assert (
        first.operators == first.apis == first.bottlenecks == first.stages == first.error_codes == () and first.toolchain == {}
    )
    second = read(draft(LESSONS[1])).entry
    assert second.targets == ("npu-2201",) and second.dtypes == ()  # "head parameters" may mean more
    third = read(draft(LESSONS[2])).entry
    assert third.dtypes == ("int32",) and third.targets == third.error_codes == ()
    last = read(draft(LESSONS[5])).entry
    assert (last.targets, last.operators) == (("npu-2201",), ("layernorm",))
    assert (last.apis, last.error_codes) == (("TPipe::InitBuffer", "DataCopyPad"), ("507035",))
    assert [c.text_zh for c in last.avoid_when] == ["只有一块时"] and last.applies_when == ()


def test_what_words_suggest_is_asked_and_not_claimed(draft):
    found = draft(LESSONS[2])
    assert found.suggested["error_codes"] == ("507035",) and found.suggested["dsl"] == ("triton-ascend",)
    assert "Are these its error_codes: 507035?" in found.asks
    assert "Which DSL is it for? The draft says triton-ascend, as its text does." in found.asks
    assert "dsl: [triton-ascend]  # not stated by the lesson; to be confirmed\n" in found.text
    assert draft(LESSONS[0], apis={"DataCopyPad"}).suggested["apis"] == ("DataCopyPad",)
    stated = draft({**LESSONS[2], "dsl": "Triton"})
    assert "dsl" not in stated.suggested and "confirmed" not in stated.text and not any("DSL" in a for a in stated.asks)


def test_no_dsl_or_several_is_any_to_be_confirmed(draft):
    for change in ("do it", "move it from Triton to Ascend C"):
        found = draft({"title": "Move it", "change": change, "source": "o/r#1"})
        assert read(found).entry.dsl == ("any",)
        assert found.asks[0] == "Which DSL is it for? The draft says any, since its text names none or several."
    assert read(draft({"title": "Move it", "dsl": "Triton, AscendC", "source": "o/r#1"})).entry.dsl == (
        "triton-ascend",
        "ascendc",
    )
    assert read(draft({"title": "Move it", "dsl": "any", "source": "o/r#1"})).entry.dsl == ("any",)


def test_the_caller_overrules_kind_and_dsl(draft):
    entry = read(draft(LESSONS[3], kind="tiling", dsl="catlass")).entry
    assert (entry.kind, entry.dsl) == ("tiling", ("catlass",))
    for options in ({"kind": "cookery"}, {"dsl": "cuda"}):
        with pytest.raises(BadArgument, match="not in the vocabulary"):
            draft(LESSONS[3], **options)


def test_the_kind_is_stated_named_or_the_one_that_claims_least(draft):
    def kind(**more):
        return read(draft({"title": "A title", "source": "o/r#1", **more})).entry.kind

    assert kind(kind="Memory") == kind(kind="数据搬运") == "memory"
    assert kind(change="choose the tile size") == "tiling"
    assert kind(problem="fault 507035") == "debugging"
    assert kind() == kind(kind="cookery") == "methodology"
    assert "Of which kind is it? The draft is filed under methodology." in draft({"title": "A title", "source": "o/r#1"}).asks


# Evidence


def test_one_quantity_each_becomes_evidence(draft):
    (item,) = read(draft(LESSONS[0])).entry.evidence
    assert (item.type, item.unit, item.hardware, item.cann) == ("timed", "us", "Ascend910B3", "8.3.RC1")
    assert [(r.before, r.after, r.note) for r in item.rows] == [(25.4, 13.7, "after: 1.85x")]
    assert "before: 25.40, after: 13.7" in draft(LESSONS[0]).text  # as it was written
    assert item.baseline.text == "one row per copy" and item.baseline.kind == item.timing.method == "unknown"
    assert (item.level, item.metric, item.runs, item.spread, item.origin, item.source) == ("unknown",) * 4 + ("reported", "src")
    assert item.correctness == "unknown"
    checked = read(draft({**LESSONS[0], "tolerance": "1e-3", "spread": "2 %", "runs": 20, "driver": "25.1"})).entry.evidence[0]
    assert (checked.correctness.tolerance, checked.spread, checked.runs, checked.driver) == ("1e-3", "2 %", "20", "25.1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("25 us", "13 ms"), ("25", "13"), ("about 7 ms", "3 ms"), ("25 us / 24 us", "13 us"), ("10x-29x", "1x"), ("25 us", ""),
        ("", "13 us"), ("1,156 us", "992 us"), ("25 us (512 tokens: 26 us)", "13 us"), ("crash", "works"), ("25 us", "13 us; 14 us"),
        ("-5 us", "3 us"), ("25 us", "13 us then more"), ("99999999999999999999999 us", "1 us"),
    ],
)  # fmt: skip
def test_anything_else_stays_prose(draft, before, after):
    found = draft({**LESSONS[0], "before": before, "after": after})
    assert read(found).entry.evidence == () and "evidence:" not in found.text
    for text in filter(None, (before, after)):
        assert text in section(found, "Numbers")


def test_micro_has_three_spellings(draft):
    (item,) = read(draft({**LESSONS[0], "before": "25 µs", "after": "13μs"})).entry.evidence
    assert [(r.before, r.after) for r in item.rows] == [(25, 13)]


def test_conditions_too_long_for_a_field_leave_the_figures_in_the_text(draft):
    found = draft({**LESSONS[0], "baseline": "word " * 80})
    assert read(found).entry.evidence == () and "25.40 us[^src]" in found.text


# Sources


def test_sources_become_addresses(draft):
    assert [s.resource for s in read(draft(LESSONS[1])).entry.sources] == [
        "https://github.com/some-org/some-repo/issues/7", "https://github.com/other-org/kernels/issues/8",
    ]  # fmt: skip
    assert [s.id for s in read(draft(LESSONS[1])).entry.sources] == ["src", "src2"]
    assert read(draft(LESSONS[3])).entry.sources[0].resource == "https://example.org/a"
    assert read(draft(LESSONS[4])).entry.sources[0].resource == "pkg:pypi/some-package@1.2.3"
    pinned = f"https://github.com/o/r/blob/{'0' * 40}/a.md"
    assert read(draft({"title": "A b", "source": f"see {pinned}."})).entry.sources[0].resource == pinned


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "no source"), ("our wiki", "no source in `our wiki`"), ("#12", "no source in"), ("http://example.org/a", "not an https address"),
        ("https://github.com/o/r/blob/main/a.md", "not pinned"), ("https://github.com/o/r", "not pinned"), ("https://", "no source in"),
        ("pkg:pypi/some-package", "no source in"),
    ],
)  # fmt: skip
def test_a_source_that_no_reader_could_open_is_refused(draft, source, says):
    with pytest.raises(BadArgument, match=says) as caught:
        draft({"title": "A title", "source": source})
    assert caught.value.hint


# Asks


def test_asks_come_in_the_order_of_their_weight_and_once(draft):
    found = draft(LESSONS[1])
    assert found.asks[:3] == (
        "Which DSL is it for? The draft says any, since its text names none or several.", "When does it apply?", "Open point: CANN version.",
    )  # fmt: skip
    assert "With which CANN version?" not in found.asks and "For which shapes?" in found.asks
    assert found.asks.index("For which shapes?") < found.asks.index("Within which tolerance was the result correct?")
    assert found.asks[-1] == "Can somebody add the Chinese title, description and summary?"
    assert "Is the change in by now? It was open when the lesson was written." in found.asks
    assert draft(LESSONS[3]).asks[-1] == "Can somebody add the English title, description and summary?"
    assert "Open: CANN version, not merged, when it applies, shapes, timing" in found.text
    assert "待补充：波动、容差、" in draft(LESSONS[3]).text


def test_the_scope_is_asked_where_a_field_is_not_understood(draft):
    assert (
        "Which terms of the vocabulary are its targets? It says: Ascend950XX."
        in draft({**LESSONS[4], "hardware": "Ascend950XX"}).asks
    )
    assert "Does it hold on other chips than 910B3, where it was seen?" in draft(LESSONS[0]).asks


def test_a_lesson_of_a_title_and_a_source_says_what_it_does_not_say(draft):
    found = draft({"title": "Only a title", "source": "o/r#1"})
    assert errors(found) == []
    assert section(found, "When") == section(found, "Pattern") == "Not stated."
    assert section(found, "Numbers").startswith("What was observed is not stated.")
    assert {"What is to be done?", "When does it apply?", "What was observed?"} <= set(found.asks[:4])
    assert read(found).entry.generated.by == "unknown"


# Ids


def test_ids_come_from_the_title(draft):
    def make(title, **more):
        return draft({"title": title, "source": "o/r#1", **more}).id

    assert make("Copy eight rows, at a time!") == "copy-eight-rows-at-a-time"
    assert make("word " * 40) == "-".join(["word"] * 12) and make("x" * 100) == "x" * ID_MAX
    assert re.fullmatch(
        r"ascendc-layernorm-datacopypad-[0-9a-f]{6}", make("用掩码", dsl="Ascend C", change="层归一化用 DataCopyPad() 搬")
    )
    assert re.fullmatch(r"any-[0-9a-f]{6}", make("多核切分")) and make("多核切分") != make("多核分切")
    assert make("Índex écrit") == "index-ecrit"
    assert make("Index") == "index-2"  # `index.md` is not an entry


def test_ids_are_unique(draft):
    assert draft({"title": "Pad rows", "source": "o/r#1"}, taken={"pad-rows", "PAD-ROWS-2"}).id == "pad-rows-3"
    long = {"title": "word " * 40, "source": "o/r#1"}
    first = draft(long).id
    assert draft(long, taken={first}).id == first[: ID_MAX - 2].rstrip("-") + "-2"
    rows = "\n".join(json.dumps({"title": "Pad rows", "source": "o/r#1"}) for _ in range(3)) + "\n\n"
    drafts = drafts_from_lessons("all.jsonl", rows.encode(), VOCABULARY, accessed=DAY)
    assert [d.id for d in drafts] == ["pad-rows", "pad-rows-2", "pad-rows-3"]
    with pytest.raises(BadArgument, match="holds 3 lessons"):
        draft(rows, "all.jsonl")


# Markdown

FORM = """\
### Title

Copy eight rows at a time

### DSL | 编程语言

Ascend C

### What to do

Copy several rows with one `DataCopyPad`:

```c++
DataCopyPad(dst, src, params);
```

- first this
- then that

### When does it apply?

Rows are short.

### Source

some-org/some-repo#12

### What was observed

25.4 us became 13.7 us.

### Hardware

_No response_

### Favourite colour

green
"""
LINES = """\
标题：一次搬八行
dsl: Ascend C
- **做法**：一次搬多行，
  再在 UB 里循环
何时适用: 行短
来源: https://example.org/a
观察: 25.4 us 变为 13.7 us
note: kept
"""
MIXED = """\
# Copy eight rows at a time
dsl: Ascend C
source: some-org/some-repo#12
<!-- say what you did -->
## What to do
Copy rows.

#### How
Slowly.
## 何时适用
Rows are short.
## What was observed
it is faster
---
much
"""


def test_the_form_of_an_issue_is_a_lesson(draft):
    found = draft(FORM, "issue.md")
    entry = read(found).entry
    assert errors(found) == []
    assert (entry.title, entry.dsl, found.id) == ("Copy eight rows at a time", ("ascendc",), "copy-eight-rows-at-a-time")
    assert [c.text for c in entry.applies_when] == ["Rows are short."]
    assert section(found, "Pattern") == (
        "Copy several rows with one `DataCopyPad`:\n\n```cpp\nDataCopyPad(dst, src, params);\n```\n\n- first this\n- then that"
    )
    assert section(found, "Numbers").startswith("- 25.4 us became 13.7 us.[^src]\n")
    assert "No response" not in found.text and "- Favourite colour: green[^src]" in found.text
    assert "On which chip was it seen?" in found.asks


def test_lines_are_a_lesson_in_chinese(draft):
    found = draft(LINES, "lesson.txt")
    entry = read(found).entry
    assert errors(found) == []
    assert (entry.title_zh, entry.dsl, [c.text_zh for c in entry.applies_when]) == ("一次搬八行", ("ascendc",), ["行短"])
    assert section(found, "Pattern") == "一次搬多行， 再在 UB 里循环"
    assert section(found, "Numbers").startswith("- 25.4 us 变为 13.7 us[^src]\n")
    assert "### 另述\n- note：kept[^src]" in found.text


def test_headings_and_lines_mix(draft):
    found = draft(MIXED, "lesson.md")
    assert errors(found) == [] and read(found).entry.title == "Copy eight rows at a time"
    assert section(found, "Pattern") == "Copy rows.\n\nHow\n\nSlowly." and "say what" not in found.text
    assert section(found, "Numbers").startswith("- it is faster --- much[^src]")


def test_short_fields_end_where_a_paragraph_does(draft):
    text = "title: Pad rows\nWe did it so.\nsource: o/r#1\n  and o/r#2\n\nMore of it.\n\nwhy: one\n\ntwo\nkind: memory\n"
    found = draft(text, "a.md")
    assert (read(found).entry.title, read(found).entry.kind, section(found, "Why")) == ("Pad rows", "memory", "one\n\ntwo")
    assert len(read(found).entry.sources) == 2
    assert "- text: We did it so.[^src]\n- text: More of it.[^src]" in found.text


def test_names_in_code_are_no_names(draft):
    found = draft(
        "title: Keep code\nsource: o/r#1\nchange:\n```python\nx = 1\nwhen: int = 2\n```\n## Not a name\nafter: all\n", "a.md"
    )
    assert "```python\nx = 1\nwhen: int = 2\n```" in found.text and "- Not a name: after: all[^src]" in found.text


def test_code_that_does_not_parse_keeps_its_text_and_loses_its_language(draft):
    for language, code in (
        ("cpp", "for (int i = 0; ...) {"),
        ("python", "def f(:"),
        ("Check", "x"),
        ("", "x"),
        ("C++ check", "int x;"),
    ):
        found = draft(f"# A title\nsource: o/r#1\n## What to do\nThis:\n```{language}\n{code}\n```\n", "a.md")
        assert errors(found) == [] and f"\n{code}\n```" in found.text, language
    assert draft("# A title\nsource: o/r#1\n## Fix\n~~~\na ``` b\n~~~\n", "a.md").text.count("````text\na ``` b\n````") == 1


# What cannot be read


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.json", b'{"title": "x",\n "source" 1}', r"a\.json:2:11: not JSON"),
        ("a.jsonl", b'{"title": "x y", "source": "o/r#1"}\n\n{"title": }\n', r"a\.jsonl:3:11: not JSON"),
        ("a.json", b'{"title": "x"}\n{"title": "y"}', r"a\.json:2:1: not JSON: Extra data"),
        ("a.json", b"\xff{}", r"a\.json:1: not UTF-8: byte 0xff"), ("a.md", b"title: x\n\xe4\n", r"a\.md:2: not UTF-8"),
        ("a.json", b"[]", "not an object"), ("a.json", b'"x"', "not an object"), ("a.json", b'[{"title": "x"}]', "not an object"),
        ("a.jsonl", b"3\n", "not an object"), ("a.jsonl", b"\n\n", "holds no lesson"), ("a.json", b"", "not JSON"),
        ("a.json", b"[" * 100_00, "not JSON that can be read|not JSON"), ("a.json", b'{"a":' * 5000, "nested too deeply|not JSON"),
        ("a.json", b"{}", "no title"), ("a.md", b"", "no title"), ("a.md", b"\n---\n---\n", "no title"),
        ("a.json", b'{"title": "", "source": "o/r#1"}', "no title"), ("a.json", '{"title": "\u200b \u202e"}'.encode(), "no title"),
        ("a.json", b'{"title": null}', "no title"), ("a.json", b'{"title": 5}', "`title` has the wrong type"),
        ("a.json", b'{"title": {"a": 1}}', "`title` has the wrong type"), ("a.json", b'{"title": [["a"]]}', "wrong type"),
        ("a.json", b'{"title": "x", "dtype": true}', "`dtype` has the wrong type"), ("a.json", b'{"title": "x", "what_is_missing": [{}, []]}', "wrong type"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_with_its_place(draft, name, data, says):
    with pytest.raises(BadArgument, match=says) as caught:
        draft(data, name)
    assert caught.value.hint and str(caught.value).isprintable()


def test_too_much_is_refused(draft):
    for name, data in (
        ("a.md", b"title: x\n" + b"y" * 1_000_000), ("a.json", json.dumps({"title": "x", "change": "y" * 50_000}).encode()),
        ("a.md", b"x" * (reading.MAX_FILE + 1)), ("a.jsonl", b"{}\n" * (reading.MAX_LESSONS + 1)),
    ):  # fmt: skip
        with pytest.raises(TooLarge):
            draft(data, name)
    full = {"title": "A title", "source": "o/r#1", "change": "\\*[<" * 3000, "problem": '"' * 4000, "x": "`" * 7000}
    assert errors(draft(full)) == []


def test_unknown_keys_are_notes(draft):
    found = draft(json.dumps(LESSONS[4]).replace("2.5,", "2.50,"))
    assert "### Also said\n" in found.text and "- batch: 4[^src]" in found.text
    assert "- nested: {a: \\[1, 2.50, {b: null}], c: true}[^src]" in found.text
    assert "- dsl: CUDA[^src]" in found.text and "- kind: cookery[^src]" in found.text
    twice = draft('{"title": "A title", "title": "Another", "source": "o/r#1"}')
    assert read(twice).entry.title == "A title" and "- title: Another[^src]" in twice.text


def test_a_long_title_is_cut_and_kept(draft):
    title = "Copy rows " * 20
    found = draft({"title": title, "source": "o/r#1"})
    assert len(read(found).entry.title) <= 120 and read(found).entry.title.endswith(" Copy…")
    assert f"- title: {title.strip()}[^src]" in found.text and errors(found) == []


# Hostile text

HOSTILE = [
    "---\nstatus: stable\n---", "```\n## Summary\nserved", "~~~~\n# x", "<script>alert(1)</script>", "<!-- hidden -->", "a\u202eb\u200bc\x1b[31m",
    "a: {b: [c, &d *e", "# heading", "## Pattern\nother", "x\n===", "x\n---", "[a](javascript:x)", "![a](http://x/y.png)", "[^other] x", "[^src]: mine",
    "[k]: data:text/html,x", "&#x202e;", "&lt;b&gt;", "FILL-IN(your password)", "| a |\n|---|\n| b |", "    indented", "1. a\n2) b", "\\", "`", "``` `", "`a``b`",
    "a!", "*a* **b** _c_ __d__", "2*3*4", "> quote", "- - -", "* * *", "+ a", "http://x <mailto:a@b.c> <http://x>", "\ud800", "\0", "\r\n\r", "\u2028", "'\"'\"", "%YAML", "!!int 5",
]  # fmt: skip
ODD = st.one_of(
    st.sampled_from(HOSTILE), st.text(max_size=30), st.text(alphabet="`~#-=*_[]()<>!&|\\: \n\"'{}1.)^", max_size=40)
)
TEXTS = st.lists(ODD, min_size=1, max_size=3).map("\n".join)
KEYS = "title_zh problem change when avoid why observed before after hardware cann_version shapes dtype baseline state what_is_missing other".split()
PROPERTY = settings(
    deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


def plain(text: str) -> str:
    return " ".join(quoting.clean(text)[0].split())


def check_in_place(found, allowed):
    """The file is one entry without errors, with the keys and sections that a draft has and no other."""
    file = read(found)
    assert file.entry is not None and not file.problems and errors(found) == []
    keys = (
        "type id title title_zh kind dsl targets toolchain dtypes operators stages bottlenecks symptoms symptoms_zh apis error_codes "
        "applies_when avoid_when requires related conflicts_with sources evidence generated"
    )
    assert set(file.front.values) <= set(keys.split())
    assert file.entry.status == "" and file.entry.requires == file.entry.related == ()
    titles = [h.title for h in file.document.headings]
    assert [t for t in titles if t not in ("Also said", "另述")] == [t for t in markdown.SECTIONS if t in titles]
    assert file.document.html == file.document.links == file.document.images == ()
    assert {n.value for n in file.document.footnotes} <= {"src"} and set(file.document.definitions) == allowed
    assert not any(_is_bidi(c) or _is_unseen(c) or (_is_control(c) and c != "\n") for c in found.text)
    return file


@PROPERTY
@given(st.fixed_dictionaries({"title": TEXTS}, optional=dict.fromkeys(KEYS, TEXTS)))
def test_text_cannot_leave_its_place(lesson):
    data = json.dumps({"source": "some-org/some-repo#1", **lesson}).encode()
    if not plain(lesson["title"]) or plain(lesson["title"]).casefold().rstrip(".。") in reading._EMPTY:
        return
    found = draft_from_lesson("a.json", data, VOCABULARY, accessed=DAY, by=lesson.get("why", ""))
    file = check_in_place(found, {"src"})
    entry = file.entry
    title = entry.title or entry.title_zh
    assert title == plain(lesson["title"]) or (title.endswith("…") and plain(lesson["title"]).startswith(title[:-1]))
    assert [s.resource for s in entry.sources] == ["https://github.com/some-org/some-repo/issues/1"]
    assert entry.generated.by == (plain(lesson.get("why", ""))[:200].strip() or "unknown")
    for field, conditions in (("when", entry.applies_when), ("avoid", entry.avoid_when)):
        assert [c.text or c.text_zh for c in conditions] in ([], [plain(lesson.get(field, ""))]) and not any(
            c.match for c in conditions
        )
    assert [*entry.symptoms, *entry.symptoms_zh] in ([], [plain(lesson.get("problem", ""))])


@PROPERTY
@given(TEXTS, TEXTS)
def test_markdown_cannot_leave_its_place(change, rest):
    text = f"# A good title\nsource: some-org/some-repo#1\n\n## What to do\n{change}\n\n## When\n{rest}\n"
    try:
        found = draft_from_lesson("a.md", text.encode("utf-8", "replace"), VOCABULARY, accessed=DAY)
    except CakeBookError as error:  # a fence or comment in it may swallow what follows, never the other way round
        assert error.code == "CB-E201"
        return
    check_in_place(found, {"src"})


@PROPERTY
@given(
    st.binary(max_size=60) | TEXTS.map(lambda t: t.encode("utf-8", "replace")),
    st.sampled_from(["a.json", "a.jsonl", "a.md", "-", ""]),
)
def test_any_bytes_give_a_draft_or_a_coded_error(data, name):
    try:
        drafts_from_lessons(name, data, VOCABULARY, accessed=DAY)
    except CakeBookError as error:
        assert error.code in ("CB-E201", "CB-E205") and error.hint


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda x: st.lists(x, max_size=3) | st.dictionaries(TEXTS, x, max_size=3),
    max_leaves=8,
)


@PROPERTY
@given(
    st.dictionaries(
        st.sampled_from(["hardware", "dtype", "Source ", "what is missing", "Zz", "标题", "做法"]) | TEXTS, JSON, max_size=5
    )
)
def test_any_object_gives_a_draft_or_a_coded_error(lesson):
    try:
        found = draft_from_lesson(
            "a.json", json.dumps({"title": "A title", "source": "o/r#1", **lesson}).encode(), VOCABULARY, accessed=DAY
        )
    except CakeBookError as error:
        assert error.code == "CB-E201" and error.hint
    else:
        assert errors(found) == []


@PROPERTY
@given(TEXTS)
def test_prose_reads_as_it_was_written(text):
    """What a Markdown reader shows of it is the text, code spans without their ticks."""
    cleaned = plain(text)
    document = markdown.parse(f"## Why\n- x {quoting.prose(cleaned)}\n\n{quoting.paragraph(cleaned)}\n")
    shown = cleaned if "`" not in cleaned else None
    assert document.html == document.links == document.images == document.fences == document.footnotes == ()
    if shown is not None:
        assert document.sections[0].prose == f"x {shown} {shown}".rstrip() or shown == ""


def test_a_reader_is_told_when_characters_were_taken_out(draft):
    found = draft({"title": "Pad\u200b rows", "source": "o/r#1", "change": "a\u202eb\x07"})
    assert read(found).entry.title == "Pad rows" and section(found, "Pattern") == "ab"
    assert "Is the text whole? 3 characters that cannot be shown were taken out." in found.asks
