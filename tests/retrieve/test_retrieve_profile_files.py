"""Profiles on disk: layouts, selection of operator, launch and block, and everything that can be wrong with a CSV."""

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cakebook.errors import BadProfile, CakeBookError, NoSuchKernel
from cakebook.model.profile import RowUsed
from cakebook.retrieve import profile_files, profile_reading, profile_rows, profile_sheet
from cakebook.retrieve.profile import as_text, diagnose
from cakebook.retrieve.profile_reading import read_profile

SUMMARY = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
    "Task Wait Time(us),Block Dim,Mix Block Dim,Input Shapes,aicore_time(us),aic_total_cycles,aic_mac_ratio,aic_scalar_ratio,"
    "aic_mte1_ratio,aic_mte2_ratio,aic_fixpipe_ratio,aic_icache_miss_rate,aiv_time(us),aiv_total_cycles,aiv_vec_ratio,"
    "aiv_scalar_ratio,aiv_mte2_ratio,aiv_mte3_ratio,aiv_icache_miss_rate,cube_utilization(%)"
)
BASIC = "Op Name,Op Type,Task Duration(us),Block Dim,Mix Block Dim,Device Id,Pid,Current Freq,Rated Freq"
PIPE = (
    "block_id,sub_block_id,aic_time(us),aic_total_cycles,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,"
    "aic_cube_ratio,aic_mte2_ratio,aiv_scalar_ratio,aiv_mte2_ratio,aiv_mte3_ratio,aiv_icache_miss_rate"
)
L2 = "block_id,sub_block_id,aic_total_hit_rate(%),aiv_write_hit_rate(%),aiv_read_hit_rate(%),aiv_total_hit_rate(%)"


def vector(name, duration, mte2=0.7, kind="Add", core="AI_VECTOR_CORE", shapes='"8,2048;8,2048"'):
    return (
        f"0,4294967295,7,2,{name},{kind},dynamic,{core},1717575960208020.758\t,{duration},0.5,48,N/A,{shapes},"
        f"0,0,0,0,0,0,0,0,9.8,17640,0.05,0.01,{mte2},0.2,0.002,N/A"
    )


def cube(name, duration, mac=0.9):
    return (
        f"0,4294967295,8,2,{name},MatMulV3,static,AI_CORE,1717575960208090.1\t,{duration},1,24,N/A,,"
        f"140.1,5043798,{mac},0.05,0.3,0.59,0.03,0.006,0,0,0,0,0,0,0,92.785"
    )


def block(i, time, mte2=0.7, vec=0.05):
    return f"{i},vector0,NA,NA,{time},{int(time * 1800)},1.5,{vec},NA,NA,0.01,{mte2},0.2,0.002"


def cube_block(i, time, ratio=0.98):
    return f"{i},cube0,{time},{int(time * 1650)},NA,NA,NA,NA,{ratio},0.4,NA,NA,NA,NA"


