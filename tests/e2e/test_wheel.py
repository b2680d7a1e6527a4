"""The wheel, as a user has it: built, installed into an empty environment, asked in an empty folder."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
QUESTION = "vector 一直在等 MTE2，怎么让搬运和计算重叠"
PARTS = ("cakebook", "entries", "book", "scripts", "pyproject.toml", "README.md", "LICENSE")
EPOCH = {"SOURCE_DATE_EPOCH": "1790000000"}


def build(what, source, target):
    """What hatchling makes of a copy of the tree: `wheel`, `wheel:editable` or `sdist`."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", what, "--directory", str(target)]
    done = subprocess.run(command, cwd=source, env={**os.environ, **EPOCH}, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the tree, so that nothing is left in the repository."""
    folder = tmp_path_factory.mktemp("source")
    for name in PARTS:
        if (REPO / name).is_dir():
            shutil.copytree(REPO / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(REPO / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    """The wheel of the tree."""
    before = sorted(source.rglob("*"))
    built = build("wheel", source, tmp_path_factory.mktemp("wheel"))
    assert [p for p in sorted(source.rglob("*")) if "__pycache__" not in p.parts] == before
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment with the wheel and what it depends on, and nothing else."""
    environment = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", str(wheel)], check=True, capture_output=True)  # fmt: skip
    return environment


@pytest.fixture(scope="module")
def ask(installed, tmp_path_factory):
    """`cakebook ARGUMENTS --json` in an empty folder with a home of its own."""
    empty, home = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("home")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CAKEBOOK_", "PYTHON", "XDG_"))}

    def run(*arguments, check=True, **more):
        done = subprocess.run(
            [str(installed / "bin" / "cakebook"), *arguments, "--json"], cwd=empty, capture_output=True, encoding="utf-8",
            env={**environment, "HOME": str(home), **more}, check=False,
        )  # fmt: skip
        assert done.returncode == 0 or not check, done.stderr
        run.stderr = done.stderr
        return json.loads(done.stdout)

    run.home, run.folder = home, empty
    return run


def test_it_carries_the_book_its_vectors_and_its_index_and_nothing_strange(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for path in [*(REPO / "entries").rglob("*.md"), *(REPO / "book").rglob("*.yaml")]:
            assert archive.read(f"cakebook/data/book/{path.relative_to(REPO).as_posix()}") == path.read_bytes()
    own = [n for n in names if not n.startswith("cakebook/data/") and ".dist-info/" not in n]
    assert all(n.startswith("cakebook/") and n.endswith((".py", "py.typed")) for n in own)
    assert [n for n in names if n.startswith("cakebook/data/vectors/")] and "cakebook/data/index/CURRENT" in names
    assert any(n.endswith("licenses/LICENSE") for n in names)


def test_a_source_archive_makes_the_same_bytes_whatever_links_lead_out_of_it(source, wheel, tmp_path):
    archive = build("sdist", source, tmp_path / "sdist")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    (tmp_path / "private.md").write_text("not ours")
    (unpacked / "book" / "notes.md").symlink_to(tmp_path / "private.md")
    assert build("wheel", unpacked, tmp_path / "again").read_bytes() == wheel.read_bytes()


def test_an_editable_install_carries_nothing(source, tmp_path):
    with zipfile.ZipFile(build("wheel:editable", source, tmp_path / "editable")) as archive:
        assert not [name for name in archive.namelist() if name.startswith("cakebook/")]


def test_an_entry_that_is_not_admitted_fails_the_build(source, tmp_path):
    shutil.copytree(source, tmp_path / "edited")
    with next((tmp_path / "edited" / "entries").rglob("*.md")).open("a") as entry:
        entry.write("\nEdited.\n")
    with pytest.raises(AssertionError, match=r"not admitted, so no wheel: .*\(edited\)"):
        build("wheel", tmp_path / "edited", tmp_path / "wheel")


def test_it_answers_by_meaning_at_once_and_embeds_nothing(ask, installed):
    result = ask("search", QUESTION, "--target", "910B3")
    assert result["mode"] == "hybrid" and result["degraded"] == [] and ask.stderr == ""
    assert "ascendc-double-buffer" in [hit["id"] for hit in result["hits"]][:3]
    pack = ask(
        "context", "--operator", "layernorm", "--dsl", "ascendc", "--target", "950PR", "--stage", "evolve", "--budget", "1500"
    )
    assert pack["items"] and pack["tokens"] <= 1500
    status = ask("status")
    assert status["fresh"] and status["withheld"] == [] and status["pinned"].startswith("release ")
    assert Path(status["root"]).is_relative_to(installed)
    assert not list(ask.folder.iterdir()) and not list(ask.home.rglob("embeddings.sqlite"))


def test_it_scores_as_a_clone_does(ask, tmp_path, models, monkeypatch):
    from cakebook import Book

    for name in ("entries", "book"):
        shutil.copytree(REPO / name, tmp_path / "clone" / name)
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", "use")
    with Book.open(tmp_path / "clone") as book:
        book.sync()
        theirs = book.search(QUESTION, target="910B3", explain=True)
    ours = ask("search", QUESTION, "--target", "910B3", "--explain")
    assert [(h["id"], h["score"], h["explain"]) for h in ours["hits"]] == [(h.id, h.score, h.explain) for h in theirs.hits]


def test_a_sync_builds_in_the_state_folder_from_the_vectors_that_it_carries(ask, installed):
    report = ask("sync", CAKEBOOK_CACHE=str(ask.home / "no-model-here"))
    assert report["built"] and report["embedded"] == 0 and report["vectors"] > 0
    assert not (ask.home / "no-model-here").exists()
    assert list(ask.home.rglob("vectors.f32")) and not list(installed.rglob(".cakebook"))
    assert ask("status")["pinned"] is None and ask("search", QUESTION)["mode"] == "hybrid"


def test_what_a_user_built_holds_whatever_is_set_later(ask, tmp_path):
    state = {"CAKEBOOK_STATE": str(tmp_path)}
    assert ask("sync", "--embedder", "none", **state)["vectors"] == 0
    for later in ({}, {"CAKEBOOK_ENGINE": "scan"}, {"CAKEBOOK_TRUST_ROOT": "0" * 64}):
        assert ask("search", QUESTION, **state, **later)["mode"] == "lexical" and ask.stderr == ""
    assert not ask("sync", **state)["built"] and ask("sync", "--embedder", "use", **state)["embedded"] == 0
    assert ask("search", QUESTION, **state)["mode"] == "hybrid"


def test_it_is_known_by_whatever_path_it_is_named(ask, installed, tmp_path):
    book = Path(ask("status")["root"])
    (tmp_path / "link").symlink_to(installed)
    for named in (book, tmp_path / "link" / book.relative_to(installed), book / ".." / "book"):
        assert ask("search", QUESTION, "--book", str(named), CAKEBOOK_STATE=str(tmp_path / "state"))["degraded"] == []
        assert not list(installed.rglob(".cakebook")) and not list((tmp_path / "state").rglob("CURRENT"))


def test_it_works_where_nothing_can_be_written(ask, installed):
    if os.getuid() == 0:  # root writes everywhere: what is written is looked at instead
        before = {p: p.stat().st_mtime_ns for p in installed.rglob("*") if "__pycache__" not in p.parts}
        assert ask("search", "DataCopyPad", CAKEBOOK_STATE="/proc/none", CAKEBOOK_CACHE="/proc/none")["hits"]
        assert before == {p: p.stat().st_mtime_ns for p in installed.rglob("*") if "__pycache__" not in p.parts}
        return
    folders = [p for p in (installed / "lib").rglob("*") if p.is_dir()]
    for folder in folders:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert ask("search", "DataCopyPad")["hits"]
    finally:
        for folder in folders:
            folder.chmod(stat.S_IRWXU)


def test_a_folder_with_a_book_of_its_own_comes_first(ask, tiny_book):
    named = ask("status", "--book", str(tiny_book.root), CAKEBOOK_TRUST_ROOT=",".join(tiny_book.pins), check=False)
    assert named["error"]["code"] == "CB-E301"
