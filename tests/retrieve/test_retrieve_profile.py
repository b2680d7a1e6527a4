"""From the values of a profile to its bottlenecks: columns, rules, order, traps, and the text for a terminal."""

import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.errors import BadArgument, BadFilter, BadProfile, CakeBookError, NoSuchPath
from cakebook.model.terms import Vocabulary
from cakebook.retrieve import profile_rows as rows
from cakebook.retrieve.profile import as_text, conclude, diagnose, judge
from cakebook.retrieve.profile_reading import Reading, is_pair, read_pairs


def codes(notes):
    return [note.code for note in notes]


def ask(vocabulary, *pairs, lang="en"):
    return diagnose(pairs, "", vocabulary, lang)


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("Task Duration(us)", "task_duration"),
        ("aiv_vec_ratio", "aiv_vec_ratio"),
        (" aiv_total_hit_rate(%) ", "aiv_total_hit_rate"),
        ("L1_to_GM_datas(KB)(estimate)", "l1_to_gm_datas"),
        ("aiv_time（us）", "aiv_time"),
        ("OP Type", "op_type"),
        ("Op Type", "op_type"),
        ("Accelerator Core", "task_type"),
        ("Duration(us)", "task_duration"),
        ("Block Num", "block_dim"),
        ("", ""),
    ],
)
def test_a_column_is_known_by_its_name_without_unit(column, name):
    assert rows.canonical(column) == name


KNOWN = """
Device_id|Model ID|Task ID|Stream ID|Op Name|OP Type|OP State|Task Type|Task Start Time(us)|Task Duration(us)|Task Wait Time(us)
Block Dim|Mix Block Dim|HF32 Eligible|Input Shapes|Input Data Types|Input Formats|Output Shapes|Output Data Types|Output Formats
Context ID|aicore_time(us)|aic_total_cycles|aic_mac_time(us)|aic_mac_ratio|aic_scalar_time(us)|aic_mte1_ratio|aic_fixpipe_ratio
aic_icache_miss_rate|aiv_time(us)|aiv_vec_time(us)|aiv_vec_ratio|aiv_mte3_ratio|cube_utilization(%)|Device Id|Pid|Current Freq
Rated Freq|block_id|sub_block_id|aic_cube_ratio|aiv_mte2_active_bw(GB/s)|aic_cube_fp16_ratio|aic_cube_total_instr_number
aiv_vec_fops|aiv_gm_to_ub_bw(GB/s)|aic_main_mem_read_bw(GB/s)|aic_mte1_instructions|read_main_memory_datas(KB)
L1_to_GM_bw_usage_rate(%)(estimate)|GM_to_UB_bw_usage_rate(%)|aic_l0c_write_bw_cube(GB/s)|aiv_ub_read_bw_vector(GB/s)
aic_r0_read_cache_hit|aiv_write_cache_miss_allocate|aiv_read_hit_rate(%)|aiv_vec_resc_cflt_ratio|aic_cube_wait_ratio
aiv_mte3_wait_ratio|aiv_scalar_stall_by_ub_time(us)|aiv_vec_simt_vf_ratio|Step Id|vec_ratio|mac_ratio|icache_miss_rate|memory_bound
"""


def test_the_columns_of_the_profilers_documents_are_known():
    columns = KNOWN.strip().replace("\n", "|").split("|")
    assert [c for c in columns if not rows.is_known(rows.canonical(c))] == []


@pytest.mark.parametrize("column", ["aiv_vecc_ratio", "Vec Utilisation", "my_ratio", "aix_vec_ratio", "ai*_mte2_ratio", "x"])
def test_a_column_with_a_slip_is_not_known(column):
    assert not rows.is_known(rows.canonical(column))


def test_every_column_of_the_vocabulary_can_be_measured_or_is_derived(vocabulary):
    listed = {rows.canonical(c) for term in vocabulary.files["bottlenecks"].values() for c in term.get("columns", ())}
    assert listed and [c for c in listed if not rows.is_metric(c)] == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5), (" 1717575960208020.758\t", 1717575960208020.758), ("1,234", 1234), ("12,345,678.9", 12345678.9),
        ("0", 0), ("1e-3", 0.001), ("1,23", None), ("0,5", None), ("-1", None), ("nan", None), ("inf", None), ("1_0", None),
        ("", None), ("N/A", None), ("1" * 400, None), ("1 2", None), ("x", None),
    ],
)  # fmt: skip
def test_numbers_of_cells(text, value):
    assert rows.number(text) == value


