"""The matrix: searched exactly, built from what is known, and the same whichever way a generation was built."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.errors import IndexCorrupt, IndexIncompatible
from cakebook.index import embedders, vectors
from cakebook.index.embedders import Embedder, ModelInfo
from cakebook.index.generation import file_digest
from cakebook.index.use import INFO
from cakebook.index.vectors import Vectors, read_matrix


class Hashed:
    """Vectors from the hash of a text; counts what it is asked for."""

    def __init__(self, info=INFO):
        self.info, self.texts = info, []

    def encode(self, texts, *, query=False):
        self.texts += list(texts)
        return np.stack([np.random.default_rng(abs(hash(t)) % 2**32).standard_normal(self.info.dim) for t in texts])


@pytest.fixture
def hashed(monkeypatch):
    model = Hashed()
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    monkeypatch.setattr(embedders, "load", lambda name, cache: Embedder(model))
    return model


def brute(matrix, owners, query, limit):
    best = {}
    for row, owner in enumerate(owners):
        cosine = float(matrix[row] @ query)
        if np.isfinite(cosine) and (owner not in best or cosine > best[owner][0]):
            best[owner] = cosine, row
    ranked = sorted(best.items(), key=lambda item: (-item[1][0], item[1][1]))[:limit]
    return {owner: (round(cosine, 6), row) for owner, (cosine, row) in ranked if cosine > 0}


@settings(deadline=None, max_examples=150)
@given(
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=12),
    seed=st.integers(0, 999),
    limit=st.integers(1, 15),
    nan=st.booleans(),
)
def test_the_scan_finds_what_looking_at_each_row_finds(counts, seed, limit, nan):
    random = np.random.default_rng(seed)
    owners = [owner for owner, count in enumerate(counts, start=100) for _ in range(count)]
    matrix = random.standard_normal((len(owners), 6)).astype(np.float32)
    if nan:
        matrix[random.integers(len(owners))] = np.nan
    query = random.standard_normal(6).astype(np.float32)
    found = Vectors(matrix, owners, [str(n) for n in range(len(owners))]).nearest(query, limit)
    wanted = brute(matrix, owners, query, limit)
    assert {o: int(n.part) for o, n in found.items()} == {o: row for o, (_, row) in wanted.items()}
    assert [n.cosine for n in found.values()] == pytest.approx([c for c, _ in wanted.values()], abs=1e-5)


def test_nothing_is_near_a_zero_vector_and_an_empty_matrix_holds_nothing():
    assert Vectors(np.eye(3, dtype=np.float32), [1, 2, 3], "abc").nearest(np.zeros(3, np.float32), 3) == {}
    assert Vectors(np.zeros((0, 3), np.float32), [], []).nearest(np.ones(3, np.float32), 3) == {}


def test_a_large_matrix_is_read_by_two_threads_and_gives_the_same(monkeypatch):
    random = np.random.default_rng(0)
    matrix, query = random.standard_normal((301, 8)).astype(np.float32), random.standard_normal(8).astype(np.float32)
    one = Vectors(matrix, range(301), [""] * 301).nearest(query, 20)
    monkeypatch.setattr(vectors, "LARGE", 1)
    two = Vectors(matrix, range(301), [""] * 301).nearest(query, 20)
    assert list(one) == list(two)


def test_a_matrix_of_another_size_is_refused(tmp_path):
    (tmp_path / "m").write_bytes(bytes(40))
    assert read_matrix(tmp_path / "m", 2, 5).shape == (2, 5)
    for rows, dim in ((3, 5), (2, 6), (0, 5)):
        with pytest.raises(IndexCorrupt):
            read_matrix(tmp_path / "m", rows, dim)
    with pytest.raises(IndexCorrupt):
        read_matrix(tmp_path / "none", 2, 5)


# Building


def matrix_of(book):
    with book.generation() as opened:
        return opened.manifest, file_digest(opened.folder / vectors.FILE), opened.catalog.passages()[1]


def test_passages_are_few_and_say_what_they_are_about(tiny_book, hashed):
    tiny_book.sync()
    _, _, parts = matrix_of(tiny_book)
    assert {"head-en", "head-zh", "symptom-en", "symptom-zh", "Why", "Pitfalls"} <= {*parts}
    assert not {"Summary", "摘要", "Check", "Sources"} & {*parts}
    assert all("```" not in t and "constexpr" not in t for t in hashed.texts)
    assert all(len(t.splitlines()) > 1 for t in hashed.texts)
    assert any(t.startswith("按 UB 容量取每块行数 Ascend C · 切分\n") for t in hashed.texts)


def test_an_edit_embeds_what_it_changed_and_nothing_else(tiny_book, hashed):
    tiny_book.sync()
    first = len(hashed.texts)
    path = "entries/tiling/tiny-grid-size.md"
    text = (tiny_book.root / path).read_text("utf-8").replace("It is invented for a test.", "It is changed for a test.")
    tiny_book.write(path, text)
    tiny_book.found()
    report = tiny_book.sync()
    assert report.embedded == 1 and len(hashed.texts) == first + 1 and "changed for a test" in hashed.texts[-1]
    incremental = matrix_of(tiny_book)
    rebuilt = tiny_book.sync(rebuild=True)
    assert rebuilt.embedded == 0, "everything is in the cache"
    again = matrix_of(tiny_book)
    assert again[0].generation == incremental[0].generation and again[1:] == incremental[1:]
    assert tiny_book.sync().built is False and len(hashed.texts) == first + 1


def test_another_embedder_is_kept_from_then_on(tiny_book, hashed, monkeypatch):
    tiny_book.sync()
    monkeypatch.delenv("CAKEBOOK_EMBEDDER")
    with tiny_book.open() as book:
        assert book.sync(embedder="none").vectors == 0 and book.sync().vectors == 0
        assert book.search("copy", mode="auto").degraded == ()
        assert book.sync(embedder="use").vectors > 0 and book.sync().vectors > 0


@pytest.mark.parametrize(
    ("steps", "last"),
    [
        ([("none", ""), ("", "")], "use"),  # a setting holds as long as it is set, and no longer
        ([("use", ""), ("none", ""), ("", "")], "use"),
        ([("none", "use"), ("", "")], "use"),  # the flag is remembered
        ([("", "none"), ("use", ""), ("", "")], "none"),  # and comes back when the setting is gone
        ([("use", "none")], "none"),  # it goes before the setting
        ([("", "none"), ("use", "")], "use"),
    ],
)
def test_only_the_flag_is_kept_and_a_setting_goes_with_its_variable(tiny_book, hashed, monkeypatch, steps, last):
    for setting, flag in steps:
        monkeypatch.setenv("CAKEBOOK_EMBEDDER", setting)
        with tiny_book.open() as book:
            report = book.sync(embedder=flag)
    assert (report.vectors > 0) == (last == "use")


def test_weights_that_changed_under_their_name_are_refused(tiny_book, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "st:some/model")
    old = Hashed(ModelInfo("st:some/model", "a" * 64, 8))
    monkeypatch.setattr(embedders, "load", lambda name, cache: Embedder(old))
    tiny_book.sync()
    new = Hashed(ModelInfo("st:some/model", "b" * 64, 8))
    monkeypatch.setattr(embedders, "load", lambda name, cache: Embedder(new))
    with tiny_book.open() as book:
        assert [n.code for n in book.search("copy of rows").degraded] == ["no-vectors"]
        with pytest.raises(IndexIncompatible):
            book.search("copy of rows", mode="hybrid")
    tiny_book.write("entries/tiling/tiny-grid-size.md", tiny_book.entry_text("tiny-grid-size", symptom="a new one"))
    tiny_book.found()
    with pytest.raises(IndexIncompatible, match="rebuild"):
        tiny_book.sync()
    assert tiny_book.sync(rebuild=True).vectors > 0
