"""Models: what makes their vectors comparable, how the packaged one is loaded, and what happens when one cannot be had."""

import shutil
import socket
import sqlite3

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cakebook.errors import BadArgument, EmbedderUnavailable
from cakebook.index import embedders, use
from cakebook.index.embedders import Embedder, ModelInfo, unit
from cakebook.index.embeddings import EmbeddingCache, from_bytes, pack_vectors, shipped_vectors, to_bytes, vector_file

INFO = ModelInfo("fake", "f" * 64, 4)
TEXTS = [
    "LayerNorm 在 910B3 上 vector 老在等 MTE2",
    "ub overflow, requires 3072000 bits",
    "",
    "a" * 500,
    "日本語",
    "\n\t x",
    "１２３ＡＢＣ",
]


class Fake:
    """A model whose raw vectors a test chooses."""

    info = INFO

    def __init__(self, rows=None):
        self.rows, self.asked = rows, []

    def encode(self, texts, *, query=False):
        self.asked += list(texts)
        return np.array(self.rows if self.rows is not None else [[len(t), 1, 2, 3] for t in texts], dtype=np.float32)


@settings(deadline=None)
@given(hnp.arrays(np.float32, (3, 8), elements=st.floats(width=32, allow_nan=True, allow_infinity=True)))
def test_vectors_have_unit_length_are_float16_or_zero(raw):
    made = unit(raw)
    assert made.dtype == np.float32 and np.array_equal(made, made.astype(np.float16).astype(np.float32))
    for row, out in zip(raw, made, strict=True):
        usable = np.isfinite(row).all() and row.any()
        assert abs(np.linalg.norm(out) - 1) < 1e-2 if usable else not out.any()


def test_empty_texts_and_what_is_no_number_have_no_vector():
    assert not Embedder(Fake()).embed_query("  \n").any()
    made = Embedder(Fake([[np.nan, 1, 1, 1], [1, 0, 0, 0]])).embed_passages(["a", "b"])
    assert not made[0].any() and made[1].tolist() == [1, 0, 0, 0]


def test_a_model_that_gives_another_shape_is_refused():
    with pytest.raises(EmbedderUnavailable):
        Embedder(Fake([[1, 2, 3]])).embed_query("x")


def test_long_texts_are_cut():
    fake = Fake()
    Embedder(fake).embed_query("x" * 50_000)
    assert [len(t) for t in fake.asked] == [embedders.MAX_CHARACTERS]


@pytest.mark.parametrize("name", ["", "none", "st:", "USE", "word2vec", "st"])
def test_names_that_are_none(name, tmp_path):
    for ask in (embedders.load, embedders.describe):
        with pytest.raises(BadArgument):
            ask(name, tmp_path)
    assert not embedders.is_embedder(name)


# The packaged model


@pytest.fixture(scope="module")
def original():
    return use._original()


def test_the_prepared_form_gives_the_same_bytes(original, models):
    first = use.Use(models)  # prepares, or finds what another test prepared
    again = use.Use(models)
    wanted = np.array([original.encode([text])[0] for text in TEXTS])
    assert np.array_equal(first.encode(TEXTS), wanted) and np.array_equal(again.encode(TEXTS), wanted)


def test_a_vector_does_not_depend_on_its_neighbours(models):
    model = use.Use(models)
    assert np.array_equal(model.encode(TEXTS), np.concatenate([model.encode([t]) for t in TEXTS]))


@pytest.mark.parametrize(
    "name", ["form.json", "groups.json", "prefixes.txt", "prefixes.npy", "scores.npy", "charsmap.bin", "weights.npz"]
)
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_prepared_form_is_not_used(models, tmp_path, name, damage, monkeypatch, original):
    use.Use(models)
    (form,) = models.glob("use-*")
    shutil.copytree(form, tmp_path / form.name)
    path = tmp_path / form.name / name
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        middle = len(data) // 2
        path.write_bytes(
            data[:middle] if damage == "cut" else data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]
        )
    found = use._prepared(tmp_path / form.name)
    if found is not None:  # a flip in the numbers of the form itself, or where the archive has nothing
        assert damage == "flip" and name in ("form.json", "weights.npz")
        assert np.array_equal(found.encode([TEXTS[0]]), original.encode([TEXTS[0]]))


