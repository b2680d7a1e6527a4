"""The acceptance list of the shipped book, asked as a user asks it: `python -m cakebook` inside a copy of the book."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cakebook import Book
from cakebook.checks.sandbox import available
from cakebook.repo.entries import read_entry
from cakebook.repo.layout import FolderSource
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.text import tokens

REPO = Path(__file__).parents[2]
ENTRIES = [read_entry(p.relative_to(REPO).as_posix(), p.read_bytes()).entry for p in sorted(REPO.glob("entries/*/*.md"))]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Run a command; its JSON answer, or with `text=True` what it printed."""
    root = tmp_path_factory.mktemp("shipped") / "book"
    for name in ("entries", "book"):
        shutil.copytree(REPO / name, root / name)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CAKEBOOK_")}
    environment |= {"PYTHONPATH": str(REPO), "PYTHONUTF8": "1", "CAKEBOOK_STATE": str(root.parent / "state")}

    def run(*arguments: str, text: bool = False) -> Any:
        command = [sys.executable, "-m", "cakebook", *arguments, *([] if text else ["--json"])]
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        allowed = {"lint": r"0 errors, 0 warnings\n", "verify": r".*", "sync": r"(embedding \d+ passages, .*\n)?"}
        assert re.fullmatch(allowed.get(arguments[0], ""), done.stderr, re.DOTALL), done.stderr
        return done.stdout if text else json.loads(done.stdout)

    run("sync")
    return run


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory):
    """The same in this process, for what is asked many times."""
    root = tmp_path_factory.mktemp("symptoms") / "book"
    for name in ("entries", "book"):
        shutil.copytree(REPO / name, root / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CAKEBOOK_TRUST_ROOT", raising=False)
        with Book.open(root) as opened:
            opened.sync()
            yield opened


def ids(result: Any) -> list[str]:
    return [hit["id"] for hit in result["hits"]]


def card(entry_id: str) -> Any:
    return next(e for e in ENTRIES if e is not None and e.id == entry_id)


def test_everything_on_the_disk_is_served(ask):
    status = ask("status")
    assert status["withheld"] == [] and status["entries"] == len(ENTRIES) and status["fresh"] and status["notes"] == []


def test_a_bottleneck_in_plain_words(ask):
    result = ask("search", "vector pipe idles waiting for MTE2", "--target", "910B3")
    assert "ascendc-double-buffer" in ids(result)[:2]
    for entry_id in ids(result)[:3]:
        assert "mte2-bound" in card(entry_id).bottlenecks or entry_id == "msprof-ratios-to-bottleneck"
    assert result["understood"]["bottlenecks"] == ["mte2-bound"] and result["understood"]["targets"] == ["910B3"]
    for hit in result["hits"]:
        assert not card(hit["id"]).targets or {"any", "npu-2201", "910B3"} & set(hit["targets"])


def test_a_chinese_question_gets_a_chinese_answer(ask):
    result = ask("search", "多核切分尾块怎么处理", "--dsl", "ascendc")
    first = result["hits"][0]
    assert first["id"] == "ascendc-core-split-with-tails" and result["understood"]["lang"] == "zh"
    assert first["title"] == card(first["id"]).title_zh and first["description"] == card(first["id"]).description_zh
    assert all(tokens.has_cjk(c["text"]) for c in first["caveats"])
    text = ask("search", "多核切分尾块怎么处理", "--dsl", "ascendc", text=True)
    assert (
        text.startswith(f"1. {first['title']}\n   {first['description']}\n") and "适用条件：" in text and "founding：" in text
    )


def test_an_error_message_finds_its_entry(ask):
    result = ask("search", "ub overflow, requires 3072000 bits while 1572864 bits available")
    assert ids(result)[0] == "triton-ub-overflow" and result["understood"]["error_codes"] == ["ub-overflow"]


def test_an_api_name_finds_entries_that_list_it(ask):
    result = ask("search", "DataCopyPad")
    assert all("DataCopyPad" in card(entry_id).apis for entry_id in ids(result)[:2]) and len(ids(result)) >= 2
    assert result["understood"]["apis"] == ["DataCopyPad"]


OFF_TOPIC = """how do I bake bread
what time does the train to Hamburg leave
who painted the Mona Lisa
best way to remove red wine stains from a carpet
how tall is Mount Everest
translate good morning into Spanish
my cat does not eat any more
which shoes should I wear for hiking
why do leaves turn red in autumn
how to file a tax return
怎么烤面包
上海到北京的高铁几点发车
蒙娜丽莎是谁画的
红酒渍怎么清洗
珠穆朗玛峰有多高
早上好用西班牙语怎么说
我家的猫不吃东西了
爬山穿什么鞋好
树叶为什么会变红
个人所得税怎么申报
谁发明了电话""".splitlines()


@pytest.mark.parametrize("question", OFF_TOPIC)
def test_off_topic_questions_return_nothing(ask, question):
    result = ask("search", question)
    assert result["hits"] == [] and result["withheld"] == []


def test_off_topic_in_words_is_an_answer_with_exit_status_0(ask):
    assert ask("search", OFF_TOPIC[0], text=True) == "No reviewed entry answers this.\n"
    assert tokens.has_cjk(ask("search", "怎么烤面包", text=True))


def test_a_pack_for_an_evolving_layernorm_on_950pr(ask):
    request = "--operator layernorm --dsl ascendc --target 950PR --stage evolve --bottleneck mte2-bound --budget 1500".split()
    pack = ask("context", *request)
    entries = {item["id"]: card(item["id"]) for item in pack["items"]}
    roles = {item["id"]: item["role"] for item in pack["items"]}
    assert any(role == "constraint" and "npu-3510" in entries[i].targets for i, role in roles.items())
    assert "skeleton" in {roles.get("ascendc-rmsnorm-quant-ladder"), roles.get("ascendc-layernorm-route")}
    levers = [i for i, role in roles.items() if role == "lever" and "mte2-bound" in entries[i].bottlenecks]
    assert len(levers) >= 2
    for entry in entries.values():
        assert not entry.targets or {"any", "npu-3510", "950PR"} & set(entry.targets)
        assert not entry.dsl or {"any", "ascendc"} & set(entry.dsl)
    assert pack["tokens"] == tokens.count(pack["text"]) <= 1500 == pack["budget_tokens"]
    text = ask("context", *request, text=True)
    assert text == pack["text"]
    for item in pack["items"]:
        assert f"[{item['id']}] {item['role']} · {item['tier']} · {item['digest'][7:19]}\n" in text and item["text"] in text


# What the book holds


def test_every_kind_and_every_dsl_but_aclnn_is_there(ask):
    vocabulary = load_vocabulary(FolderSource(REPO))
    assert {e.kind for e in ENTRIES} == set(vocabulary.ids("kinds"))
    assert {d for e in ENTRIES for d in e.dsl} >= set(vocabulary.ids("dsls")) - {"aclnn"}
    served = ask("search", "--tier", "founding", "--limit", "50")["hits"]
    assert sorted(hit["id"] for hit in served) == sorted(e.id for e in ENTRIES)


def test_lint_finds_nothing(ask):
    assert json.loads(ask("lint", "--format", "json", text=True)) == []


def test_all_checks_pass_and_at_least_six_entries_have_one(ask):
    if available() is None:
        pytest.skip("no sandbox works here")
    results = ask("verify")
    assert {(r["entry_id"], r["status"]) for r in results if r["status"] != "passed"} == set()
    assert len({r["entry_id"] for r in results}) >= 6


# Every entry is found by what it says people type


def rank(book: Book, entry_id: str, text: str) -> int:
    """The place of an entry among the answers, from 1; 99 if it is none of them."""
    found = [hit.id for hit in book.search(text).hits]
    return found.index(entry_id) + 1 if entry_id in found else 99


def test_every_entry_is_found_by_its_first_symptoms(book):
    ranks = {
        (entry.id, text): rank(book, entry.id, text) for entry in ENTRIES for text in (entry.symptoms[0], entry.symptoms_zh[0])
    }
    low = [f"{place}: {entry_id} by {text!r}" for (entry_id, text), place in ranks.items() if place > 2]
    near = sum(place <= 3 for place in ranks.values())
    assert near >= 0.95 * len(ranks) and len(low) <= 0.05 * len(ranks), "\n".join(low)


def test_nearly_every_symptom_finds_its_entry_among_the_first_three(book):
    ranks = {(e.id, text): rank(book, e.id, text) for e in ENTRIES for text in (*e.symptoms, *e.symptoms_zh)}
    low = [f"{place}: {entry_id} by {text!r}" for (entry_id, text), place in ranks.items() if place > 3]
    assert len(low) <= 0.03 * len(ranks), "\n".join(low)
    first = sum(place == 1 for place in ranks.values())
    assert first >= 0.85 * len(ranks), f"only {first} of {len(ranks)} are first"
