"""The pipelines of the chapter on CI, run as their forges would run them: what is good passes, what is bad does not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

REPO = Path(__file__).parents[2]
CHAPTER = (REPO / "book" / "chapters" / "gate-in-ci.md").read_text("utf-8")
SNIPPETS = {
    re.match(r"# (\S+)\n", block)[1]: yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", CHAPTER, re.DOTALL)
}
GITHUB, GITLAB, GITCODE = ".github/workflows/gate.yml", ".gitlab-ci.yml", ".gitcode/workflows/gate.yml"
LESSON = "entries/tiling/new-lesson.md"


def lines(path):
    """The shell lines of a pipeline, in order."""
    pipeline = SNIPPETS[path]
    if "jobs" in pipeline:
        blocks = [step["run"] for job in pipeline["jobs"].values() for step in job["steps"] if "run" in step]
    else:
        blocks = [line for job in pipeline.values() for part in ("before_script", "script") for line in job[part]]
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture
def runner(team, tmp_path, monkeypatch):
    """Runs a pipeline on a branch of the team's book: exit statuses and output of its `cakebook` commands."""
    tools = tmp_path / "bin"
    tools.mkdir()
    command = tools / "cakebook"  # as an installed one: the current folder adds nothing to what is imported
    command.write_text(f"#!{sys.executable} -I\nimport sys\nsys.path.insert(0, {str(REPO)!r})\nfrom cakebook.cli import main\nsys.exit(main())\n")  # fmt: skip
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    hub, work = tmp_path / "hub.git", tmp_path / "work"

    def git(*arguments, cwd=None):
        subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)

    def run(path, branch):
        git("clone", "-q", "--bare", str(team.root), str(hub))
        depth = ["--depth", "1"] if path == GITCODE else []
        git("clone", "-q", *depth, "--branch", branch, f"file://{hub}", str(work))
        if path == GITHUB:  # which checks out the merge into the target branch
            git("checkout", "-q", "--detach", "origin/main", cwd=work)
            git("merge", "-q", "--no-ff", "--no-edit", branch, cwd=work)
        else:
            git("checkout", "-q", "--detach", cwd=work)
        ran = []
        for line in lines(path):
            if line.startswith(("git ", "cakebook ")):
                done = subprocess.run(["sh", "-c", line], cwd=work, capture_output=True, text=True, check=False)
                assert line.startswith("cakebook ") or not done.returncode, (line, done.stderr)
                if line.startswith("cakebook "):
                    ran.append((done.returncode, done.stdout + done.stderr))
        return ran, work

    team.book.git("checkout", "-q", "-b", "proposal/new-lesson")
    return run


def main_moves_on(team):
    """Something else is decided on the trusted branch after the proposal left it."""
    team.book.git("checkout", "-q", "main")
    team.decide("deprecate", "tiny-grid-size", "ben")


def test_the_chapter_holds_one_pipeline_for_each_forge():
    assert [*SNIPPETS] == [GITHUB, GITLAB, GITCODE]
    for path in SNIPPETS:
        ran = [line.split(">")[0].strip() for line in lines(path) if line.startswith("cakebook ")]
        assert ran[0] == "cakebook review check origin/main..HEAD" and ran[1].startswith("cakebook lint --format ")
        assert len(ran) == 2


def test_no_code_and_no_setting_comes_from_the_pull_request():
    for path, pipeline in SNIPPETS.items():
        text = yaml.safe_dump(pipeline)
        assert "pull_request_target" not in text and "secrets." not in text and "write" not in text
        installs = [line for line in lines(path) if "install" in line]
        assert installs and all(re.fullmatch(r'\S+/pip"? install "\$GATE_PACKAGE"', line) for line in installs)
        assert all(" -I " in line for line in lines(path) if line.startswith("python3"))
    for path in (GITHUB, GITCODE):
        (job,) = SNIPPETS[path]["jobs"].values()
        assert job["env"]["CAKEBOOK_TRUST_ROOT"] == "${{ vars.CAKEBOOK_TRUST_ROOT }}"
        assert {*SNIPPETS[path][True]} == {"pull_request"}  # YAML 1.1 reads `on` as true
    assert "CAKEBOOK_TRUST_ROOT" not in SNIPPETS[GITLAB]["gate"]["variables"]


@pytest.mark.parametrize("path", SNIPPETS)
def test_what_is_approved_passes_also_when_main_has_moved_on(team, runner, path):
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    main_moves_on(team)
    ran, _ = runner(path, "proposal/new-lesson")
    assert [status for status, _ in ran] == [0, 0], ran
    assert "reviewed new-lesson" in ran[0][1] and "independence computed" in ran[0][1]


@pytest.mark.parametrize("path", SNIPPETS)
def test_what_nobody_approved_does_not_pass(team, runner, path):
    team.propose("dan")
    main_moves_on(team)
    ran, _ = runner(path, "proposal/new-lesson")
    assert [status for status, _ in ran] == [1, 0], ran
    assert f"refused  {LESSON}: not-admitted" in ran[0][1] and "removed" not in ran[0][1]


@pytest.mark.parametrize("path", SNIPPETS)
def test_lint_errors_are_shown_on_their_lines(team, runner, path):
    team.propose("dan")
    text = (team.root / LESSON).read_text()
    team.book.write(LESSON, text.replace("[ascendc]", "[cobol]"))
    team.commit("dan")
    ran, work = runner(path, "proposal/new-lesson")
    assert [status for status, _ in ran] == [1, 1], ran
    assert ("::error file=" if path == GITHUB else f"{LESSON}:") in ran[1][1] and "CB201" in ran[1][1]
    if path == GITLAB:
        assert '"2.1.0"' in (work / "lint.sarif").read_text()


@pytest.mark.parametrize("path", SNIPPETS)
def test_code_and_policy_of_the_pull_request_do_not_matter(team, runner, path):
    team.propose("dan")
    team.book.write("cakebook/__init__.py", "raise SystemExit(0)\n")
    team.book.write("yaml.py", "raise SystemExit(0)\n")
    team.book.write("book/policy.yaml", "serve: draft\n")
    team.commit("dan")
    ran, _ = runner(path, "proposal/new-lesson")
    assert ran[0][0] == 1 and "book/policy.yaml: uncovered" in ran[0][1] and "not-admitted" in ran[0][1]


@pytest.mark.parametrize("path", SNIPPETS)
def test_without_the_root_nothing_passes(team, runner, path, monkeypatch):
    team.propose("dan")
    team.decide("approve", "new-lesson", "ben")
    monkeypatch.setenv("CAKEBOOK_TRUST_ROOT", "")
    monkeypatch.setenv("CAKEBOOK_STATE", str(team.root.parent / "another-machine"))
    ran, _ = runner(path, "proposal/new-lesson")
    assert ran[0][0] == 1 and "no-anchor" in ran[0][1]


def test_exit_status_4_is_told_as_it_is(team, tmp_path):
    assert team.book.cli("review", "check", "nowhere..HEAD").status == 4
    assert "| 0 | 1 | 4 |" in CHAPTER
