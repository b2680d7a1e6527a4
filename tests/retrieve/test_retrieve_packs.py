"""Several packs of one request, the stages beside draft, evolve and debug, code, and the forms of the text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.index.receipts import Receipts
from cakebook.retrieve.code import names_in
from cakebook.retrieve.context import MIN_BUDGET
from cakebook.text import tokenizers, tokens

EVOLVE = {"operator": "layernorm", "dsl": "ascendc", "target": "950PR", "stage": "evolve", "bottleneck": "mte2-bound"}
CODE = """
// SetFlag stands in a comment only
pipe.InitBuffer(queue, 2, 1024);
DataCopyPad(x, xGm[i * 100], params, padding);
"""


def ids(pack):
    return [item.id for item in pack.items]


def of_role(pack, *roles):
    return [(i.id, i.level) for i in pack.items if i.role in roles]


# Several packs


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("budget", [500, 1500, 4000])
def test_packs_have_the_same_constraints_and_different_levers(shipped, n, budget):
    packs = shipped.contexts(n, budget_tokens=budget, **EVOLVE)
    assert len(packs) == n and len({p.pack_id for p in packs}) == n
    assert len({tuple(of_role(p, "constraint")) for p in packs}) == 1
    levers = [entry for p in packs for entry, _ in of_role(p, "lever", "skeleton")]
    assert len(levers) == len(set(levers)) and levers
    for number, pack in enumerate(packs, 1):
        assert pack.tokens == tokens.count(pack.text) <= budget and pack.request["pack"] == number
        assert pack.exhausted is not bool(of_role(pack, "lever", "skeleton"))


def test_each_pack_can_be_made_by_a_process_of_its_own(shipped):
    packs = shipped.contexts(4, budget_tokens=1200, **EVOLVE)
    for number in (3, 1, 4, 2):
        alone = shipped.context(pack=number, packs=4, budget_tokens=1200, **EVOLVE)
        assert alone == packs[number - 1]


def test_variants_of_one_idea_are_one_lever(library, entry):
    made = library(*(entry(f"v{i}", title="overlap copies", kind="pipelining", operators=["softmax"], variant_of="same") for i in "ab"),
                   entry("other", title="overlap copies", kind="tiling", operators=["softmax"]))  # fmt: skip
    packs = made.packs(2, operator="softmax", stage="evolve")
    together = [set(ids(p)) & {"va", "vb"} for p in packs]
    assert sorted(map(bool, together)) == [False, True]
    assert {"other"} in [set(ids(p)) - {"va", "vb"} for p in packs]


def test_packs_beyond_the_last_lever_say_that_they_are_exhausted(library, entry):
    made = library(
        entry("bound", kind="hardware", operators=["softmax"]),
        *(entry(f"l{i}", kind="tiling", operators=["softmax"]) for i in "ab"),
    )
    packs = made.packs(3, operator="softmax", stage="evolve")
    assert [p.exhausted for p in packs] == [False, False, True]
    assert ids(packs[2]) == ["bound"] and packs[2].text.endswith("No lever is left for this pack.\n")
    assert packs[2].tokens == tokens.count(packs[2].text)


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(2, 6), budget=st.integers(MIN_BUDGET, 3000), stage=st.sampled_from(["draft", "lower", "evolve", "debug", "review"]),
    operator=st.sampled_from(["layernorm", "matmul", "softmax", "attention"]), form=st.sampled_from(["markdown", "advisor", "strategies"]),
)  # fmt: skip
def test_no_request_for_several_packs_breaks_a_promise(shipped, n, budget, stage, operator, form):
    packs = shipped.contexts(n, budget_tokens=budget, stage=stage, operator=operator, format=form)
    dealt = [entry for p in packs for entry, _ in of_role(p, "lever", "skeleton")]
    assert len(dealt) == len(set(dealt))
    assert all(p.tokens == tokens.count(p.text) <= budget for p in packs)


# What was applied or tried


def test_applied_and_tried_take_ids_pack_ids_and_words(shipped):
    first = shipped.context(budget_tokens=2500, **EVOLVE)
    again = shipped.context(applied=[first.pack_id], budget_tokens=2500, **EVOLVE)
    assert again.unrecognised == () and not set(ids(first)) & set(ids(again)) and again.items
    named = shipped.context(
        applied=["double buffer"], tried=["ascendc-gm-burst-size", "my own trick"], budget_tokens=6000, **EVOLVE
    )
    assert not {"ascendc-double-buffer", "ascendc-gm-burst-size"} & set(ids(named))
    assert named.unrecognised == ("my own trick",)
    said = {w.id: w.code for w in named.withheld}
    assert said["ascendc-double-buffer"] == "applied" and said["ascendc-gm-burst-size"] == "tried"


def test_receipts_are_kept_and_the_oldest_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr("cakebook.index.receipts.KEPT", 3)
    receipts = Receipts(tmp_path / "deep" / "receipts.sqlite")
    names = [f"{n:016x}" for n in range(5)]
    assert receipts.entries(names[0]) == ()
    for name in names:
        receipts.remember(name, [name, "x"])
    assert [receipts.entries(n) for n in names] == [(), (), *((n, "x") for n in names[2:])]
    assert receipts.entries("../../etc/passwd") == receipts.entries("") == ()


def test_receipts_that_cannot_be_written_or_read_are_a_loss_and_no_error(tmp_path):
    (tmp_path / "file").write_text("no folder")
    Receipts(tmp_path / "file" / "receipts.sqlite").remember("0" * 16, ["a"])
    (tmp_path / "damaged.sqlite").write_bytes(b"not a database at all" * 99)
    damaged = Receipts(tmp_path / "damaged.sqlite")
    damaged.remember("0" * 16, ["a"])
    assert damaged.entries("0" * 16) == ()


# Code


def test_names_in_code_are_whole_chains_and_their_endings_without_comments():
    names = names_in(CODE)
    assert {"pipe.InitBuffer", "InitBuffer", "DataCopyPad", "xGm"} <= names and "SetFlag" not in names
    assert "tl.load" in names_in("import triton\nx = tl.load(p)  # tl.store(p)") and "tl.store" not in names_in(
        "import a\n# tl.store(p)"
    )
    assert names_in("def f():\n    n // tl.cdiv(a, b)") >= {"tl.cdiv"}
    assert names_in("AscendC::DataCopy(a)") >= {"AscendC::DataCopy", "DataCopy"}
    assert names_in("") == names_in("一段中文") == frozenset()


def test_a_review_is_about_the_apis_of_the_code(shipped):
    pack = shipped.context(code=CODE, budget_tokens=3000)
    assert (
        pack.request["stage"] == "review"
        and pack.request["code"].startswith("sha256:")
        and CODE not in json.dumps(pack.request)
    )
    assert "ascendc-datacopypad-units" in ids(pack)[:2]
    first = next(i for i in pack.items if i.id == "ascendc-datacopypad-units")
    assert "DataCopyPad" in first.why and "Pitfalls:" in first.text
    assert "DataCopyPad" in pack.text.splitlines()[1] and "SetFlag" not in pack.text.splitlines()[1]


def test_code_without_a_known_api_says_so(shipped):
    for code in ("program hello\n  print *, 'fortran'\nend program", "SELECT * FROM t", "\0\ud800" * 9):
        pack = shipped.context(code=code, budget_tokens=500)
        assert pack.items == () and pack.exhausted and pack.unrecognised == ("no API of this code is known here",)


@settings(deadline=None, max_examples=60)
@given(code=st.text(max_size=2000))
def test_any_text_can_be_given_as_code(shipped, code):
    if code.strip():
        assert shipped.context(code=code, target="910B3", budget_tokens=400).tokens <= 400


# Lowering and routing


@pytest.mark.parametrize(
    ("pass_", "first"), [("tiling", "tiling"), ("init", "pipelining"), ("process", "compute"), ("nonaligned", "memory")]
)
def test_a_lowering_pass_brings_what_it_is_about(shipped, pass_, first):
    pack = shipped.context(operator="layernorm", dsl="ascendc", stage="lower", pass_=pass_, budget_tokens=1800)
    kinds = [shipped.show(i.id).card["kind"] for i in pack.items]
    assert first in kinds and pack.request["pass"] == pass_
    assert "methodology" not in kinds[:3]


def test_a_route_names_the_dsls_with_entries(shipped):
    pack = shipped.context(stage="route", operator="matmul", target="910B3", budget_tokens=1500)
    assert pack.dsls and pack.dsls == tuple(sorted(pack.dsls, key=lambda d: (-d.entries, d.dsl)))
    assert pack.dsls[0].dsl in pack.text.splitlines()[1] and pack.dsls[0].best in pack.text.splitlines()[1]
    assert not of_role(pack, "lever")


@pytest.mark.parametrize(("mode", "stage"), [("generation", "draft"), ("evolution", "evolve"), ("lexical,evolution", "evolve")])
def test_a_generators_own_words_for_its_modes(shipped, mode, stage):
    assert shipped.context(operator="softmax", mode=mode).request["stage"] == stage
    assert shipped.context(operator="softmax", mode=mode, stage="debug").request["stage"] == "debug"


# Forms and tokenizers


def test_the_advisor_form_is_at_most_three_levers_in_one_fence(shipped):
    pack = shipped.context(format="advisor", budget_tokens=900, **EVOLVE)
    lines = pack.text.splitlines()
    assert 1 <= len(pack.items) <= 3 and {i.role for i in pack.items} <= {"lever", "skeleton"}
    marker = lines[1].removeprefix("<<<")
    assert lines[-1] == f"{marker}>>>" and pack.text.count(marker) == 2
    listed = [line for line in lines if line.startswith("- [")]
    assert [line.split("]")[0][3:] for line in listed] == ids(pack)
    assert all(len(i.text.splitlines()) <= 3 for i in pack.items)


def test_the_strategies_form_is_one_table(shipped):
    pack = shipped.context(format="strategies", budget_tokens=1500, **EVOLVE)
    rows = [line for line in pack.text.splitlines() if line.startswith("| [")]
    assert len(rows) == len(pack.items) and all(row.replace("\\|", "").count("|") == 5 for row in rows)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    """A tokenizer file of ours: words and signs, each a token."""
    made = pytest.importorskip("tokenizers")
    model = made.Tokenizer(made.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    model.pre_tokenizer = made.pre_tokenizers.Whitespace()
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    model.save(str(path))
    return path


@pytest.mark.parametrize("budget", [300, 900])
def test_a_tokenizer_file_counts_instead(shipped, tokenizer, budget):
    count = tokenizers.counter(str(tokenizer)).count
    pack = shipped.context(tokenizer=str(tokenizer), budget_tokens=budget, **EVOLVE)
    assert pack.tokens == count(pack.text) <= budget and pack.items
    assert pack.tokenizer.startswith("tokenizer.json@") and str(tokenizer) not in json.dumps(pack.request)
    assert len(pack.text) > len(shipped.context(budget_tokens=budget, **EVOLVE).text)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\xfe", b'{"model": 1}'])
def test_a_file_that_is_no_tokenizer_is_refused(shipped, tmp_path, content):
    pytest.importorskip("tokenizers")
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(Exception, match="CB-E201"):
        shipped.context(operator="softmax", tokenizer=str(tmp_path / "t.json"))


# Profiles


def test_a_profile_sets_the_bottleneck_and_is_told(shipped):
    pack = shipped.context(
        operator="layernorm", stage="evolve", profile=["aiv_mte2_ratio=0.82", "aiv_vec_ratio=0.2"], budget_tokens=1500
    )
    assert pack.diagnosis.bottlenecks[0] == "mte2-bound" and "mte2-bound" in pack.request["bottlenecks"]
    assert "aiv_mte2_ratio 0.82" in pack.text.splitlines()[1]
    found = shipped.search(profile="aiv_mte2_ratio=0.82")
    assert found.hits and found.diagnosis.bottlenecks[0] == "mte2-bound"
    plain = shipped.search(bottleneck="mte2-bound")
    assert [h.id for h in found.hits] == [h.id for h in plain.hits]


def test_a_file_with_thousands_of_names_is_asked_about_in_parts(shipped):
    code = "\n".join(f"name_{n}();" for n in range(5_000)) + "\nDataCopyPad(x);"
    assert "ascendc-datacopypad-units" in ids(shipped.context(code=code, budget_tokens=800))
