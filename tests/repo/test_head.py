"""`head_commit` reads files where git would run: it must say what `git rev-parse HEAD` says, however HEAD is stored."""

import subprocess

import pytest

from cakebook.repo.head import git_folder, head_commit


def agrees(book, folder=None) -> None:
    folder = folder or book.root
    expected = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert head_commit(folder) == expected


def test_a_branch(git_book):
    agrees(git_book)


def test_packed_refs(git_book):
    git_book.git("pack-refs", "--all", "--prune")
    assert not (git_book.root / ".git" / "refs" / "heads" / "main").exists()
    agrees(git_book)
    git_book.commit()  # a loose ref goes before a packed one
    agrees(git_book)


def test_packed_refs_with_names_that_end_alike(git_book):
    git_book.git("branch", "x/main", "HEAD~1")
    git_book.git("branch", "amain", "HEAD~1")
    git_book.git("tag", "-a", "-m", "x", "main")
    git_book.git("pack-refs", "--all", "--prune")
    agrees(git_book)


def test_a_detached_head(git_book):
    git_book.git("checkout", "-q", "--detach", "HEAD~1")
    agrees(git_book)


def test_a_branch_with_slashes_and_chinese(git_book):
    git_book.git("checkout", "-q", "-b", "topic/双缓冲/é")
    agrees(git_book)
    git_book.git("pack-refs", "--all", "--prune")
    agrees(git_book)


def test_a_linked_work_tree(git_book, tmp_path):
    git_book.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"), "HEAD~1")
    agrees(git_book, tmp_path / "side")
    git_book.git("pack-refs", "--all", "--prune")
    agrees(git_book, tmp_path / "side")
    agrees(git_book)


def test_a_subfolder(git_book):
    agrees(git_book, git_book.root / "entries" / "tiling")


def test_a_submodule(git_book, tmp_path):
    outer = tmp_path / "outer"
    outer.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=outer, check=True)
    command = ["git", "-c", "protocol.file.allow=always", "submodule", "-q", "add", str(git_book.root), "book"]
    subprocess.run(command, cwd=outer, check=True)
    assert (outer / "book" / ".git").is_file()
    agrees(git_book, outer / "book")


def test_a_separate_git_folder(git_book, tmp_path):
    git_book.git(
        "clone", "-q", "--separate-git-dir", str(tmp_path / "elsewhere.git"), str(git_book.root), str(tmp_path / "clone")
    )
    agrees(git_book, tmp_path / "clone")


def test_a_branch_that_is_another_name_of_a_branch(git_book):
    git_book.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git_book.git("symbolic-ref", "HEAD", "refs/heads/alias")
    agrees(git_book)
    git_book.commit()
    agrees(git_book)


def test_a_head_that_leads_in_a_circle_is_no_commit(git_book):
    (git_book.root / ".git" / "refs" / "heads" / "a").write_text("ref: refs/heads/b\n")
    (git_book.root / ".git" / "refs" / "heads" / "b").write_text("ref: refs/heads/a\n")
    (git_book.root / ".git" / "HEAD").write_text("ref: refs/heads/a\n")
    assert head_commit(git_book.root) is None


def test_the_book_reached_through_a_link(git_book, tmp_path):
    (tmp_path / "link").symlink_to(git_book.root / "entries")
    assert head_commit(tmp_path / "link") == git_book.git("rev-parse", "HEAD")


def test_no_commit_yet(tiny_book):
    tiny_book.git("init", "-q")
    assert git_folder(tiny_book.root) == tiny_book.root / ".git"
    assert head_commit(tiny_book.root) is None


def test_no_repository(tiny_book):
    assert git_folder(tiny_book.root) is None and head_commit(tiny_book.root) is None


@pytest.mark.parametrize("text", ["", "gitdir:", "gitdir: nowhere", "\xff\0", "ref: refs/heads/main"])
def test_a_git_file_that_leads_nowhere_is_no_error(tiny_book, text):
    tiny_book.write(".git", text.encode("latin-1"))
    assert head_commit(tiny_book.root) is None


@pytest.mark.parametrize(
    "head", [b"", b"\xff\xfe", b"ref: ", b"ref: ../../../secret", b"ref: /etc/hostname", b"junk", b"\0" * 41]
)
def test_a_damaged_head_is_no_commit(git_book, head, tmp_path):
    (git_book.root / ".git" / "HEAD").write_bytes(head)
    found = head_commit(git_book.root)
    assert found is None or (len(found) in (40, 64) and set(found) <= set("0123456789abcdef"))
