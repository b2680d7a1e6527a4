"""From what people type to terms: everything resolved, or refused with the valid values and the nearest of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.errors import BadArgument, BadFilter, CakeBookError, EmptyRequest, TierBelowPolicy, TooLarge
from cakebook.model.query import MAX_LIMIT, MAX_TEXT, TIERS, Facets
from cakebook.retrieve import request as requests

NAMED = {
    "dsl": "dsls", "target": "targets", "kind": "kinds", "operator": "operators", "stage": "stages",
    "bottleneck": "bottlenecks",
}  # fmt: skip
"""Option → vocabulary file, and attribute of the facets."""


def facets(vocabulary, serve="founding", **given):
    return requests.facets(vocabulary, serve, **given)


@pytest.mark.parametrize(("option", "file"), NAMED.items())
def test_every_id_title_and_alias_is_understood_in_any_case(vocabulary, option, file):
    for term_id, term in vocabulary.files[file].items():
        assert getattr(facets(vocabulary, **{option: term_id.upper()}), file) == (term_id,)
        for alias in (*term.get("aliases", ()), *term.get("aliases_zh", ())):
            if "," not in alias:
                assert len(getattr(facets(vocabulary, **{option: f" {alias} "}), file)) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"dsl": "Ascend C"}, {"dsls": ("ascendc",)}),
        ({"dsl": "triton, ascendc,triton"}, {"dsls": ("triton-ascend", "ascendc")}),
        ({"dsl": ["triton", "pypto,ascendc"]}, {"dsls": ("triton-ascend", "pypto", "ascendc")}),
        ({"target": "Ascend 910B3"}, {"targets": ("910B3",)}),
        ({"target": "昇腾 910B"}, {"targets": ("910B",)}),
        ({"dtype": "half precision"}, {"dtypes": ("float16",)}),
        ({"dtype": "半精度"}, {"dtypes": ("float16",)}),
        ({"layout": "fractal_nz"}, {"layout": "NZ"}),
        ({"layout": ""}, {"layout": ""}),
        ({"operator": "矩阵乘"}, {"operators": ("matmul",)}),
        ({"when": {"tail": "present,none"}}, {"when": {"tail": ("present", "none")}}),
        ({"when": {"alignment": "已对齐"}}, {"when": {"alignment": ("aligned-32b",)}}),
        ({"cann": "8.2.RC1"}, {"toolchain": {"cann": "8.2.RC1"}}),
        ({"toolchain": {"CANN": "8.2.RC1"}}, {"toolchain": {"cann": "8.2.RC1"}}),
        ({"toolchain": {"driver": "24.1"}, "cann": "9.0"}, {"toolchain": {"driver": "24.1", "cann": "9.0"}}),
        ({"shapes": [(4096, 8192), [16]]}, {"shapes": ((4096, 8192), (16,))}),
        ({"exclude": "a, b,,"}, {"exclude": ("a", "b")}),
        ({"tier": "measured"}, {"tier": "measured"}),
        ({"dsl": None, "target": "", "kind": [], "tier": None}, {}),
    ],
)  # fmt: skip
def test_what_is_typed_becomes_terms(vocabulary, given, expected):
    assert facets(vocabulary, **given) == Facets(**expected)


BAD = [
    ("dsl", {"dsl": "ascendcc"}, "ascendc"),
    ("target", {"target": "910B33"}, "910B3"),
    ("kind", {"kind": "tilling"}, "tiling"),
    ("operator", {"operator": "softmx"}, "softmax"),
    ("stage", {"stage": "evolv"}, "evolve"),
    ("bottleneck", {"bottleneck": "mte2-bond"}, "mte2-bound"),
    ("dtype", {"dtype": "flaot16"}, "float16"),
    ("layout", {"layout": "NCWH"}, "NCHW"),
    ("when", {"when": {"alignement": "aligned-32b"}}, "alignment"),
    ("alignment", {"when": {"alignment": "aligned"}}, "aligned-32b"),
    ("toolchain", {"toolchain": {"can": "8.0"}}, "cann"),
    ("tier", {"tier": "foundling"}, "founding"),
]


@pytest.mark.parametrize(("option", "given", "nearest"), BAD)
def test_an_unknown_term_is_refused_with_the_valid_ones_and_the_nearest(vocabulary, option, given, nearest):
    with pytest.raises(BadFilter) as caught:
        facets(vocabulary, **given)
    error = caught.value
    assert error.details["option"] == option and nearest in error.details["valid"]
    assert f"did you mean `{nearest}`?" in error.hint
    assert all(value in error.hint for value in error.details["valid"])


@pytest.mark.parametrize(("option", "given"), [(o, {**g}) for o, g, _ in BAD])
def test_a_term_unlike_any_other_is_refused_without_a_guess(vocabulary, option, given):
    key, value = next(iter(given.items()))
    if isinstance(value, dict):
        name, inner = next(iter(value.items()))
        value = {name: "zzzzqqqq"} if option == "alignment" else {"zzzzqqqq": inner}
    else:
        value = "zzzzqqqq"
    with pytest.raises(BadFilter) as caught:
        facets(vocabulary, **{key: value})
    assert "did you mean" not in caught.value.hint and caught.value.hint.startswith("valid: ")


@pytest.mark.parametrize("version", ["", " ", "latest", "x8.0", "8.0-foo", "≥8"])
def test_what_is_no_version_is_refused(vocabulary, version):
    with pytest.raises(BadArgument, match=r"8\.2\.RC1"):
        facets(vocabulary, toolchain={"cann": version})


@pytest.mark.parametrize("version", ["8.2.RC1.alpha003", "8.3.RC1.B020", "9.0.0-beta.2", "9.0.T500", "v9"])
def test_version_strings_as_they_are_printed_are_versions(vocabulary, version):
    assert facets(vocabulary, cann=version).toolchain == {"cann": version}


def test_a_tier_below_the_policy_is_refused(vocabulary):
    for serve in TIERS:
        for tier in TIERS:
            if TIERS.index(tier) < TIERS.index(serve):
                with pytest.raises(TierBelowPolicy, match=serve):
                    facets(vocabulary, serve, tier=tier)
            else:
                assert facets(vocabulary, serve, tier=tier).tier == tier


@pytest.mark.parametrize(
    "text", ["4096,8192", "4096x8192", "[4096, 8192]", "(4096,8192)", "4096 8192", "4096×8192", "4096*8192,"]
)
def test_shapes_are_read_in_every_usual_spelling(text):
    assert requests.parse_shape(text) == (4096, 8192)


@pytest.mark.parametrize("text", ["", "a,b", "4096,-1", "0", "4,0", "1.5", "²", "٣", "1" * 40, ",".join("1" * 17), str(2**48)])
def test_what_is_no_shape_is_refused(text):
    with pytest.raises(BadArgument, match="not a shape"):
        requests.parse_shape(text)


@pytest.mark.parametrize("shape", [(), (0,), (-1,), (2**48,), (1,) * 17])
def test_shapes_from_python_are_checked_too(vocabulary, shape):
    with pytest.raises(BadArgument, match="not a shape"):
        facets(vocabulary, shapes=[shape])


def test_pairs_are_read_and_a_name_given_twice_keeps_both_values():
    assert requests.parse_pairs("--when", ["a=b", " c = d=e ", "a=f"]) == {"a": "b,f", "c": "d=e"}
    for bad in ("a", "=b", "a=", " = "):
        with pytest.raises(BadArgument, match="name=value") as caught:
            requests.parse_pairs("--when", [bad])
        assert "tail=present" in caught.value.hint


def test_texts_are_limited_and_made_storable():
    assert requests.check_text("the query", "a" * MAX_TEXT) == "a" * MAX_TEXT
    with pytest.raises(TooLarge, match=r"the query has 20,001 characters; 20,000"):
        requests.check_text("the query", "a" * (MAX_TEXT + 1))
    assert requests.check_text("the query", "a\0b\udc80\U0001f600") == "a b?\U0001f600"


def test_limits_and_languages():
    assert [requests.check_limit(n) for n in (1, MAX_LIMIT)] == [1, MAX_LIMIT]
    for bad in (0, -1, MAX_LIMIT + 1):
        with pytest.raises(BadArgument, match=str(MAX_LIMIT)):
            requests.check_limit(bad)
    assert [requests.check_lang(x) for x in ("auto", "en", "zh")] == ["auto", "en", "zh"]
    with pytest.raises(BadFilter, match="lang `fr`"):
        requests.check_lang("fr")


def test_something_must_be_asked(vocabulary):
    for nothing in (Facets(), Facets(strict_scope=True)):
        with pytest.raises(EmptyRequest):
            requests.require_something(" \n", nothing)
        requests.require_something("x", nothing)
    requests.require_something("", facets(vocabulary, dsl="ascendc"))


@settings(deadline=None, max_examples=150)
@given(st.sampled_from([*NAMED, "dtype", "layout", "tier"]), st.text(max_size=30))
def test_any_text_as_a_filter_is_a_term_or_an_error_of_one_line(vocabulary, option, text):
    try:
        facets(vocabulary, **{option: text})
    except CakeBookError as error:
        assert error.exit == 2 and str(error).isprintable()
