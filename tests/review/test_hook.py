"""The gate in a bare repository, met by real pushes."""

import subprocess
import sys

import pytest

from cakebook.cli import app
from cakebook.cli.output import run
from cakebook.errors import AlreadyExists, BadArgument, GateRefuses, NotABook
from cakebook.repo.git import Repository
from cakebook.review.hook import PROPOSALS, install, receive

LESSON = "entries/tiling/new-lesson.md"


def installed():
    """Whether the interpreter finds the package by itself, as it does where the package is installed."""
    return not subprocess.run([sys.executable, "-I", "-c", "import cakebook"], capture_output=True, check=False).returncode


needs_installation = pytest.mark.skipif(not installed(), reason="the package is not installed here")


@pytest.fixture
def bare(team, tmp_path):
    """A bare repository that holds the team's book and guards its `main`; the team's repository pushes to it."""
    folder = tmp_path / "book.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", folder], check=True)
    team.book.git("remote", "add", "origin", str(folder))
    team.book.git("push", "-q", "origin", "main")
    with team.book.open() as book:
        book.install_hook(folder, "main")
    return folder


def push(team, *refs):
    """Push; returns the exit status and what was said."""
    done = subprocess.run(["git", "push", "origin", *refs], cwd=team.root, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@needs_installation
def test_what_is_approved_gets_in_and_nothing_else(team, bare):
    team.propose("dan")
    status, said = push(team, "main")
    assert status and "not-admitted" in said
    team.decide("approve", "new-lesson", "ben")
    status, said = push(team, "main")
    assert not status, said
    assert LESSON in subprocess.run(["git", "ls-tree", "-r", "--name-only", "main"], cwd=bare, capture_output=True, text=True, check=True).stdout  # fmt: skip
    team.book.write(LESSON, (team.root / LESSON).read_text() + "\n")
    team.commit("dan")
    assert push(team, "main")[0]


@needs_installation
def test_history_is_not_rewritten(team, bare):
    team.book.git("reset", "-q", "--hard", "HEAD~1")
    assert "not-fast-forward" in push(team, "--force", "main")[1]
    assert "deletion" in push(team, "--delete", "main")[1] or "deletion of the current branch" in push(team, ":main")[1]


@needs_installation
def test_nothing_is_smuggled_beside_the_trusted_branch(team, bare):
    team.propose("dan")
    team.book.git("branch", "proposal/new-lesson")
    team.book.git("reset", "-q", "--hard", "HEAD~1")
    team.book.git("commit", "-q", "--allow-empty", "-m", "nothing")
    status, said = push(team, "main", "proposal/new-lesson")
    assert status and "several-refs" in said
    assert not push(team, "proposal/new-lesson")[0]
    assert not push(team, "main")[0]


@needs_installation
@pytest.mark.parametrize("ref", ["refs/tags/main", "refs/heads/Main", "refs/heads/refs/heads/main", "refs/remotes/main"])
def test_nothing_is_named_like_the_trusted_branch(team, bare, ref):
    assert "could be taken" in push(team, f"HEAD:{ref}")[1]


@needs_installation
def test_a_proposal_is_judged_by_size_and_path_only(team, bare):
    def proposal(path, text):
        team.book.git("checkout", "-q", "-B", "work", "main")
        team.book.write(path, text)
        team.commit("dan")
        return push(team, "--force", "work:proposal/new-lesson")

    assert not proposal(LESSON, "no entry at all")[0]
    assert "path" in proposal("book/policy.yaml", "serve: draft\n")[1]
    assert "path" in proposal("entries/tiling/run.sh", "rm -rf /\n")[1]
    assert "size" in proposal(LESSON, "x" * 300_000)[1]
    team.book.git("checkout", "-q", "-B", "work", "main")
    for n in range(21):
        team.book.write(f"entries/tiling/many-{n}.md", "x")
    team.commit("dan")
    assert "size" in push(team, "--force", "work:proposal/many")[1]
    assert not push(team, ":proposal/new-lesson")[0]


@needs_installation
def test_settings_and_code_of_the_pusher_do_not_matter(team, bare, tmp_path, monkeypatch):
    (tmp_path / "evil" / "cakebook").mkdir(parents=True)
    (tmp_path / "evil" / "cakebook" / "__init__.py").write_text("raise SystemExit(0)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "evil"))
    monkeypatch.setenv("CAKEBOOK_TRUST_ROOT", "0" * 64)
    team.propose("dan")
    assert "not-admitted" in push(team, "main")[1]


def test_whatever_goes_wrong_refuses_the_push(team, bare):
    sha = team.book.git("rev-parse", "HEAD")
    line = [f"{'0' * 40} {sha} refs/heads/main\n"]
    assert receive(line, bare) == []
    assert receive([f"{'0' * 40} {'1' * 40} refs/heads/main\n"], bare)[0].code == "CB-E403"
    subprocess.run(["git", "config", "--unset", "cakebook.root"], cwd=bare, check=True)
    assert receive(line, bare)[0].code == "CB-E201"
    assert receive(line, bare / "nowhere")[0].code == "CB-E401"
    subprocess.run(["git", "config", "cakebook.root", "0" * 64], cwd=bare, check=True)
    assert [r.code for r in receive(line, bare)] == ["no-anchor"]
    assert receive([f"{sha} {'0' * 40} {PROPOSALS}x\n"], bare) == []


def test_where_it_cannot_be_installed(team, bare, tmp_path):
    root = "0" * 64
    for folder in (tmp_path, tmp_path / "nowhere", team.root):
        with pytest.raises(NotABook):
            install(folder, "main", root)
    for branch, digest in (("", root), ("-x", root), ("refs/heads/main", root), ("main", "abc"), ("main", "")):
        with pytest.raises(BadArgument):
            install(bare, branch, digest)
    (bare / "hooks" / "pre-receive").write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(AlreadyExists):
        install(bare, "main", root)
    assert (bare / "hooks" / "pre-receive").read_text().endswith("exit 0\n")
    assert run(app, ["review", "install-hook", str(tmp_path), "--book", str(team.root)]) == 4
    assert Repository.bare(bare) is not None and Repository.bare(team.root) is None


@needs_installation
def test_a_contributor_who_cannot_push_is_pulled_from_their_fork(team, bare, tmp_path):
    fork = tmp_path / "fork.git"
    subprocess.run(["git", "clone", "-q", "--bare", bare, fork], check=True)
    team.propose("cora")
    team.book.git("push", "-q", str(fork), "HEAD:refs/heads/proposal/new-lesson")
    team.book.git("reset", "-q", "--hard", "HEAD~1")
    team.book.git("fetch", "-q", str(fork), "proposal/new-lesson:proposal/new-lesson")
    with pytest.raises(GateRefuses, match="author"):
        team.decide("approve", "new-lesson", "cora")
    team.decide("approve", "new-lesson", "ben")
    with team.book.open() as book:
        merged = book.review_merge("new-lesson")
    assert merged.branch == "refs/heads/proposal/new-lesson"
    status, said = push(team, "main")
    assert not status, said
    assert team.book.git("log", "-1", "--format=%ae", "origin/main", "--", LESSON) == "cora@example.org"
