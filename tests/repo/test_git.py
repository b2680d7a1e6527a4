"""A book at a revision: the same bytes as the folder, whatever state the repository is in, and no way to pass an option."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cakebook.errors import BadRevision, GitFailed, Unreadable
from cakebook.repo.git import Repository
from cakebook.repo.layout import JUDGED, FolderSource, entry_paths


def around(root: Path) -> Repository:
    repository = Repository.around(root)
    assert repository is not None
    return repository


def contents(source, prefixes=JUDGED) -> dict[str, bytes]:
    return {path: source.read(path) for prefix in prefixes for path in source.paths(prefix)}


def test_a_revision_holds_what_the_folder_holds(git_book):
    git_book.write("entries/tiling/标题 é 😀.md", b"\xef\xbb\xbf---\r\nid: a\r\n---\r\n\0\xff")
    git_book.write("entries/empty.md", b"")
    git_book.write("entries/a\tb\n\"c'.md", b"x")
    git_book.commit()
    here = contents(FolderSource(git_book.root))
    assert "entries/tiling/标题 é 😀.md" in here and len(here) > 10
    assert contents(around(git_book.root).at("HEAD", JUDGED)) == here


def test_only_the_prefixes_are_listed(git_book):
    source = around(git_book.root).at("HEAD", ("entries/tiling", "book/policy.yaml"))
    assert source.paths("book") == ["book/policy.yaml"]
    assert source.paths("entries") == ["entries/tiling/tiny-grid-size.md", "entries/tiling/tiny-rows-per-tile.md"]
    assert source.paths("entries/til") == []
    with pytest.raises(Unreadable, match=r"\.gitignore: not in"):
        source.read(".gitignore")


def test_an_older_revision_is_read_as_it_was(git_book):
    path = "entries/tiling/tiny-grid-size.md"
    before = (git_book.root / path).read_bytes()
    git_book.write(path, "other")
    git_book.commit()
    repository = around(git_book.root)
    assert repository.at("HEAD~1", JUDGED).read(path) == before
    assert repository.at("HEAD", JUDGED).read(path) == b"other"


# States of a repository


def test_a_plain_folder_has_no_repository(tiny_book):
    assert Repository.around(tiny_book.root) is None


def test_a_repository_without_a_commit(tiny_book):
    tiny_book.git("init", "-q")
    repository = around(tiny_book.root)
    assert repository.head() is None
    assert repository.differs(JUDGED)
    with pytest.raises(BadRevision, match="names no commit"):
        repository.at("HEAD", JUDGED)


def test_a_repository_of_longer_digests_has_a_commit(tiny_book):
    tiny_book.git("init", "-q", "--object-format=sha256")
    commit = tiny_book.commit()
    assert len(commit) == 64 and around(tiny_book.root).head() == commit


def test_a_detached_head(git_book):
    commit = git_book.git("rev-parse", "HEAD~1")
    git_book.git("checkout", "-q", "--detach", commit)
    repository = around(git_book.root)
    assert repository.head() == commit == repository.at("HEAD", JUDGED).commit


def test_a_shallow_clone_reads_like_the_whole(git_book, tmp_path):
    whole = contents(around(git_book.root).at("HEAD", JUDGED))
    git_book.git("clone", "-q", "--depth", "1", f"file://{git_book.root}", str(tmp_path / "clone"))
    repository = around(tmp_path / "clone")
    assert contents(repository.at("HEAD", JUDGED)) == whole
    assert not repository.differs(JUDGED)
    with pytest.raises(BadRevision, match="names no commit here") as raised:
        repository.at("HEAD~1", JUDGED)
    assert "fetch" in raised.value.hint


def test_a_bare_repository_is_no_work_tree(git_book, tmp_path):
    git_book.git("clone", "-q", "--bare", str(git_book.root), str(tmp_path / "bare.git"))
    assert Repository.around(tmp_path / "bare.git") is None


def test_a_linked_work_tree(git_book, tmp_path):
    git_book.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"), "HEAD~1")
    repository = around(tmp_path / "side")
    assert repository.head() == git_book.git("rev-parse", "side")
    assert not repository.differs(JUDGED)
    (tmp_path / "side" / "entries" / "tiling" / "tiny-grid-size.md").write_text("x")
    assert repository.differs(JUDGED) and not around(git_book.root).differs(JUDGED)


def test_a_merge_that_stopped_half_way_is_a_dirty_tree(git_book):
    path = "entries/tiling/tiny-grid-size.md"
    git_book.git("checkout", "-q", "-b", "side")
    git_book.write(path, "one\n")
    git_book.commit()
    git_book.git("checkout", "-q", "main")
    git_book.write(path, "two\n")
    head = git_book.commit()
    subprocess.run(["git", "merge", "side"], cwd=git_book.root, capture_output=True, check=False)
    assert (git_book.root / ".git" / "MERGE_HEAD").exists()
    repository = around(git_book.root)
    assert repository.head() == head and repository.differs(JUDGED)
    assert repository.at("HEAD", JUDGED).read(path) == b"two\n"


def test_a_missing_blob_names_the_file(git_book):
    path = "entries/tiling/tiny-grid-size.md"
    blob = git_book.git("rev-parse", f"HEAD:{path}")
    (git_book.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    source = around(git_book.root).at("HEAD", JUDGED)
    with pytest.raises(Unreadable, match=path) as raised:
        source.read(path)
    assert "fetch" in raised.value.hint
    assert source.read("book/policy.yaml")


def test_a_head_whose_commit_is_missing_is_an_error_of_ours(git_book):
    head = git_book.git("rev-parse", "HEAD")
    (git_book.root / ".git" / "objects" / head[:2] / head[2:]).unlink()
    repository = around(git_book.root)
    with pytest.raises((GitFailed, BadRevision)):
        repository.differs(JUDGED)
    assert repository.head() in (None, head)


def test_a_git_folder_that_is_none_is_a_plain_folder(tiny_book):
    (tiny_book.root / ".git").mkdir()
    assert Repository.around(tiny_book.root) is None
    (tiny_book.root / ".git").rmdir()
    tiny_book.write(".git", "gitdir: /nowhere/at/all\n")
    assert Repository.around(tiny_book.root) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs a superuser")
def test_a_repository_of_another_owner_is_refused_with_the_command_that_mends_it(git_book, monkeypatch):
    monkeypatch.delenv("SUDO_UID", raising=False)
    for path in (git_book.root, git_book.root / ".git"):
        os.chown(path, 65534, 65534)
    repository = around(git_book.root)
    for call in (lambda: repository.differs(JUDGED), lambda: repository.at("HEAD", JUDGED)):
        with pytest.raises(GitFailed, match="ownership") as raised:
            call()
        assert "safe.directory" in raised.value.hint


def test_without_the_git_program_it_says_so(git_book, shipped_root, tmp_path):
    code = (
        "import sys; from pathlib import Path\nfrom cakebook.repo.git import Repository\nRepository.around(Path(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(git_book.root)],
        env={"PATH": str(tmp_path), "PYTHONPATH": str(shipped_root)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "GitFailed: CB-E406 git cannot be used" in done.stderr.splitlines()[-1]
    assert "install git" in done.stderr.splitlines()[-1]


def test_git_that_vanishes_later_is_an_error_of_ours(git_book, tmp_path, monkeypatch):
    repository = around(git_book.root)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitFailed):
        repository.differs(JUDGED)


# Books below the top of a repository


@pytest.fixture
def nested(git_book, tmp_path) -> Path:
    """The book in a folder with a difficult name, in the repository of something else."""
    root = tmp_path / "outer" / "docs [*] 书" / "book"
    shutil.copytree(git_book.root, root, ignore=shutil.ignore_patterns(".git"))
    (tmp_path / "outer" / "entries").mkdir()
    (tmp_path / "outer" / "entries" / "not-ours.md").write_text("x")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", *command], cwd=tmp_path / "outer", check=True)
    return root


def test_a_book_in_a_subfolder_reads_its_own_files(nested):
    repository = around(nested)
    assert repository.prefix == "docs [*] 书/book"
    source = repository.at("HEAD", JUDGED)
    assert contents(source) == contents(FolderSource(nested))
    assert "entries/not-ours.md" not in source.paths("entries")


def test_only_the_subfolder_makes_it_dirty(nested, tmp_path):
    (tmp_path / "outer" / "entries" / "not-ours.md").write_text("changed")
    (tmp_path / "outer" / "docs [*] 书" / "other.md").write_text("new")
    assert not around(nested).differs(JUDGED)
    (nested / "entries" / "new.md").write_text("new")
    assert around(nested).differs(JUDGED)


def test_a_book_reached_through_a_link_is_the_same_book(git_book, tmp_path):
    (tmp_path / "link").symlink_to(git_book.root)
    repository = around(tmp_path / "link")
    assert repository.prefix == "" and repository.head() == git_book.git("rev-parse", "HEAD")
    assert contents(repository.at("HEAD", JUDGED)) == contents(FolderSource(git_book.root))


def test_a_link_inside_another_repository_does_not_make_the_book_part_of_it(tiny_book, tmp_path):
    (tmp_path / "other").mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "other", check=True)
    (tmp_path / "other" / "link").symlink_to(tiny_book.root)
    assert Repository.around(tmp_path / "other" / "link") is None


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"])
def test_the_variables_of_a_git_hook_do_not_lead_to_another_repository(git_book, tmp_path, monkeypatch, name):
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=other, check=True)
    value = {"GIT_DIR": other / ".git", "GIT_WORK_TREE": other, "GIT_INDEX_FILE": other / ".git" / "index"}[name]
    expected = contents(FolderSource(git_book.root))
    head = git_book.git("rev-parse", "HEAD")
    monkeypatch.setenv(name, str(value))
    repository = around(git_book.root)
    assert repository.head() == head
    assert not repository.differs(JUDGED)
    assert contents(repository.at("HEAD", JUDGED)) == expected


# The work tree


@pytest.mark.parametrize(
    ("change", "dirty"),
    [
        pytest.param(lambda b: b.write("entries/new.md", "x"), True, id="new"),
        pytest.param(lambda b: b.write("entries/tiling/tiny-grid-size.md", "x"), True, id="edited"),
        pytest.param(lambda b: (b.root / "entries/tiling/tiny-grid-size.md").unlink(), True, id="F27-deleted-not-staged"),
        pytest.param(lambda b: b.git("rm", "-q", "--cached", "entries/tiling/tiny-grid-size.md"), True, id="unstaged"),
        pytest.param(lambda b: b.git("mv", "entries/tiling/tiny-grid-size.md", "entries/x.md"), True, id="renamed"),
        pytest.param(lambda b: b.write("book/policy.yaml", "serve: reviewed\n"), True, id="policy"),
        pytest.param(lambda b: b.write("book/vocabulary/new.yaml", "terms: []\n"), True, id="vocabulary"),
        pytest.param(lambda b: b.write("book/people/a.yaml", "x"), True, id="people"),
        pytest.param(lambda b: b.write("README.md", "x"), False, id="elsewhere"),
        pytest.param(lambda b: b.write("book/chapters/guide.md", "x"), False, id="prose"),
        pytest.param(lambda b: os.utime(b.root / "entries/tiling/tiny-grid-size.md"), False, id="touched"),
    ],
)
def test_what_makes_a_tree_dirty(git_book, change, dirty):
    assert not around(git_book.root).differs(JUDGED)
    change(git_book)
    assert around(git_book.root).differs(JUDGED) is dirty


def test_f27_a_deleted_file_is_gone_here_and_there_at_the_revision(git_book):
    path = "entries/tiling/tiny-grid-size.md"
    (git_book.root / path).unlink()
    assert path not in entry_paths(FolderSource(git_book.root))
    assert path in entry_paths(around(git_book.root).at("HEAD", JUDGED))


def test_looking_does_not_touch_the_repository(git_book):
    os.utime(git_book.root / "entries/tiling/tiny-grid-size.md")
    before = {p: p.read_bytes() for p in (git_book.root / ".git").rglob("*") if p.is_file()}
    repository = around(git_book.root)
    repository.differs(JUDGED)
    contents(repository.at("HEAD", JUDGED))
    assert {p: p.read_bytes() for p in (git_book.root / ".git").rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    "setting", ["core.quotePath=true", "status.showUntrackedFiles=no", "status.short=false", "color.ui=always"]
)
def test_the_settings_of_a_user_do_not_change_the_answer(git_book, setting):
    git_book.write("entries/标题.md", "x")
    git_book.git("config", *setting.split("="))
    assert around(git_book.root).differs(JUDGED)
    git_book.commit()
    assert not around(git_book.root).differs(JUDGED)
    assert "entries/标题.md" in around(git_book.root).at("HEAD", JUDGED).paths("entries")


# Links, submodules, names


def test_links_and_submodules_of_a_revision_are_passed_over_and_named(git_book, tmp_path):
    (git_book.root / "entries" / "link.md").symlink_to("/etc/hostname")
    subprocess.run(["git", "clone", "-q", str(git_book.root), str(tmp_path / "module")], check=True)
    git_book.git("-c", "protocol.file.allow=always", "submodule", "-q", "add", str(tmp_path / "module"), "entries/module")
    git_book.commit()
    source = around(git_book.root).at("HEAD", JUDGED)
    assert [(s.path, s.code) for s in source.skipped()] == [("entries/link.md", "not-a-file"), ("entries/module", "not-a-file")]
    assert "entries/link.md" not in source.paths("entries")
    with pytest.raises(Unreadable, match=r"entries/link\.md"):
        source.read("entries/link.md")


def test_a_name_that_is_no_text_is_passed_over_and_named(git_book):
    with open(os.fsencode(git_book.root) + b"/entries/caf\xe9.md", "wb") as stream:
        stream.write(b"x")
    git_book.commit()
    source = around(git_book.root).at("HEAD", JUDGED)
    assert [s.text for s in source.skipped()] == ["its name is not UTF-8"]
    assert all(path.isprintable() for path in source.paths("entries"))


@pytest.mark.parametrize("name", ["Äbc", "标题", "a b", "emoji-😀", 'quote"s', "tab\there", "-leading", "--output=x"])
def test_f23_names_are_not_damaged(git_book, name):
    path = f"entries/{name}.md"
    git_book.write(path, name)
    git_book.commit()
    assert around(git_book.root).at("HEAD", JUDGED).read(path) == name.encode()


# Revisions


@pytest.mark.parametrize("revision", ["main", "HEAD", "refs/heads/main", "v1", "a tag/é", "HEAD@{0}", "HEAD~1"])
def test_names_of_revisions(git_book, revision):
    git_book.git("tag", "v1")
    git_book.git("tag", "-a", "-m", "x", "标签")
    revision = "标签" if revision == "a tag/é" else revision
    assert around(git_book.root).resolve(revision) == git_book.git("rev-parse", revision + "^{commit}")


@pytest.mark.parametrize(
    "revision",
    [
        "--output=stolen",
        "-h",
        "--all",
        "--upload-pack=touch stolen",
        "--exec=touch stolen",
        "-",
        "--",
        "--end-of-options",
        "--git-dir=x",
    ],
)
def test_f25_an_option_is_no_revision(git_book, revision):
    with pytest.raises(BadRevision, match="is not a revision"):
        around(git_book.root).at(revision, JUDGED)
    assert not list(git_book.root.parent.rglob("stolen*"))


@pytest.mark.parametrize(
    "revision",
    [
        "",
        "\0",
        "nothing",
        "HEAD:entries",
        "HEAD^{tree}",
        "main..side",
        "0" * 40,
        "a\nb",
        "HEAD ",
        "*",
        "^HEAD",
        "x" * 5000,
        "\ud800",
    ],
)
def test_what_names_no_commit_is_refused(git_book, revision):
    with pytest.raises(BadRevision):
        around(git_book.root).resolve(revision)


def test_a_branch_that_looks_like_an_option_cannot_be_reached_by_that_name(git_book):
    git_book.git("update-ref", "refs/heads/--all", "HEAD")
    with pytest.raises(BadRevision):
        around(git_book.root).resolve("--all")
    assert around(git_book.root).resolve("refs/heads/--all") == git_book.git("rev-parse", "HEAD")
