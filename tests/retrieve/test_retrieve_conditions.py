"""Condition facets computed from a request: worked examples for every rule of the shipped vocabulary."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.model.query import Facets
from cakebook.retrieve import request as requests
from cakebook.retrieve.conditions import DTYPE_BYTES, Conditions, holds, open_facets, variables
from cakebook.retrieve.expressions import names

FP16, FP32 = "float16", "float32"
K = 1024


def known(vocabulary, **facets):
    return Conditions(requests.facets(vocabulary, "founding", **facets), vocabulary)


def s(*shapes):
    return [shapes] if isinstance(shapes[0], int) else list(shapes)


EXAMPLES = [
    ("dtype", {"dtype": "fp16"}, {FP16}),
    ("dtype", {"dtype": ["fp16", "bf16"]}, {FP16, "bfloat16"}),
    ("dtype", {"dtype": "int4"}, {"int4"}),
    ("dtype", {}, None),
    ("dtype-width", {"dtype": "int8"}, {"8"}),
    ("dtype-width", {"dtype": "bf16"}, {"16"}),
    ("dtype-width", {"dtype": "int32"}, {"32"}),
    ("dtype-width", {"dtype": "int64"}, {"64"}),
    ("dtype-width", {"dtype": "int4"}, None),
    ("alignment", {"dtype": FP16, "shapes": s(7, 16)}, {"aligned-32b"}),
    ("alignment", {"dtype": FP16, "shapes": s(16, 1000)}, {"unaligned-32b"}),
    ("alignment", {"dtype": FP32, "shapes": s(8)}, {"aligned-32b"}),
    ("alignment", {"dtype": "int8", "shapes": s(33)}, {"unaligned-32b"}),
    ("alignment", {"dtype": FP16}, None),
    ("alignment", {"shapes": s(16, 16)}, None),
    ("alignment", {"dtype": "int4", "shapes": s(64)}, None),
    ("row-bytes", {"dtype": FP16, "shapes": s(4, 15)}, {"below-32b"}),
    ("row-bytes", {"dtype": FP16, "shapes": s(4, 16)}, {"below-512b"}),
    ("row-bytes", {"dtype": FP16, "shapes": s(4, 255)}, {"below-512b"}),
    ("row-bytes", {"dtype": FP16, "shapes": s(4, 256)}, {"at-least-512b"}),
    ("row-bytes", {"shapes": s(4, 256)}, None),
    # usable UB 188,160 B: a row of 47,040 B fits once in and out with two buffers each, one of 23,520 B twice
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 11760), "target": "npu-2201"}, {"several"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 11761), "target": "npu-2201"}, {"one"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 23520), "target": "npu-2201"}, {"one"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 23521), "target": "npu-2201"}, {"no"}),
    ("row-fits-ub", {"dtype": FP32, "shapes": s(4, 11760), "target": "910B3"}, {"one"}),
    # usable UB 253,952 B
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 15872), "target": "npu-3510"}, {"several"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 15873), "target": "npu-3510"}, {"one"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 31744), "target": "950PR"}, {"one"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 31745), "target": "950PR"}, {"no"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 23521), "target": ["npu-2201", "npu-3510"]}, {"no", "one"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 64), "target": "npu-1001"}, None),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 64), "target": ["npu-2201", "npu-1001"]}, None),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 64), "target": "310P3"}, {"several"}),
    ("row-fits-ub", {"dtype": FP16, "shapes": s(4, 64)}, None),
    ("core-split", {"shapes": s(40, 8192), "target": "910B3"}, {"even"}),
    ("core-split", {"shapes": s(41, 3), "target": "910B3"}, {"uneven"}),
    ("core-split", {"shapes": s(40, 3), "target": "910B1"}, {"uneven"}),
    ("core-split", {"shapes": s(40, 8192), "target": "npu-2201"}, None),
    ("core-split", {"shapes": s(40, 8192), "target": "950PR"}, None),
    ("rows-vs-cores", {"shapes": s(39, 512), "target": "910B3"}, {"fewer"}),
    ("rows-vs-cores", {"shapes": s(2, 20, 512), "target": "910B3"}, {"at-least"}),
    ("rows-vs-cores", {"shapes": s(4096), "target": "910B3"}, {"fewer"}),
    ("rows-vs-cores", {"shapes": s(39, 512)}, None),
    ("shape-class", {"shapes": s(131071)}, {"small"}),
    ("shape-class", {"shapes": s(128, 1024)}, {"medium"}),
    ("shape-class", {"shapes": s(4096, 4095)}, {"medium"}),
    ("shape-class", {"shapes": s(4096, 4096)}, {"large"}),
    ("shape-class", {}, None),
    ("layout", {"layout": "nz format"}, {"NZ"}),
    ("layout", {"layout": "nhwc"}, {"NHWC"}),
    ("layout", {}, None),
    ("mix", {"operator": "elementwise"}, {"vector-only"}),
    ("mix", {"operator": "add"}, {"vector-only"}),
    ("mix", {"operator": ["add", "mul"]}, {"vector-only"}),
    ("mix", {"operator": ["add", "matmul"]}, None),
    ("mix", {"operator": ["add", "gemv"]}, None),
    ("mix", {"operator": "matmul"}, {"cube-only"}),
    ("mix", {"operator": "matmul-epilogue"}, {"cube-vector"}),  # not its family's
    ("mix", {"operator": "quant-matmul"}, None),  # varies, whatever its family is
    ("mix", {}, None),
    ("matmul-shape", {"shapes": s((256, 4096), (4096, 256))}, {"small-mn", "large-k"}),
    ("matmul-shape", {"shapes": s((16, 4096), (4096, 4096))}, {"small-m"}),
    ("matmul-shape", {"shapes": s((257, 4096), (4096, 4096))}, None),
    ("matmul-shape", {"shapes": s((1024, 2048), (2048, 1024))}, {"square"}),
    ("matmul-shape", {"shapes": s((1024, 2049), (2049, 1024))}, None),
    ("matmul-shape", {"shapes": s((1024, 4096), (4096, 1024))}, {"large-k"}),
    ("matmul-shape", {"shapes": s((256, 256), (256, 256))}, {"small-mn", "square"}),
    ("matmul-shape", {"shapes": s((8, 512, 512), (8, 512, 512))}, {"square"}),
    ("matmul-shape", {"shapes": s((16, 4096), (1024, 4096))}, None),
    ("matmul-shape", {"shapes": s(4096, 4096)}, None),
    ("matmul-shape", {"shapes": s((4, 4), (4, 4), (4, 4))}, None),
    ("l2-fit", {"dtype": FP16, "shapes": s(96 * K, K), "target": "910B3"}, {"fits"}),
    ("l2-fit", {"dtype": FP16, "shapes": s((96 * K, K), (1,)), "target": "910B3"}, {"exceeds"}),
    ("l2-fit", {"dtype": FP16, "shapes": s(96 * K, K), "target": "950PR"}, None),
    ("core-count", {"target": "910B3"}, {"20-cube-40-vector"}),
    ("core-count", {"target": "910B1"}, {"24-cube-48-vector"}),
    ("core-count", {"target": ["910B1", "910B3"]}, {"24-cube-48-vector", "20-cube-40-vector"}),
    ("core-count", {"target": ["910B1", "950PR"]}, None),
    ("core-count", {"target": "910B"}, None),
    ("sku", {"target": "ascend 910b3"}, {"910B3"}),
    ("sku", {"target": "atlas 350"}, {"950PR"}),
    ("sku", {"target": "910B"}, None),
    ("sku", {"target": "npu-2201"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("facet", "facets", "expected"), EXAMPLES)
def test_worked_examples(vocabulary, facet, facets, expected):
    assert known(vocabulary, **facets).get(facet) == (frozenset(expected) if expected is not None else None)


def test_every_computed_facet_has_an_example_with_and_without_a_value(vocabulary):
    computed = {facet for facet, term in vocabulary.files["conditions"].items() if term.get("cases")}
    assert {facet for facet, _, expected in EXAMPLES if expected} == computed
    assert {facet for facet, _, expected in EXAMPLES if expected is None} >= computed - {"dtype", "layout"}


def test_a_facet_that_only_a_caller_can_give_is_never_computed(vocabulary):
    everything = {"dtype": FP16, "layout": "ND", "shapes": s((40, 40), (40, 40)), "target": "910B3", "operator": "matmul"}
    given_only = {facet for facet, term in vocabulary.files["conditions"].items() if not term.get("cases")}
    assert given_only and not given_only & set(known(vocabulary, **everything))
    assert known(vocabulary, when={"tail": "present"}, **everything)["tail"] == {"present"}


def test_what_the_caller_says_goes_before_what_is_computed(vocabulary):
    said = known(vocabulary, when={"alignment": "unaligned-32b"}, dtype=FP16, shapes=s(16, 16))
    assert said["alignment"] == {"unaligned-32b"}


def test_several_dtypes_give_the_values_of_each_and_an_open_one_leaves_it_open(vocabulary):
    assert known(vocabulary, dtype=[FP16, FP32], shapes=s(8))["alignment"] == {"aligned-32b", "unaligned-32b"}
    assert "alignment" not in known(vocabulary, dtype=[FP16, "int4"], shapes=s(8))


def test_every_rule_is_of_the_grammar_and_uses_only_variables_that_exist(vocabulary):
    full = Facets(
        dtypes=(FP16,), layout="ND", shapes=((4, 4), (4, 4)), operators=("add",), targets=("910B3",)
    )  # fmt: skip
    available = set(variables(full, vocabulary, "910B3", FP16)) | {"target_arch"}
    for facet, term in vocabulary.files["conditions"].items():
        values = {v["id"] for v in term["values"]}
        assert term.get("cases") or term.get("rule") == "given", facet
        for case in term.get("cases", ()):
            assert names(case["when"]) <= available, (facet, case)
            assert case["value"] in values, (facet, case)


def test_dtypes_with_a_size_are_dtypes_of_the_vocabulary(vocabulary):
    assert set(DTYPE_BYTES) | {"int4"} == set(vocabulary.facet_values("dtype"))


EXCLUSIVE = ("alignment", "row-bytes", "row-fits-ub", "core-split", "rows-vs-cores", "shape-class", "l2-fit", "dtype-width")
TARGETS = ("910B1", "910B3", "910_9362")


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.integers(1, 300_000), min_size=1, max_size=4), st.sampled_from(sorted(DTYPE_BYTES)), st.sampled_from(TARGETS)
)
def test_where_everything_is_known_exactly_one_value_of_an_exclusive_facet_holds(vocabulary, shape, dtype, target):
    found = Conditions(Facets(dtypes=(dtype,), targets=(target,), shapes=(tuple(shape),)), vocabulary)
    assert {facet: len(found.get(facet, ())) for facet in EXCLUSIVE} == dict.fromkeys(EXCLUSIVE, 1)


TRUE, FALSE, OPEN = "true", "false", "open"
KNOWN = {"t": frozenset(["yes", "also"]), "f": frozenset(["no"])}
PARTS = {TRUE: {"t": ["yes", "maybe"]}, FALSE: {"f": ["yes"]}, OPEN: {"o": ["yes"]}}


@pytest.mark.parametrize("parts", list(product(PARTS, repeat=2)))
def test_truth_table_of_a_case(parts):
    match = {k: v for part in parts for k, v in PARTS[part].items()}
    expected = False if FALSE in parts else None if OPEN in parts else True
    assert holds(match, KNOWN) is expected
    assert holds(dict(reversed(match.items())), KNOWN) is expected
    assert open_facets(match, KNOWN) == (["o"] if OPEN in parts else [])


def test_a_case_that_states_nothing_is_unknown():
    assert holds({}, KNOWN) is None
