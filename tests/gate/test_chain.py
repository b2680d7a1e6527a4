"""A team's book on a real repository with real keys: what the gate lets pass, and what it refuses."""

import contextlib
import os
import shutil
import subprocess
from hashlib import sha256

import pytest

from cakebook.errors import BadArgument, CakeBookError, GateRefuses, NotAuthorised
from cakebook.gate.ledger import make_statement, statement_path, statement_yaml
from cakebook.gate.signing import find_signer, sign
from cakebook.gate.verdict import REVIEW
from cakebook.repo.layout import FolderSource, entry_paths

LESSON = "entries/tiling/new-lesson.md"


def head(team):
    return team.book.git("rev-parse", "HEAD")


def forge(team, by, *, namespace=REVIEW, sign_as="", commit=True, **changes):
    """A statement that the tool would not make, filed and committed; returns its path."""
    anchor = team.facts().trust.anchor
    file = next(f for f in entry_files(team) if f.id == changes.get("entry", "new-lesson"))
    values = {
        "book": anchor.book, "entry": file.id, "digest": file.digest, "kind": "tiling", "decision": "approve", "reviewer": by,
        "authors": ("dan@example.org",), "basis": ("read-sources",), "trust": anchor.n, "at": "2026-12-01T10:00:00Z", **changes,
    }  # fmt: skip
    statement = make_statement(values)
    data = statement_yaml(statement)
    path = statement_path(statement, data)
    team.book.write(path, data)
    team.book.write(f"{path}.sig", sign(find_signer(str(team.keys[sign_as or by])), namespace, data))
    if commit:
        team.commit("ada", "file a statement")
    return path


def entry_files(team):
    from cakebook.repo.entries import read_entry

    source = FolderSource(team.root)
    return [read_entry(path, source.read(path)) for path in entry_paths(source)]


# What passes


def test_a_chain_begins_where_the_book_had_no_admin(git_book, keys):
    """The root changes once; whoever judges must believe both, as one who pinned the new one does."""
    base = git_book.git("rev-parse", "HEAD")
    with git_book.open() as book:
        book.trust_init("ada", emails=["ada@example.org"], key=str(keys["ada"]), book="team")
        git_book.commit("begin")
        assert book.review_check(f"{base}..HEAD").refused == ()
    other = (git_book.root / "book/trust/1.yaml").read_text().replace('forked_from: "', 'forked_from: "0')
    git_book.write("book/trust/1.yaml", other)
    git_book.trust(sha256(other.encode()).hexdigest())
    git_book.write("book/trust/1.ada.sig", sign(find_signer(str(keys["ada"])), "cakebook-admin", other.encode()))
    git_book.commit("begin otherwise")
    with git_book.open() as book:
        assert [refused.code for refused in book.review_check(f"{base}..HEAD").refused] == ["other-root"]


def test_the_plain_flow(team):
    base = head(team)
    assert team.verdict("tiny-grid-size").tier == "founding"
    team.propose("dan")
    assert team.codes() == ["not-admitted"] and team.check(f"{base}..HEAD") == ["not-admitted"]
    team.decide("approve", "new-lesson", "ben")
    judged = team.verdict()
    assert (judged.tier, judged.served) == ("reviewed", True)
    assert team.check(f"{base}..HEAD") == []
    team.book.sync()
    assert "new-lesson" in team.book.served()


def test_a_reviewer_of_one_kind_may_approve_that_kind(team):
    base = head(team)
    team.propose("dan")
    team.decide("approve", "new-lesson", "cora")
    assert team.verdict().served and team.check(f"{base}..HEAD") == []


