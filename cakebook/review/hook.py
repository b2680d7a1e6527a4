"""The `pre-receive` hook of a bare repository: the gate where everybody pushes.

The hook runs the installed release and reads its settings from the bare repository's own configuration; no code and no setting
from a push is ever used. `cakebook.branch` is the trusted branch, `cakebook.root` the sha256 of the root that is believed.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cakebook.errors import AlreadyExists, BadArgument, CakeBookError, NotABook, StoreIO
from cakebook.gate.check import Refused
from cakebook.repo.git import Repository
from cakebook.repo.layout import ENTRIES, LEDGER
from cakebook.review.changes import check_range

HEADS = "refs/heads/"
PROPOSALS = "refs/heads/proposal/"
MAX_PROPOSED = 20
"""Files that a proposal may touch."""
MAX_BYTES = 256_000
"""Of a file of a proposal."""
MARK = "# CAKE Book's gate; written by `cakebook review install-hook`"


@dataclass(frozen=True)
class Update:
    """One line of what git hands to the hook: a ref and what it was and becomes; all zeros stand for nothing."""

    old: str
    new: str
    ref: str

    @property
    def deletes(self) -> bool:
        return not self.new.strip("0")

    @property
    def creates(self) -> bool:
        return not self.old.strip("0")


def install(bare: Path, branch: str, root: str) -> Path:
    """Write the hook and its settings into a bare repository; returns the hook's path.

    Raises:
        NotABook: it is no bare repository. AlreadyExists: there is another hook. BadArgument: branch or root are none.
        StoreIO: writing failed.
    """
    repository = Repository.bare(bare)
    if repository is None:
        raise NotABook(f"{bare}: not a bare Git repository", hint="git init --bare, then push the book into it")
    digest = root.lower().removeprefix("sha256:")
    if len(digest) != 64 or digest.strip("0123456789abcdef"):
        raise BadArgument(f"`{root[:80]}` is no sha256", hint="`cakebook trust show` in the book prints its root")
    if not branch or branch.startswith(("-", "refs/")) or " " in branch:
        raise BadArgument(f"`{branch[:80]}` is no branch", hint="--branch main")
    hook = bare / "hooks" / "pre-receive"
    if hook.exists() and MARK not in hook.read_text("utf-8", "replace"):
        raise AlreadyExists(f"{hook} is somebody else's", hint="call `cakebook review receive` from it, with its stdin")
    repository.set_config("cakebook.branch", branch)
    repository.set_config("cakebook.root", digest)
    # -I: neither the folder of the push nor the pusher's environment adds to what is imported.
    text = f"#!/bin/sh\n{MARK}\nexec {shlex.quote(sys.executable)} -I -m cakebook review receive\n"
    try:
        hook.parent.mkdir(exist_ok=True)
        temporary = hook.with_name("pre-receive.new")
        temporary.write_text(text)
        temporary.chmod(0o755)
        temporary.replace(hook)
    except OSError as error:
        raise StoreIO(f"{error.filename}: {error.strerror}", hint="mend the permissions") from None
    return hook


def receive(lines: Iterable[str], folder: Path) -> list[Refused]:
    """Judge a push into the bare repository `folder`; `lines` as git writes them to the hook's stdin.

    Whatever goes wrong while judging refuses the push: the trusted branch never moves unjudged.
    """
    try:
        repository = Repository.bare(folder)
        if repository is None:
            raise NotABook(f"{folder}: not a bare Git repository", hint="the hook belongs into one")
        branch, pinned = repository.config("cakebook.branch"), frozenset(filter(None, [repository.config("cakebook.root")]))
        if not branch or not pinned:
            raise BadArgument("the repository does not say which branch and root to trust", hint="cakebook review install-hook")
        return judge([Update(*line.split()) for line in lines if line.strip()], repository, HEADS + branch, pinned)
    except CakeBookError as error:
        return [Refused("push", error.code, f"{error.message} ({error.hint})")]


def judge(updates: list[Update], repository: Repository, trusted: str, pinned: frozenset[str]) -> list[Refused]:
    """What a push is refused for."""
    refused: list[Refused] = []
    if sum(update.ref == trusted for update in updates) and len(updates) > 1:
        refused.append(Refused(trusted, "several-refs", "push the trusted branch alone"))
    for update in updates:
        if update.ref == trusted:
            refused += _trusted(update, repository, pinned)
        elif _resembles(update.ref, trusted):
            refused.append(Refused(update.ref, "name", f"a name that could be taken for {trusted}"))
        elif update.ref.startswith(PROPOSALS) and not update.deletes:
            refused += _proposal(update, repository, trusted)
    return refused


def _trusted(update: Update, repository: Repository, pinned: frozenset[str]) -> list[Refused]:
    if update.deletes:
        return [Refused(update.ref, "deletion", "the trusted branch stays")]
    if not update.creates and not repository.is_ancestor(update.old, update.new):
        return [Refused(update.ref, "not-fast-forward", "the trusted branch only grows; rebase on it, and push again")]
    return list(check_range(repository, pinned, None if update.creates else update.old, update.new).refused)


def _proposal(update: Update, repository: Repository, trusted: str) -> list[Refused]:
    """A proposal is judged when somebody approves it; here only that it is small, and where it writes."""
    after = repository.at(update.new, ("",))
    before = repository.at(trusted, ("",)) if repository.has(trusted) else None
    base = repository.merge_base(trusted, update.new) if before else None
    touched = sorted(after.changed(repository.at(base, ("",)) if base else None))
    refused = [
        Refused(path, "path", "a proposal adds or edits Markdown below entries/, and statements")
        for path in touched
        if not (path.startswith(f"{ENTRIES}/") and path.endswith(".md")) and not path.startswith(f"{LEDGER}/")
    ]
    if len(touched) > MAX_PROPOSED:
        refused.append(Refused(update.ref, "size", f"it touches {len(touched)} files; {MAX_PROPOSED} is the most"))
    large = [path for path, size in after.sizes(touched).items() if size > MAX_BYTES]
    refused += [Refused(path, "size", f"longer than {MAX_BYTES} bytes") for path in large]
    odd = {s.path for s in after.skipped()} & {*touched}
    return refused + [Refused(path, "not-a-file", "a link or a submodule") for path in sorted(odd)]


def _resembles(ref: str, trusted: str) -> bool:
    """Whether a ref could be taken for the trusted one: a tag of its name, another case, a deeper `refs/heads/`."""
    name = trusted.removeprefix(HEADS).casefold()
    folded = ref.casefold()
    return folded == trusted.casefold() or folded.split("/", 2)[-1] == name or folded.endswith(f"/{trusted.casefold()}")


def main(lines: Iterable[str]) -> list[Refused]:
    """`receive` in the folder that git starts the hook in."""
    return receive(lines, Path(os.environ.get("GIT_DIR", ".")).absolute())
