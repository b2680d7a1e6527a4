"""Starting a book of one's own: what is written, what is pinned, and what is left when it cannot be done."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from cakebook.errors import AlreadyExists, BadArgument, StoreIO
from cakebook.gate import pins
from cakebook.gate import start as starter
from cakebook.gate.facts import gather
from cakebook.gate.start import start
from cakebook.lint.runner import lint_book
from cakebook.repo.layout import GOVERNED, FolderSource
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.settings import Settings, pins_file

REPO = Path(__file__).parents[2]


@pytest.fixture
def settings(tmp_path):
    return Settings(state=tmp_path / "state")


def everything(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*"))


def test_what_a_new_book_holds(settings, tmp_path):
    made = start(tmp_path / "deep" / "er" / "team", "our-team", settings)
    root, source = Path(made.folder), FolderSource(Path(made.folder))
    assert made.book.startswith("our-team-") and len(made.book) == len("our-team-") + 8
    assert {p.name for p in root.iterdir()} == {".gitattributes", ".gitignore", "README.md", "book", "entries"}
    assert everything(root / "entries") == [".gitkeep"]
    for path in ["book/policy.yaml", *FolderSource(REPO).paths("book/vocabulary")]:
        assert source.read(path) == (REPO / path).read_bytes()
    assert made.root == sha256(source.read("book/trust/1.yaml")).hexdigest()
    readme = (root / "README.md").read_text("utf-8")
    assert all(f"cakebook {c}" in readme for c in ("new", "lint", "preview", "sync")) and made.root in readme
    assert lint_book(source, load_vocabulary(source), frozenset(), None) == []


def test_its_root_is_believed_and_covers_every_governed_file(settings, tmp_path):
    made = start(tmp_path / "team", "", settings)
    source = FolderSource(Path(made.folder))
    assert gather(source, frozenset()).trust.anchor is None, "nobody believes it who has not pinned it"
    facts = gather(source, frozenset({made.root}))
    assert facts.trust.anchor is not None and facts.uncovered == () and facts.founding is None and facts.trust.reason == ""
    anchor = facts.trust.anchor
    assert (anchor.book, anchor.n, anchor.previous, anchor.admins, anchor.edition) == (made.book, 1, None, {}, None)
    assert sorted(anchor.files) == sorted(p for part in GOVERNED for p in source.paths(part))
    (Path(made.folder) / "book" / "policy.yaml").write_text("serve: draft\n")
    assert gather(source, frozenset({made.root})).uncovered == ("book/policy.yaml",)


@pytest.mark.parametrize("before", [b"", b"damaged line", b"\xff\xfe\x00\n", b"a b c\n\n"])
def test_the_pin_is_added_to_whatever_stands_there(settings, tmp_path, monkeypatch, before):
    pins = pins_file(settings.state)
    pins.parent.mkdir()
    pins.write_bytes(before)
    made = start(tmp_path / "team", "", settings)
    assert pins.read_bytes().startswith(before)
    assert pins.read_bytes().endswith(f"{made.root} {made.book}\n".encode())
    monkeypatch.setenv("CAKEBOOK_STATE", str(settings.state))
    assert made.root in Settings.from_environment().trust_roots


def test_books_started_at_once_are_all_pinned(settings, tmp_path):
    code = (
        "import sys; from pathlib import Path; from cakebook.gate.start import start; from cakebook.settings import Settings\n"
    )
    code += "for i in range(5): start(Path(sys.argv[1] + str(i)), 'p', Settings(state=Path(sys.argv[2])))"
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    commands = [[sys.executable, "-c", code, str(tmp_path / f"book-{n}-"), str(settings.state)] for n in range(4)]
    running = [subprocess.Popen(command, env=environment) for command in commands]
    assert [process.wait(60) for process in running] == [0] * 4
    assert len({line.split()[1] for line in pins_file(settings.state).read_text().splitlines()}) == 20


def test_a_folder_that_is_there_stays_the_same_folder(settings, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir(mode=0o750)
    before = here.stat()
    monkeypatch.chdir(here)
    start(Path(), "", settings)
    assert (here.stat().st_ino, here.stat().st_mode) == (before.st_ino, before.st_mode)
    assert Path("book/policy.yaml").is_file() and not list(here.glob(".cakebook-init-*"))


def test_a_link_and_dots_mean_the_folder_they_lead_to(settings, tmp_path, monkeypatch):
    (tmp_path / "real" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "below")
    assert start(tmp_path / "link", "", settings).folder == str(tmp_path / "real" / "below")
    (tmp_path / "up" / "gone").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "up" / "gone")
    (tmp_path / "up" / "gone").rmdir()
    assert start(tmp_path / "up" / "x" / "..", "", settings).book.startswith("up-")


@pytest.mark.parametrize("name", ["Team", "a b", "-x", "x-", "a--b", "x" * 41, "标题", "a/../b", "a\n", "\ud800"])
def test_names_that_cannot_begin_an_id(settings, tmp_path, name):
    with pytest.raises(BadArgument):
        start(tmp_path / "team", name, settings)
    assert everything(tmp_path) == []


def test_a_folder_whose_name_gives_no_id(settings, tmp_path):
    with pytest.raises(BadArgument, match="cannot begin") as failed:
        start(tmp_path / "知识", "", settings)
    assert "--name" in failed.value.hint and everything(tmp_path) == []
    assert start(tmp_path / "知识", "ours", settings).book.startswith("ours-")


def test_what_is_there_is_never_touched(settings, tmp_path):
    made = Path(start(tmp_path / "team", "", settings).folder)
    before = {p: p.read_bytes() for p in made.rglob("*") if p.is_file()}
    with pytest.raises(AlreadyExists, match="holds a book"):
        start(made, "", settings)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / ".hidden").touch()
    for target, said in (("file", "is a file"), ("full", "is not empty")):
        with pytest.raises(AlreadyExists, match=said):
            start(tmp_path / target, "x", settings)
    assert {p: p.read_bytes() for p in made.rglob("*") if p.is_file()} == before
    assert everything(tmp_path / "full") == [".hidden"] and (tmp_path / "file").read_text() == "mine"
    assert len(pins_file(settings.state).read_text().splitlines()) == 1


def test_what_cannot_be_written(settings, tmp_path):
    (tmp_path / "file").write_text("mine")
    for target in (tmp_path / "file" / "team", tmp_path / ("x" * 300)):
        with pytest.raises(StoreIO):
            start(target, "x", settings)
    assert everything(tmp_path) == ["file"]


@pytest.mark.parametrize("there", [True, False])
def test_no_book_without_its_pin(tmp_path, there):
    (tmp_path / "state").write_text("not a folder")
    if there:
        (tmp_path / "team").mkdir()
    with pytest.raises(StoreIO):
        start(tmp_path / "team", "", Settings(state=tmp_path / "state"))
    assert everything(tmp_path) == ["state"] + ["team"] * there


def test_pins_that_are_locked(settings, tmp_path, monkeypatch):
    from filelock import FileLock

    monkeypatch.setattr(pins, "LOCK_SECONDS", 0.05)
    settings.state.mkdir()
    with FileLock(settings.state / "pins.txt.lock"), pytest.raises(StoreIO, match="locked"):
        start(tmp_path / "team", "", settings)
    assert not (tmp_path / "team").exists()


def test_a_move_that_fails_half_way_takes_back_only_its_own(settings, tmp_path, monkeypatch):
    (tmp_path / "team").mkdir()
    pin = starter.pin

    def meanwhile(*arguments):
        pin(*arguments)
        (tmp_path / "team" / "book").mkdir()
        (tmp_path / "team" / "book" / "theirs").write_text("theirs")

    monkeypatch.setattr(starter, "pin", meanwhile)
    with pytest.raises(AlreadyExists):
        start(tmp_path / "team", "", settings)
    assert everything(tmp_path / "team") == ["book", "book/theirs"]


def test_a_user_without_a_home_has_no_pins_and_no_error(monkeypatch):
    pwd = pytest.importorskip("pwd")

    def nobody(_):
        raise KeyError

    for name in ("HOME", "XDG_DATA_HOME", "CAKEBOOK_STATE", "CAKEBOOK_TRUST_ROOT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert Settings.from_environment().trust_roots == frozenset()
