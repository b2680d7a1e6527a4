"""Submitting entries: what a reviewer would find at once is found before, then a branch `proposal/<id>` is made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cakebook.checks.runner import CheckResult, run_checks
from cakebook.checks.sandbox import available
from cakebook.errors import BadArgument, GateRefuses, NoSuchPath, NotABook
from cakebook.gate.facts import Facts
from cakebook.gate.founding import listed_ids
from cakebook.lint.runner import lint_book
from cakebook.repo.entries import EntryFile, read_entries
from cakebook.repo.git import Repository
from cakebook.repo.layout import FolderSource
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.review.changes import trusted_branch
from cakebook.review.duplicates import Similar
from cakebook.review.proposals import BRANCH, declined, proposals, resembling

if TYPE_CHECKING:
    from cakebook.lint.runner import Finding


@dataclass(frozen=True)
class Submitted:
    """One entry as submitted. `branch` is empty after a dry run; `link`: the page that opens a pull request for it."""

    id: str
    path: str
    branch: str
    commit: str
    link: str
    findings: tuple[Finding, ...]
    checks: tuple[CheckResult, ...]
    similar: tuple[Similar, ...]


def submit(root: Path, facts: Facts, paths: Sequence[str], *, dry_run: bool = False, remote: str = "") -> list[Submitted]:
    """Propose the entries at `paths`, files of the book, each on a branch of its own; with `remote` the branches are pushed.

    The work tree and the current branch stay as they are.

    Raises:
        NotABook: the book is in no Git repository. NoSuchPath: a path is no entry. GitFailed: git refuses.
        GateRefuses: lint finds an error, a check fails, or the same was declined before; nothing was made.
    """
    source = FolderSource(root)
    repository = Repository.around(root)
    if repository is None and not dry_run:
        raise NotABook(f"{root}: in no Git repository", hint="git init, or hand the file to somebody who has the repository")
    files = {file.path: file for file in read_entries(source)}
    chosen = [_chosen(files, path) for path in paths]
    vocabulary = load_vocabulary(source)
    findings = lint_book(source, vocabulary, listed_ids(source), [file.path for file in chosen])
    sandbox = available()
    checks = [result for file in chosen for result in run_checks(file, sandbox=sandbox, covered=False)]
    waiting = [proposal.file for proposal in proposals(repository, source, facts)]
    refused = [f"{f.path}:{f.line}: {f.rule} {f.message}" for f in findings if f.severity == "error"]
    refused += [f"{c.entry_id}: its check {c.status}: {c.reason}" for c in checks if c.status in ("failed", "timed-out")]
    for file in chosen:
        if before := declined(file, facts, [*waiting, *files.values()]):
            refused.append(f"{file.id}: declined before as {before[0]}: {before[1]}")
    if refused:
        raise GateRefuses(refused[0], hint="mend it, and submit again", refused=refused)
    made = []
    for file in chosen:
        branch, commit, link = ("", "", "")
        if not dry_run and repository is not None:
            branch = BRANCH + file.id
            commit = repository.commit_files(
                branch, trusted_branch(repository) or "HEAD", {file.path: file.data}, f"Propose {file.id}"
            )
            link = _link(repository, branch, remote)
            if remote:
                repository.push(remote, branch)
        made.append(
            Submitted(
                file.id,
                file.path,
                branch,
                commit,
                link,
                tuple(f for f in findings if f.path == file.path),
                tuple(c for c in checks if c.entry_id == file.id),
                tuple(resembling(file, files.values())),
            )
        )
    return made


def _chosen(files: dict[str, EntryFile], path: str) -> EntryFile:
    if path not in files:
        raise NoSuchPath(f"{path}: no entry of the book", hint="name files below entries/; `cakebook new ID` writes one")
    return files[path]


def _link(repository: Repository, branch: str, remote: str) -> str:
    """The page of a forge that opens a pull request for a branch; empty where the remote is no forge that is known."""
    url = repository.config(f"remote.{remote or 'origin'}.url")
    match = re.fullmatch(r"(?:https?://|ssh://git@|git@)([^/:@]+)(?::\d+)?[/:](.+?)(?:\.git)?/?", url)
    if match is None:
        return ""
    host, project = match.groups()
    target = trusted_branch(repository).removeprefix("refs/heads/").removeprefix("refs/remotes/origin/") or "main"
    target = "main" if target == "HEAD" else target
    if "gitlab" in host:
        return f"https://{host}/{project}/-/merge_requests/new?merge_request%5Bsource_branch%5D={branch}"
    if host in ("gitee.com", "gitcode.com"):
        return f"https://{host}/{project}/pulls/new?source_branch={branch}&target_branch={target}"
    if host == "github.com":
        return f"https://{host}/{project}/compare/{target}...{branch}?expand=1"
    return ""


def require_remote(repository: Repository, remote: str) -> None:
    """Raises BadArgument if there is no such remote."""
    if remote and not repository.config(f"remote.{remote}.url"):
        raise BadArgument(f"--remote: no remote `{remote[:80]}`", hint="git remote -v lists them")
