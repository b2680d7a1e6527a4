"""The vectors of a generation under every kind of bad luck: an older answer, a rebuild or an error with a code."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from cakebook.errors import CakeBookError, StoreIO
from cakebook.index import embedders, matrix
from cakebook.index.embedders import Embedder
from cakebook.index.use import INFO
from cakebook.index.vectors import FILE

QUESTION = "the vector pipe idles waiting for MTE2"


class Hashed:
    info = INFO

    def encode(self, texts, *, query=False):
        return np.stack([np.random.default_rng(len(t)).standard_normal(INFO.dim) for t in texts])


@pytest.fixture
def book(tiny_book, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    monkeypatch.setattr(embedders, "load", lambda name, cache: Embedder(Hashed()))
    tiny_book.sync()
    return tiny_book


def ask(book, **more):
    with book.open() as opened:
        found = opened.search(QUESTION, mode="hybrid", **more)
    return [(h.id, h.score) for h in found.hits], [n.code for n in found.degraded]


def path_of(book):
    return book.store.home(book.store.current()) / FILE


@pytest.mark.parametrize("damage", ["flip", "cut", "longer", "empty", "gone"])
def test_a_damaged_matrix_is_noticed_and_mended(book, damage):
    right = ask(book)
    path = path_of(book)
    data = path.read_bytes()
    middle = len(data) // 2
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(
            {
                "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :], "cut": data[:middle],
                "longer": data + b"\0\0\0\0", "empty": b"",
            }[damage]
        )  # fmt: skip
    ran = book.cli("search", QUESTION, "--no-sync", "--mode", "hybrid")
    assert ran.status == 3 and "CB-E304" in ran.err and "sync --rebuild" in ran.err and ran.err.count("\n") == 1
    ran = book.cli("search", QUESTION, "--no-sync")
    assert ran.status == 0 and ran.out.startswith("1. ") and "by words alone: CB-E304" in ran.err
    book.sync()
    assert ask(book) == right


@pytest.mark.parametrize("number", [28, 5])
def test_no_space_for_the_vectors_leaves_the_older_answer(book, monkeypatch, number):
    right, before = ask(book), book.store.current()
    book.write("entries/tiling/more.md", book.entry_text("more"))
    book.found()

    def fails(path, plan):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr("cakebook.index.sync.write_matrix", fails)
    with pytest.raises(StoreIO):
        book.sync()
    assert book.store.current() == before and ask(book)[0] == right[0]


EMBED = """
import os, signal, sys
from cakebook.index import matrix
from cakebook.service import Book
seen = []
matrix.BATCH = 3
real = matrix.EmbeddingCache.put
def put(self, model, vectors):
    real(self, model, vectors)
    seen.append(len(vectors))
    if len(seen) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
matrix.EmbeddingCache.put = put
Book.open(sys.argv[1]).sync()
"""


def test_a_build_killed_while_embedding_goes_on_where_it_was(tiny_book, shipped_root, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    environment = {**os.environ, "PYTHONPATH": str(shipped_root)}
    done = subprocess.run([sys.executable, "-c", EMBED, str(tiny_book.root)], env=environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert tiny_book.store.current() is None
    report = tiny_book.sync()
    assert report.vectors > report.embedded == report.vectors - 12


def test_two_syncs_at_once_and_searches_between(tiny_book, shipped_root, monkeypatch):
    """Readers see one whole generation or another; every vector belongs to a passage of its own catalog."""
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    tiny_book.sync()
    code = "import sys; from cakebook.service import Book\nfor _ in range(4): Book.open(sys.argv[1]).sync(rebuild=True)"
    environment = {**os.environ, "PYTHONPATH": str(shipped_root)}
    builders = [subprocess.Popen([sys.executable, "-c", code, str(tiny_book.root)], env=environment) for _ in range(2)]
    right = ask(tiny_book)
    looks = 0
    while any(b.poll() is None for b in builders):
        assert ask(tiny_book) == right
        looks += 1
    assert [b.wait() for b in builders] == [0, 0] and looks


def test_a_reader_keeps_the_generation_that_it_opened(book):
    with book.open() as reader:
        first = reader.search(QUESTION, mode="hybrid")
        vectors = reader._open_meaning()._vectors
        book.write("entries/tiling/more.md", book.entry_text("more", title="The vector pipe idles waiting for MTE2"))
        book.found()
        book.sync()
        assert (len(vectors.parts) == first and False) or len(vectors.parts) == len(vectors.matrix)
        second = reader.search(QUESTION, mode="hybrid")
    assert second.generation != first.generation and "more" in [h.id for h in second.hits]


def test_an_index_that_cannot_be_written_answers_by_meaning_too(book):
    right = ask(book)
    folder = path_of(book).parent
    for path in [*folder.iterdir(), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert ask(book) == right
    finally:
        folder.chmod(0o755)


def test_an_error_in_the_thread_of_meaning_is_raised_where_it_is_used(book, monkeypatch):
    def fails(self, text):
        raise RuntimeError("a bug")

    monkeypatch.setattr("cakebook.index.meaning.Meaning._embed", fails)
    with book.open() as opened, pytest.raises(RuntimeError, match="a bug"):
        opened.search(QUESTION, mode="hybrid")
    assert threading.active_count() < 10


def test_texts_that_make_no_vector_leave_an_entry_to_its_words(tiny_book, monkeypatch):
    class Silent(Hashed):
        def encode(self, texts, *, query=False):
            return np.full((len(texts), INFO.dim), np.nan)

    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    monkeypatch.setattr(embedders, "load", lambda name, cache: Embedder(Silent()))
    tiny_book.sync()
    with tiny_book.open() as opened:
        hybrid, lexical = opened.search("rows per tile", mode="hybrid"), opened.search("rows per tile", mode="lexical")
    assert [h.id for h in hybrid.hits] == [h.id for h in lexical.hits] and matrix.BATCH == 50


def test_whatever_is_wrong_has_a_code(book, monkeypatch):
    monkeypatch.setattr(
        embedders,
        "load",
        lambda name, cache: Embedder(type("Odd", (Hashed,), {"encode": lambda s, t, query=False: np.ones((1, 3))})()),
    )
    with book.open() as opened, pytest.raises(CakeBookError):
        opened.search("something never asked", mode="hybrid")