@pytest.mark.parametrize("how", ["rebase", "squash", "move", "before", "shallow", "export"])
def test_an_approval_stays_with_its_bytes(team, tmp_path, how):
    base = head(team)
    if how == "before":  # the statement reaches the trusted branch before the entry does
        team.book.git("checkout", "-q", "-b", "proposal")
        team.propose("dan")
        team.decide("approve", "new-lesson", "ben", commit=False)
        team.book.git("checkout", "-q", "main")
        team.commit("ben", "approve")
        assert team.check(f"{base}..HEAD") == []
        team.book.git("merge", "-q", "--no-edit", "proposal")
    else:
        team.propose("dan")
        team.decide("approve", "new-lesson", "ben")
    if how == "rebase":
        team.book.git("checkout", "-q", "-b", "other", base)
        team.book.write("book/chapters/more.md", "# More\n")
        team.commit("ada")
        team.book.git("checkout", "-q", "main")
        team.book.git("rebase", "-q", "other")
    elif how == "squash":
        team.book.git("reset", "-q", "--soft", base)
        team.commit("dan", "squashed", "Co-authored-by: Ben <ben@example.org>")
    elif how == "move":
        (team.root / "entries/memory").mkdir()
        team.book.git("mv", LESSON, "entries/memory/new-lesson.md")
        team.commit("dan")
    elif how in ("shallow", "export"):
        target = tmp_path / "other"
        if how == "shallow":
            subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{team.root}", target], check=True)
        else:
            shutil.copytree(team.root, target, ignore=shutil.ignore_patterns(".git", ".cakebook"))
        team.book.root = target
    assert team.verdict().served
    if how in ("rebase", "move", "before"):
        assert team.check(f"{base}..HEAD") == []
    if how == "squash":  # the trailers say that Ben had a hand in it: somebody else has to approve now
        assert "author" in team.check(f"{base}..HEAD")
        team.decide("approve", "new-lesson", "cora")
        assert team.check(f"{base}..HEAD") == []


def test_retirement_keeps_what_was_decided_and_revocation_does_not(team):
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    with team.book.open() as book:
        assert book.people_losing("ben") == ["new-lesson"]
        book.people_retire("ben", signing_key=str(team.keys["ada"]))
    team.commit("ada")
    assert team.verdict().served and team.facts().trust.broken == ""
    with pytest.raises(GateRefuses, match="retired"):
        team.decide("approve", "new-lesson", "ben")
    with team.book.open() as book:
        book.people_revoke("ben", signing_key=str(team.keys["ada"]))
    team.commit("ada")
    assert not team.verdict().served and "revoked" in team.codes()


def test_a_key_that_was_replaced_keeps_what_it_signed_and_signs_no_more(team):
    base = head(team)
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    team.add("ben", key="ben-2", replace_keys=True)
    assert team.verdict().served
    with pytest.raises(GateRefuses, match="ended"):
        team.decide("approve", "new-lesson", "ben")
    forge(team, "ben", reason="too late", trust=2)
    assert team.check(f"{base}..HEAD") == ["key-ended"] and team.verdict().served
    other = team.propose("dan", "entries/tiling/another-lesson.md")
    team.decide("approve", other, "ben-2")
    assert team.verdict(other).served


def test_an_admins_new_key_signs_versions_too(team):
    team.add("ada", key="ada-2", replace_keys=True)
    with pytest.raises(NotAuthorised):
        team.add("dan", "reviewer", by="ada")
    team.add("dan", "reviewer", by="ada-2")
    assert team.facts().trust.broken == "" and "dan" in team.facts().people
    assert [role.role for role in team.facts().people["ada"].roles] == ["admin", "reviewer"]


def test_withdrawn_entries_stay_withdrawn_whatever_is_approved_until_they_are_reinstated(team):
    base = head(team)
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    team.decide("withdraw", "new-lesson", "cora")
    assert not team.verdict().served and team.verdict().lifecycle == "withdrawn"
    team.book.write(LESSON, (team.root / LESSON).read_text() + "\nEdited.\n")
    team.commit("dan")
    team.decide("approve", "new-lesson", "ben")
    assert team.verdict().lifecycle == "withdrawn" and team.check(f"{base}..HEAD") == []
    team.decide("reinstate", "new-lesson", "ben")
    assert team.verdict().served


def test_an_edit_that_waits_does_not_remove_what_was_admitted(team, tmp_path):
    team.propose("dan", symptom="the first wording")
    team.decide("approve", "new-lesson", "ben")
    team.book.write(LESSON, (team.root / LESSON).read_text().replace("the first wording", "the second wording"))
    for where in ("folder", "commit"):
        if where == "commit":
            team.commit("dan")
        team.book.sync()
        with team.book.open() as book:
            (hit,) = book.search("new-lesson").hits[:1]
        assert hit.id == "new-lesson" and "update-pending" in [c.code for c in hit.caveats]
        with team.book.generation() as opened:
            assert "first wording" in str(opened.catalog.sections(opened.catalog.row_of("new-lesson")))
    target = tmp_path / "export"
    shutil.copytree(team.root, target, ignore=shutil.ignore_patterns(".git", ".cakebook"))
    team.book.root = target
    assert {w.id: w.code for w in team.book.sync().withheld} == {"new-lesson": "edited"}