@pytest.fixture
def write(tmp_path):
    def make(name, *lines, head="", encoding="utf-8", end="\n"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((end.join((head, *lines) if head else lines) + end).encode(encoding))
        return path

    return make


@pytest.fixture
def ask(vocabulary):
    def call(*given, op="", lang="en"):
        return diagnose([str(item) for item in given], op, vocabulary, lang)

    return call


def codes(notes):
    return [note.code for note in notes]


def test_a_msprof_folder(write, ask, tmp_path):
    write(
        "PROF_000001_20240510173459123_ABC/mindstudio_profiler_output/op_summary_20240510173500123.csv",
        vector("add", 10, 0.6), vector("add", 12.5, 0.7), cube("mm", 140), vector("add", 11, 0.8), head=SUMMARY,
    )  # fmt: skip
    found = ask(tmp_path, op="add")
    name = "PROF_000001_20240510173459123_ABC/mindstudio_profiler_output/op_summary_20240510173500123.csv"
    assert found.source == (name,) and (found.op, found.core, found.launches) == ("add", "AI_VECTOR_CORE", 3)
    assert found.rows_used == (RowUsed(name, 5, 3),)
    assert found.values["task_duration"] == 11 and found.values["aiv_mte2_ratio"] == 0.8 and found.values["block_dim"] == 48
    assert not [n for n in found.values if n.startswith("aic_")]
    assert found.bottlenecks == ("mte2-bound",) and "profile-one-row" in codes(found.traps)
    assert "profile-varies" in codes(found.traps) and found.unknown_columns == ()


def test_the_operator_that_took_most_time_is_taken_and_the_others_are_named(write, ask):
    path = write(
        "op_summary.csv", vector("add", 30), vector("add", 40), cube("mm", 60), vector("Cast", 900, core="AI_CPU"), head=SUMMARY
    )
    found = ask(path)
    assert found.op == "add" and found.launches == 2 and found.values["task_duration"] == 30
    said = {n.code: n.text for n in found.notes}
    assert "add (2 x, 70.0 us)" in said["profile-op-longest"] and "mm (1 x, 60.0 us)" in said["profile-op-longest"]
    assert "900.0" in said["profile-off-core"] and "1 launches" in said["profile-off-core"]
    by_type = ask(path, op="matmulv3")
    assert by_type.op == "mm" and by_type.core == "AI_CORE" and by_type.bottlenecks[0] == "cube-bound"
    assert by_type.values["aic_time"] == 140.1 and "profile-cube-utilization" in codes(by_type.traps)


def test_an_operator_on_the_ai_cpu_has_no_pipes(write, ask):
    path = write("op_summary.csv", vector("add", 30), vector("Cast", 900, core="AI_CPU"), head=SUMMARY)
    assert "profile-not-on-core" in codes(ask(path, op="Cast").traps)
    alone = write("only.csv", vector("Cast", 900, core="AI CPU"), head=SUMMARY)
    assert "profile-not-on-core" in codes(ask(alone).traps)


@pytest.mark.parametrize(
    ("op", "expected"),
    [("Mul", "Mul"), ("mul", "Mul"), ("mul_", "Mul_1"), ("RealDiv", "Div_9"), ("realdiv", "Div_9"), ("aldi", "Div_9")],
)
def test_names_are_tried_from_exact_to_a_part(write, ask, op, expected):
    path = write("x.csv", vector("Mul", 5), vector("Mul_1", 9), vector("Div_9", 7, kind="RealDiv"), head=SUMMARY)
    assert ask(path, op=op).op == expected


def test_an_operator_that_is_not_there_lists_what_is(write, ask):
    path = write("x.csv", vector("add_custom", 5), vector("add_custom", 5), vector("mul_custom", 7), head=SUMMARY)
    with pytest.raises(NoSuchKernel) as caught:
        ask(path, op="add_custon")
    assert "did you mean `add_custom`?" in caught.value.hint and "mul_custom (1 x, 7.0 us)" in caught.value.hint
    assert caught.value.details["ops"][0] == {"name": "add_custom", "launches": 2, "total_us": 10.0}


def test_the_median_is_a_launch_and_launches_without_a_duration_are_not_it(write, ask):
    path = write(
        "x.csv",
        vector("a", "N/A"),
        vector("a", 4),
        vector("a", "9,000.5"),
        vector("a", ""),
        vector("a", 6),
        vector("a", 8),
        head=SUMMARY,
    )
    assert ask(path).values["task_duration"] == 6 and ask(path).launches == 5
    quoted = write("y.csv", *[vector("a", t) for t in ('"9,000.5"', 4, 6, "N/A", 8)], head=SUMMARY)
    assert ask(quoted).values["task_duration"] == 6 and ask(quoted).launches == 5
    none = write("z.csv", vector("a", "N/A"), vector("a", "N/A"), head=SUMMARY)
    assert ask(none).bottlenecks == ("mte2-bound",)


def test_launches_of_several_shapes_are_said_to_be(write, ask):
    path = write("x.csv", vector("a", 4), vector("a", 4, shapes='"1,1"'), head=SUMMARY)
    assert "profile-shapes" in codes(ask(path).traps) and "profile-varies" not in codes(ask(path).traps)


def test_a_msprof_op_folder_takes_the_slowest_block(write, ask, tmp_path):
    run = "OPPROF_20240510173459_ABCDEF"
    write(f"{run}/OpBasicInfo.csv", "add_custom,vector,264.02,48,N/A,0,4711,1650,1800", head=BASIC)
    write(f"{run}/PipeUtilization.csv", block(0, 200, 0.4), block(1, 250, 0.97), block(2, 240, 0.5), head="\ufeff" + PIPE)
    write(f"{run}/L2Cache.csv", "0,vector0,NA,1,1,90", "1,vector0,NA,1,1,31.5", "2,vector0,NA,1,1,80", head=L2)
    write(
        f"{run}/ArithmeticUtilization.csv",
        "1,vector0,249,0.5,0.04",
        head="block_id,sub_block_id,aiv_time(us),aiv_vec_ratio,aiv_vec_fp16_ratio",
    )
    write(f"{run}/dump/OpBasicInfo.csv", "raw,vector,999,48,N/A,0,4711,1650,1800", head=BASIC)
    found = ask(tmp_path / run)
    assert found.op == "add_custom" and found.core == "vector" and found.launches == 1
    assert found.rows_used == (
        RowUsed("OpBasicInfo.csv", 2, 1),
        RowUsed("PipeUtilization.csv", 3, 3, "aiv", "1 vector0"),
        RowUsed("ArithmeticUtilization.csv", 2, 1, "aiv", "1 vector0"),
        RowUsed("L2Cache.csv", 3, 3, "aiv", "1 vector0"),
    )
    assert found.values["aiv_vec_ratio"] == 0.05 and found.values["aiv_vec_fp16_ratio"] == 0.04
    assert "profile-assumed" not in codes(found.notes)
    assert found.values["core_time_spread"] == 0.2 and found.values["aiv_total_hit_rate"] == 31.5
    assert found.bottlenecks == ("load-imbalance", "mte2-bound", "l2-miss")
    assert {"profile-frequency", "profile-overlap"} <= set(codes(found.traps))
    text = "\n".join(as_text(found, "en"))
    assert (
        "PipeUtilization.csv line 3, block 1 vector0, slowest of 3 aiv blocks" in text
        and "also ArithmeticUtilization.csv, L2Cache.csv" in text
    )


def test_launches_of_msprof_op_stand_in_folders_of_their_own(write, ask, tmp_path):
    for i, (time, mte2) in enumerate([(30, 0.1), (10, 0.2), (20, 0.8)]):
        at = f"OPPROF_20240510173459_A/add_custom/{i}"
        write(f"{at}/OpBasicInfo_2024051017350{i}123.csv", f"add_custom,vector,{time},2,N/A,0,1,1800,1800", head=BASIC)
        write(f"{at}/PipeUtilization_2024051017350{i}123.csv", block(0, time), block(1, time, mte2), head=PIPE)
    found = ask(tmp_path)
    assert found.launches == 3 and found.values["task_duration"] == 20
    assert [row.file.split("/")[2] for row in found.rows_used] == ["2", "2"]
    assert found.rows_used[1].line == 2 and found.values["core_time_spread"] == 0


def test_blocks_without_basic_information_get_their_name_from_the_folder(write, ask, tmp_path):
    write("OPPROF_20240510173459_A/mm_mix_aic/0/PipeUtilization_1.csv", cube_block(0, 9), head=PIPE)
    assert ask(tmp_path).op == "mm_mix_aic" and ask(tmp_path, op="mm").bottlenecks == ("cube-bound",)
    path = write("elsewhere/PipeUtilization.csv", block(0, 9), head=PIPE)
    found = ask(path, op="add")
    assert found.op == "add" and "profile-no-names" in codes(found.notes) and ask(path).op == ""


def test_mixed_rows_are_judged_for_each_core_type(write, ask):
    path = write("Pipe.csv", cube_block(0, 90), cube_block(1, 100), block(0, 95, 0.2), block(1, 60, 0.9), head=PIPE)
    found = ask(path)
    assert {(r.core, r.block, r.of) for r in found.rows_used} == {("aic", "1 cube0", 2), ("aiv", "0 vector0", 2)}
    assert found.values["aiv_mte2_ratio"] == 0.2 and found.values["aic_cube_ratio"] == 0.98
    assert found.values["core_time_spread"] == round(35 / 95, 6) and "profile-mix" in codes(found.traps)


def test_a_core_type_that_only_waited_is_left_out(write, ask):
    path = write("Pipe.csv", cube_block(0, 2595.9), cube_block(1, 2590), block(0, 0.46, 0.9), block(1, 0.1, 0.9), head=PIPE)
    found = ask(path)
    assert "profile-waiting" in codes(found.notes) and not [n for n in found.values if n.startswith("aiv_")]
    assert found.values["core_time_spread"] < 0.01 and "load-imbalance" not in found.bottlenecks


def test_files_that_are_named_together_are_one_capture(write, ask):
    basic = write("a/OpBasicInfo.csv", "add_custom,vector,264.02,48,N/A,0,4711,1650,1800", head=BASIC)
    pipe = write("b/renamed.csv", block(0, 200), head=PIPE)
    found = ask(basic, pipe, "head_overhead_ratio=0.4")
    assert found.bottlenecks == ("launch-bound", "mte2-bound") and found.values["block_dim"] == 48
    assert found.source == ("OpBasicInfo.csv", "renamed.csv", "head_overhead_ratio=0.4")
    both = write("c/op_summary.csv", vector("a", 1), vector("b", 2), head=SUMMARY)
    assumed = ask(both, pipe)
    assert "profile-assumed" in codes(assumed.notes) and (assumed.op, assumed.values["aiv_time"]) == ("b", 200)
    assert "core_time_spread" not in assumed.values  # one block has none


def test_a_row_with_both_core_types_speaks_for_each_where_it_is_slowest(write, ask):
    head = "block_id,aic_time(us),aic_mte2_ratio,aiv_time(us),aiv_vec_ratio"
    found = ask(write("x.csv", "0,100,0.1,50,0.2", "1,60,0.3,90,0.4", head=head))
    assert (found.values["aic_mte2_ratio"], found.values["aiv_vec_ratio"]) == (0.1, 0.4)
    assert ask(write("y.csv", "0,60,0.3,90,0.4", "1,100,0.1,50,0.2", head=head)).values == found.values


def test_a_pair_wins_over_the_file(write, ask):
    path = write("x.csv", vector("a", 10, 0.7), head=SUMMARY)
    assert ask(path, "aiv_mte2_ratio=0.1").values["aiv_mte2_ratio"] == 0.1
    blocks = write("y.csv", block(0, 10), block(1, 20), head=PIPE)
    assert ask(blocks).values["core_time_spread"] == 0.5
    assert ask(blocks, "core_time_spread=0.01").values["core_time_spread"] == 0.01


def test_the_table_of_the_torch_profiler(write, ask, tmp_path):
    head = "Step Id,Device_id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Num,aiv_time(us),aiv_vec_ratio"
    run = "host_1_20240510173459123_ascend_pt"
    write(f"{run}/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "1,0,softmax,Softmax,AI_VECTOR_CORE,1,20,0,40,18,0.7", head=head)
    found = ask(tmp_path)
    assert (found.op, found.core, found.values["block_dim"]) == (
        "softmax",
        "AI_VECTOR_CORE",
        40,
    ) and found.unknown_columns == ()
    assert found.bottlenecks == ("vector-bound",)
    write(
        f"{run}/PROF_000001_20240510173459123_A/mindstudio_profiler_output/op_summary_1.csv", vector("other", 9), head=SUMMARY
    )
    assert ask(tmp_path).op == "other" and "profile-export" in codes(ask(tmp_path).notes)


def test_of_several_runs_the_newest_is_read(write, ask, tmp_path):
    for time, name in (("2_20240510173459", "old"), ("1_20250101000000", "new"), ("3_20231231000000", "older")):
        write(f"runs/OPPROF_{time}_X/OpBasicInfo.csv", f"{name},vector,5,1,N/A,0,1,1800,1800", head=BASIC)
    found = ask(tmp_path)
    assert found.op == "new" and "OPPROF_1_20250101000000_X" in next(n.text for n in found.notes if n.code == "profile-newest")
    for i, name in enumerate(("PROF_b", "PROF_a")):
        path = write(f"plain/{name}/op_summary_1.csv", vector(name, 5), head=SUMMARY)
        os.utime(path.parent, (i, i))
    assert ask(tmp_path / "plain").op == "PROF_a"


def test_of_several_exports_the_newest_with_all_its_slices_is_read(write, ask, tmp_path):
    for name, op in (("20240101000000001", "old"), ("slice_0_20240202000000001", "a"), ("slice_1_20240202000000001", "a")):
        write(f"PROF_1/mindstudio_profiler_output/op_summary_{name}.csv", vector(op, 5), head=SUMMARY)
    found = ask(tmp_path)
    assert found.op == "a" and found.launches == 2 and "profile-export" in codes(found.notes) and len(found.source) == 2


WRONG = [
    ("empty.csv", b"", "is empty"),
    ("blank.csv", b"\n\r\n \n", "has no column"),
    ("header.csv", SUMMARY.encode(), "no row"),
    ("pipe.csv", PIPE.encode() + b"\n", "is empty|no row|no value"),
    ("other.csv", b"name,age\nx,3\n", "has no column of the profiler"),
    ("utf16.csv", SUMMARY.encode("utf-16"), "not a text"),
    ("binary.csv", bytes(range(256)) * 20, "no column|not a text|is empty"),
    ("zeros.csv", b"\0" * 5000, "not a text"),
    ("line.csv", b"a" * (profile_sheet.MAX_LINE + 5), "does not end"),
    ("ragged.csv", SUMMARY.encode() + b"\n1,2,3\n4,5\n", "no row"),
    ("quote.csv", b'"' + b"x," * 99, "no column"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "says"), WRONG)
def test_a_file_that_is_no_table_is_refused(tmp_path, ask, name, data, says):
    path = tmp_path / name
    path.write_bytes(data)
    if name == "pipe.csv":
        found = ask(path)
        assert "profile-undecided" in codes(found.notes) and "profile-skipped" in codes(found.notes)
        return
    with pytest.raises(BadProfile, match=says) as caught:
        ask(path)
    assert name in caught.value.message and caught.value.hint


def test_a_folder_without_a_table_says_how_to_get_one(tmp_path, ask, write):
    with pytest.raises(BadProfile, match="holds no CSV") as caught:
        ask(tmp_path)
    assert "msprof --export=on" in caught.value.hint
    write("OPPROF_1/simulator/core0.veccore0/core0.veccore0_code_exe.csv", "x")
    with pytest.raises(BadProfile, match="simulator run"):
        ask(tmp_path)
    write("OPPROF_1/PipeUtilization.csv", "x,y")
    write("OPPROF_1/OpBasicInfo.csv", "")
    with pytest.raises(BadProfile, match="no table of the profiler"):
        ask(tmp_path)


def test_one_bad_table_of_a_folder_does_not_hide_the_others(tmp_path, ask, write):
    write("OPPROF_1/PipeUtilization.csv", block(0, 9), head=PIPE)
    write("OPPROF_1/L2Cache.csv", "")
    write("OPPROF_1/Memory.csv", "0,vector0,NA", head="block_id,sub_block_id,aiv_mte2_instructions")
    found = ask(tmp_path)
    assert found.bottlenecks == ("mte2-bound",) and codes(found.notes).count("profile-skipped") == 2


def test_what_is_not_a_regular_file_is_not_opened(tmp_path, ask):
    os.mkfifo(tmp_path / "op_summary_1.csv")
    with pytest.raises(BadProfile, match="not a regular file"):
        ask(tmp_path / "op_summary_1.csv")
    with pytest.raises(BadProfile, match="holds no CSV"):
        ask(tmp_path)


def test_a_file_that_may_not_be_read(write, ask, monkeypatch):
    path = write("x.csv", vector("a", 1), head=SUMMARY)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(BadProfile, match=r"x\.csv cannot be read: Permission denied"):
        ask(path)


def test_rows_that_are_cut_or_too_long_are_left_out_and_counted(write, ask):
    path = write(
        "x.csv",
        vector("a", 10),
        "0,1,2",
        vector("a", 20) + ",,",
        vector("a", 99) + ",x",
        "",
        SUMMARY,
        vector("a", 30)[:60],
        head=SUMMARY,
    )
    found = ask(path)
    assert found.launches == 2 and "3 rows" in next(n.text for n in found.notes if n.code == "profile-ragged")


def test_a_quote_that_is_never_closed_costs_rows_and_nothing_else(write, ask):
    path = write(
        "x.csv",
        vector("a", 10),
        vector("b", 20).replace('"8', '"8', 1).replace('2048"', "2048", 1),
        vector("a", 10),
        head=SUMMARY,
    )
    found = ask(path)
    assert found.launches == 1 and "profile-ragged" in codes(found.notes)
    long = write("y.csv", vector("a", 10), '"' + "x\n" * 200_000, vector("a", 30), head=SUMMARY)
    assert ask(long).op == "a"


def test_a_line_without_an_end_is_no_row(write, ask):
    path = write(
        "x.csv", vector("a", 10), "x" * (2 * profile_sheet.MAX_LINE + 7), vector("a", 20), vector("a", 30), head=SUMMARY
    )
    found = ask(path)
    assert found.launches == 3 and found.values["task_duration"] == 20 and found.rows_used[0].line == 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "gbk"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_and_line_ends(tmp_path, ask, encoding, end):
    path = tmp_path / "x.csv"
    lines = ["备注," + SUMMARY, "x," + vector("加法", 10), "x," + vector("加法", 20), ""]
    path.write_bytes(end.join(lines).encode(encoding))
    found = ask(path, op="加法")
    assert found.op == "加法" and found.launches == 2 and found.unknown_columns == ("备注",)
    assert ("profile-encoding" in codes(found.notes)) is encoding.startswith("gb")


def test_a_quoted_header_after_a_bom(tmp_path, ask):
    path = tmp_path / "x.csv"
    path.write_text('"Op Name","aiv_vec_ratio"\n"a",0.9\n', encoding="utf-8-sig")
    assert ask(path).op == "a" and ask(path).unknown_columns == ()


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_of_spreadsheets(tmp_path, ask, delimiter):
    path = tmp_path / "x.csv"
    path.write_text(f"Op Name{delimiter}Task Duration(us){delimiter}aiv_vec_ratio\na{delimiter}5{delimiter}0.9\n")
    assert ask(path).bottlenecks == ("vector-bound",)


def test_nul_bytes_are_dropped_and_said_to_be(tmp_path, ask):
    path = tmp_path / "x.csv"
    path.write_bytes(f"{SUMMARY}\n{vector('a', 10, 0.71)}\n".encode().replace(b"0.71", b"0\0.71"))
    found = ask(path)
    assert found.values["aiv_mte2_ratio"] == 0.71
    assert "1 NUL" in next(n.text for n in found.notes if n.code == "profile-nul")


def test_percent_thousands_and_cells_that_are_neither(tmp_path, ask):
    path = tmp_path / "x.csv"
    path.write_text(
        "Op Name,Task Duration(us),aiv_time(us),aiv_mte2_ratio,aiv_vec_ratio,aiv_scalar_ratio,aiv_mte3_ratio\n"
        'a,"1,234.5","1,200",62.5,31,N/A,about\n'
    )
    found = ask(path)
    assert found.values == {"task_duration": 1234.5, "aiv_time": 1200, "aiv_mte2_ratio": 0.625, "aiv_vec_ratio": 0.31}
    assert {"profile-percent", "profile-cells"} <= set(codes(found.notes)) and found.bottlenecks == ("mte2-bound",)
    path.write_text("Op Name,Task Duration(us),aiv_mte2_ratio,aiv_vec_ratio\na,1,500,30\n")
    assert "aiv_mte2_ratio" not in ask(path).values


def test_unknown_columns_are_named_once_and_printable(tmp_path, ask):
    path = tmp_path / "x.csv"
    path.write_text("Op Name,aiv_vec_ratio,aiv_vecc_ratio,Bad\x1b[31m,aiv_vecc_ratio,,\na,0.9,1,1,1,1,\n")
    found = ask(path)
    assert found.unknown_columns == ("aiv_vecc_ratio", "Bad?[31m")
    assert all(line.isprintable() for line in as_text(found, "zh"))


def test_bounds_of_a_folder(write, ask, tmp_path, monkeypatch):
    for i in range(12):
        write(f"OPPROF_1/a/{i}/OpBasicInfo.csv", f"a,vector,{i + 1},1,N/A,0,1,1800,1800", head=BASIC)
    deep = "/".join("d" * (profile_files.MAX_DEPTH + 1))
    write(f"OPPROF_1/{deep}/op_summary_1.csv", vector("deep", 900), head=SUMMARY)
    assert ask(tmp_path).launches == 12 and ask(tmp_path).op == "a"
    monkeypatch.setattr(profile_files, "MAX_FILES", 5)
    found = ask(tmp_path)
    assert found.launches == 5 and "profile-many-files" in codes(found.notes)
    assert [s.split("/")[-2] for s in found.source] == ["2", "0", "1", "3", "4"]
    monkeypatch.setattr(profile_files, "MAX_FILES", 4_000)
    monkeypatch.setattr(profile_files, "MAX_ENTRIES", 16)
    assert "profile-many-files" in codes(ask(tmp_path).notes)


def test_bounds_of_a_table(write, ask, monkeypatch):
    path = write("x.csv", *[vector(f"op{i}", i + 1) for i in range(20)], head=SUMMARY)
    monkeypatch.setattr(profile_rows, "MAX_OPS", 5)
    found = ask(path)
    assert found.op == "op4" and "profile-beyond" in codes(found.notes)
    monkeypatch.setattr(profile_reading, "MAX_ROWS", 3)
    assert ask(path).op == "op2"


def test_a_file_that_shrinks_while_it_is_read(write, monkeypatch):
    path = write("x.csv", vector("a", 10), vector("a", 20), head=SUMMARY)
    monkeypatch.setattr(profile_reading, "_choose", lambda launches, *_: (path.write_text("x"), launches.by_time()[0])[1])
    with pytest.raises(BadProfile, match="changed while it was read"):
        read_profile([str(path)], "")


def long_table(path, n):
    lines = [f"op{i % 50},Add,AI_VECTOR_CORE,{i % 997}.5,0.05,0.7,{'x' * 90}\n" for i in range(49_850)]
    with path.open("w") as file:
        file.write("Op Name,OP Type,Task Type,Task Duration(us),aiv_vec_ratio,aiv_mte2_ratio,Output Formats\n")
        for start in range(0, n, len(lines)):
            file.writelines(lines[: n - start])
    return path


def test_three_hundred_thousand_launches_are_read_as_a_stream(tmp_path):
    found = read_profile([str(long_table(tmp_path / "op_summary_1.csv", 300_000))], "")
    assert found.launches == 6_000 and found.values["aiv_mte2_ratio"] == 0.7 and found.values["task_duration"] == 498.5


def test_memory_is_some_bytes_a_launch_whatever_the_rows_hold(tmp_path):
    path = long_table(tmp_path / "op_summary_1.csv", 50_000)
    tracemalloc.start(1)
    try:
        read_profile([str(path)], "")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 6_000_000 and peak < 2_500_000  # 16 bytes a launch and the buffers


WORDS = st.sampled_from(
    [*SUMMARY.split(","), *PIPE.split(","), *BASIC.split(","), "N/A", "", "0.7", "62", "1e400", "-3", "1,5", '"', '"x', "\0", "\r", "\n",
     "\ufeff", "x", "48", "vector0", "AI_CPU", "AI_CORE", "加"]
)  # fmt: skip
TABLES = st.lists(st.lists(WORDS, max_size=6).map(",".join), max_size=6).map("\n".join).map(str.encode)
ROWS = st.lists(st.lists(WORDS, min_size=3, max_size=3).map(",".join), max_size=5)
SHORT = st.tuples(
    st.sampled_from(
        [
            "Op Name,Task Duration(us),aiv_vec_ratio",
            "block_id,aiv_time(us),aiv_mte2_ratio",
            "block_id,sub_block_id,aic_mac_ratio",
        ]
    ),
    ROWS,
).map(lambda t: "\n".join([t[0], *t[1]]).encode("gb18030", "replace"))


@settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300) | TABLES | SHORT, op=st.sampled_from(["", "a", "加", "\0"]), folder=st.booleans())
def test_whatever_a_csv_holds_the_answer_is_a_diagnosis_or_an_error_of_ours(tmp_path, ask, data, op, folder):
    path = tmp_path / "PipeUtilization.csv"
    path.write_bytes(data)
    try:
        found = ask(tmp_path if folder else path, op=op)
    except CakeBookError as error:
        assert str(error).isprintable()
    else:
        assert all(line.isprintable() for line in as_text(found, "en"))
        assert all(0 <= value < float("inf") for value in found.values.values())
        assert isinstance(Path(found.rows_used[0].file).name if found.rows_used else "", str)