@pytest.mark.parametrize("text", ["N/A", "NA", "", " n/a ", "null", "-", "--", "nan"])
def test_words_for_nothing(text):
    assert rows.is_nothing(text) and not rows.is_nothing("0")


def test_a_row_in_percent_is_recognised_by_a_share_that_cannot_be_one():
    assert rows.as_fractions({"aiv_vec_ratio": 62.0, "aiv_scalar_ratio": 0.8, "aiv_time": 90.0}) == (
        {"aiv_vec_ratio": 0.62, "aiv_scalar_ratio": 0.008, "aiv_time": 90.0},
        True,
    )
    assert rows.as_fractions({"aiv_vec_ratio": 1.2, "aiv_total_hit_rate": 80.0})[1] is False


def test_cells_and_headers_may_carry_the_unit():
    header = rows.Header(["aiv_time(ms)", "Task Duration(ns)", "aiv_vec_ratio(%)", "aiv_mte2_ratio", "aiv_total_hit_rate(%)"])
    values, unreadable = header.values(["0.5", "1,000", "40", "62%", "62%"])
    assert unreadable == [] and values == {
        "aiv_time": 500.0, "task_duration": 1.0, "aiv_vec_ratio": 0.4, "aiv_mte2_ratio": 0.62, "aiv_total_hit_rate": 62.0,
    }  # fmt: skip


def test_zeros_of_a_core_type_that_took_no_part_are_no_measurements():
    vector = {"aic_time": 0.0, "aic_mac_ratio": 0.0, "aiv_time": 9.0, "aiv_vec_ratio": 0.2}
    assert rows.without_idle_cores(vector) == ({"aiv_time": 9.0, "aiv_vec_ratio": 0.2}, "")
    cube = {"aic_time": 2595.9, "aic_cube_ratio": 0.98, "aiv_time": 0.46, "aiv_scalar_ratio": 0.9}
    assert rows.without_idle_cores(cube) == ({"aic_time": 2595.9, "aic_cube_ratio": 0.98}, "aiv")
    assert rows.without_idle_cores({"aiv_vec_ratio": 0.0}) == ({"aiv_vec_ratio": 0.0}, "")


RULES = [
    ("mte2-bound", {"aiv_mte2_ratio": 0.51}, {"aiv_mte2_ratio": 0.49}),
    ("mte2-bound", {"aic_mte2_ratio": 0.61, "aic_mac_ratio": 0.49}, {"aic_mte2_ratio": 0.49, "aic_mac_ratio": 0.49}),
    ("vector-bound", {"aiv_vec_ratio": 0.51}, {"aiv_vec_ratio": 0.5}),
    ("cube-bound", {"aic_mac_ratio": 0.56}, {"aic_mac_ratio": 0.55}),
    ("scalar-bound", {"aiv_scalar_ratio": 0.31}, {"aiv_scalar_ratio": 0.3}),
    ("fixpipe-bound", {"aic_fixpipe_ratio": 0.06}, {"aic_fixpipe_ratio": 0.05}),
    ("icache-bound", {"aiv_icache_miss_rate": 0.16}, {"aiv_icache_miss_rate": 0.15}),
    ("bank-conflict", {"aiv_vec_total_cflt_ratio": 0.06}, {"aiv_vec_total_cflt_ratio": 0.05}),
    ("load-imbalance", {"core_time_spread": 0.11}, {"core_time_spread": 0.1}),
    ("launch-bound", {"head_overhead_ratio": 0.31}, {"head_overhead_ratio": 0.3}),
    ("sync-bound", {"mte2_vec_overlap_ratio": 0.04}, {"mte2_vec_overlap_ratio": 0.05}),
    ("l2-miss", {"aiv_total_hit_rate": 49.0}, {"aiv_total_hit_rate": 50.0}),
]


