"""What a question says, read without a model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.retrieve.understand import understand


@pytest.fixture(scope="module")
def catalog(library, entry):
    made = library(
        entry(
            "ascendc-thing", apis=["DataCopyPad", "TPipe::InitBuffer", "tl.load", "LayerNorm", "Add"], error_codes=["507035"]
        ),
        entry("other-thing", apis=["DataCopyPad"], error_codes=["ub-overflow", "507035"]),
    )
    return made.view.catalog


@pytest.mark.parametrize(
    ("text", "query_class"),
    [
        ("DataCopyPad", "identifier"),
        ("DataCopyPad error", "identifier"),
        ("507035", "identifier"),
        ("aclrtSynchronizeStream failed: 507035", "identifier"),
        ("ub overflow, requires 3072000 bits while 1572864 bits available", "identifier"),
        ("ascendc-thing", "identifier"),
        ("why is DataCopyPad so slow for narrow rows", "en"),
        ("vector pipe idles waiting for MTE2", "en"),
        ("NoSuchApiAtAll", "en"),
        ("多核切分尾块怎么处理", "zh"),
        ("算子一直在等 MTE2", "zh"),
        ("my LayerNorm kernel keeps waiting 一直在等 MTE2", "mixed"),
        ("", "facets"),
        ("  \n", "facets"),
    ],
)
def test_query_classes(catalog, text, query_class):
    assert understand(text, catalog).query_class == query_class


@pytest.mark.parametrize(("text", "lang"), [("MTE2", "en"), ("等 MTE2", "zh"), ("", "en"), ("café", "en"), ("メモリ", "zh")])
def test_the_language_is_that_of_the_text_unless_it_is_said(catalog, text, lang):
    assert understand(text, catalog).lang == lang
    assert understand(text, catalog, "zh").lang == "zh"


def rows(catalog, reading):
    return {catalog.cards([row])[row]["id"]: names for row, names in reading.exact.items()}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("DataCopyPad", {"ascendc-thing": ("datacopypad",), "other-thing": ("datacopypad",)}),
        ("what does datacopypad do", {}),  # a name inside a sentence is written as code writes it
        ("what does DataCopyPad do", {"ascendc-thing": ("datacopypad",), "other-thing": ("datacopypad",)}),
        ("TPipe::InitBuffer", {"ascendc-thing": ("tpipe::initbuffer",)}),
        ("InitBuffer", {"ascendc-thing": ("initbuffer",)}),
        ("how to call InitBuffer twice", {"ascendc-thing": ("initbuffer",)}),
        ("tl.load", {"ascendc-thing": ("tl.load",)}),
        ("load", {}),
        ("Add", {"ascendc-thing": ("add",)}),
        ("how do I add two numbers", {}),
        ("write a LayerNorm kernel", {}),  # there it is the operator
        ("LayerNorm", {"ascendc-thing": ("layernorm",)}),
        ("OTHER-THING", {"other-thing": ("other-thing",)}),
        ("see other-thing, please", {"other-thing": ("other-thing",)}),
        ("vector core exception", {"ascendc-thing": ("507035",), "other-thing": ("507035",)}),
        ("error code 507035", {"ascendc-thing": ("507035",), "other-thing": ("507035",)}),
        ("5070350", {}),
        ("ub overflow, requires 1 bits while 2 bits available!", {"other-thing": ("ub-overflow",)}),
    ],
)
def test_full_names_of_apis_codes_and_entries_are_exact_hits(catalog, text, names):
    assert rows(catalog, understand(text, catalog)) == names


def test_facets_are_recognised_in_one_sentence(catalog):
    reading = understand(
        "RMSNorm in Ascend C on 910B3 with CANN 8.2.RC1: fp16, memory bound, 507035 from DataCopyPad, how to speed up", catalog
    )
    assert reading.targets == ("910B3",) and reading.dsls == ("ascendc",) and reading.dtypes == ("float16",)
    assert reading.toolchain == {"cann": "8.2.RC1"} and reading.bottlenecks == ("mte2-bound",)
    assert reading.apis == ("DataCopyPad",) and reading.error_codes == ("507035",) and "evolve" in reading.stages
    assert reading.operators and reading.conditions == {"dtype": ("float16",)}
    assert reading.facet_count == 7


def test_a_product_is_recognised_as_what_it_stands_for(catalog):
    assert understand("on Atlas 350", catalog).targets == ("950PR",)
    assert understand("在昇腾 910B 上", catalog).targets == ("npu-2201",)


def test_the_glossary_adds_the_other_language_and_repeats_nothing(catalog):
    reading = understand("double buffer", catalog)
    assert {"双缓", "缓冲"} <= {*reading.expansion} and not {*reading.expansion} & {*reading.words}
    assert "buffer" in understand("双缓冲怎么开", catalog).expansion


def test_the_name_of_a_chip_is_a_scope_and_no_subject(catalog):
    assert "910b3" not in understand("slow copies on 910B3", catalog).words
    assert understand("910B3", catalog).words  # unless there is nothing else


@pytest.mark.parametrize(
    "text", ["\0", "\ud800 DataCopyPad", "a" * 20_000, "DataCopyPad " * 1600, "😀", "--", '" OR ids : "x', "核" * 9999]
)
def test_odd_texts_are_read_too(catalog, text):
    reading = understand(text, catalog)
    catalog.match(reading.words, 8, reading.subjects)
    assert reading.query_class in ("identifier", "en", "zh", "mixed", "facets")


@settings(deadline=None, max_examples=150)
@given(
    st.text(max_size=80)
    | st.lists(
        st.sampled_from(["DataCopyPad", "910B3", "核", "切分", "fp16", "\n", '"', "*", "NEAR(", "^", ":", "CANN", "8.2"])
    ).map(" ".join)
)
def test_any_text_is_read_and_matched(catalog, text):
    reading = understand(text, catalog)
    assert catalog.match(reading.words, 8, reading.subjects) is not None
    assert len(reading.words) == len(set(reading.words)) and not {*reading.words} & {*reading.expansion}
