"""The order of answers, the sum behind each score, and how sure a text makes us."""

from dataclasses import asdict, replace

import pytest

from cakebook.index.ranking import ranking
from cakebook.model.query import Facets
from cakebook.retrieve.fuse import convex
from cakebook.retrieve.rank import Ranker
from cakebook.retrieve.understand import understand


def ids(result):
    return [hit.id for hit in result.hits]


@pytest.fixture(scope="module")
def copies(library, entry):
    return library(
        entry("a-prose", summary="DataCopyPad DataCopyPad DataCopyPad moves rows, DataCopyPad", title="About DataCopyPad rows"),
        entry("b-api", apis=["DataCopyPad"], title="Unrelated title"),
        entry("c-two", apis=["DataCopyPad", "SetFlag"], title="Another title"),
    )


def test_an_exact_name_goes_before_any_number_of_words(copies):
    assert ids(copies.search("DataCopyPad"))[:2] == ["b-api", "c-two"]
    assert ids(copies.search("DataCopyPad"))[2:] in ([], ["a-prose"])


def test_an_exact_name_goes_before_any_sum_of_other_terms(library, entry):
    fits = {"operators": ["softmax"], "bottlenecks": ["mte2-bound"], "stages": ["evolve"], "kind": "tiling"}
    made = library(
        entry("a-fits", title="rows of data moved slowly", symptoms=["DataCopyPad moves rows of data slowly"], **fits),
        entry("z-named", apis=["DataCopyPad"], dsl=[], targets=[], operators=[], stages=[]),
    )
    asked = {"operator": "softmax", "bottleneck": "mte2-bound", "stage": "evolve", "target": "910B3", "cann": "8.2"}
    result = made.search("rows of data moved slowly by DataCopyPad", **asked)
    assert ids(result) == ["z-named", "a-fits"] and result.hits[0].score < result.hits[1].score


def test_more_exact_names_go_first(copies):
    assert ids(copies.search("DataCopyPad SetFlag"))[:2] == ["c-two", "b-api"]


def test_an_exact_id_is_the_first_hit_for_every_shipped_entry(shipped):
    for entry_id in shipped._view().catalog.ids():
        assert ids(shipped.search(entry_id))[0] == entry_id
        assert ids(shipped.search(entry_id.upper()))[0] == entry_id


def test_every_api_and_code_of_a_shipped_entry_finds_it(shipped):
    catalog = shipped._view().catalog
    for row in catalog.rows():
        card = catalog.cards([row])[row]
        for name in (*card["apis"], *card["error_codes"]):
            result = shipped.search(name, limit=50)
            assert card["id"] in ids(result), (name, card["id"])
            carriers = [
                h for h in result.hits if name in (*card_of(catalog, h.id)["apis"], *card_of(catalog, h.id)["error_codes"])
            ]
            assert list(result.hits[: len(carriers)]) == carriers or result.understood.error_codes, name


def card_of(catalog, entry_id):
    row = catalog.row_of(entry_id)
    return catalog.cards([row])[row]


def test_a_recognised_bottleneck_finds_entries_that_use_other_words(library, entry):
    made = library(entry("declares", bottlenecks=["mte2-bound"], title="Merge small moves"), entry("other"))
    result = made.search("memory bound", explain=True)
    assert ids(result) == ["declares"]
    assert result.hits[0].explain == {"bottlenecks": ranking()["boosts"]["recognised"]["bottlenecks"], "exact_names": 0}


def test_what_is_set_weighs_more_than_what_is_recognised():
    boosts = ranking()["boosts"]
    assert all(boosts["set"][name] >= boosts["recognised"][name] for name in boosts["recognised"])


@pytest.mark.parametrize(
    ("facets", "term"),
    [({"operator": "softmax"}, "operators"), ({"stage": "evolve"}, "stages"), ({"bottleneck": "mte2-bound"}, "bottlenecks")],
)
def test_operator_stage_and_bottleneck_rank_and_never_withhold(library, entry, facets, term):
    key, value = next(iter(facets.items()))
    field = {"operator": "operators", "stage": "stages", "bottleneck": "bottlenecks"}[key]
    made = library(
        entry("a-other", **{field: ["zzz"]}), entry("b-unknown", **{field: []}), entry("c-any", **{field: ["any"]}),
        entry("d-same", **{field: [value]}),
    )  # fmt: skip
    result = made.search(explain=True, **facets)
    assert ids(result) == ["d-same", "c-any", "a-other", "b-unknown"] and result.withheld == ()
    explains = {h.id: h.explain for h in result.hits}
    assert explains["d-same"][term] > explains["c-any"][term] > 0 and term not in explains["a-other"]


