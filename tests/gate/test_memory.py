"""A book that is older than what this user has seen of it."""

import json
from hashlib import sha256

import pytest

from cakebook.errors import RolledBack


def seen(team):
    return team.book.settings.state_folder(team.facts().trust.book) / "seen.json"


def root_of(team):
    return sha256((team.root / "book/trust/1.yaml").read_bytes()).hexdigest()


def withdrawn(team):
    """A book with a withdrawn entry, synced; returns the path of the withdrawal."""
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    path = team.decide("withdraw", "new-lesson", "cora").path
    team.book.sync()
    assert "new-lesson" not in team.book.served()
    return path


def lose_withdrawal(team, path):
    for end in ("", ".sig"):
        (team.root / (path + end)).unlink()


def shorten_chain(team, _):
    team.book.git("checkout", "-q", "HEAD~4")
    (team.root / "book/trust/3.yaml").unlink(missing_ok=True)


@pytest.mark.parametrize("roll_back", [lose_withdrawal, shorten_chain])
def test_a_rollback_is_refused_and_the_old_index_stays(team, roll_back):
    path = withdrawn(team)
    before = team.book.served()
    roll_back(team, path)
    with pytest.raises(RolledBack) as raised:
        team.book.sync()
    assert raised.value.exit == 1 and "--accept-rollback" in raised.value.hint
    assert team.book.served() == before
    ran = team.book.cli("search", "new lesson")
    assert ran.status == 0 and "CB-E106" in ran.err, "an older answer that says so is better than none"
    ran = team.book.cli("sync", "--accept-rollback")
    assert ran.status == 0, ran.err
    assert team.book.cli("sync").status == 0, "what was accepted is what is remembered"


def test_a_statement_that_the_chain_lists_is_missed_by_whoever_comes_new(team, tmp_path, monkeypatch):
    path = withdrawn(team)
    with team.book.open() as book:
        assert book.trust_update(key=str(team.keys["ada"])).statements == 2
    team.book.trust(root_of(team))
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path / "another-user"))
    assert team.book.sync().entries == 4
    lose_withdrawal(team, path)
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path / "a-third-user"))
    with pytest.raises(RolledBack, match="that the chain of trust lists"):
        team.book.sync()


def test_a_revision_that_is_named_may_be_old(team):
    withdrawn(team)
    with team.book.open() as book:
        assert book.sync(revision="HEAD~3").entries == 4
        assert book.sync().entries == 4


def test_a_lower_founding_edition_is_a_rollback(tiny_book):
    tiny_book.sync()
    kept = {p: p.read_bytes() for p in (tiny_book.root / "book").rglob("*") if p.is_file()}
    tiny_book.write("book/policy.yaml", "serve: founding\n# more\n")
    tiny_book.found()
    tiny_book.sync()
    for path, data in kept.items():
        path.write_bytes(data)
    with pytest.raises(RolledBack, match="edition 1; edition 2 was here"):
        tiny_book.sync()


@pytest.mark.parametrize("text", ["", "[]", "{", json.dumps({"n": "x", "edition": 1, "statements": []}), "\0"])
def test_a_memory_that_cannot_be_read_is_none(team, text):
    team.book.sync()
    seen(team).write_text(text)
    team.book.sync()
    assert json.loads(seen(team).read_text())["n"] == 3


def test_a_state_folder_that_cannot_be_written_is_no_reason_to_fail(team, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path / "file"))
    team.book.trust(root_of(team))
    assert team.book.sync().entries == 4