def test_two_of_three_admins_must_sign(team):
    team.add("cora", "admin")
    with team.book.open() as book:
        assert book.trust_update(key=str(team.keys["ada"]), approvals=2).missing == 0
        waits = book.people_add("dan", keys=[team.public("dan")], roles=["reviewer"], signing_key=str(team.keys["ada"]))
        assert waits.missing == 1 and "dan" not in team.facts().people
        assert "signed by ada" in team.facts().trust.broken
        with pytest.raises(NotAuthorised):
            book.trust_update(key=str(team.keys["ben"]))
        assert book.trust_update(key=str(team.keys["cora"])).missing == 0
    assert "dan" in team.facts().people and team.facts().trust.broken == ""


# What is refused


def refuse_self(team):
    team.propose("ben")
    forge(team, "ben", authors=("dan",))


def refuse_coauthor(team):
    team.propose("dan", LESSON, "Co-authored-by: Ben <ben@example.org>")
    forge(team, "ben")


def refuse_surviving_lines(team):
    team.propose("ben")
    team.decide("approve", "new-lesson", "cora")
    team.book.git("tag", "-f", "base")
    team.book.write(LESSON, (team.root / LESSON).read_text() + "\nEdited.\n")
    team.commit("dan")
    forge(team, "ben")


def refuse_operator(team):
    team.add("helper-bot", key="dan-2", operator="ben")
    team.propose("helper-bot")
    forge(team, "ben", authors=("helper-bot",))


def refuse_agent(team):
    team.add("helper-bot", key="dan-2", operator="cora")
    team.propose("dan")
    forge(team, "helper-bot", sign_as="dan-2")


def refuse_other_name(team):
    team.propose("dan")
    forge(team, "cora", sign_as="ben")


def refuse_namespace(team):
    team.propose("dan")
    forge(team, "ben", namespace="cakebook-admin")


def refuse_file_namespace(team):
    team.propose("dan")
    forge(team, "ben", namespace="file")


def refuse_stranger(team):
    team.propose("dan")
    forge(team, "dan", authors=("ada",))


def refuse_edit_after(team):
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    team.book.write(LESSON, (team.root / LESSON).read_text() + "\n")
    team.commit("dan")


def refuse_other_book(team):
    team.propose("dan")
    forge(team, "ben", book="team-00000000")


def refuse_other_id(team):
    team.propose("dan")
    path = forge(team, "ben", entry="tiny-grid-size", commit=False)
    for end in ("", ".sig"):
        target = team.root / (path + end).replace("tiny-grid-size", "new-lesson")
        target.parent.mkdir(parents=True, exist_ok=True)
        (team.root / (path + end)).rename(target)
    team.commit("ada")


def refuse_key_in_same_push(team):
    team.propose("dan")
    person = (team.root / "book/people/ben.yaml").read_text().replace("ben", "dan").replace(
        team.public("ben").split()[1], team.public("dan").split()[1]
    )  # fmt: skip
    team.book.write("book/people/dan.yaml", person)
    forge(team, "dan", authors=("ada",))


def refuse_key_in_earlier_push(team):
    refuse_key_in_same_push(team)
    team.book.git("tag", "-f", "base")
    team.book.write(LESSON, (team.root / LESSON).read_text() + "\n")
    team.commit("ada")
    forge(team, "dan", authors=("ada",), reason="again")


def refuse_policy(team):
    team.book.write("book/policy.yaml", "serve: draft\n")
    team.commit("dan")


def refuse_vocabulary(team):
    team.book.write("book/vocabulary/dsls.yaml", (team.root / "book/vocabulary/dsls.yaml").read_text() + "\n")
    team.commit("dan")


def refuse_altered_statement(team):
    team.propose("dan")
    path = team.decide("approve", "new-lesson", "ben").path
    team.book.git("tag", "-f", "base")
    team.book.write(path, (team.root / path).read_text() + "\n")
    team.commit("dan")


def refuse_lost_withdrawal(team):
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    path = team.decide("withdraw", "new-lesson", "ben").path
    team.book.git("tag", "-f", "base")
    for end in ("", ".sig"):
        (team.root / (path + end)).unlink()
    team.commit("dan")