@pytest.mark.parametrize(("bottleneck", "above", "below"), RULES)
def test_each_threshold_of_the_shipped_rules(vocabulary, bottleneck, above, below):
    pairs = [f"{name}={value}" for name, value in above.items()]
    found = ask(vocabulary, *pairs)
    assert bottleneck in found.bottlenecks
    held = next(f for f in found.findings if f.bottleneck == bottleneck)
    assert held.holds and held.source.startswith("https://") and held.note and held.note_zh and set(held.values) <= set(above)
    assert bottleneck not in ask(vocabulary, *[f"{name}={value}" for name, value in below.items()]).bottlenecks


def test_rules_that_disagree_are_all_reported(vocabulary):
    found = ask(vocabulary, "aic_fixpipe_ratio=0.10")
    assert found.bottlenecks == ("fixpipe-bound",)
    assert [(f.rule, f.holds) for f in found.findings] == [
        ("aic_fixpipe_ratio > 0.05", True),
        ("aic_fixpipe_ratio > 0.15", False),
    ]
    text = "\n".join(as_text(found, "en", vocabulary))
    assert "sources disagree" in text and "heuristics" in text and "aic_fixpipe_ratio > 0.15" in text


def test_a_rule_that_misses_a_column_is_not_judged(vocabulary):
    findings, order = judge({"aiv_mte2_ratio": 0.7}, vocabulary)
    assert order == ("mte2-bound",) and [f.rule for f in findings] == ["aiv_mte2_ratio > 0.5"]


def test_imbalance_first_then_the_largest_share_then_rates(vocabulary):
    pairs = [
        "aiv_vec_ratio=0.55",
        "aiv_mte2_ratio=0.7",
        "aiv_scalar_ratio=0.35",
        "aiv_mte3_ratio=0.2",
        "aiv_icache_miss_rate=0.9",
    ]
    assert ask(vocabulary, *pairs, "core_time_spread=0.2").bottlenecks == (
        "load-imbalance", "mte2-bound", "vector-bound", "scalar-bound", "icache-bound",
    )  # fmt: skip


def test_a_rule_that_is_no_expression_is_passed_over():
    vocabulary = Vocabulary(
        {
            "bottlenecks": {
                "a": {"rules": [{"when": "x ** 2"}, {"when": "aiv_vec_ratio > 0.5"}]},
                "b": {"columns": ["MyColumn(us)"]},
            }
        }
    )
    found = ask(vocabulary, "aiv_vec_ratio=0.6", "mycolumn=3")
    assert found.bottlenecks == ("a",) and found.findings[0].source == "" and as_text(found, "zh")


def test_one_share_has_two_names_for_the_cube(vocabulary):
    op_summary = ask(
        vocabulary,
        "aic_mac_ratio=0.9",
        "aic_mte1_ratio=0.2",
        "aic_mte2_ratio=0.3",
        "aic_scalar_ratio=0.1",
        "aic_fixpipe_ratio=0.01",
    )
    assert (
        op_summary.bottlenecks == ("cube-bound",)
        and all(f.holds for f in op_summary.findings)
        and len(op_summary.findings) == 2
    )
    assert "profile-same-cube" in codes(op_summary.notes)
    assert ask(vocabulary, "aic_cube_ratio=0.56").bottlenecks == ("cube-bound",)
    assert "profile-same-cube" not in codes(ask(vocabulary, "aic_cube_ratio=0.5", "aic_mac_ratio=0.5").notes)


