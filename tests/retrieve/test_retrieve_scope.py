"""Filters: a declared contradiction is never shown, what is not known passes with a caveat, conditions withhold or explain."""

import pytest

from cakebook.model.query import MAX_LIMIT, Facets
from cakebook.retrieve import request as requests
from cakebook.retrieve.conditions import Conditions
from cakebook.retrieve.scope import Filter

EVERYTHING = 50


def ids(result):
    return [hit.id for hit in result.hits]


def codes(hit):
    return [note.code for note in hit.caveats]


def cards(book):
    catalog = book._view().catalog
    return list(catalog.cards(catalog.rows()).values())


def judge(book, card, **facets):
    vocabulary = book._view().catalog.vocabulary
    given = requests.facets(vocabulary, "founding", **facets)
    return Filter(given, Conditions(Facets(), vocabulary), None, vocabulary, "founding", "en").apply(card)


# Every shipped entry against every value of every filter


@pytest.mark.parametrize(
    ("option", "file", "key"), [("dsl", "dsls", "dsl"), ("kind", "kinds", "kind"), ("dtype", None, "dtypes")]
)
def test_no_shipped_entry_is_shown_under_a_value_outside_its_scope(shipped, vocabulary, option, file, key):
    seen = set()
    for value in vocabulary.ids(file) if file else vocabulary.facet_values("dtype"):
        for card in cards(shipped):
            declared = [card["kind"]] if key == "kind" else card[key]
            scope = judge(shipped, card, **{option: value})
            outside = bool(declared) and value not in declared and "any" not in declared
            assert (scope.withheld is not None) is outside, (card["id"], value)
            assert not outside or scope.withheld.code == f"scope-{option}"
            seen.add(outside)
        result = shipped.search(limit=EVERYTHING, **{option: value})
        shown = {hit.id: hit for hit in result.hits}
        for card in cards(shipped):
            declared = [card["kind"]] if key == "kind" else card[key]
            assert card["id"] not in shown or not declared or {value, "any"} & {*declared}
    assert seen == {True, False}


def allowed(vocabulary, declared, target):
    """By the words of the plan: a SKU meets its own entries and its architecture's; an architecture its own and its SKUs'."""
    for name in vocabulary.expand_target(target):
        line = {name, vocabulary.architecture(name)}
        below = {t for t in vocabulary.ids("targets") if vocabulary.architecture(t) == name}
        if not declared or "any" in declared or (line | below) & {*declared}:
            return True
    return False


def test_no_shipped_entry_is_shown_for_a_target_outside_its_scope(shipped, vocabulary):
    for target in vocabulary.ids("targets"):
        shown = set(ids(shipped.search(target=target, limit=EVERYTHING)))
        for card in cards(shipped):
            scope = judge(shipped, card, target=target)
            assert (scope.withheld is None) is allowed(vocabulary, card["targets"], target), (card["id"], target)
            assert card["id"] not in shown or scope.withheld is None


def test_an_entrys_own_words_do_not_bring_it_past_a_filter(shipped, vocabulary):
    """Not even its id: the strongest hit there is."""
    withheld = 0
    for card in cards(shipped):
        for target in ("npu-1001", "npu-2201", "npu-3510", "910B3", "950PR"):
            result = shipped.search(f"{card['id']} {card['title']}", target=target, limit=MAX_LIMIT)
            if not allowed(vocabulary, card["targets"], target):
                withheld += 1
                assert card["id"] not in ids(result)
                assert {w.id: w.code for w in result.withheld}.get(card["id"]) == "scope-target"
    assert withheld > 10


# Toolchain: the shipped entries declare none, made-up ones do


