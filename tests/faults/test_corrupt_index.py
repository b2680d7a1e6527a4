"""A damaged index: an error with a code and the command that mends it, or a rebuild; never a traceback, never another answer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cakebook.index import generation

HINT = "cakebook sync"


def index_files(book: Any) -> dict[str, Path]:
    folder = book.store.folder
    current = folder / (folder / "CURRENT").read_text().strip()
    return {
        "catalog": current / "catalog.sqlite", "manifest": current / "manifest.json", "CURRENT": folder / "CURRENT",
        "SOURCE": folder / "SOURCE", "lock": current / "lock",
    }  # fmt: skip


def flips(data: bytes, step: int) -> list[tuple[str, bytes]]:
    """`data` with one byte changed, at every `step`-th place."""
    return [
        (f"byte {at} ^ {mask}", data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])
        for at in range(0, len(data), step)
        for mask in (1, 0x20, 0xFF)[at // step % 3 :][:1]
    ]


def cuts(data: bytes, step: int) -> list[tuple[str, bytes]]:
    """`data` cut off at every `step`-th place."""
    return [(f"cut at {at}", data[:at]) for at in range(0, len(data), step)]


def other(data: bytes) -> list[tuple[str, bytes]]:
    """Things that a file can become."""
    return [
        ("empty", b""), ("zeros", b"\0" * len(data)), ("twice", data * 2), ("longer", data + b"\0" * 4096),
        ("noise", bytes(n * 37 % 256 for n in range(len(data)))), ("newline", data + b"\n"), ("null", b"null"),
        ("list", b"[]"), ("object", b"{}"), ("number", b"7"), ("deep", b"[" * 5000), ("text", "标题".encode()),
    ]  # fmt: skip


class Damaged:
    """A book with a good index, and a way to damage one of its files again and again."""

    def __init__(self, book: Any, saved: Path) -> None:
        self.book, self.saved = book, saved
        self.good = book.sync().generation
        self.right = self.answer()
        assert self.right[0]
        shutil.copytree(book.root / ".cakebook", saved)

    def reset(self) -> None:
        shutil.rmtree(self.book.root / ".cakebook")
        shutil.copytree(self.saved, self.book.root / ".cakebook")

    def answer(self, *more: str) -> tuple[list[str], str]:
        """Hits of a search through the command line, or the code of its error."""
        ran = self.book.cli("search", "DataCopyPad", "--json", *more)
        said = json.loads(ran.out)
        if ran.status == 0:
            return [(hit["id"], hit["title"], hit["digest"]) for hit in said["hits"]], ""
        assert ran.status == 3, ran
        assert HINT in said["error"]["hint"] and ran.err.count("\n") == 1 and "Traceback" not in ran.err, ran
        return [], said["error"]["code"]

    def check(self, what: str, *, brief: bool = False) -> None:
        hits, code = self.answer("--no-sync")
        assert code in ("", "CB-E301", "CB-E302", "CB-E304"), what
        assert code or (hits, code) == self.right, what
        others = [["status"], ["show", "tiny-grid-size", "--no-sync"], ["context", "--operator", "layernorm", "--no-sync"]]
        for command in others[:1] if brief else others:
            ran = self.book.cli(*command)
            assert ran.status in (0, 3) and "CB-E9" not in ran.err, (what, ran)
        ran = self.book.cli("sync")
        assert ran.status == 0, (what, ran)
        assert self.answer() == self.right, what
        assert self.book.store.current() == self.good, what


@pytest.fixture
def damaged(tiny_book: Any, tmp_path: Path) -> Damaged:
    return Damaged(tiny_book, tmp_path / "saved")


@pytest.mark.parametrize(("name", "step"), [("catalog", 6113), ("manifest", 31), ("CURRENT", 1), ("SOURCE", 9)])
def test_any_damage_is_noticed_or_does_no_harm(damaged, name, step):
    data = index_files(damaged.book)[name].read_bytes()
    for what, changed in [*flips(data, step), *cuts(data, step), *other(data)]:
        if changed == data:
            continue
        damaged.reset()
        index_files(damaged.book)[name].write_bytes(changed)
        damaged.check(f"{name}: {what}", brief=True)


@pytest.mark.parametrize("name", ["catalog", "manifest", "CURRENT", "SOURCE", "lock"])
def test_any_file_may_be_gone(damaged, name):
    index_files(damaged.book)[name].unlink()
    damaged.check(name)


@pytest.mark.parametrize("name", ["catalog", "manifest", "lock"])
def test_a_file_of_a_generation_that_is_a_folder(damaged, name):
    path = index_files(damaged.book)[name]
    path.unlink()
    path.mkdir()
    damaged.check(name)


@pytest.mark.parametrize("name", ["catalog", "manifest"])
def test_a_file_of_another_generation(damaged, name):
    book = damaged.book
    text = (book.root / "entries/tiling/tiny-grid-size.md").read_bytes()
    book.write("entries/tiling/tiny-grid-size.md", b"edited")
    book.sync()
    theirs = index_files(book)[name].read_bytes()
    book.write("entries/tiling/tiny-grid-size.md", text)
    damaged.reset()
    index_files(book)[name].write_bytes(theirs)
    damaged.check(name)


@pytest.mark.parametrize(
    "text", ["../..", "/etc", ".", "..", "0" * 16, "x" * 5000, "\0" * 17, "a\nb", "标题", "0" * 16 + "/../" + "0" * 16]
)
def test_current_names_a_generation_and_never_a_path(damaged, text):
    index_files(damaged.book)["CURRENT"].write_text(text)
    damaged.check(text)


@pytest.mark.parametrize(
    "change",
    [
        {"files": None}, {"files": []}, {"files": {}}, {"files": {"catalog.sqlite": None}}, {"files": {"../x": "00"}},
        {"entries": "many"}, {"schema": None}, {"schema": "cakebook-catalog-0"}, {"more": 1}, {"generation": 7},
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_that_says_something_else(damaged, change):
    path = index_files(damaged.book)["manifest"]
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    damaged.check(str(change))


@pytest.mark.parametrize(
    "data", [{"generation": None}, {"signature": 7}, {"revision": 7}, {"revision": ["x"]}, {"generation": "../.."}], ids=str
)
def test_a_source_that_says_something_else(damaged, data):
    path = index_files(damaged.book)["SOURCE"]
    path.write_text(json.dumps({**json.loads(path.read_text()), **data}))
    damaged.check(str(data))


def test_a_catalog_too_large_to_be_verified_every_time(damaged, monkeypatch):
    """Above the limit only SQLite and JSON notice; what they notice has a code too."""
    monkeypatch.setattr(generation, "VERIFY_LIMIT", 0)
    data = index_files(damaged.book)["catalog"].read_bytes()
    for what, changed in [*flips(data, 1511), *cuts(data, 12_289), ("zeros", b"\0" * len(data))]:
        damaged.reset()
        index_files(damaged.book)["catalog"].write_bytes(changed)
        for command in (["search", "DataCopyPad"], ["show", "tiny-rows-per-tile"], ["context", "--operator", "layernorm"]):
            ran = damaged.book.cli(*command, "--no-sync")
            assert ran.status in (0, 2, 3) and "CB-E9" not in ran.err, (what, command, ran.err)
    assert damaged.book.cli("sync").status == 0
    assert damaged.answer() == damaged.right, "a sync verifies whatever the size"
