"""These bytes are served exactly where a simple model of the gate admits them, whatever happened, in every form of the book.

The model knows nothing of chains, keys or files: it remembers who wrote what, who said what about which bytes, and who left.
"""

import shutil
import subprocess
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from cakebook.errors import GateRefuses
from cakebook.index.generation import Store
from cakebook.index.place import Place
from cakebook.index.sync import sync

LESSON = "entries/tiling/new-lesson.md"
REVIEWERS = ("ben", "cora", "ada")
LIFECYCLE = ("withdraw", "supersede", "deprecate", "reinstate")


@dataclass
class Model:
    """What a reader of the story would say. `said`: (who, decision, bytes) in order, of those that count."""

    history: list[bytes] = field(default_factory=list)
    authors: set[str] = field(default_factory=set)
    said: list[tuple[str, str, bytes]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def may(self, who: str, decision: str) -> bool:
        return who not in self.gone and not (decision in ("approve", "reinstate") and who in self.authors)

    def admits(self, data: bytes) -> bool:
        words = ("approve", "request-changes", "decline")
        last = {who: decision for who, decision, about in self.said if about == data and decision in words}
        lifecycle = [decision for _, decision, _ in self.said if decision in LIFECYCLE]
        ended = bool(lifecycle) and lifecycle[-1] in ("withdraw", "supersede")
        return set(last.values()) == {"approve"} and not ended

    @property
    def served(self) -> bytes | None:
        """With history: the newest bytes that are admitted."""
        return next((data for data in reversed(self.history) if self.admits(data)), None)


def machine(make_team, tmp_path_factory):
    class Gate(RuleBasedStateMachine):
        @initialize(author=st.sampled_from(["dan", "cora"]))
        def start(self, author):
            self.team = make_team()
            self.model = Model()
            self.number = self.rebased = 0
            self.path = LESSON
            self.key = {who: who for who in REVIEWERS}
            self.write(author)

        def write(self, author):
            self.number += 1
            text = self.team.book.entry_text("new-lesson", symptom=f"wording {self.number}")
            self.team.book.write(self.path, text.replace('by: "tests"', 'by: "dan@example.org"'))
            self.team.commit(author, f"wording {self.number}")
            self.model.history.append((self.team.root / self.path).read_bytes())
            self.model.authors |= {author, "dan"}
            self.look()

        @rule(author=st.sampled_from(["dan", "cora"]))
        def edit(self, author):
            self.write(author)

        @rule(who=st.sampled_from(REVIEWERS))
        def approve(self, who):
            self.decide(who, "approve")

        @rule(who=st.sampled_from(REVIEWERS), decision=st.sampled_from(["request-changes", "decline"]))
        def object(self, who, decision):
            self.decide(who, decision)

        @precondition(lambda self: self.model.served)
        @rule(who=st.sampled_from(REVIEWERS), decision=st.sampled_from(["withdraw", "deprecate"]))
        def end(self, who, decision):
            self.decide(who, decision)

        @precondition(lambda self: self.model.served)
        @rule(who=st.sampled_from(REVIEWERS))
        def supersede(self, who):
            self.decide(who, "supersede", successor="tiny-rows-per-tile")

        @precondition(lambda self: any(decision in ("withdraw", "supersede") for _, decision, _ in self.model.said))
        @rule(who=st.sampled_from(REVIEWERS))
        def reinstate(self, who):
            self.decide(who, "reinstate")

        def decide(self, who, decision, **more):
            if self.model.may(who, decision):
                self.team.decide(decision, "new-lesson", self.key[who], **more)
                self.model.said.append((who, decision, self.model.history[-1]))
                self.look()
            else:
                with pytest.raises(GateRefuses):
                    self.team.decide(decision, "new-lesson", self.key[who], **more)

        @property
        def unrotated(self):
            """Who still is here with the first key."""
            return [who for who, key in self.key.items() if key == who and who not in self.model.gone]

        @precondition(lambda self: self.unrotated)
        @rule(data=st.data())
        def rotate(self, data):
            """An admin gives a reviewer a new key in place of the old one: what the old one signed keeps counting."""
            who = data.draw(st.sampled_from(self.unrotated))
            self.team.add(who, by=self.key["ada"], key=f"{who}-2", replace_keys=True)
            self.key[who] = f"{who}-2"
            with pytest.raises(GateRefuses, match="ended"):
                self.team.decide("request-changes", "new-lesson", who)
            self.look()

        @precondition(lambda self: self.model.said)
        @rule(who=st.sampled_from(["ben", "cora"]), how=st.sampled_from(["retire", "revoke"]))
        def leave(self, who, how):
            with self.team.book.open() as book:
                leave = book.people_retire if how == "retire" else book.people_revoke
                leave(who, signing_key=str(self.team.keys[self.key["ada"]]))
            self.team.commit("ada", how)
            self.model.gone.add(who)
            if how == "revoke":
                self.model.said = [one for one in self.model.said if one[0] != who]
            self.look()

        @precondition(lambda self: self.path == LESSON)
        @rule()
        def move(self):
            self.path = "entries/memory/new-lesson.md"
            (self.team.root / "entries/memory").mkdir(exist_ok=True)
            self.team.book.git("mv", LESSON, self.path)
            self.team.commit("ada", "move")
            self.model.authors.add("ada")  # whoever moves a file touches it, as far as history tells
            self.look()

        @property
        def base(self):
            """The first commit of all."""
            return self.team.book.git("rev-list", "--max-parents=0", "HEAD").splitlines()[0]

        @rule()
        def squash(self):
            """Everything since the people were added becomes one commit, with the authors in its trailers."""
            trailers = [f"Co-authored-by: X <{who}@example.org>" for who in sorted(self.model.authors)]
            self.team.book.git("reset", "-q", "--soft", self.base)
            self.team.commit("dan", "squashed", *trailers)
            self.model.history = self.model.history[-1:]
            self.look()

        @rule()
        def rebase(self):
            """Everything since the start is replayed on a commit that has nothing to do with it: only the bytes stay."""
            self.team.book.git("checkout", "-q", "--detach", self.base)
            self.rebased += 1
            self.team.book.write(f"notes/{self.rebased}.txt", "unrelated\n")
            onto = self.team.commit("ada", "unrelated")
            self.team.book.git("rebase", "-q", "--onto", onto, self.base, "main")
            self.look()

        def look(self):
            book, model = self.team.book, self.model
            assert self.digest(book.store, book.sync) == model.served
            now = model.history[-1] if model.admits(model.history[-1]) else None
            for form in ("export", "shallow"):
                folder = tmp_path_factory.mktemp(form)
                if form == "export":
                    shutil.copytree(book.root, folder / "book", ignore=shutil.ignore_patterns(".git", ".cakebook"))
                else:
                    url = f"file://{book.root}"
                    subprocess.run(["git", "clone", "-q", "--depth", "1", url, folder / "book"], check=True)
                store = Store(folder / "index")
                place = Place(folder / "book", store, True, False)
                found = self.digest(store, lambda place=place: sync(place, book.settings))
                shutil.rmtree(folder)
                assert found == now

        def digest(self, store, build):
            """The bytes that are served, None if none are."""
            build()
            opened = store.open()
            try:
                row = opened.catalog.row_of("new-lesson")
                card = opened.catalog.cards([row])[row] if row is not None else None
            finally:
                opened.close()
            from cakebook.repo.entries import digest

            known = {digest("new-lesson", data): data for data in self.model.history}
            return known[card["digest"]] if card else None

    return Gate


@pytest.fixture
def make_team(team, tmp_path_factory):
    """Fresh copies of the team's book."""
    template = team.root

    def make():
        folder = tmp_path_factory.mktemp("team") / "book"
        shutil.copytree(template, folder, symlinks=True)
        team.book.monkeypatch.setenv("CAKEBOOK_STATE", str(folder.parent / "state"))
        team.book.root = folder
        return team

    team.book.trust(team.facts().trust.root)
    return make


def test_what_is_served_is_what_the_model_admits(make_team, tmp_path_factory):
    run_state_machine_as_test(
        machine(make_team, tmp_path_factory),
        settings=settings(
            max_examples=20, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
        ),
    )
