"""The commit that HEAD names, read from the files of `.git` without running git: quick enough for every search."""

from __future__ import annotations

from pathlib import Path


def git_folder(root: Path) -> Path | None:
    """The `.git` folder of the repository around `root`; a worktree's or submodule's `.git` file is followed."""
    for folder in (root, *root.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir():
            return dot_git
        if dot_git.is_file():
            text = _text(dot_git)
            return (folder / text.removeprefix("gitdir:").strip()).resolve() if text.startswith("gitdir:") else None
    return None


def head_commit(root: Path) -> str | None:
    """The commit id of HEAD, None outside a repository or before the first commit. A detached HEAD is a commit id itself."""
    git = git_folder(root)
    if git is None:
        return None
    head = _text(git / "HEAD")
    if not head.startswith("ref:"):
        return head or None
    name = head.removeprefix("ref:").strip()
    common_text = _text(git / "commondir")
    common = (git / common_text).resolve() if common_text else git
    for folder in (git, common):
        if commit := _text(folder / name):
            return commit
    for line in _text(common / "packed-refs").splitlines():
        if line.endswith(" " + name):
            return line.split(" ", 1)[0]
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
