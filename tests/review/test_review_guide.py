"""The review guide names every code of the gate, and every command that it shows is one."""

import io
import re
import shlex
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from cakebook.cli import app
from cakebook.cli.output import run
from cakebook.review.decide import DECLINE_REASONS

REPO = Path(__file__).parents[2]
CHAPTERS = {name: (REPO / "book" / "chapters" / f"{name}.md").read_text("utf-8") for name in ("review-guide", "gate-in-ci")}
GUIDE = CHAPTERS["review-guide"]
NOT_REFUSALS = {"approve", "founding", "active"}


def codes():
    """Every code that the gate, the hook and the verdict can give."""
    found = {"retired", "revoked", "request-changes", "decline", "deprecated", "superseded", "withdrawn"}  # given as values
    for path in ("gate/check.py", "gate/verdict.py", "gate/ledger.py", "review/hook.py", "review/changes.py", "repo/git.py"):
        text = (REPO / "cakebook" / path).read_text("utf-8")
        found |= set(re.findall(r"(?:Refused|Skipped)\([^()]*?(?:\([^()]*\)[^()]*?)*?,\s*\"([a-z-]+)\"", text))
        found |= set(re.findall(r"(?:\bno|Reason)\(\s*\"([a-z-]+)\"", text))
    found |= {"altered", "removed"}
    return found - NOT_REFUSALS


def commands():
    """Every command line of `cakebook` in a bash block or a code span of the two chapters."""
    found = []
    for text in CHAPTERS.values():
        for block in re.findall(r"```bash\n(.*?)```", text, re.DOTALL):
            found += [line for line in block.splitlines() if line.startswith("cakebook ")]
        found += [s.split(">")[0] for s in re.findall(r"`(cakebook [^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))]
    return sorted(set(found))


def test_every_code_stands_in_the_table_and_nothing_else_does():
    table = GUIDE.split("## What the gate says, and what to do")[1]
    told = {
        code for row in re.findall(r"^\| [^|]+ \| ([^|]+) \|", table, re.MULTILINE) for code in re.findall(r"`([a-z-]+)`", row)
    }
    assert told == codes()


@pytest.mark.parametrize("line", commands())
def test_every_command_and_every_option_exists(line):
    words = shlex.split(line)[1:]
    depth = 2 if words[0] in ("review", "people", "trust", "founding") else 1
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(app, [*words[:depth], "--help"])
    assert status == 0, err.getvalue()
    for option in (word for word in words if word.startswith("--")):
        assert option in out.getvalue(), option


def test_the_reasons_of_a_decline_are_those_of_the_tool():
    assert all(f"`{reason}`" in GUIDE for reason in DECLINE_REASONS)


def test_the_commands_of_a_reviewer_do_what_the_guide_says(team, tmp_path):
    """From a filled template, submitted by a clone's owner for somebody else, to a merged entry and its later decisions."""
    book, key = team.book, ["--sign-with", str(team.keys["ben"])]
    issue = tmp_path / "issue.md"
    six = {"Title": "My lesson", "DSL": "ascendc", "What to do": "copy", "When it applies": "rows are short", "Source": "owner/repo#12", "What was observed": "unknown"}  # fmt: skip
    issue.write_text("\n\n".join(f"### {label}\n\n{value}" for label, value in six.items()))
    for name, value in (("NAME", "Dan"), ("EMAIL", "dan@example.org")):
        book.monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
    assert book.cli("submit", "--from", str(issue), "--by", "dan@example.org", "--kind", "tiling").status == 0
    book.git("clean", "-fdq", "entries")
    assert book.cli("review", "approve", "my-lesson", *key).status == 2, "a basis is needed"
    assert book.cli("review", "decline", "my-lesson", "--reason", "no", *key).status == 2
    assert book.cli("review", "request-changes", "my-lesson", "--reason", "which chip?", *key).status == 0
    team.commit("ben")
    assert "asked: ben: which chip?" in book.cli("review", "show", "my-lesson").out
    cora = ["--sign-with", str(team.keys["cora"])]
    assert book.cli("review", "approve", "my-lesson", "--basis", "read-sources", *cora).status == 0
    team.commit("cora")
    assert "request-changes" in book.cli("review", "merge", "my-lesson").err
    assert book.cli("review", "approve", "my-lesson", "--basis", "read-sources", "--basis", "own-expertise", *key).status == 0
    team.commit("ben")
    assert book.cli("review", "merge", "my-lesson").status == 0
    assert team.verdict("my-lesson").tier == "reviewed"
    assert book.cli("review", "withdraw", "my-lesson", "--reason", "slower", *key).status == 0
    assert not team.verdict("my-lesson").served
    assert book.cli("review", "reinstate", "my-lesson", "--basis", "own-expertise", "--reason", "not so", *cora).status == 0
    assert team.verdict("my-lesson").served


def test_who_submits_for_somebody_else_is_an_author_of_the_commit(team, tmp_path):
    (tmp_path / "issue.md").write_text("title: My lesson\ndsl: ascendc\nsource: owner/repo#12\n")
    for name, value in (("NAME", "Ben"), ("EMAIL", "ben@example.org")):
        team.book.monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
    assert (
        team.book.cli("submit", "--from", str(tmp_path / "issue.md"), "--by", "dan@example.org", "--kind", "tiling").status == 0
    )
    team.book.git("clean", "-fdq", "entries")
    said = team.book.cli("review", "approve", "my-lesson", "--basis", "read-sources", "--sign-with", str(team.keys["ben"]))
    assert said.status == 1 and "ben is an author" in said.err


def test_what_admins_are_told_about_keys_and_signatures(team):
    book, ada, ben = team.book, str(team.keys["ada"]), str(team.keys["ben"])
    new = str(team.keys["ada-2"]) + ".pub"
    assert book.cli("people", "add", "ada", "--key", new, "--replace-keys", "--sign-with", ada).status == 0
    ada = str(team.keys["ada-2"])
    assert book.cli("people", "add", "ben", "--key", ben + ".pub", "--role", "admin", "--sign-with", ada).status == 0
    assert book.cli("trust", "update", "--admin-approvals", "2", "--sign-with", ada).status == 0
    base = team.commit("ada")
    said = book.cli("people", "add", "bot", "--operator", "ben", "--email", "bot@example.org", "--sign-with", ada)
    assert "it counts when 1 more admins have signed" in said.err
    team.commit("ada")
    assert set(team.check(f"{base}..HEAD")) == {"uncovered", "trust-broken"}
    assert book.cli("trust", "update", "--sign-with", ben).status == 0
    team.commit("ben")
    assert team.check(f"{base}..HEAD") == []


def test_a_pin_is_compared(team):
    root = team.book.root / "book" / "trust" / "1.yaml"
    digest = subprocess.run(["sha256sum", str(root)], capture_output=True, text=True, check=True).stdout.split()[0]
    assert f"sha256:{digest}" in team.book.cli("trust", "show").out
    assert team.book.cli("trust", "pin", digest).status == 0
    other = team.book.cli("trust", "pin", "0" * 64)
    assert other.status == 2 and "CB-E201 the root here is" in other.err