def test_a_member_of_a_family_meets_entries_for_the_family_below_its_own(library, entry, vocabulary):
    member, family = vocabulary.operator_line("layernorm")[:2]
    made = library(entry("a", operators=["matmul"]), entry("b", operators=[family]), entry("c", operators=[member]))
    assert ids(made.search(operator=member)) == ["c", "b", "a"]
    assert ids(made.search(operator=family))[0] == "b"  # an entry for the member does not hold for the family


def test_ties_are_broken_by_id_whatever_the_order_of_the_files(library, entry):
    names = ["delta", "alpha", "charlie", "bravo"]
    for order in (names, names[::-1]):
        made = library(
            *(entry(n, title="copy rows", description="", summary="copy rows", body="## Summary\ncopy rows\n") for n in order)
        )
        assert ids(made.search(operator="softmax")) == sorted(names)
        assert ids(made.search("copy rows")) == sorted(names)


def test_the_unknown_ranks_below_the_declared_even_if_its_words_fit_a_little_better(library, entry):
    made = library(
        entry("a-unknown", dsl=[], title="copy rows fast"), entry("b-declared", dsl=["ascendc"], title="copy rows fast")
    )
    assert ids(made.search("copy rows fast", dsl="ascendc")) == ["b-declared", "a-unknown"]


def test_due_for_review_ranks_lower_and_a_higher_tier_higher(library, entry):
    twins = [entry(n, title="copy rows", body="## Summary\ncopy rows\n") for n in ("a", "b", "c")]
    made = library(*twins, stale=("a",), tiers={"c": "measured"})
    assert ids(made.search("copy rows")) == ["c", "b", "a"]


QUESTIONS = [
    ("DataCopyPad", {}),
    ("vector pipe idles waiting for MTE2", {"target": "910B3", "cann": "8.2.RC1"}),
    ("多核切分尾块怎么处理", {"dsl": "ascendc"}),
    ("LayerNorm fp16 only one tile", {"operator": "layernorm", "stage": "evolve"}),
    ("", {"bottleneck": "mte2-bound", "dtype": "float16", "shapes": [(4096, 8192)], "target": "950PR"}),
]


@pytest.mark.parametrize(("text", "facets"), QUESTIONS)
def test_the_terms_of_an_explanation_add_up_to_the_score(shipped, text, facets):
    result = shipped.search(text, explain=True, limit=20, **facets)
    assert result.hits
    for hit in result.hits:
        terms = {k: v for k, v in hit.explain.items() if k != "exact_names"}
        assert sum(terms.values()) == pytest.approx(hit.score, abs=1e-4 * len(terms))
        assert isinstance(hit.explain["exact_names"], int)
    scores = [(-h.explain["exact_names"], -h.score, h.id) for h in result.hits]
    assert scores == sorted(scores)
    plain = shipped.search(text, limit=20, **facets)
    assert [replace(h, explain=None) for h in result.hits] == list(plain.hits)


@pytest.mark.parametrize(("text", "facets"), QUESTIONS)
def test_a_smaller_limit_is_a_prefix(shipped, text, facets):
    every = ids(shipped.search(text, limit=50, **facets))
    for limit in (1, 2, 5):
        assert ids(shipped.search(text, limit=limit, **facets)) == every[:limit]


@pytest.mark.parametrize(("text", "facets"), QUESTIONS)
def test_equal_questions_get_equal_answers(shipped, text, facets):
    first, second = (asdict(shipped.search(text, explain=True, **facets)) for _ in range(2))
    del first["took_ms"], second["took_ms"]
    assert first == second


def test_fusion_divides_each_channel_by_its_best_and_weighs_it():
    fused = convex({"a": {1: 4.0, 2: 1.0}, "b": {2: 0.5}, "c": {3: 0.0}, "d": {}}, {"a": 1.0, "b": 0.5, "c": 9.0})
    assert fused == {1: {"a": 1.0}, 2: {"a": 0.25, "b": 0.5}}
    assert convex({"x": {1: 2.0}}, {}) == {1: {"x": 0.0}}


def test_filters_that_leave_little_make_the_lexical_channel_look_further(library, entry):
    many = [entry(f"copy-{n:03}", title="copy rows", dsl=["pypto"]) for n in range(150)]
    made = library(*many, entry("zz-last", title="copy", dsl=["ascendc"]))
    assert ids(made.search("copy rows", dsl="ascendc")) == ["zz-last"]


# Labels


