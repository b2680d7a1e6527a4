"""Git, through GitPython: the commit, whether the work tree differs, and a book at a revision.

Whatever a caller calls a revision reaches git behind `--end-of-options`, never as an option.
"""

from __future__ import annotations

import os
import re
import tempfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cakebook.errors import BadRevision, GitFailed, Unreadable
from cakebook.repo.layout import Skipped, unreadable_name

if TYPE_CHECKING:
    import git


@dataclass(frozen=True)
class Commit:
    """A commit: its author's address in lower case, what a signature would be of, and the SSH signature if it has one."""

    id: str
    author: str
    payload: bytes
    signature: bytes | None

    @classmethod
    def parse(cls, commit: str, data: bytes) -> Commit:
        """A commit object's bytes, read. A signature of another kind (OpenPGP, X.509) is none here."""
        head, _, body = data.partition(b"\n\n")
        signature: list[bytes] = []
        plain: list[bytes] = []
        inside = False
        for line in head.split(b"\n"):
            if line.startswith((b"gpgsig ", b"gpgsig-sha256 ")):
                inside = True
                signature.append(line.split(b" ", 1)[1])
            elif inside and line.startswith(b" "):
                signature.append(line[1:])
            else:
                inside = False
                plain.append(line)
        author = next((m[1] for line in plain if (m := re.match(rb"author .*<([^<>]*)>", line))), b"")
        text = b"\n".join(signature) + b"\n"
        made = text if text.startswith(b"-----BEGIN SSH SIGNATURE-----") else None
        return cls(commit, author.decode("utf-8", "replace").casefold(), b"\n".join(plain) + b"\n\n" + body, made)


