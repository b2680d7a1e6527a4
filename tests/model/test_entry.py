"""The entry model: what is unknown stays unknown, what is not ours is kept, and nothing that a file can hold is misread."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cakebook.model.entry import ID_MAX, Entry, is_id
from cakebook.repo.entries import digest, read_entry

PATH = "entries/tiling/a-lesson.md"


def read(front: str, body: str = "## Summary\nx\n"):
    return read_entry(PATH, f"---\n{front}---\n{body}".encode())


@pytest.mark.parametrize("text", ["a", "ascendc-double-buffer", "507035", "a1-b2", "a" * ID_MAX])
def test_ids(text):
    assert is_id(text)


@pytest.mark.parametrize(
    "text", ["", "A", "a_b", "-a", "a-", "a--b", "a b", "é", "双", "a/b", "../a", "a.md", "a\n", "a" * (ID_MAX + 1), "１"]
)
def test_what_is_no_id(text):
    assert not is_id(text)


# Facet lists


@pytest.mark.parametrize(
    ("written", "terms"),
    [
        ("[ascendc, catlass]", ("ascendc", "catlass")),
        ("ascendc", ("ascendc",)),
        ("[any]", ("any",)),
        ("", ()),
        ("[]", ()),
        ("unknown", ()),
        ("[unknown]", ()),
        ("[ascendc, unknown, '']", ("ascendc",)),
    ],
)
def test_a_facet_list_declares_terms_and_unknown_declares_nothing(written, terms):
    assert read(f"dsl: {written}\n").entry.dsl == terms


def test_a_facet_that_is_absent_declares_nothing():
    assert read("title: x\n").entry.dsl == ()


@pytest.mark.parametrize(
    "line", ["dsl: {a: b}", "toolchain: [cann]", "applies_when: {text: x}", "sources: [{id: x}]", "title: [a]"]
)
def test_a_wrong_form_has_a_place_and_no_entry(line):
    file = read(f"id: a-lesson\n{line}\n")
    assert file.entry is None
    problem = file.problems[0]
    assert (problem.rule, problem.line) == ("CB109", 3)
    assert problem.message.startswith(line.split(":")[0]) and problem.hint


def test_every_wrong_form_is_named():
    file = read("title: [a]\ndsl: {a: b}\ngenerated: x\n")
    assert [p.line for p in file.problems] == [2, 3, 4]


def test_the_place_of_a_wrong_form_inside_an_evidence_item():
    file = read("evidence:\n  - id: e\n    type: timed\n    level: core\n")
    assert [(p.rule, p.line, p.column) for p in file.problems] == [("CB109", 5, 12)]


# What is not ours


def test_unknown_keys_are_kept_at_every_level():
    file = read(
        "okf_version: '0.2'\nmodel_config: x\ncopy: y\nsources: [{id: s, resource: 'https://example.org', page: 7}]\n"
        "applies_when: [{text: t, since: '2026'}]\ngenerated: {by: b, tool: c}\n"
    )
    assert file.problems == ()
    dumped = file.entry.model_dump()
    assert (dumped["okf_version"], dumped["model_config"], dumped["copy"]) == ("0.2", "x", "y")
    assert dumped["sources"][0]["page"] == "7"
    assert dumped["applies_when"][0]["since"] == "2026"
    assert dumped["generated"]["tool"] == "c"


def test_scalars_stay_as_typed():
    entry = read("error_codes: [0507035, 0x1F]\nstale_after: 2027-01-02\ntoolchain: {cann: 8.10}\nstatus: no\n").entry
    assert entry.error_codes == ("0507035", "0x1F")
    assert (entry.stale_after, entry.toolchain, entry.status) == ("2027-01-02", {"cann": "8.10"}, "no")


def test_an_entry_is_immutable():
    entry = read("title: x\n").entry
    with pytest.raises(ValidationError):
        entry.title = "y"


# Files


def test_the_id_is_the_one_written_else_the_stem():
    assert read("id: other-name\n").id == "other-name"
    assert read("title: x\n").id == "a-lesson"
    assert read_entry(PATH, b"# no front matter\n").id == "a-lesson"
    assert read_entry(PATH, b"\xff").id == "a-lesson"


def test_an_id_that_cannot_be_one_is_a_problem_with_its_place():
    file = read("title: x\nid: Not_An_Id\n")
    assert [(p.rule, p.line, p.column) for p in file.problems] == [("CB110", 3, 5)]


@pytest.mark.parametrize("written", ["[a, b]", "{a: b}"])
def test_an_id_of_the_wrong_form_is_not_made_up(written):
    assert read(f"id: {written}\n").id == "a-lesson"


def test_the_digest_is_over_schema_id_and_bytes():
    data = b"---\nid: a\n---\n"
    assert digest("a", data) == "sha256:85058d8c5299dce97f6b42c04e2e567e46e652df887528a57283be62e45a2557"  # for ever
    assert digest("a", data) != digest("b", data)
    assert digest("a", data + b"\n") != digest("a", data)
    assert digest("ab", b"c") != digest("a", b"bc")


@given(st.binary() | st.text(st.characters(codec="utf-8")).map(lambda t: f"---\n{t}\n---\n".encode()))
def test_reading_never_raises(data):
    file = read_entry(PATH, data)
    assert file.problems or file.entry is not None
    assert file.id and file.digest.startswith("sha256:")


YAML = st.recursive(
    st.sampled_from(["", "unknown", "any", "1", "-1", "1e999", "nan", "x", "true"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(Entry.model_fields)), inner, max_size=4),
    max_leaves=12,
)


def flow(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return f'"{value}"'


@given(st.dictionaries(st.sampled_from(sorted(Entry.model_fields)), YAML))
def test_any_value_of_any_field_is_read_or_refused_with_a_place(values):
    text = "".join(f"{key}: {flow(value)}\n" for key, value in values.items()) or "x: y\n"
    file = read(text)
    for problem in file.problems:
        assert 1 <= problem.line <= text.count("\n") + 2 and problem.message