def test_labels_are_in_the_language_of_the_question_and_fall_back_to_the_other(library, entry):
    made = library(
        entry("a", title="Copy rows", title_zh="搬运多行", description="Copies.", description_zh="搬运。"),
        entry("b", title="Copy rows", title_zh="", description="", description_zh="搬运。"),
    )
    by_id = {h.id: h for h in made.search("copy rows 搬运").hits}
    assert (by_id["a"].title, by_id["a"].description, by_id["b"].title) == ("搬运多行", "搬运。", "Copy rows")
    by_id = {h.id: h for h in made.search("copy rows 搬运", lang="en").hits}
    assert (by_id["a"].title, by_id["b"].description) == ("Copy rows", "搬运。")


def test_a_snippet_is_the_sentence_that_matched_most(library, entry):
    long = "The matmul overheats the cube " + "very " * 60 + "much."
    body = f"## Summary\nNothing here.\n\n## Pitfalls\nOne. A bank conflict slows the copy. Two.\n\n## Why\n{long}\n"
    made = library(entry("a", body=body))
    (hit,) = made.search("bank conflict slows the copy").hits
    assert (hit.section, hit.snippet) == ("Pitfalls", "A bank conflict slows the copy.")
    (hit,) = made.search("matmul overheats the cube").hits
    assert hit.section == "Why" and hit.snippet.startswith("The matmul overheats") and hit.snippet.endswith(" …")
    assert len(hit.snippet) < len(long)
    (hit,) = made.search(operator="softmax").hits
    assert (hit.section, hit.snippet) == ("", "")


# Confidence

OFF_TOPIC = """
how do I bake bread|what is the capital of France|best pizza in Naples|how to train my dog|who won the world cup in 2018
recipe for chocolate cake|how to knit a scarf|weather in Berlin tomorrow|cheap flights to Tokyo|how to learn guitar chords
javascript array sort|css flexbox centering|kubernetes pod restart|how to write a wedding speech|mortgage interest rates
why is the sky blue|symptoms of the flu|how do magnets work|football transfer news|history of the Roman empire
怎么做红烧肉|今天天气怎么样|北京有什么好玩的|如何学习弹吉他|世界杯冠军是谁|怎样减肥最快|推荐一部电影|感冒了吃什么药|机票多少钱
房贷利率是多少|怎么养猫|苹果手机怎么截图|孩子发烧怎么办|今晚吃什么|如何写简历|长城有多长|最近的地铁站在哪里
"""


@pytest.mark.parametrize("text", [t for t in OFF_TOPIC.replace("\n", "|").split("|") if t])
def test_off_topic_questions_get_no_answer(shipped, text):
    result = shipped.search(text)
    assert result.hits == () and result.withheld == ()
    assert result.confidence < ranking()["confidence"]["lexical"]["threshold"]
    pack = shipped.context(task=text)
    assert pack.items == () and pack.exhausted and ("No reviewed entry" in pack.text or "没有" in pack.text)


ON_TOPIC = [
    "vector pipe idles waiting for MTE2", "output is all zeros", "how many rows should one tile hold", "UB 不够用了怎么办",
    "多核切分", "double buffer", "双缓冲没效果", "grid should be less than 65536", "which pipe is the bottleneck",
    "fp16 sum is inaccurate", "bank conflict", "尾块", "matmul base block",
]  # fmt: skip


@pytest.mark.parametrize("text", ON_TOPIC)
def test_questions_of_the_field_are_answered(shipped, text):
    result = shipped.search(text)
    assert result.hits and result.confidence >= ranking()["confidence"]["lexical"]["threshold"]


def test_an_exact_hit_is_never_suppressed(library, entry):
    made = library(entry("a", apis=["FluxCapacitor"]), entry("b", title="bread"))
    text = "please tell me a long story about grandmothers baking bread, dragons and FluxCapacitor in the old days of yore"
    assert "a" in ids(made.search(text))


def test_facets_alone_are_never_suppressed_and_confidence_is_full(shipped):
    assert shipped.search(operator="softmax").confidence == 1.0


def test_confidence_falls_with_every_word_that_the_best_entry_does_not_have(library, entry):
    made = library(entry("a", title="copy rows from GM to UB"), entry("b", title="other things", body="## Summary\nNothing.\n"))
    found = [made.search("copy rows from GM to UB" + " penguin" * bool(n) + " zoo" * (n > 1)).confidence for n in range(3)]
    assert 1 > found[0] > found[1] > found[2] > 0
    ranker = Ranker(made.view, Facets(), understand("copy rows", made.view.catalog))
    assert [ranker.share(made.view.catalog.row_of(i)) for i in "ab"] == pytest.approx([1.0, 0.0])
    assert ranker.confidence(None) == 0.0


def test_an_empty_library_answers_nothing(library):
    made = library()
    assert made.search("copy rows").hits == () and made.search(operator="softmax").hits == ()
    assert made.pack(operator="softmax").items == ()
