"""Reviewing: lessons become proposals, proposals are shown, decided about and merged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cakebook.errors import AlreadyExists, BadArgument, NoSuchEntry, NoSuchPath, NotABook, StoreIO
from cakebook.service.governing import Governing

if TYPE_CHECKING:
    from cakebook.checks.runner import CheckResult
    from cakebook.gate.check import Checked
    from cakebook.model.review import Basis, Decision
    from cakebook.repo.git import Repository
    from cakebook.review.decide import Decided
    from cakebook.review.history import Said
    from cakebook.review.lesson import Draft
    from cakebook.review.merge import Merged
    from cakebook.review.showing import ReviewSheet, Waiting
    from cakebook.review.submit import Submitted


class Reviewing(Governing):
    """The methods behind `submit` and `review`."""

    def decide(
        self, ids: Sequence[str], decision: Decision, *, basis: Sequence[Basis] = (), reason: str = "", successor: str = "",
        key: str = "",
    ) -> list[Decided]:  # fmt: skip
        """Sign a decision about entries as they stand here; see `review.decide.decide`."""
        from cakebook.review.decide import decide

        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return decide(
            self.root, self.settings, ids, decision, self._signer(key), at, basis=basis, reason=reason, successor=successor
        )

    def submit(self, paths: Sequence[str | Path], *, dry_run: bool = False, remote: str = "") -> list[Submitted]:
        """Propose entries, each on a branch of its own; see `review.submit.submit`."""
        from cakebook.review.submit import submit

        named = [self._in_book(Path(path)) for path in paths]
        return submit(self.root, self._facts(), named, dry_run=dry_run, remote=remote)

    def draft(self, path: Path, *, by: str = "", kind: str = "", dsl: str = "") -> list[Draft]:
        """Entries from a file of lessons, written into the book; see `review.lesson.drafts_from_lessons`.

        Raises:
            NoSuchPath: the file cannot be read. AlreadyExists: an entry would be overwritten. BadArgument: see there.
        """
        from cakebook.repo.entries import read_entries
        from cakebook.repo.layout import FolderSource
        from cakebook.repo.vocabulary import load_vocabulary
        from cakebook.review.lesson import drafts_from_lessons

        source = FolderSource(self.root)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise NoSuchPath(f"{path}: {error.strerror}", hint="name a file with lessons, JSON or Markdown") from None
        there = list(read_entries(source))
        drafts = drafts_from_lessons(
            path.name, data, load_vocabulary(source), accessed=datetime.now(UTC).date(), by=by, kind=kind, dsl=dsl,
            taken=[file.id for file in there], apis={api for file in there if file.entry for api in file.entry.apis},
        )  # fmt: skip
        for draft in drafts:
            target = self.root / draft.path
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("x", encoding="utf-8", newline="\n") as stream:
                    stream.write(draft.text)
            except FileExistsError:
                raise AlreadyExists(f"{draft.path} is there already", hint="rename it, or edit it") from None
            except OSError as error:
                raise StoreIO(f"{draft.path}: {error.strerror}", hint="mend the permissions") from None
        return list(drafts)

    def review_list(self) -> list[Waiting]:
        """What waits for a reviewer, the most valuable first; see `review.showing.queue`."""
        from cakebook.repo.git import Repository
        from cakebook.repo.vocabulary import load_vocabulary
        from cakebook.review.showing import queue

        facts = self._facts()
        return queue(Repository.around(self.root), facts.source, facts, load_vocabulary(facts.source), _now())

    def review_show(self, entry_id: str) -> ReviewSheet:
        """Everything that a reviewer needs about one proposal.

        Raises:
            NoSuchEntry: nothing of this id is proposed or in the book.
        """
        from cakebook.repo.git import Repository
        from cakebook.repo.vocabulary import load_vocabulary
        from cakebook.review.decide import authors_of
        from cakebook.review.proposals import find
        from cakebook.review.showing import sheet

        facts, repository = self._facts(), Repository.around(self.root)
        proposal = find(repository, facts.source, entry_id)
        if proposal is None:
            raise NoSuchEntry(f"no entry `{entry_id[:80]}`", hint="`cakebook review list` shows what waits")
        try:
            authors = authors_of(proposal, repository, facts)
        except BadArgument:  # not committed: nobody has written it yet, as far as git knows
            authors = frozenset()
        vocabulary = load_vocabulary(facts.source)
        return sheet(proposal, repository, facts.source, facts, vocabulary, _now(), tuple(authors))

    def review_run_checks(self, entry_id: str) -> list[CheckResult]:
        """Run the check blocks of a proposal, only where they can be contained."""
        from cakebook.checks.runner import run_checks
        from cakebook.checks.sandbox import available
        from cakebook.repo.git import Repository
        from cakebook.review.proposals import find

        facts = self._facts()
        proposal = find(Repository.around(self.root), facts.source, entry_id)
        return run_checks(proposal.file, sandbox=available(), covered=False) if proposal else []

    def review_merge(self, entry_id: str) -> Merged:
        """Merge a proposal into the current branch if the gate lets it pass; see `review.merge.merge`."""
        from cakebook.review.merge import merge

        return merge(self._repository(), self.settings.trust_roots, entry_id)

    def review_log(self, entry_id: str) -> list[Said]:
        """Everything that was decided about an entry, oldest first, and whether it counts."""
        from cakebook.review.history import history

        return history(self._facts(), entry_id)

    def review_check(self, span: str = "") -> Checked:
        """Judge the change from BASE to HEAD of `BASE..HEAD`; without it, from the trusted branch to the current commit.

        Raises:
            NotABook: the book is in no Git repository. BadRevision: a revision is not there.
        """
        from cakebook.review.changes import check_range, trusted_branch

        repository = self._repository()
        base, dots, head = span.partition("..")
        if not dots:
            base, head = base or trusted_branch(repository), "HEAD"
        return check_range(repository, self.settings.trust_roots, base or None, head or "HEAD")

    def _repository(self) -> Repository:
        from cakebook.repo.git import Repository

        repository = Repository.around(self.root)
        if repository is None:
            raise NotABook(f"{self.root}: in no Git repository", hint="git init")
        return repository

    def _in_book(self, path: Path) -> str:
        """A path relative to the book: as given, in the current folder, or in the book."""
        here = Path.cwd() / path
        inside = here if here.exists() else self.root / path
        try:
            return inside.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            raise NoSuchPath(f"{path}: not in the book {self.root}", hint="name files below entries/") from None


def _now() -> int:
    return int(datetime.now(UTC).timestamp())