def refuse_shorter_chain(team):
    team.book.git("tag", "-f", "base")
    (team.root / "book/trust/3.yaml").unlink()
    (team.root / "book/people/cora.yaml").unlink()
    team.commit("dan")


def refuse_unsigned_version(team):
    text = (team.root / "book/trust/3.yaml").read_text().replace("n: 3", "n: 4")
    team.book.write("book/trust/4.yaml", text)
    team.commit("dan")


def refuse_other_root(team):
    data = (team.root / "book/trust/1.yaml").read_bytes() + b"\n"
    team.book.trust(sha256(data).hexdigest())
    team.book.write("book/trust/1.yaml", data)
    team.book.write("book/trust/1.ada.sig", sign(find_signer(str(team.keys["ada"])), "cakebook-admin", data))
    team.commit("dan")


def refuse_founding_growth(team):
    team.propose("dan")
    listing = (team.root / "book/founding.yaml").read_text()
    digest = next(f.digest for f in entry_files(team) if f.id == "new-lesson")
    team.book.write("book/founding.yaml", listing.replace("edition: 1", "edition: 2") + f'  new-lesson: "{digest}"\n')
    with team.book.open() as book:
        book.trust_update(key=str(team.keys["ada"]))
    team.commit("ada")


def refuse_claim(team):
    team.propose("dan", more="status: reviewed\n")


def refuse_removal(team):
    (team.root / "entries/tiling/tiny-grid-size.md").unlink()
    team.commit("dan")


def refuse_symlink(team):
    (team.root / "entries/tiling/link.md").symlink_to("tiny-grid-size.md")
    team.commit("dan")


def refuse_submodule(team):
    team.book.git("update-index", "--add", "--cacheinfo", f"160000,{head(team)},entries/other")
    team.book.git("commit", "-q", "-m", "submodule")


def refuse_case_twin(team):
    text = (team.root / "entries/tiling/tiny-grid-size.md").read_text()
    team.book.write("entries/memory/Tiny-Grid-Size.md", text)
    team.commit("dan")


def refuse_id_of_another(team):
    text = (team.root / "entries/tiling/tiny-grid-size.md").read_text()
    team.book.write("entries/memory/other-name.md", text)
    team.commit("dan")


def refuse_retired_with_an_older_version(team):
    team.propose("dan")
    before = team.facts().trust.anchor.n
    with team.book.open() as book:
        book.people_retire("ben", signing_key=str(team.keys["ada"]))
    team.commit("ada")
    forge(team, "ben", trust=before)


def refuse_revoked_with_an_older_version(team):
    team.propose("dan")
    before = team.facts().trust.anchor.n
    with team.book.open() as book:
        book.people_revoke("ben", signing_key=str(team.keys["ada"]))
    team.commit("ada")
    forge(team, "ben", trust=before)


def refuse_version_ahead(team):
    team.propose("dan")
    forge(team, "ben", trust=9)


def refuse_people_by_hand(team):
    path = "book/people/cora.yaml"
    team.book.write(path, (team.root / path).read_text().replace("tiling", "all"))
    team.commit("cora")


def refuse_agents(team):
    team.book.write("book/agents/bot.yaml", "id: bot\n")
    team.commit("dan")


def refuse_wildcard(team):
    """A person whose name would match everybody's in a list of allowed signers."""
    team.propose("dan")
    team.book.write("book/people/star.yaml", (team.root / "book/people/ben.yaml").read_text().replace('id: "ben"', 'id: "*"'))
    with contextlib.suppress(CakeBookError), team.book.open() as book:
        book.trust_update(key=str(team.keys["ada"]))
    forge(team, "ben", reviewer="*")


def refuse_merge(team):
    """A merge commit whose tree is neither parent's."""
    team.book.git("checkout", "-q", "-b", "side")
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    team.book.git("checkout", "-q", "main")
    team.book.git("merge", "-q", "--no-ff", "--no-commit", "side")
    team.book.write("entries/tiling/tiny-grid-size.md", (team.root / "entries/tiling/tiny-grid-size.md").read_text() + "\n")
    team.commit("dan", "merge")


def refuse_forged_author(team):
    """Ben writes under Dan's name, and signs the commit with his own key."""
    team.book.git("config", "gpg.format", "ssh")
    team.book.git("config", "user.signingkey", str(team.keys["ben"]))
    team.book.git("config", "commit.gpgsign", "true")
    team.propose("dan")
    team.book.git("config", "commit.gpgsign", "false")
    team.decide("approve", "new-lesson", "ben")


