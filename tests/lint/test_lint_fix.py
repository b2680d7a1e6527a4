"""`--fix`: what each fixable rule makes of its examples, and that nothing else changes, whatever the file looks like."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cakebook.lint import RULES, as_text
from cakebook.lint.examples import BASE, PATH, edit, other
from cakebook.lint.fixing import _first_wins, mend
from cakebook.lint.registry import Finding, Severity, register
from cakebook.lint.runner import explain, lint_book, read_book, reference
from cakebook.repo.entries import read_entry
from cakebook.repo.layout import MemorySource
from cakebook.text.frontmatter import BOM
from cakebook.text.patch import Edit

relaxed = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
MENDED = [pytest.param(r, a, b, id=f"{r.id}-{r.name}-{n}") for r in RULES.values() for n, (a, b) in enumerate(r.mended, 1)]


def mended(files: dict[str, bytes | str], vocabulary, founding=(), keep=lambda file: False, paths=None):
    """The files after `mend`, and the changes."""
    data = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    book, changes = mend(read_book(MemorySource(data), vocabulary, founding, paths), keep)
    return {file.path: file.data for file in book.files}, changes


def alone(text: bytes | str, vocabulary) -> bytes:
    return mended({PATH: text}, vocabulary)[0][PATH]


# The rules


@pytest.mark.parametrize(("rule", "before", "after"), MENDED)
def test_an_example_becomes_what_the_rule_says(vocabulary, rule, before, after):
    found = lint_book(MemorySource(before.files()), vocabulary, [])
    assert any(f.rule == rule.id and f.fix and f.path == before.path for f in found), as_text(found)
    files, changes = mended(before.files(), vocabulary)
    assert files == after.files()
    assert {r for change in changes for r in change.rules} == {rule.id}


@pytest.mark.parametrize(("rule", "before", "after"), MENDED)
@pytest.mark.parametrize("crlf", [False, True])
def test_line_ends_and_a_byte_order_mark_stay(vocabulary, rule, before, after, crlf):
    def dress(files):
        return {p: BOM + (d.replace(b"\n", b"\r\n") if crlf else d) for p, d in files.items()}

    assert mended(dress(before.files()), vocabulary)[0] == dress(after.files())


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_only_a_rule_marked_as_fixable_fixes(vocabulary, rule):
    for example in (*rule.bad, *rule.good):
        found = lint_book(MemorySource(example.files()), vocabulary, [])
        assert all(RULES[f.rule].auto for f in found if f.fix)
    assert ("fixable" in explain(rule.id)) == (f"**With `--fix`.** {rule.auto}\n" in reference()) == bool(rule.auto)
    assert not rule.auto or (rule.auto[0].isupper() and rule.auto.endswith("."))


def test_a_rule_that_shows_no_fix_or_says_none_is_refused():
    from dataclasses import replace

    for change in ({"auto": "Mends it."}, {"mended": ((edit(), edit()),)}):
        with pytest.raises(ValueError, match="lint rule"):
            register(replace(RULES["CB120"], id="CB199", name="new-name", **change))


UNTOUCHED = {
    "another id": edit("id: demo-rows-per-tile", "id: demo-rows"),
    "an id that a rival has": edit(
        "id: demo-rows-per-tile\n", "", others={"entries/memory/demo-rows-per-tile.md": BASE.encode()}
    ),
    "a stem that is no id": edit("id: demo-rows-per-tile\n", "", path="entries/tiling/Demo Rows.md"),
    "a folder that is no kind": edit("kind: tiling\n", "", path="entries/proposals/demo-rows-per-tile.md"),
    "a kind in another folder": edit("kind: tiling", "kind: memory"),
    "a date of two readings": edit('at: "2026-11-30"', "at: 05/06/2026"),
    "a date that is none": edit('at: "2026-11-30"', "at: 2026/13/01"),
    "a product": edit("targets: [npu-2201]", "targets: [Atlas-800T-A2]"),
    "a word that only looks alike": edit("dsl: [ascendc]", "dsl: [ascend]"),
    "a term that two words name": edit("dtypes: [any]", "dtypes: [float, double]"),
    "a component that is there already": edit('{cann: ">=8.0,<9.2"}', '{cann: ">=8.0,<9.2", CANN: ">=8"}'),
    "a value that is there already": edit("{row-fits-ub: [several]}", "{row-fits-ub: [several, Several]}"),
    "an anchor in a code span too": edit("[the numbers](#numbers)", "`](#Numbers)` [x](#Numbers)"),
    "a group of other words": edit("variant_of: rows-per-tile", "variant_of: rows/tile"),
    "a language that is not named": edit("```cpp\n", "```\n"),
    "a check by another name": edit("```python check", "```py check"),
    "an item with a note": edit(
        "related: []",
        "related: [demo-a, # why\n  demo-b]",
        others=other("demo-b", "related: []", "related: [demo-rows-per-tile]"),
    ),
    "characters that may hold a message": edit("Budget UB", "Bud\U000e0041get\u200d UB"),
    "a character behind an entity": edit("Budget UB", "Bud&#8203;get UB"),
    "a repeated item": edit("stages: [draft, evolve]", "stages: [draft, draft]"),
    "a flow mapping": edit(BASE[: BASE.index("## Summary")], "---\n{kind: tiling, title: x}\n---\n"),
    "a block scalar": edit("type: Kernel Pattern", "type: |\n  Pitfall"),
    "keys marked by ?": edit("type: Kernel Pattern\nid: demo-rows-per-tile\ntitle:", "? title\n:"),
    "a form that cannot be read": edit("type: Kernel Pattern", "type: Pitfall", "level: kernel", "level: core"),
    "no YAML": edit("type: Kernel Pattern", "type: Pitfall: x"),
}
"""Name → an entry in which something is wrong and no fix is certain, or none is wanted."""


@pytest.mark.parametrize("example", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_is_not_certain_is_left_alone(vocabulary, example):
    files, changes = mended({example.path: example.files()[example.path], **example.others}, vocabulary)
    assert files[example.path] == example.files()[example.path]
    assert example.path not in {change.was.path for change in changes}


def test_several_keys_are_written_in_the_order_of_a_scaffold(vocabulary):
    text = BASE.replace("type: Kernel Pattern\nid: demo-rows-per-tile\n", "").replace("kind: tiling\n", "")
    data, (change,) = mended({PATH: text}, vocabulary)
    assert data[PATH] == BASE.encode()
    assert str(change) == f"fixed: {PATH}: CB111 id-is-stem, CB112 folder-is-kind, CB116 type-of-kind"


def test_an_indented_block_keeps_its_indentation(vocabulary):
    head, body = BASE.split("\n## Summary")
    inner = "\n".join("  " + line for line in head.splitlines()[1:-1])
    bad = inner.replace("  id: demo-rows-per-tile\n", "").replace("Kernel Pattern", "'Pitfall'   # of the kind")
    good = inner.replace("Kernel Pattern", "'Kernel Pattern'   # of the kind")
    assert alone(f"---\n{bad}\n---\n## Summary{body}", vocabulary) == f"---\n{good}\n---\n## Summary{body}".encode()


def test_a_draft_gets_its_type_once_its_kind_is_filled_in(vocabulary):
    assert alone(BASE.replace("type: Kernel Pattern", "type: FILL-IN(follows from the kind)"), vocabulary) == BASE.encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[demo-a, demo-b]", "[demo-b]"),
        ("[demo-b, demo-a]", "[demo-b]"),
        ('[ demo-b , "demo-a" ,demo-c ]', "[ demo-b ,demo-c ]"),
        ("[demo-a]", "[]"),
        ("[ demo-a ]", "[  ]"),
        ("[demo-a, ]", "[demo-a, ]"),
        ("demo-a", "demo-a"),
        ("\n  - demo-a\n  - demo-b", "\n  - demo-b"),
        ("\n- demo-b\n-   demo-a  \n- demo-c", "\n- demo-b\n- demo-c"),
        ("\n- demo-a", "\n- demo-a"),
        ("\n- demo-a # why\n- demo-b", "\n- demo-a # why\n- demo-b"),
    ],
)
def test_an_item_leaves_the_list_with_its_comma_or_its_line_and_nothing_more(vocabulary, before, after):
    others = other("demo-a", "related: []", "related: [demo-rows-per-tile]")
    files = edit("related: []", f"related: {before}").files() | others
    assert mended(files, vocabulary)[0][PATH].decode() == BASE.replace("related: []", f"related: {after}")


# Overlaps, passes, judgement


def found(*edits: Edit, line: int = 1) -> Finding:
    return Finding("CB101", Severity.ERROR, PATH, line, 1, "m", fix=edits)


def test_of_edits_that_overlap_the_first_wins():
    a, b, c, d, e = (
        found(Edit(0, 4, "a")),
        found(Edit(3, 5, "b")),
        found(Edit(4, 6, "c")),
        found(Edit(4, 4, "d")),
        found(Edit(9, 9, "e")),
    )
    assert _first_wins([a, b, c, d, e]) == [a, c, e]
    assert _first_wins([found(Edit(0, 1, ""), Edit(8, 9, "")), found(Edit(20, 21, ""), Edit(8, 10, ""))]) == [
        found(Edit(0, 1, ""), Edit(8, 9, ""))
    ]


def test_many_findings_of_one_rule_are_all_mended(vocabulary):
    text = BASE.replace("Fewer iterations", "a\u200bb\n" * 300 + "Fewer iterations")
    assert alone(text, vocabulary) == text.replace("\u200b", "").encode()


@pytest.mark.parametrize(
    "bad",
    [
        (Edit(BASE.index("id: demo"), BASE.index("id: demo") + 4, "id: x"),),
        (Edit(BASE.index("kind: tiling"), BASE.index("kind: tiling"), "title: twice\n"),),
        (Edit(BASE.index("kind: tiling"), BASE.index("kind: tiling"), "zzz: |\n  "),),
        (Edit(0, 3, ""),),
        (Edit(5, 5, ""),),
    ],
)
def test_an_edit_that_would_harm_is_not_made_and_holds_up_no_other(vocabulary, monkeypatch, bad):
    from cakebook.lint import fixing

    text = BASE.replace("Kernel Pattern", "Pitfall").replace('at: "2026-11-30"', "at: 2026/11/30").encode()
    harm = Finding("CB120", Severity.ERROR, PATH, 1, 1, "m", fix=tuple(Edit(e.start, e.end, e.new) for e in bad))
    lint_file = fixing.lint_file
    monkeypatch.setattr(fixing, "lint_file", lambda file, book: [harm, *lint_file(file, book)])
    assert alone(text, vocabulary) == BASE.encode()


def test_a_file_that_is_kept_stays_and_its_findings_are_left(vocabulary):
    bad = {PATH: BASE.replace("Kernel Pattern", "Pitfall").encode(), **other("demo-z", "Kernel Pattern", "Pitfall")}
    files, changes = mended(bad, vocabulary, keep=lambda file: file.path == PATH)
    assert files == {PATH: bad[PATH], **other("demo-z")} and [c.was.id for c in changes] == ["demo-z"]


def test_only_what_is_in_focus_is_mended(vocabulary):
    bad = {PATH: BASE.replace("Kernel Pattern", "Pitfall").encode(), **other("demo-z", "Kernel Pattern", "Pitfall")}
    assert mended(bad, vocabulary, paths=[PATH])[0] == {**bad, PATH: BASE.encode()}


# Whatever the file looks like

WRONG = [
    (a.edits[0], b.edits[0][1] if b.edits else a.edits[0][0])
    for r in RULES.values()
    for a, b in r.mended
    if not a.others and len(a.edits) == 1
]
"""(text of the base entry, the same made wrong), and what becomes of that."""
quoted = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"], exclude_characters="\u2800"), max_size=10).map(
    lambda t: "'" + t.replace("'", "''") + "'"
)
note = st.sampled_from(["", " # note: {a: [b", "  ", "\t# 注"])


@relaxed
@given(
    st.lists(st.sampled_from(WRONG), max_size=5, unique_by=lambda w: w[0][0]),
    st.lists(st.tuples(quoted, note), max_size=4),
    st.booleans(),
    st.booleans(),
    st.data(),
)
def test_every_byte_outside_the_edits_stays(vocabulary, wrong, extra, bom, crlf, data):
    chosen = [w for w in wrong if not any(w is not o and w[0][0] in o[0][0] for o in wrong)]
    bad = good = BASE
    for (old, new), right in chosen:
        bad, good = bad.replace(old, new), good.replace(old, right)
    at = data.draw(
        st.sampled_from(
            [m for m in ("title_zh:", "symptoms:", "generated:") if bad.count(f"\n{m}") == good.count(f"\n{m}") == 1]
        )
    )
    lines = "".join(f"x-{n}:   {value}{after}\n" for n, (value, after) in enumerate(extra))
    after = data.draw(st.sampled_from(["", "trailing  \n\n\n", "\u3000行\n", "| a |\n|---|\n"]))

    def dress(text):
        text = text.replace(f"\n{at}", f"\n{lines}{at}") + after
        return BOM * bom + (text.replace("\n", "\r\n") if crlf else text).encode()

    assert alone(dress(bad), vocabulary) == dress(good)


MARKS = [
    "\u200b",
    "\u00ad",
    "type: x\n",
    "id:\n",
    "kind: Tiling\n",
    "Ascend C",
    "[",
    "]",
    ", ",
    ": ",
    "\n",
    "  ",
    "- ",
    "? ",
    "#",
    "|",
    "'",
    '"',
    "```C++\n",
    "fp16",
    "2026/1/1",
]


@relaxed
@given(
    at=st.integers(0, len(BASE)),
    cut=st.integers(0, 40),
    put=st.lists(st.sampled_from(MARKS) | st.text(max_size=4), max_size=6).map("".join),
    wrong=st.sampled_from(WRONG),
)
def test_a_damaged_entry_is_mended_once_and_keeps_its_identity(vocabulary, at, cut, put, wrong):
    text = BASE.replace(*wrong[0])
    data = (text[:at] + put + text[at + cut :]).encode("utf-8", "replace")
    files, changes = mended({PATH: data}, vocabulary)
    was, now = read_entry(PATH, data), read_entry(PATH, files[PATH])
    assert now.id == was.id
    if was.entry is None:
        assert files[PATH] == data and not changes
    assert (files[PATH] != data) == bool(changes)
    again, more = mended(files, vocabulary)
    assert again == files and more == []
