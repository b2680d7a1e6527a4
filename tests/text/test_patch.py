"""Edits by place: whatever the file looks like, every byte outside an edit stays as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cakebook.text.frontmatter import BOM, decode, parse
from cakebook.text.patch import Edit, apply

VALUE = st.text(
    st.characters(codec="utf-8", exclude_characters="\ufeff", exclude_categories=["Cc", "Cs", "Cn", "Co", "Zl", "Zp"]),
    max_size=12,
).map(lambda text: "'" + text.replace("'", "''") + "'")
"""Quoted scalars: ASCII, CJK, combining and astral characters."""
PAIRS = st.lists(st.tuples(st.sampled_from(["a", "bb", "标题", "键"]), VALUE), unique_by=lambda p: p[0], min_size=1)


@given(
    PAIRS, st.data(), st.booleans(), st.booleans(), st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
)
def test_spans_of_the_parser_edit_exactly_the_values(pairs, data, bom, crlf, body):
    newline = "\r\n" if crlf else "\n"
    source = newline.join(["---", *(f"{key}: {value} # note" for key, value in pairs), "---", body])
    original = BOM * bom + source.encode()
    text = decode(original)
    assert isinstance(text, str)
    front = parse(text)
    assert front.problems == ()
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    new = {key: data.draw(VALUE) for key, _ in chosen}
    edits = [Edit(front.spans[(key,)].start, front.spans[(key,)].end, value) for key, value in new.items()]
    expected = newline.join(["---", *(f"{key}: {new.get(key, value)} # note" for key, value in pairs), "---", body])
    assert apply(original, data.draw(st.permutations(edits))) == BOM * bom + expected.encode()


@given(st.text(st.characters(codec="utf-8")), st.booleans())
def test_no_edit_changes_nothing(text, bom):
    data = BOM * bom + text.encode()
    assert apply(data, []) == data


@pytest.mark.parametrize(
    ("data", "new", "expected"),
    [
        (b"a\r\nb", "x\ny\n", b"x\r\ny\r\na\r\nb"),
        (b"a\nb", "x\ny\n", b"x\ny\na\nb"),
        (b"a", "x\n", b"x\na"),
        (b"a\r\nb", "x\r\ny\n", b"x\r\ny\r\na\r\nb"),
        (b"a\nb", "x\r\n", b"x\na\nb"),
    ],
)
def test_new_text_takes_the_line_end_of_the_file(data, new, expected):
    assert apply(data, [Edit(0, 0, new)]) == expected
    assert apply(BOM + data, [Edit(0, 0, new)]) == BOM + expected


def test_mixed_line_ends_elsewhere_stay_mixed():
    assert apply(b"a\r\nb\nc\rd\n", [Edit(3, 4, "X")]) == b"a\r\nX\nc\rd\n"


def test_insertions_at_one_place_keep_their_order():
    assert apply(b"ab", [Edit(1, 1, "1"), Edit(1, 1, "2"), Edit(2, 2, "3")]) == b"a12b3"


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, 2, ""), Edit(1, 3, "")],
        [Edit(0, 2, "x"), Edit(0, 2, "y")],
        [Edit(-1, 0, "")],
        [Edit(2, 1, "")],
        [Edit(0, 4, "")],
        [Edit(4, 4, "")],
    ],
)
def test_edits_that_overlap_or_lie_outside_are_refused(edits):
    with pytest.raises(ValueError, match="overlaps another or lies outside"):
        apply(b"abc", edits)
