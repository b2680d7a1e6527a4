"""The forges' templates ask for the six things of a lesson, and what comes back from a forge becomes a draft."""

import datetime
import re
from pathlib import Path

import pytest
import yaml

from cakebook.errors import BadArgument
from cakebook.lint import Severity, lint_book
from cakebook.repo.entries import read_entry
from cakebook.repo.layout import FolderSource, MemorySource
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.review.lesson import drafts_from_lessons
from cakebook.review.reading import _named, read_lessons

REPO = Path(__file__).parents[2]
VOCABULARY = load_vocabulary(FolderSource(REPO))
DAY = datetime.date(2026, 11, 30)
SIX = ("title", "dsl", "change", "when", "source", "observed")
FORMS = [".github/ISSUE_TEMPLATE/lesson.yml", ".github/ISSUE_TEMPLATE/lesson.zh.yml"]
TEXTS = [
    ".github/PULL_REQUEST_TEMPLATE.md", ".gitlab/merge_request_templates/lesson.md",
    *(f"{folder}/{name}" for folder in (".gitlab/issue_templates", ".gitee/ISSUE_TEMPLATE", ".gitcode/ISSUE_TEMPLATE") for name in ("lesson.md", "lesson.zh.md")),
]  # fmt: skip
LESSONS = {
    "en": {
        "title": "Copy the last short row with the rest of the tile", "dsl": "ascendc",
        "change": "Let the last tile overlap the one before it:\n\n```cpp\nconstexpr int overlap = 1;\n```\n\n- no tail branch\n- one copy less",
        "when": "The row count does not divide by the tile.", "source": "https://github.com/example/kernels/issues/7",
        "observed": "One copy of 96 bytes less per core; no time was measured.",
    },
    "zh": {
        "title": "尾块与前一块重叠搬运", "dsl": "triton-ascend", "change": "让最后一块与前一块重叠，\n使它与其他块一样长。", "when": "行数不能被块整除。",
        "source": "example/kernels#7", "observed": "每核少一次 96 字节的搬运；没有计时。",
    },
}  # fmt: skip


def labels(path):
    """The labels that a template shows, in order."""
    text = (REPO / path).read_text("utf-8")
    if path.endswith(".yml"):
        return [item["attributes"]["label"] for item in yaml.safe_load(text)["body"] if item["type"] != "markdown"]
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]


def filled(path, lesson, front=False):
    """What a forge makes of a template that was filled in with `lesson`, field → answer; other fields are not answered.

    `front`: somebody filled in the file itself, whose front matter a forge takes off.
    """
    if path.endswith(".yml"):
        answers = [(label, lesson.get(_named(label), "_No response_")) for label in labels(path)]
        return "\n\n".join(f"### {label}\n\n{answer}" for label, answer in answers)
    text = (REPO / path).read_text("utf-8")
    if not front:
        text = re.sub(r"\A---\n.*?\n---\n+", "", text, flags=re.DOTALL)
    for label in labels(path):
        if answer := lesson.get(_named(label)):
            text = text.replace(f"## {label}\n", f"## {label}\n\n{answer}\n")
    return text.replace("\n", "\r\n")  # as a browser sends it


def drafts(text):
    return drafts_from_lessons("issue.md", text.encode(), VOCABULARY, accessed=DAY, by="dan@example.org")


def test_every_template_is_looked_at():
    folders = [REPO / name for name in (".github", ".gitlab", ".gitee", ".gitcode")]
    assert {p.relative_to(REPO).as_posix() for folder in folders for p in folder.rglob("*lesson*")} | {TEXTS[0]} == {
        *FORMS,
        *TEXTS,
    }


@pytest.mark.parametrize("path", [*FORMS, *TEXTS])
def test_a_template_asks_for_the_six_things_and_no_others(path):
    assert tuple(map(_named, labels(path))) == SIX


@pytest.mark.parametrize("path", FORMS)
def test_a_form_is_one_that_the_forge_accepts(path):
    form = yaml.safe_load((REPO / path).read_text("utf-8"))
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "labels", "body"}
    asked = [item for item in form["body"] if item["type"] != "markdown"]
    assert {item["type"] for item in asked} <= {"input", "textarea", "dropdown"}
    assert len({item["id"] for item in asked}) == len(asked) and all(re.fullmatch(r"[\w-]+", item["id"]) for item in asked)
    assert all("render" not in item["attributes"] for item in asked)
    (dsl,) = [item["attributes"]["options"] for item in asked if item["type"] == "dropdown"]
    assert {*dsl} == {*VOCABULARY.ids("dsls"), "any", "unknown"} and len({*dsl}) == len(dsl)


@pytest.mark.parametrize("path", TEXTS)
def test_a_text_names_the_dsls_that_there_are(path):
    text = (REPO / path).read_text("utf-8")
    assert all(re.search(rf"(?<![\w-]){re.escape(dsl)}(?![\w-])", text) for dsl in VOCABULARY.ids("dsls"))


@pytest.mark.parametrize("front", [False, True], ids=["rendered", "file"])
@pytest.mark.parametrize("language", LESSONS)
@pytest.mark.parametrize("path", [*FORMS, *TEXTS])
def test_a_filled_template_becomes_one_draft(path, language, front):
    lesson = LESSONS[language]
    text = filled(path, lesson, front)
    read = read_lessons("issue.md", text.encode())[0].fields
    assert read == lesson
    (draft,) = drafts(text)
    entry = read_entry(draft.path, draft.text.encode()).entry
    findings = lint_book(MemorySource({draft.path: draft.text.encode()}), VOCABULARY, ())
    assert entry and not [f for f in findings if f.severity is Severity.ERROR]
    assert (entry.title or entry.title_zh, entry.dsl) == (
        lesson["title"],
        (lesson["dsl"],),
    ) and entry.generated.by == "dan@example.org"
    assert entry.sources[0].resource == "https://github.com/example/kernels/issues/7"
    assert [c.text or c.text_zh for c in entry.applies_when] == [lesson["when"]]
    plain = draft.text.replace("\\", "")
    assert all(line in plain for field in ("change", "observed") for line in lesson[field].split("\n"))
    assert "<!--" not in draft.text and "_No response_" not in draft.text
    assert not [
        ask for ask in draft.asks if ask.startswith(("Which DSL", "What is to be done", "When does", "What was observed"))
    ]


@pytest.mark.parametrize("path", [*FORMS, *TEXTS])
def test_what_is_unknown_is_asked_for(path):
    lesson = LESSONS["en"] | {"dsl": "unknown", "when": "unknown", "observed": "Unknown."}
    (draft,) = drafts(filled(path, lesson))
    entry = read_entry(draft.path, draft.text.encode()).entry
    assert entry and entry.applies_when == () and "What was observed is not stated." in draft.text
    assert {"When does it apply?", "What was observed?"} <= {*draft.asks}
    assert any(ask.startswith("Which DSL is it for?") for ask in draft.asks)


@pytest.mark.parametrize("front", [False, True], ids=["rendered", "file"])
@pytest.mark.parametrize("path", [*FORMS, *TEXTS])
@pytest.mark.parametrize("missing", ["title", "source"])
def test_what_cannot_be_done_without_is_named(path, missing, front):
    for lesson in (
        {"title": "A title"} if missing == "source" else {},
        {k: v for k, v in LESSONS["en"].items() if k != missing},
    ):
        with pytest.raises(BadArgument, match=f"CB-E201 issue.md: no {missing}") as caught:
            drafts(filled(path, lesson, front))
        assert caught.value.hint
