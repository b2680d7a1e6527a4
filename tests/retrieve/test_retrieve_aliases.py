"""Finding vocabulary terms in a text, in two languages, the longest where several overlap."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.model.terms import Vocabulary
from cakebook.retrieve.aliases import AliasFinder


def find(vocabulary, file, text):
    return list(AliasFinder(text, vocabulary).find(file))


def made(**terms):
    files = {"things": {i: {"id": i, "title": i, "title_zh": i, **t} for i, t in terms.items()}}
    return Vocabulary(files)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("910B3", ["910B3"]),
        ("on 910b3, please", ["910B3"]),
        ("Ascend910B3", ["910B3"]),
        ("910B", ["910B"]),
        ("910B series", ["910B"]),
        ("910B30", []),
        ("x910B3", []),
        ("910B3 and 950PR", ["910B3", "950PR"]),
        ("950PR then 910B3", ["950PR", "910B3"]),
        ("在910B3上", ["910B3"]),
        ("昇腾 910B 上", ["910B"]),
        ("910B2C", ["910B2C"]),
        ("910_9382", ["910_9382"]),
        ("910_93", ["910_93"]),
        ("npu-2201", ["npu-2201"]),
        ("dav_c220", ["npu-2201"]),
        ("Atlas 200I/500 A2", ["310B"]),
        ("Atlas A2 训练", ["atlas-a2"]),
        ("position A2 of the queue", []),
        ("Atlas 350", ["atlas-350"]),
        ("", []),
    ],
)
def test_targets(vocabulary, text, found):
    assert find(vocabulary, "targets", text) == found


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("dsls", "a Triton kernel", ["triton-ascend"]),
        ("dsls", "用 Ascend C 写", ["ascendc"]),
        ("dsls", "tritonish", []),
        ("dsls", "any language", []),
        ("operators", "矩阵乘法", ["matmul"]),
        ("operators", "batch matmul", ["batch-matmul"]),
        ("operators", "two gemms", ["matmul"]),
        ("bottlenecks", "memory bound", ["mte2-bound"]),
        ("bottlenecks", "一直在等 MTE2", ["mte2-bound"]),
        ("bottlenecks", "一直在等MTE2", ["mte2-bound"]),
        ("bottlenecks", "等 MTE20", []),
        ("bottlenecks", "bank conflicts in UB", ["bank-conflict"]),
        ("stages", "it crashes", ["debug"]),
        ("error_codes", "failed with 507035!", ["507035"]),
        ("error_codes", "failed with 5070350", []),
    ],
)
def test_terms_of_other_files(vocabulary, file, text, found):
    assert find(vocabulary, file, text) == found


def test_the_longest_of_overlapping_aliases_wins_wherever_it_stands():
    things = made(short={"aliases": ["tail"]}, long={"aliases": ["tail tile", "ragged tail"]}, other={"aliases": ["tile size"]})
    assert find(things, "things", "tail tile size") == ["long"]
    assert find(things, "things", "the ragged tail and the tail") == ["long", "short"]
    assert find(things, "things", "tail, tile size") == ["short", "other"]


def test_latin_aliases_end_at_word_boundaries_a_plural_s_allowed():
    things = made(core={"aliases": ["core", "c++"]}, one={"aliases_zh": ["核"]})
    assert [find(things, "things", t) for t in ("core", "cores", "coress", "score", "core_x", "core2", "CORE.")] == [
        ["core"], ["core"], [], [], [], [], ["core"],
    ]  # fmt: skip
    assert find(things, "things", "in c++ code") == ["core"]
    assert find(things, "things", "多核切分") == ["one"]  # Chinese has no boundaries


def test_ids_and_titles_do_not_count_but_in_the_glossary():
    word = {"id": "any-id", "title": "everyday", "title_zh": "日常"}
    assert AliasFinder("everyday 日常 any-id", Vocabulary({"dsls": {"any-id": word}})).find("dsls") == ()
    finder = AliasFinder("an everyday thing", Vocabulary({"glossary": {"any-id": word}}))
    assert finder.find("glossary") == ("any-id",) and finder.expansion() == ["everyday", "日常"]


def test_condition_values(vocabulary):
    values = AliasFinder("fp16 and bf16 rows, unaligned, 尾块处理, dynamic shape", vocabulary).values()
    assert values["dtype"] == ("float16", "bfloat16")
    assert (values["alignment"], values["tail"], values["dynamic-shape"]) == (("unaligned-32b",), ("present",), ("dynamic",))
    assert "layout" not in values and AliasFinder("hello", vocabulary).values() == {}


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("CANN 8.2.RC1", {"cann": "8.2.RC1"}),
        ("cann 8.2.RC1.alpha003, please", {"cann": "8.2.RC1.alpha003"}),
        ("on CANN 9.0.", {"cann": "9.0"}),
        ("CANN v8.0", {"cann": "8.0"}),
        ("CANN", {}),
        ("CANN with 910B3", {}),
        ("torch_npu 2.6.0 and CANN 8.3", {"torch-npu": "2.6.0", "cann": "8.3"}),
        ("用 CANN 8.1 再升到 CANN 9.1", {"cann": "8.1"}),
    ],
)
def test_versions_follow_their_component(vocabulary, text, versions):
    assert AliasFinder(text, vocabulary).versions() == versions


def test_messages_name_their_error_code(vocabulary):
    text = "Kernel task happen error, retCode=0x31, [Vector Core Exception]. then: stream sync timeout"
    assert AliasFinder(text, vocabulary).messages() == ["507035", "507046"]
    assert AliasFinder("ub overflow, requires 1 bits while 2 bits available!", vocabulary).messages() == ["ub-overflow"]


def test_words_are_those_by_which_the_text_names_a_term(vocabulary):
    assert AliasFinder("LayerNorm on 910B3", vocabulary).words("targets") == {"910b3", "910"}
    assert "layernorm" in AliasFinder("LayerNorm on 910B3", vocabulary).words("operators")


def test_every_alias_alone_is_found_as_its_own_term(vocabulary):
    """Or as another one that it belongs to as well; the vocabulary must not hide an alias behind another."""
    lost = []
    for file in ("targets", "dsls", "operators", "stages", "bottlenecks", "error_codes", "toolchain"):
        for term_id, term in vocabulary.files[file].items():
            for alias in (*term.get("aliases", ()), *term.get("aliases_zh", ())):
                found = find(vocabulary, file, f"( {alias} )")
                resolved = vocabulary.resolve(file, alias)
                if term_id not in found and resolved not in found:
                    lost.append((file, term_id, alias, found))
    assert lost == []


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=60))
def test_any_text_can_be_searched_for_terms(vocabulary, text):
    finder = AliasFinder(text, vocabulary)
    for file in ("targets", "operators", "glossary"):
        spans = finder.spans(file)
        assert all(0 <= a < b <= len(finder.lower) for a, b, _ in spans)
        assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert finder.values() is not None and finder.messages() is not None and finder.versions() is not None
