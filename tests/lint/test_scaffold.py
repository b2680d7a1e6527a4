"""A draft asks only what the tool cannot know; filled in, it has no error left."""

import datetime
import re

import pytest

from cakebook.errors import BadArgument
from cakebook.lint import Severity, scaffold
from cakebook.lint.format import BLANK
from cakebook.repo.entries import read_entry

DAY = datetime.date(2026, 11, 30)
ANSWERS = [
    ("https address", "https://github.com/owner/repo/issues/7"),
    ("number or unknown", "12"),
    ("标题", "由 UB 预算反推行数"),
    ("一句话", "减少循环次数。"),
    ("现象", "循环次数多"),
    ("何时适用", "行间独立"),
    ("摘要", "先算 UB 账。"),
    ("one of: ", "tiling"),
    ("follows from the kind", "Kernel Pattern"),
    ("one or more of", "ascendc"),
    ("", "Derive rows from the budget"),
]


def filled(draft: str) -> str:
    def answer(blank: re.Match[str]) -> str:
        return next(text for asks, text in ANSWERS if asks in blank.group(1))

    return re.sub(re.escape(BLANK) + r"([^)]*)\)", answer, draft)


CASES = [
    {},
    {"kind": "tiling", "dsl": "ascendc"},
    {"kind": "tiling", "dsl": "any", "title": 'Derive rows: from the "budget" #1'},
    {"kind": "tiling", "dsl": "ascendc", "title": "由 UB 预算反推行数"},
]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("given", CASES)
def test_filled_in_it_has_warnings_only(lint, vocabulary, given, full):
    draft = filled(scaffold("demo-new", full=full, vocabulary=vocabulary, today=DAY, **given))
    findings = lint({"entries/tiling/demo-new.md": draft})
    assert [f for f in findings if f.severity is Severity.ERROR] == []
    assert (findings == []) == full


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("given", CASES)
def test_as_written_every_line_with_a_blank_is_an_error_and_nothing_else_is(lint, vocabulary, given, full):
    draft = scaffold("demo-new", full=full, vocabulary=vocabulary, today=DAY, **given)
    errors = [f for f in lint({"entries/tiling/demo-new.md": draft}) if f.severity is Severity.ERROR]
    lines = [n for n, line in enumerate(draft.splitlines(), 1) if BLANK in line]
    assert [(f.rule, f.line) for f in errors if f.rule != "CB112"] == [("CB120", n) for n in lines]


def test_the_short_form_has_at_most_15_lines(vocabulary):
    draft = scaffold("demo-new", kind="tiling", dsl="ascendc", vocabulary=vocabulary, today=DAY)
    assert draft.count("\n") == 15
    assert draft == (
        "---\ntype: Kernel Pattern\nid: demo-new\n"
        'title: "FILL-IN(what to do, as an order | 标题)"\nkind: tiling\ndsl: [ascendc]\n'
        'applies_when: [{text: "FILL-IN(when it applies | 何时适用)"}]\n'
        'sources: [{id: src, resource: "FILL-IN(https address; in a Git repository the permanent link)", '
        'accessed: "2026-11-30"}]\n'
        'generated: {at: "2026-11-30"}\n---\n'
        "## Pattern\nFILL-IN(what to do, best with minimal code | 怎么做)\n"
        "## Numbers\n- FILL-IN(what was observed, and under which conditions | 观察到什么)[^src]\n"
        "[^src]: FILL-IN(title, and which part of it)\n"
    )  # fmt: skip


def test_a_title_survives_as_it_was_given(vocabulary):
    title = 'a: "b" #c \\ {d} [e] – 行'
    entry = read_entry("x.md", scaffold("x", title=title, vocabulary=vocabulary).encode()).entry
    assert entry is not None and entry.title_zh == title
    assert scaffold("x", title="a\n---\nb", vocabulary=vocabulary).count("---") == 3


def test_without_a_day_today_is_written(vocabulary):
    assert f'at: "{datetime.datetime.now(datetime.UTC).date()}"' in scaffold("x", vocabulary=vocabulary)


@pytest.mark.parametrize(
    ("given", "says"),
    [({"kind": "tilling"}, "tiling"), ({"dsl": "ascend"}, "ascendc"), ({"dsl": "zzz"}, "catlass"), ({"kind": "any"}, "tiling")],
)
def test_an_unknown_kind_or_dsl_is_refused_with_what_is_known(vocabulary, given, says):
    with pytest.raises(BadArgument) as error:
        scaffold("demo", vocabulary=vocabulary, **given)
    assert says in error.value.hint


@pytest.mark.parametrize("entry_id", ["", "Demo", "a--b", "../x", "a" * 81, "行"])
def test_a_bad_id_is_refused(vocabulary, entry_id):
    with pytest.raises(BadArgument):
        scaffold(entry_id, vocabulary=vocabulary)
