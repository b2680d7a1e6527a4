"""A book of one's own from nothing, drafts searched before anybody admits them, and the doctor."""

import json
from pathlib import Path

import pytest

from cakebook.settings import pins_file


@pytest.fixture
def start(cake, tmp_path):
    """`cakebook init` in a folder of the test's own; returns the folder and what was printed."""

    def run(*arguments):
        return tmp_path / "team", cake("init", str(tmp_path / "team"), *arguments)

    return run


def fill(path: Path, make_entry):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = make_entry("our-lesson", title="Merge row copies into one strided copy", symptom="copy time grows with rows")
    path.write_text(text.replace("type: Kernel Pattern", "type: Kernel Pattern"), "utf-8")


def test_from_nothing_to_a_draft_that_is_found(start, cake, make_entry, tmp_path):
    folder, done = start("--name", "our-team")
    assert done.status == 0 and done.out.startswith("our-team-") and "cakebook new" in done.err
    book = ("--book", str(folder))
    assert cake("lint", *book).status == 0
    synced = cake("sync", *book)
    assert synced.status == 0 and "0 entries served, 0 withheld" in synced.out
    fill(folder / "entries" / "tiling" / "our-lesson.md", make_entry)
    assert "0 entries served, 1 withheld" in cake("sync", *book).out
    for words, said in (("strided copy", "1 not-admitted"), ("按行搬运", "等待中：1 not-admitted")):
        asked = cake("search", words, *book)
        assert asked.status == 0 and said in asked.err and "cakebook preview" in asked.err
    assert "1 not-admitted" in cake("status", *book).out
    seen = cake("preview", str(folder / "entries"), "--query", "strided copy of rows", *book)
    assert seen.status == 0 and "[our-lesson]" in seen.out
    assert all(line.startswith("DRAFT ") for line in seen.out.splitlines() if line)
    as_json = json.loads(cake("preview", str(folder / "entries"), "--query", "strided copy", "--json", *book).out)
    assert as_json["draft"] is True and [h["tier"] for h in as_json["hits"]] == ["draft"]
    assert "0 entries served" in cake("sync", *book).out, "a preview admits nothing"


def test_a_second_book_has_another_id_and_both_are_pinned(cake, tmp_path, monkeypatch):
    first = json.loads(cake("init", str(tmp_path / "a"), "--json").out)
    second = json.loads(cake("init", str(tmp_path / "b"), "--name", "a", "--json").out)
    assert first["book"] != second["book"] and first["book"].startswith("a-") and second["book"].startswith("a-")
    pins = pins_file(tmp_path / "state").read_text()
    assert f"{first['root']} {first['book']}\n" in pins and f"{second['root']} {second['book']}\n" in pins


@pytest.mark.parametrize("name", ["Team", "a b", "-x", "x" * 41, "标题", "a/../b"])
def test_a_name_that_cannot_begin_an_id(start, name):
    folder, done = start("--name", name)
    assert done.status == 2 and "CB-E201" in done.err and not folder.exists()


def test_a_folder_with_something_in_it_is_left_alone(cake, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note.txt").write_text("mine")
    for target in (tmp_path / "full", tmp_path / "full" / "note.txt"):
        done = cake("init", str(target), "--name", "x")
        assert done.status == 1 and "CB-E102" in done.err
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["note.txt"]
    (tmp_path / "empty").mkdir()
    assert cake("init", str(tmp_path / "empty")).status == 0


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["preview", "no-such-folder", "--query", "x"], 2, "CB-E209"),
        (["preview", "--query", ""], 2, "CB-E204"),
        (["preview", "entries", "--query", "x", "--dsl", "cuda"], 2, "CB-E202"),
        (["preview", "entries", "--query", "x" * 30_000], 2, "CB-E205"),
    ],
)
def test_wrong_previews(cake, arguments, status, code):
    done = cake(*arguments)
    assert done.status == status and code in done.err and done.out == ""


def test_a_preview_tells_what_it_cannot_read_and_searches_the_rest(cake, make_entry, tmp_path):
    fill(tmp_path / "drafts" / "our-lesson.md", make_entry)
    (tmp_path / "drafts" / "broken.md").write_text("---\nid: [\n---\n")
    (tmp_path / "drafts" / "plain.md").write_bytes(b"\xff\xfe\x00")
    done = cake("preview", str(tmp_path / "drafts"), "--query", "strided copy")
    assert "[our-lesson]" in done.out and done.err.count("note: ") == 2 and "broken.md" in done.err


def test_the_doctor_of_a_good_book_finds_no_problem(cake):
    done = cake("doctor")
    assert done.status == 0 and "problem" not in done.out
    assert "root shipped" in done.out and "entries served" in done.out and "FTS5" in done.out


def test_the_doctor_names_the_command_that_mends(cake, own_book):
    book = ("--book", str(own_book))
    index = own_book / ".cakebook" / "index"
    current = (index / "CURRENT").read_text().strip()
    catalog = index / current / "catalog.sqlite"
    catalog.write_bytes(catalog.read_bytes()[:-4096])
    done = cake("doctor", *book)
    assert done.status == 1 and "problem" in done.out and "cakebook sync --rebuild" in done.out
    cake("sync", "--rebuild", *book)
    assert cake("doctor", *book).status == 0
    (index / "CURRENT").unlink()
    done = cake("doctor", *book)
    assert done.status == 1 and "→  cakebook sync" in done.out


def test_the_doctor_outside_any_book_and_as_json(cake, tmp_path):
    found = json.loads(cake("doctor", "--json", cwd=tmp_path).out)
    assert {f["state"] for f in found} <= {"ok", "warning", "problem"}
    assert any("book" in f["what"] and f["mend"] for f in found)


def test_the_doctor_asks_a_chroma_server_that_is_not_there(cake, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_CHROMA_URL", "http://127.0.0.1:9")
    done = cake("doctor")
    assert "CB-E901" not in done.out and ("Chroma" in done.out or "chromadb" in done.out)