@pytest.mark.parametrize(
    ("declared", "asked", "outcome"),
    [
        (">=8.0,<9.2", "8.2.RC1", "shown"),
        (">=8.0,<9.2", "8.0.RC1", "shown"),
        (">=8.0,<9.2", "9.2.RC1", "withheld"),
        (">=8.0,<9.2", "9.2.0", "withheld"),
        (">=8.0,<9.2", "7.0", "withheld"),
        (">=8.2.RC1", "8.2.RC1.alpha003", "withheld"),
        ("8.5.0", "8.5", "shown"),
        ("8.5.0", "8.5.1", "withheld"),
        ("any", "8.5.1", "shown"),
        ("unknown", "8.5.1", "unknown"),
        ("see the notes", "8.5.1", "unknown"),
        (None, "8.5.1", "unknown"),
    ],
)
def test_toolchain_versions(library, entry, declared, asked, outcome):
    toolchain = {} if declared is None else {"cann": declared}
    made = library(entry("a", toolchain=toolchain), entry("b", toolchain={"cann": "any"}))
    for facets in ({"cann": asked}, {"toolchain": {"cann": asked}}):
        found = {hit.id: hit for hit in made.search(**facets).hits}
        assert ("a" in found) is (outcome != "withheld")
        if outcome == "withheld":
            withheld = next(w for w in made.search("a", **facets).withheld if w.id == "a")
            assert withheld.code == "scope-cann" and asked in withheld.reason and declared in withheld.reason
        else:
            assert ("not-verified" in codes(found["a"])) is (outcome == "unknown")
    assert ("a" in ids(made.search(cann=asked, strict_scope=True))) is (outcome == "shown")


def test_another_component_of_the_toolchain_is_not_known(library, entry):
    made = library(entry("a", toolchain={"cann": ">=8.0"}))
    (hit,) = made.search(toolchain={"driver": "24.1"}).hits
    assert [n.text for n in hit.caveats if n.code == "not-verified"] == ["not verified for driver 24.1"]


# What is not known


UNKNOWN = {
    "dsl": ("dsl", "triton-ascend"),
    "targets": ("target", "910B3"),
    "dtypes": ("dtype", "float16"),
    "kind": ("kind", "tiling"),
}


@pytest.mark.parametrize("field", UNKNOWN)
@pytest.mark.parametrize("empty", [[], "unknown", ["unknown"]])
def test_unknown_passes_with_a_caveat_below_declared_and_not_under_strict_scope(library, entry, field, empty):
    option, value = UNKNOWN[field]
    nothing = "" if field == "kind" else empty
    made = library(
        entry("a-unknown", **{field: nothing}), entry("z-declared", **{field: value if field == "kind" else [value]})
    )
    result = made.search(**{option: value})
    assert ids(result) == ["z-declared", "a-unknown"]
    assert [n.text for n in result.hits[1].caveats if n.code == "not-verified"] == [f"not verified for {option} {value}"]
    assert "not-verified" not in codes(result.hits[0])
    assert ids(made.search(**{option: value}, strict_scope=True)) == ["z-declared"]
    withheld = made.search("a-unknown", **{option: value}, strict_scope=True).withheld
    assert ("a-unknown", "scope-unknown") in [(w.id, w.code) for w in withheld]


def test_any_is_a_declaration_and_not_the_unknown(library, entry):
    made = library(entry("a", dsl=["any"], targets=["any"], dtypes=["any"]))
    (hit,) = made.search(dsl="pypto", target="950PR", dtype="int8", strict_scope=True).hits
    assert "not-verified" not in codes(hit)


def test_without_a_filter_nothing_is_said_about_it(library, entry):
    (hit,) = library(entry("a", dsl=[], targets=[], dtypes=[])).search(operator="softmax").hits
    assert "not-verified" not in codes(hit)


def test_an_entry_must_admit_one_of_several_values_asked_for(library, entry):
    made = library(entry("a", dsl=["ascendc"]), entry("b", dsl=["pypto"]), entry("c", dsl=["tilelang-ascend"]))
    assert sorted(ids(made.search(dsl=["ascendc", "pypto"]))) == ["a", "b"]


# SKUs and architectures


@pytest.mark.parametrize(
    ("declared", "asked", "outcome"),
    [
        (["910B3"], "910B3", "shown"),
        (["910B3"], "910B1", "withheld"),
        (["910B3"], "npu-2201", "only"),
        (["910B3"], "910B", "only"),  # a product stands for its architecture
        (["910B3"], "npu-3510", "withheld"),
        (["npu-2201"], "910B3", "shown"),
        (["npu-2201"], "npu-2201", "shown"),
        (["npu-2201"], "950PR", "withheld"),
        (["npu-2201", "950PR"], "npu-3510", "only"),
        (["950PR"], "atlas 350", "shown"),
        (["950DT"], "atlas 350", "withheld"),
        (["any"], "310P3", "shown"),
    ],
)
def test_a_sku_means_that_sku_only(library, entry, declared, asked, outcome):
    made = library(entry("a", targets=declared), entry("b"))
    found = {hit.id: hit for hit in made.search(target=asked).hits}
    assert ("a" in found) is (outcome != "withheld")
    if outcome != "withheld":
        only = [n.text for n in found["a"].caveats if n.code == "only-sku"]
        skus = [d for d in declared if not d.startswith("npu")]
        assert only == ([f"only {', '.join(skus)}"] if outcome == "only" else [])