TRAPS = [
    ("profile-overlap", ["aiv_mte2_ratio=0.97", "aiv_mte3_ratio=0.33"], ["aiv_mte2_ratio=0.6", "aiv_mte3_ratio=0.33"]),
    ("profile-overlap", ["aic_mac_ratio=0.5", "aic_mte2_ratio=0.7"], ["aic_mac_ratio=0.4", "aic_cube_ratio=0.4", "aic_mte2_ratio=0.5"]),
    ("profile-frequency", ["current_freq=1650", "rated_freq=1800"], ["current_freq=1800", "rated_freq=1800"]),
    ("profile-mte2-waits", ["aic_mte2_ratio=0.4"], ["aiv_mte2_ratio=0.4"]),
    ("profile-cube-utilization", ["cube_utilization=88", "aic_mac_ratio=0.084"], ["cube_utilization=88", "aiv_vec_ratio=0.1"]),
    ("profile-simt", ["aiv_vec_simt_vf_ratio=0.2"], ["aiv_vec_simt_vf_ratio=0"]),
    ("profile-mix", ["aic_mac_ratio=0.3", "aiv_vec_ratio=0.3"], ["aic_mac_ratio=0.3"]),
    ("profile-outside", ["task_duration=100", "aiv_time=80"], ["task_duration=100", "aiv_time=95"]),
    ("profile-coupled", ["vec_ratio=0.7"], ["aiv_vec_ratio=0.7"]),
    ("profile-small-percent", ["aiv_total_hit_rate=0.32"], ["aiv_total_hit_rate=32"]),
]  # fmt: skip


@pytest.mark.parametrize(("code", "yes", "no"), TRAPS)
def test_traps_of_columns(vocabulary, code, yes, no):
    assert code in codes(ask(vocabulary, *yes).traps) and code not in codes(ask(vocabulary, *no).traps)


def test_without_a_rule_that_holds_the_largest_share_is_named(vocabulary):
    found = ask(vocabulary, "aiv_vec_ratio=0.2", "aiv_mte2_ratio=0.25")
    assert found.bottlenecks == found.findings == () and "aiv_mte2_ratio 0.25" in found.notes[0].text
    assert codes(ask(vocabulary, "task_duration=10").notes) == ["profile-undecided"]


def test_pairs_may_carry_units_percent_and_several_at_once():
    assert read_pairs(["aiv_mte2_ratio=62%,aiv_vec_ratio = 0.3", "Task Duration(ms)=1,234.5"]) == (
        {"aiv_mte2_ratio": 0.62, "aiv_vec_ratio": 0.3, "task_duration": 1234500.0},
        {"aiv_mte2_ratio": "aiv_mte2_ratio", "aiv_vec_ratio": "aiv_vec_ratio", "task_duration": "Task Duration(ms)"},
        False,
    )
    assert read_pairs(["aiv_mte2_ratio=62"]) == ({"aiv_mte2_ratio": 0.62}, {"aiv_mte2_ratio": "aiv_mte2_ratio"}, True)


@pytest.mark.parametrize(
    ("items", "error", "says"),
    [
        (["aiv_vec_ratio=much"], BadArgument, "aiv_vec_ratio=much"),
        (["aiv_vec_ratio="], BadArgument, "a number"),
        (["aiv_vec_ratio=-1"], BadArgument, "a number"),
        (["aiv_vec_ratio=250"], BadArgument, "a number"),
        (["aiv_vec_ratio=nan"], BadArgument, "a number"),
        (["=0.5"], BadArgument, "a number"),
        (["aiv_vec_ratio=0.5", "AIV_VEC_RATIO=0.6"], BadArgument, "given twice"),
        (["aiv_vec_rato=0.5"], BadFilter, "did you mean `aiv_vec_ratio`"),
        (["op_name=3"], BadFilter, "op_name"),
        (["nowhere/at/all"], NoSuchPath, "nowhere/at/all"),
        (["./a=b/PROF_1"], NoSuchPath, "PROF_1"),
        (["a\0b"], NoSuchPath, "a?b"),
        (["x" * 5000], NoSuchPath, "xxx"),
        ([""], NoSuchPath, "no profile at"),
        ([], BadProfile, "no profile was given"),
    ],
)
def test_what_is_neither_a_path_nor_a_pair_is_refused(vocabulary, items, error, says):
    with pytest.raises(error) as caught:
        diagnose(items, "", vocabulary, "en")
    assert says in str(caught.value) and caught.value.hint


def test_a_service_can_tell_pairs_from_paths():
    assert is_pair("aiv_mte2_active_bw(GB/s)=3") and is_pair("aiv_vec_ratio=0.5")
    assert not any(map(is_pair, ["/etc/x=1", "..", "a/b=c", "a\\b=c", "aiv_vec_ratio"]))


