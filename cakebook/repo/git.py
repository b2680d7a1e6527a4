"""Git, through GitPython: the commit, whether the work tree differs, and a book at a revision.

Whatever a caller calls a revision reaches git behind `--end-of-options`, never as an option.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from cakebook.errors import BadRevision, GitFailed, Unreadable
from cakebook.repo.layout import Skipped, unreadable_name

if TYPE_CHECKING:
    import git


class Repository:
    """The Git repository around a book. `prefix` is the book's folder inside it, empty at its top."""

    def __init__(self, repo: git.Repo, top: Path, prefix: str) -> None:
        self._repo, self._top = repo, top
        self.prefix = prefix

    @classmethod
    def around(cls, root: Path) -> Repository | None:
        """The repository that holds `root`, None where there is none (a plain folder is a book too).

        Raises:
            GitFailed: there is one, but git is missing or refuses it (another owner, for instance).
        """
        from cakebook.repo.head import git_folder

        if git_folder(root) is None:
            return None
        try:
            import git
        except ImportError as error:  # GitPython looks for the git program when it is imported
            raise GitFailed(f"git cannot be used: {error}", hint="install git") from None
        try:
            repo = git.Repo(root.resolve(), search_parent_directories=True)
        except git.InvalidGitRepositoryError:
            return None
        if repo.bare or repo.working_tree_dir is None:
            return None
        top = Path(repo.working_tree_dir).resolve()
        prefix = root.resolve().relative_to(top).as_posix()
        return cls(repo, top, "" if prefix == "." else prefix)

    def head(self) -> str | None:
        """The commit of HEAD, None before the first commit. Works on a detached HEAD."""
        try:
            return self.resolve("HEAD")
        except BadRevision:
            return None

    def differs(self, paths: tuple[str, ...]) -> bool:
        """Whether the work tree differs from HEAD in `paths` (changed, deleted or new files, ignored ones too)."""
        full = [f":(top,literal){self._full(p)}" for p in paths]
        return bool(self._git("status", "--porcelain", "-z", "--untracked-files=all", "--ignored", "--", *full))

    def resolve(self, revision: str) -> str:
        """The commit that `revision` names.

        Raises:
            BadRevision: it names none.
        """
        if not revision or revision.startswith("-") or "\0" in revision:
            raise BadRevision(f"`{revision}` is not a revision", hint="give a commit, branch or tag")
        try:
            commit = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}").strip()
        except GitFailed as error:
            if "safe.directory" in error.hint:
                raise
            commit = ""
        except ValueError:  # a lone surrogate can be no argument
            commit = ""
        if not re.fullmatch("[0-9a-f]{40,64}", commit):  # `^HEAD` gives `^` and a commit
            raise BadRevision(f"`{revision[:80]}` names no commit here", hint="fetch it first, or see `git log`")
        return commit

    def at(self, revision: str, prefixes: tuple[str, ...]) -> RevisionSource:
        """The book at `revision`, restricted to `prefixes`."""
        commit = self.resolve(revision)
        full = [self._full(p) for p in prefixes]
        listing = self._git("ls-tree", "-r", "-z", "--full-tree", commit, "--", *full)
        blobs: dict[str, str] = {}
        skipped: list[Skipped] = []
        for record in listing.split("\0"):
            if not record:
                continue
            meta, _, path = record.partition("\t")
            mode, _, blob = meta.split(" ")
            path = path.removeprefix(self.prefix + "/") if self.prefix else path
            if unreadable := unreadable_name(path):
                skipped.append(unreadable)
            elif mode in ("100644", "100755"):
                blobs[path] = blob
            else:
                skipped.append(Skipped(path, "not-a-file", "symbolic links and submodules are not followed"))
        return RevisionSource(self._repo, commit, blobs, skipped)

    def _full(self, path: str) -> str:
        return f"{self.prefix}/{path}" if self.prefix else path

    def _git(self, command: str, *arguments: str) -> str:
        import git

        environment = {"GIT_OPTIONAL_LOCKS": "0"}  # looking must not get in the way of the user's own commands
        # The variables of a hook may belong to another repository.
        if "GIT_INDEX_FILE" in os.environ:
            environment["GIT_INDEX_FILE"] = str(Path(self._repo.git_dir) / "index")
        if "GIT_WORK_TREE" in os.environ:
            environment["GIT_WORK_TREE"] = str(self._top)
        try:
            done = self._repo.git.execute(["git", command, *arguments], strip_newline_in_stdout=False, env=environment)
            return str(done)
        except git.CommandError as error:
            text = (str(error.stderr) or str(error)).strip().strip("'").strip()
            first = text.splitlines()[0].removeprefix("stderr: '") if text else f"git {command} failed"
            hint = "git config --global --add safe.directory <folder>" if "ownership" in text else "run the command by hand"
            raise GitFailed(f"git {command}: {first}", hint=hint) from None


class RevisionSource:
    """A book's files at a commit; a `BookSource`."""

    def __init__(self, repo: git.Repo, commit: str, blobs: dict[str, str], skipped: list[Skipped]) -> None:
        self._repo, self.commit, self._blobs, self._skipped = repo, commit, blobs, skipped

    def paths(self, prefix: str) -> list[str]:
        return sorted(p for p in self._blobs if p == prefix or p.startswith(prefix + "/"))

    def read(self, path: str) -> bytes:
        try:
            stream = self._repo.odb.stream(bytes.fromhex(self._blobs[path]))
        except KeyError:
            raise Unreadable(f"{path}: not in {self.commit[:12]}", hint="check the path") from None
        except Exception as error:  # gitdb raises its own BadObject for blobs that a partial clone lacks
            raise Unreadable(f"{path}: {error}", hint="fetch the missing objects") from None
        return bytes(stream.read())

    def skipped(self) -> list[Skipped]:
        return self._skipped
