"""A team's book: a Git repository with a chain of trust, people with real keys, and the whole way of a lesson into it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cakebook.gate.facts import Facts, gather
from cakebook.model.review import Verdict
from cakebook.repo.entries import read_entries
from cakebook.repo.layout import FolderSource

PEOPLE = ("ada", "ben", "cora", "dan")
LESSON = "entries/tiling/new-lesson.md"


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Person → their private key; `<person>-2` is a second one."""
    folder = tmp_path_factory.mktemp("keys")
    made = {name: folder / name for person in PEOPLE for name in (person, f"{person}-2")}
    for name, path in made.items():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True)
    return made


@dataclass
class Team:
    """The book `book` and its people's `keys`. Whoever acts is named by the key that signs."""

    book: Any
    keys: dict[str, Path]

    @property
    def root(self) -> Path:
        return self.book.root

    def public(self, name: str) -> str:
        return self.keys[name].with_name(name + ".pub").read_text()

    def add(self, person: str, *roles: str, by: str = "ada", key: str = "", **more: Any) -> Any:
        """Add a person with one key and the address `<person>@example.org`, and commit."""
        with self.book.open() as opened:
            version = opened.people_add(
                person, keys=[self.public(key or person)], roles=roles, emails=[f"{person}@example.org"],
                signing_key=str(self.keys[by]), **more,
            )  # fmt: skip
        self.commit("ada", f"add {person}")
        return version

    def commit(self, person: str, message: str = "change", *trailers: str) -> str:
        """Commit everything as `person`."""
        who = f"{person.title()} <{person}@example.org>"
        self.book.git("add", "-A")
        text = "\n\n".join(filter(None, (message, "\n".join(trailers))))
        self.book.git("commit", "-q", "--allow-empty", f"--author={who}", "-m", text)
        return self.book.git("rev-parse", "HEAD")

    def propose(self, person: str = "dan", path: str = LESSON, *trailers: str, **more: str) -> str:
        """Write a new entry as `person`; returns its id."""
        entry_id = Path(path).stem
        text = self.book.entry_text(entry_id, **more).replace('by: "tests"', f'by: "{person}@example.org"')
        self.book.write(path, text)
        self.commit(person, f"propose {entry_id}", *trailers)
        return entry_id

    def decide(self, decision: str, entry_id: str, by: str, *, commit: bool = True, **more: Any) -> Any:
        """Sign a decision with a key of `by`, and commit it."""
        if decision in ("approve", "reinstate"):
            more.setdefault("basis", ("read-sources",))
        if decision != "approve":
            more.setdefault("reason", "duplicate" if decision == "decline" else "for a test")
        with self.book.open() as opened:
            made = opened.decide([entry_id], decision, key=str(self.keys[by]), **more)
        if commit:
            self.commit(by.removesuffix("-2"), f"{decision} {entry_id}")
        return made[0]

    def facts(self) -> Facts:
        return gather(FolderSource(self.root), self.book.settings.trust_roots)

    def verdict(self, entry_id: str = "new-lesson") -> Verdict:
        """The verdict on an entry as it stands in the folder."""
        facts = self.facts()
        return next(facts.judge(file) for file in read_entries(facts.source) if file.id == entry_id)

    def codes(self, entry_id: str = "new-lesson") -> list[str]:
        return [reason.code for reason in self.verdict(entry_id).reasons]

    def check(self, span: str) -> list[str]:
        """Codes for which the gate refuses a change."""
        with self.book.open() as opened:
            return [refused.code for refused in opened.review_check(span).refused]


@pytest.fixture
def team(git_book: Any, keys: dict[str, Path]) -> Team:
    """Ada is admin and reviewer of everything, Ben a reviewer of everything, Cora one of tiling, Dan writes."""
    made = Team(git_book, keys)
    with git_book.open() as opened:
        opened.trust_init("ada", emails=["ada@example.org"], key=str(keys["ada"]), book="team")
    made.commit("ada", "start a chain of trust")
    made.add("ben", "reviewer")
    made.add("cora", "reviewer:tiling")
    return made