def test_an_operator_that_ran_on_no_core_is_said_to(vocabulary):
    read = Reading(
        ("x.csv",), op="Cast", core="AI_CPU", launches=1, remarks=(("profile-not-on-core", {"op": "Cast", "core": "AI_CPU"}),)
    )
    assert codes(conclude(read, vocabulary, "en").traps) == ["profile-not-on-core"]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_text_is_short_and_names_rule_threshold_source_and_traps(vocabulary, lang):
    found = ask(
        vocabulary, "aiv_mte2_ratio=0.973", "aiv_mte3_ratio=0.33", "aiv_vec_ratio=0.05", "aiv_scalar_ratio=0.011", lang=lang
    )
    lines = as_text(found, lang, vocabulary)
    text = "\n".join(lines)
    assert 6 <= len(lines) <= 20 and all(line.isprintable() for line in lines)
    assert "aiv_mte2_ratio > 0.5 (aiv_mte2_ratio 0.973)" in text and "csv_fields_reference.md" in text and "1.364" in text
    assert ("经验阈值" in text) is (lang == "zh") and "[mte2-bound]" in text


def test_many_bottlenecks_stay_readable(vocabulary):
    values = {name: value for _, above, _ in RULES for name, value in above.items()}
    found = ask(vocabulary, *[f"{name}={value}" for name, value in values.items()])
    lines = as_text(found, "en", vocabulary)
    assert set(found.bottlenecks) == {r[0] for r in RULES} and len(lines) <= 20
    assert any(line.startswith("Further: ") and found.bottlenecks[-1] in line for line in lines)


def test_a_diagnosis_is_json(vocabulary):
    found = ask(vocabulary, "aiv_mte2_ratio=0.7", "aiv_total_hit_rate=31")
    assert json.loads(json.dumps(asdict(found)))["bottlenecks"] == ["mte2-bound", "l2-miss"]
    assert found == ask(vocabulary, "aiv_mte2_ratio=0.7", "aiv_total_hit_rate=31")


NUMBERS = st.floats(0, 1) | st.sampled_from([0.0, 0.05, 0.3, 0.5, 1.0])
COLUMNS = st.sampled_from(
    "aiv_vec_ratio aiv_mte2_ratio aiv_mte3_ratio aiv_scalar_ratio aic_mac_ratio aic_cube_ratio aic_mte2_ratio aic_fixpipe_ratio"
    " core_time_spread aiv_icache_miss_rate aiv_total_hit_rate head_overhead_ratio aiv_vec_total_cflt_ratio vec_ratio".split()
)


@settings(deadline=None, max_examples=200)
@given(st.dictionaries(COLUMNS, NUMBERS, min_size=1), st.sampled_from(["en", "zh"]))
def test_order_is_that_of_the_shares_and_knowing_less_judges_less(vocabulary, values, lang):
    read = Reading(("given",), values=values)
    found = conclude(read, vocabulary, lang)
    assert list(dict.fromkeys(f.bottleneck for f in found.findings)) == list(found.bottlenecks)
    assert as_text(found, lang, vocabulary)
    pipes = [
        max(v for n, v in f.values.items() if n == next(iter(f.values)))
        for b in found.bottlenecks
        for f in found.findings
        if f.bottleneck == b and f.holds and rows.is_pipe_share(next(iter(f.values)))
    ][:1]
    held = {f.rule for f in found.findings if f.holds}
    gone = next(iter(values))
    fewer = conclude(replace(read, values={n: v for n, v in values.items() if n != gone}), vocabulary, lang)
    if gone not in ("aic_cube_ratio", "aic_mac_ratio"):  # one stands for the other
        assert {f.rule for f in fewer.findings if f.holds} <= held
    assert all(0 <= share <= 1 for share in pipes)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.text(max_size=30) | st.tuples(COLUMNS, st.text(max_size=8)).map("=".join), max_size=3), st.text(max_size=9))
def test_any_items_end_in_a_diagnosis_or_an_error_of_ours(vocabulary, items, op):
    try:
        found = diagnose([item for item in items if not item.startswith((".", "/"))], op, vocabulary, "en")
    except CakeBookError as error:
        assert str(error).isprintable()
    else:
        assert all(line.isprintable() for line in as_text(found, "en", vocabulary))
