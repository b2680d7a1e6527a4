"""Front matter: what public bug reports (F01 … F08) say about other readers, refusals, and places that are right."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cakebook.text.frontmatter import BOM, MAX_DEPTH, MAX_FILE, MAX_FRONT_MATTER, Problem, decode, load_yaml, parse

LF = "---\nid: a\ntitle: 标题 😀\nlist:\n  - x\n  - {k: v}\n---\n# T\n\nbody\n"


def refused(text: str) -> Problem:
    front = parse(text)
    assert front.values == {} and front.spans == {}
    assert len(front.problems) == 1
    return front.problems[0]


# Reports about other readers


def test_f01_an_unquoted_colon_has_its_place_and_a_hint():
    problem = refused("---\nid: a\ntitle: Assignment 1: Some Title\n---\n")
    assert (problem.rule, problem.line, problem.column) == ("CB104", 3, 20)
    assert "quote the value" in problem.hint


def test_f02_a_byte_order_mark_is_not_missing_metadata():
    text = decode(BOM + b"---\nid: a\n---\n")
    assert isinstance(text, str)
    front = parse(text)
    assert front.values == {"id": "a"} and front.problems == ()


def test_f03_crlf_reads_like_its_lf_twin():
    lf, crlf = parse(LF), parse(LF.replace("\n", "\r\n"))
    assert crlf.values == lf.values
    assert crlf.body == lf.body.replace("\n", "\r\n")
    assert crlf.body_line == lf.body_line
    assert {p: (s.line, s.column) for p, s in crlf.spans.items()} == {p: (s.line, s.column) for p, s in lf.spans.items()}


def test_f05_a_repeated_key_names_both_lines():
    problem = refused("---\nid: 1\nfoo: a\nfoo: b\n---")
    assert (problem.rule, problem.line, problem.column) == ("CB105", 4, 1)
    assert problem.message == "key `foo` stands twice, first on line 3"


@pytest.mark.parametrize(
    "text", ["a: {b: 1, b: 2}", "a:\n  - {x: 1}\n  - b: 1\n    c: 2\n    b: 3", "? a\n: 1\n? a\n: 2", "'a': 1\na: 2"]
)
def test_f05_a_repeated_key_is_refused_at_every_depth_and_in_every_style(text):
    assert refused(f"---\n{text}\n---\n").rule == "CB105"


def test_f06_only_the_first_block_is_front_matter():
    body = "text\n\n---\ncode block: with frontmatter\n---\n\nmore\n"
    front = parse(f"---\nid: a\n---\n{body}")
    assert front.values == {"id": "a"} and front.body == body and front.body_line == 4


@pytest.mark.parametrize(
    "text", ["\n---\nid: a\n---\n", " ---\nid: a\n---\n", "# T\n---\nid: a\n---\n", "----\nid: a\n---\n", ""]
)
def test_f06_a_block_that_is_not_at_the_very_start_is_none(text):
    front = parse(text)
    assert front.problems[0].rule == "CB102" and front.body == text


def test_f07_a_template_placeholder_is_a_finding_and_no_crash():
    problem = refused("---\nid: a\ndate: {{date}}\n---\n")
    assert (problem.rule, problem.line) == ("CB106", 3)
    assert "quote the value" in problem.hint


@pytest.mark.parametrize("block", ["just a string", "- a\n- b", "42", "[a, b]", '"quoted"'])
def test_f08_metadata_must_be_a_mapping(block):
    problem = refused(f"---\n{block}\n---\n")
    assert (problem.rule, problem.message) == ("CB108", "metadata must be a mapping")


@pytest.mark.parametrize("block", ["", "\n", "# only a comment\n", "   \n"])
def test_f08_an_empty_block_says_that_it_is_empty(block):
    assert refused(f"---\n{block}---\n").rule == "CB108"


# Scalars stay text


@pytest.mark.parametrize(
    "text",
    ["8.10", "no", "on", "~", "null", "2026-01-02", "12:30", "0x1F", "0o17", "1_000", "1e3", ".inf", "true", "=", "=>8.0"],
)
def test_a_scalar_is_what_was_typed(text):
    assert parse(f"---\nv: {text}\n---\n").values == {"v": text}


def test_an_empty_value_is_an_empty_text_with_a_place():
    front = parse("---\na:\nb: x\n---\n")
    assert front.values == {"a": "", "b": "x"}
    assert front.spans[("a",)].line == 2


# Refusals


@pytest.mark.parametrize(
    ("block", "line", "column"),
    [
        ("a: &x 1\nb: 2", 2, 4),
        ("a: 1\nb: *x", 3, 4),
        ("a: !!int 1", 2, 4),
        ("a: !local 1", 2, 4),
        ("base: {x: 1}\nv:\n  <<: {y: 2}", 4, 3),
        ("a: 1\n--- \nb: 2\n...\n--- {c: 1}", None, None),
    ],
)
def test_what_two_readers_could_read_differently_is_refused(block, line, column):
    front = parse(f"---\n{block}\n---\n")
    if line is None:  # a `---` line closes the block, whatever stands after it
        assert front.values == {"a": "1"} and front.body.startswith("b: 2\n")
    else:
        assert (front.problems[0].rule, front.problems[0].line, front.problems[0].column) == ("CB106", line, column)


def test_several_documents_in_a_yaml_file_are_refused():
    problem = load_yaml("a: 1\n---\nb: 2\n")
    assert isinstance(problem, Problem)
    assert (problem.rule, problem.line) == ("CB106", 2)


def test_a_quoted_merge_key_is_only_a_name():
    assert parse('---\n"<<": x\n---\n').values == {"<<": "x"}


def test_depth_is_limited_and_the_limit_itself_is_allowed():
    def nested(levels: int) -> str:
        return "---\n" + "".join("  " * i + "a:\n" for i in range(levels - 1)) + "  " * (levels - 1) + "a: x\n---\n"

    assert parse(nested(MAX_DEPTH)).problems == ()
    problem = refused(nested(MAX_DEPTH + 1))
    assert (problem.rule, problem.line) == ("CB107", MAX_DEPTH + 2)


@pytest.mark.parametrize("block", ["[" * 20_000, "{a: " * 20_000, "- " * 20_000, "? " * 20_000])
def test_a_bracket_bomb_is_refused(block):
    assert refused(f"---\nv: {block}\n---\n").rule in ("CB104", "CB107")


def test_sizes_are_limited_and_the_limits_themselves_are_allowed():
    fits = "---\na: " + "x" * (MAX_FRONT_MATTER - 4) + "\n---\n"
    assert parse(fits).problems == ()
    assert refused(fits.replace("a: ", "a: x")).rule == "CB107"
    assert isinstance(decode(b"x" * MAX_FILE), str)
    problem = decode(b"x" * (MAX_FILE + 1))
    assert isinstance(problem, Problem) and problem.rule == "CB107"


def test_a_block_that_is_never_closed_is_no_body():
    front = parse("---\nid: a\n\n## Summary\n")
    assert front.problems[0].rule == "CB103" and front.body == ""


@pytest.mark.parametrize("end", ["---", "---\n", "---  \n", "---\r\n", "---\t\n"])
def test_the_closing_line_may_end_in_blanks_or_the_file(end):
    assert parse(f"---\nid: a\n{end}").values == {"id": "a"}


@pytest.mark.parametrize("end", ["----\n", " ---\n", "--- x\n", "...\n"])
def test_other_lines_do_not_close_the_block(end):
    assert parse(f"---\nid: a\n{end}").problems[0].rule == "CB103"


# Bytes


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\xff\xfe-\x00", 1),
        (b"---\nid: a\n\xe9\n", 3),
        (b"---\n\xed\xa0\x80: lone surrogate\n", 2),
        (b"a\nb\nc\0d\n", 3),
        (b"\xc0\x80", 1),
    ],
)
def test_bytes_that_are_no_text_have_a_line(data, line):
    problem = decode(data)
    assert isinstance(problem, Problem)
    assert (problem.rule, problem.line) == ("CB101", line)


@pytest.mark.parametrize("char", ["\x01", "\x1b", "\x7f", "\ufffe"])
def test_a_control_character_is_a_finding_on_its_line(char):
    problem = refused(f"---\nid: a\ntitle: x{char}y\n---\n")
    assert (problem.rule, problem.line) == ("CB104", 3)


@pytest.mark.parametrize("char", ["\r", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("block", ["a: x{}b: y", "a: 'x{}y'", "a: |\n  x{}  y", "# x{}a: b"])
def test_a_second_key_cannot_hide_behind_an_odd_line_break(block, char):
    problem = refused(f"---\nid: a\n{block.format(char)}\n---\n")
    assert problem.rule == "CB104" and f"U+{ord(char):04X}" in problem.message
    before = block.split("{", maxsplit=1)[0]
    assert (problem.line, problem.column) == (3 + before.count("\n"), len(before.rsplit("\n", 1)[-1]) + 1)


def test_odd_line_breaks_are_text_in_the_body():
    body = "a\u2028b\x85c\rd\n"
    assert parse(f"---\nid: a\n---\n{body}").body == body


def test_a_tab_as_indentation_has_its_own_hint():
    problem = refused("---\na:\n\tb: c\n---\n")
    assert problem.hint == "indent with spaces, not tabs" and problem.line == 3


def test_a_lone_surrogate_is_a_finding():
    assert refused("---\nid: a\ntitle: x\ud800y\n---\n").rule == "CB104"


# Places


def test_spans_cover_exactly_what_was_written():
    front = parse(LF)
    assert LF[front.spans[("id",)].start : front.spans[("id",)].end] == "a"
    assert LF[front.spans[("title",)].start : front.spans[("title",)].end] == "标题 😀"
    assert LF[front.spans[("list", 1, "k")].start : front.spans[("list", 1, "k")].end] == "v"
    assert LF[front.keys[("list",)].start : front.keys[("list",)].end] == "list"


WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n", exclude_categories=["Cc", "Cs", "Cn", "Co", "Zl", "Zp"])
)


@given(
    st.lists(st.tuples(st.from_regex(r"[a-z]{1,6}", fullmatch=True), WORDS), unique_by=lambda p: p[0], min_size=1),
    st.booleans(),
)
def test_lines_columns_and_offsets_agree_for_any_quoted_value(pairs, crlf):
    quoted = [(key, "'" + value.replace("\ufeff", "").replace("'", "''") + "'") for key, value in pairs]
    text = "---\n" + "".join(f"{key}: {value}\n" for key, value in quoted) + "---\nbody\n"
    text = text.replace("\n", "\r\n") if crlf else text
    front = parse(text)
    assert front.problems == ()
    for line, (key, value) in enumerate(quoted, start=2):
        span = front.spans[(key,)]
        assert text[span.start : span.end] == value
        assert (span.line, span.column) == (line, len(key) + 3)
        assert front.values[key] == value[1:-1].replace("''", "'")


ANY = st.text(st.characters())
FRAGMENTS = st.lists(
    st.sampled_from(["---", "\n", "\r\n", "\r", "a: b", "- ", "[", "]", "{", "}", "'", '"', "|", ">", "&x", "*x", "!t", "<<: ", "? ", ": ", "#", "%YAML 1.1", "\t", " ", "\0", "\x85", "\u2028", "\ufeff", "\ud800", "😀", "...", "@", "`", "\x1b"])
).map("".join)  # fmt: skip


@given(ANY | FRAGMENTS | FRAGMENTS.map(lambda block: f"---\n{block}\n---\nbody"))
@example("---\n\ud800: x\n---\n")
@example("---\n\ufeff\n---\n")
@example("---\n%TAG ! x\n---\n")
def test_parse_never_raises_and_loses_no_text(text):
    front = parse(text)
    for problem in front.problems:
        assert problem.rule.startswith("CB1") and problem.message and problem.line >= 1 and problem.column >= 1
        assert problem.line <= text.count("\n") + 1
    assert front.problems == () or front.values == {}
    assert text.endswith(front.body)
    for span in [*front.spans.values(), *front.keys.values()]:
        assert 0 <= span.start <= span.end <= len(text)
        assert span.line == text.count("\n", 0, span.start) + 1


@given(st.binary())
def test_decode_never_raises(data):
    text = decode(data)
    assert isinstance(text, Problem) or (BOM + text.encode() == data or text.encode() == data)


@given(ANY | FRAGMENTS)
def test_a_yaml_file_never_raises(text):
    loaded = load_yaml(text)
    assert isinstance(loaded, Problem) or isinstance(loaded[0], dict)
