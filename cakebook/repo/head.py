"""The commit that HEAD names, read from the files of `.git` without running git: quick enough for every search."""

from __future__ import annotations

import re
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SYMBOLIC = 5
"""Symbolic references that may follow one another, as in git."""


def git_folder(root: Path) -> Path | None:
    """The `.git` folder of the repository around `root`; a worktree's or submodule's `.git` file is followed."""
    root = root.resolve()  # a link inside a repository does not make its target part of it
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
    common_text = _text(git / "commondir")
    common = (git / common_text).resolve() if common_text else git
    name = "HEAD"
    for _ in range(_SYMBOLIC + 1):
        value = _reference(name, git, common)
        if not value.startswith("ref:"):
            return value if _COMMIT.fullmatch(value) else None
        name = value.removeprefix("ref:").strip()
    return None


def _reference(name: str, git: Path, common: Path) -> str:
    for folder in (git, common):
        if value := _text(folder / name):
            return value
    for line in _text(common / "packed-refs").splitlines():
        if line.endswith(" " + name):
            return line.split(" ", 1)[0]
    return ""


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except (OSError, ValueError):  # a damaged reference can hold NUL
        return ""