def test_without_a_folder_that_can_be_written_it_works_too(tmp_path, monkeypatch, original):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(use, "_original", lambda: original)
    model = use.Use(tmp_path / "file" / "cache")
    assert np.array_equal(model.encode(TEXTS[:1])[0], original.encode(TEXTS[:1])[0])


def test_other_weights_are_refused(monkeypatch, tmp_path):
    monkeypatch.setitem(use.PINNED, "sp.model", "0" * 64)
    with pytest.raises(EmbedderUnavailable, match="not the pinned"):
        use.Use(tmp_path)


def test_a_package_that_is_missing_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for ask in (embedders.load, embedders.describe):
        embedders.load.cache_clear()
        with pytest.raises(EmbedderUnavailable, match="not installed"):
            ask("use", tmp_path)


# sentence-transformers


def test_the_packaged_english_model_needs_no_network(monkeypatch, tmp_path):
    pytest.importorskip("sentence_transformers")

    def refuse(*_, **__):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    embedders.load.cache_clear()
    model = embedders.load("st:minilm", tmp_path)
    made = model.embed_passages(["double buffering", "", "bake bread"])
    assert model.info.dim == 384 and made.shape == (3, 384) and not made[1].any()
    query = model.embed_query("overlap copy and compute with two buffers")
    assert query @ made[0] > query @ made[2]


def test_its_weights_are_pinned_and_folders_must_be_there(monkeypatch, tmp_path):
    pytest.importorskip("sentence_transformers")
    from cakebook.index import sentence

    monkeypatch.setattr(sentence, "PACKAGED_DIGEST", "0" * 64)
    embedders.load.cache_clear()
    for name, said in (("st:minilm", "not the pinned"), ("st:/no/such/folder", "no such folder"), (f"st:{tmp_path}", "st:")):
        with pytest.raises(EmbedderUnavailable, match=said):
            embedders.load(name, tmp_path)


# The cache of vectors, and those that a wheel carries


def test_vectors_are_kept_exactly_by_model_and_text(tmp_path):
    cache = EmbeddingCache(tmp_path / "deep" / "embeddings.sqlite")
    rows = unit(np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
    cache.put(INFO, dict(zip("abc", to_bytes(rows), strict=True)))
    found = cache.get(INFO, ["a", "c", "x"])
    assert set(found) == {"a", "c"} and np.array_equal(from_bytes([found["a"], found["c"]], 4), rows[[0, 2]])
    assert cache.get(ModelInfo("fake", "0" * 64, 4), ["a"]) == {} and cache.get(ModelInfo("fake", INFO.digest, 5), ["a"]) == {}
    cache.close()


@pytest.mark.parametrize("data", [b"garbage" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_cache_starts_again(tmp_path, data):
    (tmp_path / "e.sqlite").write_bytes(data)
    cache = EmbeddingCache(tmp_path / "e.sqlite")
    assert cache.get(INFO, ["a"]) == {}
    cache.put(INFO, {"a": bytes(8)})
    assert cache.get(INFO, ["a"]) == {"a": bytes(8)}
    cache.close()


def test_a_cache_that_cannot_be_had_is_no_error(tmp_path):
    (tmp_path / "file").write_text("x")
    cache = EmbeddingCache(tmp_path / "file" / "e.sqlite")
    cache.put(INFO, {"a": bytes(8)})
    assert cache.get(INFO, ["a"]) == {}
    locked = sqlite3.connect(tmp_path / "l.sqlite")
    locked.execute("CREATE TABLE t (x)")
    cache.close()
    locked.close()


def test_shipped_vectors_are_read_whole_or_not_at_all(tmp_path):
    vectors = {f"{n:064x}": bytes([n]) * 8 for n in range(5)}
    (tmp_path / vector_file(INFO)).write_bytes(pack_vectors(vectors))
    assert shipped_vectors(INFO, tmp_path) == vectors
    (tmp_path / vector_file(INFO)).write_bytes(pack_vectors(vectors)[:-1])
    assert shipped_vectors(INFO, tmp_path) == {} == shipped_vectors(ModelInfo("other", "0" * 64, 4), tmp_path)