def refuse_statement_junk(team):
    team.book.write("book/ledger/new-lesson/20261201T000000Z-ben-00000000.yaml", "anything: [")
    team.book.write("book/ledger/notes.md", "hello")
    team.commit("dan")


REFUSED = {
    refuse_self: {"author"},
    refuse_coauthor: {"author"},
    refuse_surviving_lines: {"author"},
    refuse_operator: {"author"},
    refuse_agent: {"agent"},
    refuse_other_name: {"signature-invalid"},
    refuse_namespace: {"signature-invalid"},
    refuse_file_namespace: {"signature-invalid"},
    refuse_stranger: {"unknown-reviewer"},
    refuse_edit_after: {"edited"},
    refuse_other_book: {"other-book"},
    refuse_other_id: {"statement-invalid"},
    refuse_key_in_same_push: {"uncovered", "unknown-reviewer"},
    refuse_key_in_earlier_push: {"uncovered", "unknown-reviewer"},
    refuse_policy: {"uncovered"},
    refuse_vocabulary: {"uncovered"},
    refuse_altered_statement: {"altered"},
    refuse_lost_withdrawal: {"removed"},
    refuse_shorter_chain: {"removed"},
    refuse_unsigned_version: {"trust-broken"},
    refuse_other_root: {"other-root"},
    refuse_founding_growth: {"founding-grew"},
    refuse_claim: {"not-admitted"},
    refuse_removal: {"removed"},
    refuse_symlink: {"not-a-file"},
    refuse_submodule: {"not-a-file"},
    refuse_case_twin: {"id-collision", "id-not-stem"},
    refuse_id_of_another: {"id-not-stem"},
    refuse_retired_with_an_older_version: {"retired"},
    refuse_revoked_with_an_older_version: {"revoked"},
    refuse_version_ahead: {"trust-ahead"},
    refuse_people_by_hand: {"uncovered"},
    refuse_agents: {"uncovered"},
    refuse_wildcard: {"uncovered", "unknown-reviewer"},
    refuse_merge: {"edited"},
    refuse_forged_author: {"forged-author"},
    refuse_statement_junk: {"statement-invalid", "not-a-statement"},
}


@pytest.mark.parametrize("attack", REFUSED, ids=lambda attack: attack.__name__.removeprefix("refuse_"))
def test_the_gate_refuses(team, attack):
    team.book.git("tag", "base")
    attack(team)
    assert REFUSED[attack] <= {*team.check("base..HEAD")}
    if attack not in (refuse_surviving_lines, refuse_founding_growth, refuse_lost_withdrawal, refuse_altered_statement):
        served = {file.id for file in entry_files(team) if team.facts().trust.anchor and team.facts().judge(file).served}
        assert "new-lesson" not in served or attack in (refuse_merge, refuse_forged_author, refuse_coauthor, refuse_self)


# A book without admins


def test_an_edition_grows_by_one_and_has_a_reason(git_book):
    base = git_book.git("rev-parse", "HEAD")
    path = "entries/tiling/tiny-grid-size.md"
    git_book.write(path, git_book.entry_text("tiny-grid-size", title="Corrected"))
    git_book.commit()

    def codes():
        with git_book.open() as book:
            return {refused.code for refused in book.review_check(f"{base}..HEAD").refused}

    assert codes() == {"edited"}
    git_book.found("a correction")
    git_book.commit()
    assert codes() == set()
    kept = {p: (git_book.root / p).read_text() for p in ("book/founding.yaml", "book/trust/1.yaml")}
    for old, new, code in (("edition: 2", "edition: 3", "edition"), ('reason: "a correction"', 'reason: ""', "edition")):
        listing = kept["book/founding.yaml"].replace(old, new)
        root = kept["book/trust/1.yaml"].replace(old, new)
        root = root.replace(sha256(kept["book/founding.yaml"].encode()).hexdigest(), sha256(listing.encode()).hexdigest())
        git_book.write("book/founding.yaml", listing)
        git_book.trust(sha256(git_book.write("book/trust/1.yaml", root).read_bytes()).hexdigest())
        git_book.commit()
        assert code in codes()