def test_hardware_in_evidence_does_not_widen_the_scope(library, entry):
    made = library(entry("a", targets=["npu-3510"], evidence=[{"id": "e", "type": "timed", "hardware": "910B3"}]))
    assert ids(made.search(target="910B3")) == []


# Tier and exclusion


def test_tier_is_a_minimum(library, entry):
    made = library(*(entry(n, title="copy rows") for n in "abc"), tiers={"b": "reviewed", "c": "measured"})
    assert ids(made.search(operator="softmax")) == ["c", "b", "a"]
    assert ids(made.search(operator="softmax", tier="reviewed")) == ["c", "b"]
    result = made.search("copy rows", tier="measured")
    assert ids(result) == ["c"] and {w.code for w in result.withheld} == {"tier"}


def test_excluded_entries_are_gone_and_not_even_named(library, entry):
    made = library(entry("a"), entry("b"))
    result = made.search(operator="softmax", exclude=["A", "nothing-of-the-kind"])
    assert ids(result) == ["b"] and result.withheld == ()


# avoid_when and applies_when

AVOID = {"text": "nothing is left to prefetch", "text_zh": "没有可预取的数据", "match": {"tiles-per-core": ["one"]}}
APPLIES = {"text": "several tiles", "text_zh": "多个 tile", "match": {"tiles-per-core": ["many"]}}
OPEN = {"text": "somebody says so", "text_zh": "", "match": {}}


def test_a_true_case_to_avoid_withholds_with_its_text(library, entry):
    made = library(entry("copy-a", avoid_when=[OPEN, AVOID]), entry("copy-b"))
    result = made.search("title of copy-a and copy-b", when={"tiles-per-core": "one"})
    assert ids(result) == ["copy-b"]
    assert [(w.id, w.code, w.reason) for w in result.withheld] == [("copy-a", "avoid-when", "nothing is left to prefetch")]
    zh = made.search("title of copy-a and copy-b", when={"tiles-per-core": "one"}, lang="zh")
    assert zh.withheld[0].reason == "没有可预取的数据"


def test_a_case_to_avoid_that_holds_for_one_of_several_values_is_only_a_caveat(library, entry):
    made = library(entry("a", dtypes=["float16", "float32"], avoid_when=[{"text": "wide", "match": {"dtype": ["float32"]}}]))
    assert [w.code for w in made.search(dtype="float32").withheld] == ["avoid-when"]
    assert codes(made.search(dtype=["float32", "float16"]).hits[0])[0] == "avoid-if"
    assert "avoid-if" not in codes(made.search(dtype="float16").hits[0])


def test_a_case_to_avoid_computed_from_the_request_withholds(library, entry):
    made = library(entry("a", avoid_when=[{"text": "aligned", "match": {"alignment": ["aligned-32b"]}}]))
    assert ids(made.search(dtype="float16", shapes=[(4, 16)])) == []
    assert ids(made.search(dtype="float16", shapes=[(4, 17)])) == ["a"]
    assert ids(made.search(shapes=[(4, 16)])) == ["a"]


def test_a_case_to_avoid_that_is_only_recognised_is_a_grave_caveat(library, entry):
    made = library(entry("a", title="small copies", avoid_when=[AVOID]), entry("b", title="small copies"))
    result = made.search("small copies with only one tile")
    assert ids(result) == ["b", "a"]  # it ranks below its twin
    assert codes(result.hits[1])[0] == "avoid-when" and "nothing is left to prefetch" in result.hits[1].caveats[0].text


def test_what_the_caller_says_goes_before_what_is_recognised(library, entry):
    made = library(entry("a", title="small copies", avoid_when=[AVOID]))
    (hit,) = made.search("small copies with only one tile", when={"tiles-per-core": "many"}).hits
    assert "avoid-when" not in codes(hit) and "avoid-if" not in codes(hit)


def test_an_open_case_to_avoid_is_a_caveat_and_a_false_one_is_nothing(library, entry):
    made = library(entry("a", avoid_when=[AVOID]))
    (hit,) = made.search(operator="softmax").hits
    assert [n.text for n in hit.caveats if n.code == "avoid-if"] == ["avoid if nothing is left to prefetch"]
    (hit,) = made.search(when={"tiles-per-core": "many"}).hits
    assert codes(hit) == ["founding"]


