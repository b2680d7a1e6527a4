"""Tokens: a count that is never below the rule, and search words for identifiers, English and Chinese."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cakebook.text.tokens import CJK, STOPWORDS, count, has_cjk, is_identifier, query_words, stem, words

TEXT = st.text(st.characters()) | st.text("aZ9_ .:-\n中文のé😀&#/+", max_size=40)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("   \t", 0),
        ("\n", 1),
        ("\n\n", 2),
        ("a", 1),
        ("abc", 1),
        ("abcd", 2),
        ("DataCopyPad", 4),
        ("a b", 2),
        ("a.b", 3),
        ("双缓冲", 3),
        ("UB双缓冲x", 5),
        ("。，", 2),
        ("😀", 1),
        ("__x__", 2),
    ],
)
def test_approx_1(text, tokens):
    assert count(text) == tokens


@given(TEXT, TEXT)
def test_a_count_only_grows_and_joining_saves_at_most_one_token(left, right):
    assert max(count(left), count(right)) <= count(left + right) <= count(left) + count(right)
    assert count(left + right) >= count(left) + count(right) - 1


@given(st.text(st.characters(codec="utf-8")))
def test_a_count_is_never_below_a_third_of_the_visible_characters(text):
    visible = len(re.sub(r"\s", "", text))
    assert count(text) * 3 >= visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DataCopyPad", ["datacopypad", "data", "copy", "pad"]),
        ("TPipe::InitBuffer", ["tpipe::initbuffer", "pip", "init", "buffer"]),
        ("tl.program_id", ["tl.program_id", "tl", "program", "id"]),
        ("507035", ["507035"]),
        ("MTE2", ["mte2", "mte"]),
        ("aiv_mte2_ratio", ["aiv_mte2_ratio", "aiv", "mte", "ratio"]),
        ("多核切分", ["多核", "核切", "切分"]),
        ("核", ["核"]),
        ("在910B3上", ["在", "910b3", "910", "上"]),
        ("C++", ["c"]),
        ("copies", ["copy"]),
        ("", []),
        ("😀 — …", []),
    ],
)
def test_words_of_a_text(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    "family",
    [
        ("copy", "copies"), ("idle", "idles", "idling"), ("buffer", "buffers", "buffered", "buffering"),
        ("tile", "tiles", "tiling", "tiled"), ("pass", "passes"), ("stall", "stalls", "stalled", "stalling"),
    ],
)  # fmt: skip
def test_forms_of_one_word_meet(family):
    assert len({stem(word) for word in family}) == 1


@pytest.mark.parametrize("word", ["bus", "bias", "axis", "ub", "is", "gas", "2d", "x86", "中文"])
def test_short_and_odd_words_keep_apart_from_others(word):
    assert stem(word) in (word, word.removesuffix("s")) and len(stem(word)) >= min(3, len(word))


@given(TEXT)
def test_words_never_raise_and_hold_no_character_that_fts5_could_read_as_syntax(text):
    for word in words(text):
        assert word and word == word.lower() and not re.search(r'[\s"()*^{},]', word)


@given(TEXT)
def test_words_do_not_depend_on_case_outside_identifiers(text):
    lower = text.lower()
    if text.isascii() and not re.search(r"[a-z0-9_][A-Z]|[A-Z]{2}", text):
        assert words(text) == words(lower)


@given(TEXT)
def test_a_question_has_each_word_once_and_only_words_of_a_text(text):
    found = query_words(text)
    assert len(found) == len(set(found))
    assert not STOPWORDS & set(found)


def test_a_chinese_question_is_its_subject():
    assert "什么" not in query_words("为什么流水会断") and "流水" in query_words("为什么流水会断")
    assert query_words("怎么办") == words("怎么办")  # filler alone is still a question


@pytest.mark.parametrize(
    "word", ["DataCopyPad", "TPipe::InitBuffer", "aiv_mte2_ratio", "tl.load", "910B3", "MTE2", "x86", "GMAddr", "a1b"]
)
def test_names_from_code(word):
    assert is_identifier(word)


@pytest.mark.parametrize("word", ["load", "Vector", "UB", "507035", "_private", "double-buffer", "3.5", "中文", ""])
def test_words_that_are_no_names_from_code(word):
    assert not is_identifier(word)


@pytest.mark.parametrize("char", "中の한豈㐀")
def test_cjk_is_chinese_japanese_and_korean(char):
    assert has_cjk(f"a{char}") and re.fullmatch(f"[{CJK}]", char)


def test_no_cjk():
    assert not has_cjk("abc é 😀 。")