_AUTHORS = "<%ae>%n%(trailers:key=Co-authored-by,valueonly)"


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

    @classmethod
    def bare(cls, folder: Path) -> Repository | None:
        """The bare repository `folder`, None if it is none.

        Raises:
            GitFailed: git is missing or refuses it.
        """
        try:
            import git
        except ImportError as error:
            raise GitFailed(f"git cannot be used: {error}", hint="install git") from None
        try:
            repo = git.Repo(folder)
        except (git.InvalidGitRepositoryError, git.NoSuchPathError):
            return None
        return cls(repo, folder, "") if repo.bare else None

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

    def has(self, revision: str) -> bool:
        """Whether `revision` names a commit here."""
        try:
            self.resolve(revision)
        except BadRevision:
            return False
        return True

    def config(self, name: str) -> str:
        """A value of the Git configuration, empty if it is not set."""
        try:
            return self._git("config", "--get", name).strip()
        except GitFailed:
            return ""

    def commit_files(self, branch: str, base: str, files: Mapping[str, bytes], message: str) -> str:
        """Add a commit with these files to `branch`, or begin it at `base`; work tree and current branch stay as they are.

        Returns the commit. If the branch has exactly these files already, nothing is made.

        Raises:
            GitFailed: git refuses, for instance because nobody has said who commits.
        """
        ref = f"refs/heads/{branch}"
        parent = self.resolve(ref if self.has(ref) else base)
        with tempfile.TemporaryDirectory(prefix="cakebook-index-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self._git("read-tree", parent, env=index)
            for path, data in files.items():
                (Path(folder) / "blob").write_bytes(data)
                blob = self._git("hash-object", "-w", "--no-filters", "--", str(Path(folder) / "blob")).strip()
                self._git("update-index", "--add", "--cacheinfo", f"100644,{blob},{self._full(path)}", env=index)
            tree = self._git("write-tree", env=index).strip()
        if tree == self._git("rev-parse", f"{parent}^{{tree}}").strip() and self.has(ref):
            return parent
        commit = self._git("commit-tree", tree, "-p", parent, "-m", message).strip()
        self._git("update-ref", ref, commit)
        return commit

    def merge_aside(self, ours: str, theirs: str, message: str) -> str:
        """A merge commit of two commits that no branch names yet.

        Raises:
            GitFailed: there are conflicts, or git is older than 2.38.
        """
        tree = self._git("merge-tree", "--write-tree", "--no-messages", ours, self.resolve(theirs)).split()[0]
        return self._git("commit-tree", tree, "-p", ours, "-p", self.resolve(theirs), "-m", message).strip()

    def fast_forward(self, commit: str) -> None:
        """Move the current branch and the work tree to a commit that contains it.

        Raises:
            GitFailed: local changes are in the way.
        """
        self._git("merge", "--quiet", "--ff-only", commit)

    def push(self, remote: str, branch: str) -> None:
        """Push a branch under its own name.

        Raises:
            GitFailed: the other side refuses or cannot be reached.
        """
        self._git("push", "--quiet", "--end-of-options", remote, f"refs/heads/{branch}:refs/heads/{branch}")

    def refs(self, prefix: str) -> list[str]:
        """Branches whose name is `prefix` or begins with it (a prefix ends in `/`), here and as fetched from remotes."""
        patterns = [f"refs/heads/{prefix}", f"refs/remotes/*/{prefix}"]
        if prefix.endswith("/"):
            patterns = [f"{pattern}**" for pattern in patterns]
        return self._git("for-each-ref", "--format=%(refname)", *patterns).split()

    def time_of(self, commit: str) -> int:
        """When a commit was made, in seconds of the epoch, by its committer's clock."""
        return int(self._git("log", "-1", "--format=%ct", commit))

    def set_config(self, name: str, value: str) -> None:
        """Set a value of the repository's own configuration."""
        self._git("config", "--local", name, value)

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether `newer` contains `older`."""
        return self.merge_base(older, newer) == self.resolve(older)

    def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor, None if there is none."""
        try:
            return self._git("merge-base", self.resolve(one), self.resolve(other)).strip() or None
        except GitFailed:
            return None

    def at(self, revision: str, prefixes: tuple[str, ...]) -> RevisionSource:
        """The book at `revision`, restricted to `prefixes`."""
        commit = self.resolve(revision)
        full = [self._full(p) for p in prefixes if p]
        listing = self._git("ls-tree", "-r", "-z", "--full-tree", commit, "--", *full)
        blobs: dict[str, str] = {}
        odd: dict[str, str] = {}
        skipped: list[Skipped] = []
        cut = len(self.prefix) + 1 if self.prefix else 0
        clean = listing.isascii() or unreadable_name(listing) is None  # as a rule all names are good: one look, not thousands
        for record in listing.split("\0")[:-1]:
            meta, path = record.split("\t", 1)
            path = path[cut:]
            if not clean and (unreadable := unreadable_name(path)):
                skipped.append(unreadable)
                odd[unreadable.path] = meta
            elif meta.startswith("100"):
                blobs[path] = meta[12:]
            else:
                odd[path] = meta
                skipped.append(Skipped(path, "not-a-file", "symbolic links and submodules are not followed"))
        return RevisionSource(self._repo, commit, blobs, skipped, odd)

    def authors(self, path: str, since: str | None, until: str) -> frozenset[str] | None:
        """E-mail addresses of those who wrote a file as it is at `until`: author and `Co-authored-by` of every commit that
        touched it after `since`, and of every commit from which a line survives. None where history is cut off.

        Raises:
            GitFailed: git cannot say.
        """
        if self._git("rev-parse", "--is-shallow-repository").strip() == "true":
            return None
        full = self._full(path)
        span = f"{since}..{until}" if since else until
        blame = self._git("blame", "--porcelain", until, "--", full)
        commits = {m[1] for line in blame.splitlines() if (m := re.match(r"([0-9a-f]{40,64}) \d+ \d+ \d+$", line))}
        commits |= {*self._git("rev-list", span, "--", full).split()}
        said = self._git("log", "--no-walk=unsorted", "-z", f"--format={_AUTHORS}", *sorted(commits)) if commits else ""
        found = re.findall(r"<([^<>\s]+)>", said)
        return frozenset(address.casefold() for address in found)

    def versions(self, path: str, until: str) -> Iterator[bytes]:
        """The bytes that a file had on the first-parent history of a commit, newest first, under whatever path.

        Raises:
            GitFailed: git cannot say.
        """
        listing = self._git(
            "log", "--first-parent", "--follow", "-m", "--format=%x01%H", "--name-only", "-z", until, "--", self._full(path)
        )
        for record in listing.split("\x01")[1:]:
            commit, _, rest = record.partition("\0")
            name = rest.strip("\n\0").removeprefix(f"{self.prefix}/" if self.prefix else "")
            source = self.at(commit, (name,))
            if name in source.paths(name):
                yield source.read(name)

    def commits(self, since: str | None, until: str, path: str) -> list[Commit]:
        """The commits after `since` that touched `path` or anything below it, newest first.

        Raises:
            GitFailed: git cannot say.
        """
        span = f"{since}..{until}" if since else until
        found = self._git("rev-list", "--full-history", span, "--", self._full(path)).split()
        return [Commit.parse(commit, self._repo.odb.stream(bytes.fromhex(commit)).read()) for commit in found]

    def _full(self, path: str) -> str:
        return f"{self.prefix}/{path}" if self.prefix else path

    def _git(self, command: str, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        import git

        environment = {"GIT_OPTIONAL_LOCKS": "0"}  # looking must not get in the way of the user's own commands
        # The variables of a hook may belong to another repository.
        if "GIT_INDEX_FILE" in os.environ:
            environment["GIT_INDEX_FILE"] = str(Path(self._repo.git_dir) / "index")
        if "GIT_WORK_TREE" in os.environ:
            environment["GIT_WORK_TREE"] = str(self._top)
        environment |= env or {}
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

    def __init__(self, repo: git.Repo, commit: str, blobs: dict[str, str], skipped: list[Skipped], odd: dict[str, str]) -> None:
        """`blobs`: path → object of every file; `odd`: mode and object of what is none."""
        self._repo, self.commit, self._blobs, self._skipped, self._odd = repo, commit, blobs, skipped, odd
        self._order = sorted(blobs)

    def changed(self, before: RevisionSource | None) -> frozenset[str]:
        """Paths that are not what they were in another revision, gone ones too; no file is read."""
        old, odd = (before._blobs, before._odd) if before else ({}, {})
        return frozenset(path for path, _ in (self._blobs.items() ^ old.items()) | (self._odd.items() ^ odd.items()))

    def paths(self, prefix: str) -> list[str]:
        # In order, all paths below a folder stand together: after `folder/` and before `folder0`.
        first, end = bisect_left(self._order, f"{prefix}/"), bisect_left(self._order, f"{prefix}0")
        return ([prefix] if prefix in self._blobs else []) + self._order[first:end]

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """Bytes of those of `paths` that are files here; none is read."""
        return {path: self._repo.odb.info(bytes.fromhex(self._blobs[path])).size for path in paths if path in self._blobs}

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
