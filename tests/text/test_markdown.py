"""The body's parser sees all that any renderer could show, at its line, in linear time."""

import pytest

from cakebook.text.markdown import canonical, parse, slug


def values(references) -> list[tuple[str, int]]:
    return [(r.value, r.line) for r in references]


def test_a_footnote_without_a_definition_is_seen():
    document = parse("a[^x] b[^y]\n\n[^x]: def\n")
    assert values(document.footnotes) == [("x", 1), ("y", 1)]
    assert values(document.definitions.values()) == [("x", 3)]


def test_a_definition_inside_a_fence_is_code():
    document = parse("a[^x]\n\n```text\n[^x]: code\n```\n")
    assert document.definitions == {} and values(document.footnotes) == [("x", 1)]


def test_what_an_uncited_definition_holds_is_seen():
    document = parse("text\n\n[^x]: a <b>c</b>\n    [l](http://example.org)\n")
    assert [h.line for h in document.html] == [3, 3]
    assert values(document.links) == [("http://example.org", 4)]
    assert list(document.definitions) == ["x"]


def test_an_inline_footnote_is_text():
    assert parse("a^[inline] b").footnotes == ()


def test_a_label_is_short_and_has_no_blank():
    assert parse("[^a b] [^] [^" + "x" * 81 + "] [^ok]").footnotes[0].value == "ok"


def test_footnote_bodies_are_no_prose():
    section = parse("## Why\nwords[^x]\n\n[^x]: not these\n").section("Why")
    assert section is not None and section.prose == "words"


@pytest.mark.parametrize("href", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x"])
def test_a_link_that_a_renderer_would_refuse_is_a_link(href):
    assert values(parse(f"[x]({href}) and <{href}>").links) == [(href, 1)] * 2


@pytest.mark.parametrize(
    ("body", "closed"),
    [
        ("```a\nx\n```", True),
        ("```a\n```", True),
        ("```a\n\n```\n", True),
        ("````a\n```\n````", True),
        ("> ```a\n> x\n> ```\n\nafter", True),
        ("- ```a\n  x\n  ```\n", True),
        ("```a\nx", False),
        ("```a\nx\n", False),
        ("```a", False),
        ("````a\nx\n```\n", False),
        ("~~~a\nx\n```\n", False),
        ("> ```a\n> x\n\nafter", False),
    ],
)
def test_whether_a_fence_is_closed(body, closed):
    assert [f.closed for f in parse(body).fences] == [closed]


@pytest.mark.parametrize(
    "body",
    ["## Why\n" * 30_000, "[^a" * 60_000, "[^a]: x\n" * 25_000, "a\n-\n" * 40_000],
    ids=["headings", "open footnotes", "definitions", "underlined headings"],
)
def test_repetition_is_parsed_to_its_end(body):

    parse(body)


def test_sections_keep_their_source_prose_and_lines():
    document = parse("## Summary\n\nOne `two`.\n\n## 陷阱\n- three[^a]\n\n```text\n# no\n```\n", first_line=10)
    assert [(s.title, s.heading.line) for s in document.sections] == [("Summary", 10), ("Pitfalls", 14)]
    assert [s.prose for s in document.sections] == ["One two.", "three"]
    assert document.sections[0].source == "One `two`."


@pytest.mark.parametrize(
    ("title", "anchor"),
    [
        ("Loop Engineering（迴圈工程）", "loop-engineering迴圈工程"),
        ("Conclusion & Future Work", "conclusion--future-work"),
        ("What is `TQue<T, 2>`?", "what-is-tquet-2"),
        ("snake_case - dash", "snake_case---dash"),
    ],
)
def test_anchors_are_made_as_github_makes_them(title, anchor):
    assert slug(title) == anchor


def test_canonical_headings():
    assert canonical(" 做法 ") == "Pattern" and canonical("pitfalls") == "Pitfalls" and canonical("Other") == "Other"