def test_conditions_met_come_first_and_say_so_in_a_pack(library, entry):
    made = library(entry("a", applies_when=[APPLIES]), entry("b"))
    result = made.search(when={"tiles-per-core": "many"}, explain=True)
    assert ids(result) == ["a", "b"] and result.hits[0].explain["conditions"] > 0
    assert "condition" not in codes(result.hits[0])
    assert made.pack(when={"tiles-per-core": "many"}, stage="evolve").items[0].why == "several tiles"


def test_conditions_not_met_rank_below_and_say_so(library, entry):
    made = library(entry("a", applies_when=[APPLIES]), entry("b"))
    result = made.search(when={"tiles-per-core": "one"}, operator="softmax")
    assert ids(result)[0] == "b"
    below = library(entry("a", operators=["softmax"], applies_when=[APPLIES])).search(
        when={"tiles-per-core": "one"}, operator="softmax", explain=True
    )
    assert codes(below.hits[0])[0] == "conditions-not-met" and below.hits[0].caveats[0].text == "conditions not met"
    assert below.hits[0].explain["conditions"] < 0


def test_one_open_condition_keeps_an_entry_from_being_not_met(library, entry):
    made = library(entry("a", applies_when=[APPLIES, OPEN]))
    (hit,) = made.search(when={"tiles-per-core": "one"}, operator="softmax").hits
    assert [n.text for n in hit.caveats if n.code == "condition"] == ["applies when somebody says so"]
    assert "conditions-not-met" not in codes(hit)


def test_open_conditions_ask_for_their_facets_at_most_five_the_most_decisive_first(library, entry):
    facets = ["alignment", "tail", "row-bytes", "tiles-per-core", "mix", "core-split"]
    values = {
        "alignment": "unaligned-32b",
        "tail": "present",
        "row-bytes": "below-32b",
        "mix": "cube-only",
        "core-split": "even",
    }
    cases = [{"text": f, "match": {f: [values.get(f, "many")]}} for f in facets]
    made = library(entry("a", applies_when=cases), entry("b", applies_when=cases[:3]), entry("c", applies_when=cases[2:3]))
    signals = made.search(operator="softmax").missing_signals
    assert signals == ("dsl", "row-bytes", "alignment", "tail", "core-split")
    assert "dsl" not in made.search(dsl="ascendc").missing_signals


def test_a_filter_alone_shows_all_that_pass_it_the_unknown_last(library, entry):
    """The tail is cut by what the text has in common with an entry; a request without text has no tail."""
    case = [{"text": "x", "match": {"tail": ["none"]}}]
    made = library(entry("a", dsl=[], applies_when=case), entry("b", dsl=[]), entry("c", operators=["softmax"]), stale=("b",))
    assert ids(made.search(cann="8.2.RC1", dsl="ascendc", operator="softmax", when={"tail": "present"})) == ["c", "b", "a"]
    assert ids(made.search(cann="8.2.RC1", toolchain={"driver": "24.1", "python": "3.11"})) == ["a", "c", "b"]
    pack = made.pack(cann="8.2.RC1", toolchain={"driver": "24.1", "python": "3.11"}, stage="evolve")
    assert [item.id for item in pack.items] and not pack.exhausted


def test_the_nearest_three_withheld_are_named_also_when_nothing_is_left(library, entry):
    made = library(*(entry(f"copy-{n}", title="copy rows of data", dsl=["pypto"]) for n in "abcde"))
    result = made.search("copy rows of data", dsl="ascendc")
    assert result.hits == () and [w.id for w in result.withheld] == ["copy-a", "copy-b", "copy-c"]
    assert result.withheld[0].reason == "written for dsl pypto, not ascendc"


def test_caveats_of_a_hit_are_all_in_the_result_gravest_first(library, entry):
    made = library(
        entry("a", dsl=[], targets=["910B3"], applies_when=[APPLIES], avoid_when=[OPEN], stale_after="2020-01-01"), stale=("a",)
    )
    (hit,) = made.search(dsl="ascendc", target="npu-2201").hits
    assert codes(hit) == ["review-due", "only-sku", "not-verified", "avoid-if", "condition", "founding"]
    assert hit.caveats[0].text == "past its review date 2020-01-01"
