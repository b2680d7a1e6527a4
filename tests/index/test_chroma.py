"""Chroma, the real one: what it finds against the exact scan, and every way in which it can fail."""

import gc
import os
import shutil
import socket
import subprocess
import sys
import threading
import urllib.request
import warnings

import numpy as np
import pytest

pytest.importorskip("chromadb")

from cakebook.errors import BadArgument, EngineUnavailable
from cakebook.index import chroma, vectors
from cakebook.index.chroma import build, open_folder
from cakebook.index.embedders import unit
from cakebook.index.vectors import Vectors

QUESTION = "the vector pipe idles waiting for MTE2"


@pytest.fixture(scope="module")
def clustered():
    """3,000 unit vectors around 60 centres, in the order of 300 entries of ten passages."""
    random = np.random.default_rng(5)
    centres = random.standard_normal((60, 64))
    rows = centres[random.integers(60, size=3000)] + 0.7 * random.standard_normal((3000, 64))
    return unit(rows.astype(np.float32)), [f"e{n // 10:03}#{n % 10}" for n in range(3000)], [n // 10 for n in range(3000)]


def test_recall_against_the_exact_scan(clustered, tmp_path):
    matrix, ids, owners = clustered
    build(tmp_path, ids, matrix, None)
    engine = open_folder(tmp_path, ids)
    exact, proposed = Vectors(matrix, owners, ids), Vectors(matrix, owners, ids, engine)
    random = np.random.default_rng(6)
    recalls = []
    for _ in range(60):
        query = unit((matrix[random.integers(3000)] + 0.1 * random.standard_normal(64)).astype(np.float32)[None])[0]
        wanted, found = exact.nearest(query, 10), proposed.nearest(query, 10)
        recalls.append(len({*wanted} & {*found}) / 10)
        assert all(found[o].cosine == pytest.approx(wanted[o].cosine, abs=1e-6) for o in {*found} & {*wanted})
    assert np.mean(recalls) >= 0.99
    engine.close()


def test_a_new_folder_is_the_old_one_and_the_difference(clustered, tmp_path, monkeypatch):
    matrix, ids, _ = clustered
    matrix, ids = matrix[:200], ids[:200]
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    build(tmp_path / "old", ids, matrix, None)
    written = []
    monkeypatch.setattr(chroma, "_upsert", _counting(chroma._upsert, written))
    changed = matrix.copy()
    changed[7] = unit(-matrix[7:8])[0]
    keep = [n for n in range(200) if n != 3]
    build(tmp_path / "new", [ids[n] for n in keep], changed[keep], (tmp_path / "old", ids, matrix))
    assert written == [1]
    engine = open_folder(tmp_path / "new", [ids[n] for n in keep])
    assert keep[engine.near(changed[7], 1)[0]] == 7
    engine.close()


def _counting(real, written):
    def upsert(collection, ids, matrix, rows):
        written.append(len(rows))
        return real(collection, ids, matrix, rows)

    return upsert


@pytest.fixture
def book(tiny_book, monkeypatch):
    """A tiny book with vectors of the real model and a Chroma folder."""
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    monkeypatch.setenv("CAKEBOOK_ENGINE", "chroma")
    tiny_book.sync()
    return tiny_book


def answer(book, **more):
    with book.open() as opened:
        found = opened.search(QUESTION, mode="hybrid", **more)
    return [(h.id, h.score) for h in found.hits], [n.code for n in found.degraded]


def folder_of(book):
    return book.store.home(book.store.current())


def test_it_answers_as_the_scan_does_and_says_who_found_it(book, monkeypatch):
    hits, degraded = answer(book)
    assert hits and degraded == []
    with book.open() as opened:
        assert opened.context(task=QUESTION, budget_tokens=600).engine == "chroma"
    monkeypatch.setenv("CAKEBOOK_ENGINE", "scan")
    assert answer(book)[0] == hits
    book.sync()
    assert not (folder_of(book) / "chroma").exists(), "nobody wants it any more"


@pytest.mark.parametrize("damage", ["cut", "sqlite", "record", "gone"])
def test_a_damaged_folder_is_never_opened_and_never_missed(book, damage):
    hits, _ = answer(book)
    folder = folder_of(book)
    if damage == "cut":
        largest = max(folder.rglob("*.bin"), key=lambda p: p.stat().st_size)
        os.truncate(largest, largest.stat().st_size // 2)
    elif damage == "sqlite":
        os.truncate(folder / "chroma" / "chroma.sqlite3", 5000)
    elif damage == "record":
        (folder / "chroma.json").write_text("{}")
    else:
        shutil.rmtree(folder / "chroma")
    assert answer(book) == (hits, ["engine"])
    book.sync(rebuild=True)
    assert answer(book) == (hits, [])


def test_an_engine_that_is_none_and_one_that_is_not_installed(tiny_book, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    monkeypatch.setenv("CAKEBOOK_ENGINE", "faiss")
    with pytest.raises(BadArgument):
        tiny_book.sync()
    monkeypatch.setenv("CAKEBOOK_ENGINE", "chroma")
    monkeypatch.setattr(chroma, "installed", lambda: False)
    with pytest.raises(EngineUnavailable, match="not installed"):
        tiny_book.sync()


def test_auto_takes_chroma_only_where_there_are_many(tiny_book, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    tiny_book.sync()
    assert not (folder_of(tiny_book) / "chroma").exists()
    monkeypatch.setattr("cakebook.index.sync.CHROMA_FROM", 10)
    tiny_book.sync(rebuild=True)
    assert (folder_of(tiny_book) / "chroma").is_dir() and vectors.CHROMA_FROM == 60_000


# A server


@pytest.fixture
def server(tmp_path):
    """A real Chroma server on loopback; `.kill()` ends it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (tmp_path / "server.log").open("wb")  # an undrained pipe would hang it
    code = "import sys; from chromadb.cli.cli import app; sys.exit(app())"
    command = [
        sys.executable,
        "-c",
        code,
        "run",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--path",
        str(tmp_path / "server"),
    ]
    process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    process.url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        try:
            urllib.request.urlopen(f"{process.url}/api/v2/heartbeat", timeout=1).close()
            break
        except OSError:
            assert process.poll() is None, (tmp_path / "server.log").read_text()
            threading.Event().wait(0.1)
    yield process
    process.kill()
    process.wait()
    log.close()
    with warnings.catch_warnings():  # the library leaves connections to the collector
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_holds_each_generation_and_is_not_needed(server, tiny_book, monkeypatch):
    import chromadb

    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    tiny_book.sync()
    hits, _ = answer(tiny_book)
    monkeypatch.setenv("CAKEBOOK_CHROMA_URL", server.url)
    assert tiny_book.sync().notes == (), "an unchanged book is uploaded too"
    assert answer(tiny_book) == (hits, [])
    with tiny_book.open() as opened:
        assert opened.context(task=QUESTION, budget_tokens=600).engine == "chroma"
    for n in range(3):
        tiny_book.write(f"entries/tiling/more-{n}.md", tiny_book.entry_text(f"more-{n}"))
        tiny_book.found()
        tiny_book.sync()
    client = chromadb.HttpClient("127.0.0.1", int(server.url.rsplit(":", 1)[1]))
    names = [c.name for c in client.list_collections()]
    assert len(names) == 2 and any(n.endswith(tiny_book.store.current()) for n in names), "the one before may be in use"
    client.delete_collection(next(n for n in names if n.endswith(tiny_book.store.current())))
    chroma._close(client)
    with tiny_book.open() as opened:
        found = opened.search(QUESTION, mode="hybrid")
        assert found.hits and [n.code for n in found.degraded] == ["engine"]
    tiny_book.sync()
    with tiny_book.open() as opened:
        before = opened.search(QUESTION, mode="hybrid")
        server.kill()
        server.wait()
        after = opened.search(QUESTION + " ", mode="hybrid")
    assert before.degraded == () and [n.code for n in after.degraded] == ["engine"]
    assert [(h.id, h.score) for h in before.hits] == [(h.id, h.score) for h in after.hits]
    assert any("Chroma" in note for note in tiny_book.sync().notes), "a sync says that it is gone, and goes on"


def test_a_server_that_never_answers_is_given_up(tiny_book, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    tiny_book.sync()
    hits, _ = answer(tiny_book)
    monkeypatch.setattr(chroma, "SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for url in (f"http://127.0.0.1:{silent.getsockname()[1]}", "not a url", "ftp://x"):
            monkeypatch.setenv("CAKEBOOK_CHROMA_URL", url)
            assert answer(tiny_book) == (hits, ["engine"])