def test_the_addresses_that_forges_hide_people_behind_are_addresses(team):
    """A noreply address that the people file lists is that person's; an unknown one is somebody else's."""
    hidden = "12345+ben@users.noreply.example.org"
    with team.book.open() as book:
        book.people_add("ben", keys=[], emails=[hidden], signing_key=str(team.keys["ada"]))
    team.commit("ada")
    team.propose("dan", LESSON, f"Co-authored-by: Ben <{hidden}>")
    with pytest.raises(GateRefuses, match="author"):
        team.decide("approve", "new-lesson", "ben")
    team.decide("approve", "new-lesson", "cora")
    assert team.verdict().served


def test_a_reviewer_of_two_kinds(team):
    team.add("dan", "reviewer:tiling", "reviewer:memory", key="dan")
    for kind in ("tiling", "memory"):
        entry_id = team.propose("ada", f"entries/{kind}/some-{kind}.md", kind=kind)
        team.decide("approve", entry_id, "dan")
        assert team.verdict(entry_id).served
    entry_id = team.propose("ada", "entries/pipelining/some-pipelining.md", kind="pipelining")
    with pytest.raises(GateRefuses, match="no reviewer of kind pipelining"):
        team.decide("approve", entry_id, "dan")


# Wrong input


def test_nothing_is_signed_that_would_not_count(team):
    before = sorted(team.root.rglob("*"))
    team.propose("ben")
    with pytest.raises(GateRefuses, match="author"):
        team.decide("approve", "new-lesson", "ben")
    with pytest.raises(NotAuthorised, match="nobody in this book"):
        team.decide("approve", "new-lesson", "dan")
    with pytest.raises(BadArgument, match="--basis"):
        team.decide("approve", "new-lesson", "cora", basis=())
    with pytest.raises(BadArgument, match="--reason"):
        team.decide("withdraw", "new-lesson", "cora", reason=" ")
    with pytest.raises(BadArgument, match="decline"):
        team.decide("decline", "new-lesson", "cora", reason="I do not like it")
    with pytest.raises(BadArgument, match="successor"):
        team.decide("supersede", "new-lesson", "cora", successor="nowhere")
    team.book.write(LESSON, (team.root / LESSON).read_text() + "\n")
    with pytest.raises(BadArgument, match="not committed"):
        team.decide("approve", "new-lesson", "cora")
    assert not list((team.root / "book").rglob("ledger")) and len(before) < len(sorted(team.root.rglob("*")))


def test_only_an_admin_changes_people(team):
    with team.book.open() as book, pytest.raises(NotAuthorised):
        book.people_add("dan", keys=[team.public("dan")], roles=["admin"], signing_key=str(team.keys["ben"]))
    assert "dan" not in team.facts().people and not (team.root / "book/people/dan.yaml").exists()


@pytest.mark.parametrize(
    ("person", "given", "match"),
    [
        ("dan", {"keys": ["ssh-rsa AAAA"]}, "--key"),
        ("dan", {"keys": ["/nowhere/key.pub"]}, "--key"),
        ("Dan!", {"keys": []}, "cannot be an id"),
        ("dan", {"keys": [], "roles": ["king"]}, "--role"),
        ("dan", {"keys": [], "roles": ["reviewer:cooking"]}, "no kind"),
        ("dan", {"keys": [], "roles": ["reviewer"], "operator": "ben"}, "only people decide"),
    ],
)
def test_a_person_that_cannot_be(team, person, given, match):
    with team.book.open() as book, pytest.raises(BadArgument, match=match):
        book.people_add(person, signing_key=str(team.keys["ada"]), **given)


def test_a_book_without_admins_says_how_to_get_one(git_book, keys):
    with git_book.open() as book, pytest.raises(NotAuthorised) as raised:
        book.decide(["tiny-grid-size"], "withdraw", reason="x", key=str(keys["ada"]))
    assert "trust init" in raised.value.hint


def test_no_key_no_signature(team, monkeypatch):
    from cakebook.errors import CannotSign

    monkeypatch.setenv("PATH", os.environ["PATH"])
    with team.book.open() as book, pytest.raises(CannotSign, match="no key"):
        book.decide(["tiny-grid-size"], "withdraw", reason="x")
    with team.book.open() as book, pytest.raises(CannotSign, match="no such key"):
        book.decide(["tiny-grid-size"], "withdraw", reason="x", key="/nowhere/id")
