"""From a lesson to a served entry, as contributors and reviewers do it: branches, the queue, the sheet, the merge."""

import json
import subprocess

import pytest

from cakebook.errors import CannotSign, GateRefuses, GitFailed, NoSuchEntry, NoSuchPath, NotABook

LESSON = "entries/tiling/new-lesson.md"
JSON = {
    "title": "Copy the last short row with the rest of the tile",
    "dsl": "ascendc",
    "problem": "the copy of the last row moves a few bytes and waits for them",
    "change": "let the last tile overlap the one before it",
    "when": "the row count does not divide by the tile",
    "source": "https://github.com/owner/repo/issues/7",
    "observed": "one copy of 96 bytes less per core",
}


def write(team, path=LESSON, **more):
    """A draft in the work tree, not committed."""
    entry_id = path.rsplit("/", 1)[-1].removesuffix(".md")
    team.book.write(path, team.book.entry_text(entry_id, **more).replace('by: "tests"', 'by: "dan@example.org"'))
    return entry_id


def submit(team, path=LESSON, **more):
    """Write and submit as Dan; the work tree is clean again afterwards."""
    entry_id = write(team, path, **more)
    for name, value in (("name", "Dan"), ("email", "dan@example.org")):
        team.book.monkeypatch.setenv(f"GIT_AUTHOR_{name.upper()}", value)
    with team.book.open() as book:
        (made,) = book.submit([path])
    (team.root / path).unlink()
    if team.book.git("ls-files", path):
        team.book.git("checkout", "-q", "--", path)
    for name, value in (("NAME", "A Tester"), ("EMAIL", "tester@example.org")):
        team.book.monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
    assert made.id == entry_id and team.book.git("status", "--porcelain") == ""
    return made


def test_a_submitted_entry_lies_on_a_branch_of_its_own_and_nothing_else_moves(team):
    before = team.book.git("rev-parse", "HEAD"), team.book.git("branch", "--show-current")
    made = submit(team)
    assert (made.branch, team.book.git("rev-parse", made.branch)) == ("proposal/new-lesson", made.commit)
    assert team.book.git("diff", "--name-only", "main", made.branch) == LESSON
    assert team.book.git("log", "-1", "--format=%ae", made.branch) == "dan@example.org"
    assert (team.book.git("rev-parse", "HEAD"), team.book.git("branch", "--show-current")) == before
    assert submit(team).commit == made.commit, "the same again makes nothing"
    assert submit(team, symptom="another wording").commit != made.commit


def test_from_submission_to_service(team):
    base = team.book.git("rev-parse", "HEAD")
    submit(team)
    with team.book.open() as book:
        assert [(row.id, row.state) for row in book.review_list()] == [("new-lesson", "ready")]
        sheet = book.review_show("new-lesson")
        assert sheet.authors == ("dan@example.org",) and sheet.changes[0] == "---" and sheet.revision
        with pytest.raises(GateRefuses, match="not-admitted"):
            book.review_merge("new-lesson")
    assert team.book.git("rev-parse", "HEAD") == base and team.book.git("status", "--porcelain") == ""
    team.decide("approve", "new-lesson", "ben")
    with team.book.open() as book:
        merged = book.review_merge("new-lesson")
        assert book.review_list() == []
    assert merged.commit == team.book.git("rev-parse", "HEAD") and (team.root / LESSON).exists()
    assert team.check(f"{base}..HEAD") == [] and team.verdict().served


def test_a_reviewer_without_the_branch_here_takes_it_from_the_remote(team, tmp_path):
    subprocess.run(["git", "clone", "-q", "--bare", team.root, tmp_path / "hub.git"], check=True)
    team.book.git("remote", "add", "hub", str(tmp_path / "hub.git"))
    write(team)
    with team.book.open() as book:
        (made,) = book.submit([LESSON], remote="hub")
    assert made.link == ""  # a folder is no forge
    (team.root / LESSON).unlink()
    team.book.git("branch", "-q", "-D", made.branch)
    with team.book.open() as book:
        assert [row.id for row in book.review_list()] == ["new-lesson"]
    team.decide("approve", "new-lesson", "ben")
    with team.book.open() as book:
        assert book.review_merge("new-lesson").branch == "refs/remotes/hub/proposal/new-lesson"


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("git@github.com:owner/book.git", "https://github.com/owner/book/compare/main...proposal/new-lesson?expand=1"),
        ("https://gitlab.example.org/group/sub/book", "https://gitlab.example.org/group/sub/book/-/merge_requests/new?"),
        ("ssh://git@gitee.com:22/owner/book.git", "https://gitee.com/owner/book/pulls/new?source_branch=proposal/new-lesson"),
        ("https://gitcode.com/owner/book.git", "https://gitcode.com/owner/book/pulls/new?source_branch=proposal/new-lesson"),
        ("/srv/book.git", ""),
    ],
)
def test_where_to_open_a_pull_request(team, url, link):
    team.book.git("remote", "add", "origin", url)
    assert submit(team).link.startswith(link) and bool(link) == bool(submit(team).link)


def test_a_lesson_in_json_becomes_a_draft_and_a_proposal(team, tmp_path):
    (tmp_path / "lesson.json").write_text(json.dumps(JSON))
    ran = team.book.cli("submit", "--from", str(tmp_path / "lesson.json"), "--by", "dan@example.org")
    assert ran.status == 0, ran.err
    assert "a reviewer will ask:" in ran.out and "branch proposal/copy-the-last-short-row" in ran.out
    again = team.book.cli("submit", "--from", str(tmp_path / "lesson.json"))
    assert again.status == 0 and "resembles copy-the-last-short-row" in again.out


def test_what_is_wrong_is_said_before_anything_is_made(team, tmp_path):
    def nothing_made():
        assert team.book.git("branch", "--list", "proposal/*") == ""

    write(team)
    text = (team.root / LESSON).read_text()
    (team.root / LESSON).write_text(text.replace("[ascendc]", "[cobol]"))
    with team.book.open() as book:
        with pytest.raises(GateRefuses, match="CB201"):
            book.submit([LESSON])
        nothing_made()
        (team.root / LESSON).write_text(
            text.replace("## Sources", "## Check\n```python check\nassert 1 == 2\n```\n\n## Sources")
        )
        with pytest.raises(GateRefuses, match="its check failed"):
            book.submit([LESSON])
        nothing_made()
        for path in ("entries/tiling/nowhere.md", "book/policy.yaml", str(tmp_path)):
            with pytest.raises(NoSuchPath):
                book.submit([path])
        (team.root / LESSON).write_text(text)
        with pytest.raises(GitFailed):
            book.submit([LESSON], remote="nowhere")
    assert team.book.cli("submit").status == 2
    assert team.book.cli("submit", LESSON, "--from", "x.json").status == 2
    assert team.book.cli("submit", "--from", "nowhere.json").status == 2


def test_a_dry_run_makes_nothing(team):
    write(team)
    ran = team.book.cli("submit", LESSON, "--dry-run")
    assert ran.status == 0 and "nothing stands against it" in ran.out
    assert team.book.git("branch", "--list", "proposal/*") == ""


def test_what_was_declined_is_remembered_also_under_another_name(team):
    submit(team, summary="Divide the rows by the cores and give the rest to the first of them, one row each.")
    team.decide("decline", "new-lesson", "ben", reason="unverifiable: no source has the figure")
    with team.book.open() as book:
        assert [(row.id, row.state) for row in book.review_list()] == [("new-lesson", "declined")]
        write(team)
        path = "entries/tiling/other-name.md"
        text = team.book.git("show", f"proposal/new-lesson:{LESSON}").replace("new-lesson", "other-name")
        team.book.write(path, text + "\n")
        (team.root / LESSON).unlink()
        with pytest.raises(GateRefuses, match="declined before as new-lesson: unverifiable"):
            book.submit([path])
        assert book.review_show("other-name").declined_before.startswith("new-lesson: unverifiable")


def test_who_was_asked_for_changes_waits_until_they_are_made(team):
    submit(team)
    team.decide("request-changes", "new-lesson", "ben", reason="which chip?")
    with team.book.open() as book:
        assert [row.state for row in book.review_list()] == ["author"]
        assert book.review_show("new-lesson").asked == ("ben: which chip?",)
    team.decide("approve", "new-lesson", "cora")
    with team.book.open() as book, pytest.raises(GateRefuses, match="request-changes"):
        book.review_merge("new-lesson")
    submit(team, symptom="on npu-2201 the loop is long")
    with team.book.open() as book:
        assert [row.state for row in book.review_list()] == ["ready"]


def test_the_queue_puts_what_is_complete_first_and_twins_together(team):
    submit(team, "entries/tiling/b-complete.md", title="Round the tile down to whole blocks of 32 bytes")
    submit(team, "entries/tiling/c-poor.md", title="Another thing altogether", title_zh="", symptom_zh="")
    text = team.book.git("show", "proposal/b-complete:entries/tiling/b-complete.md").replace("b-complete", "a-twin")
    team.book.write("entries/tiling/a-twin.md", text.replace("title_zh: 测试用条目\n", ""))
    with team.book.open() as book:
        rows = book.review_list()
    (team.root / "entries/tiling/a-twin.md").unlink()
    assert [row.id for row in rows][:1] == ["b-complete"] and "a-twin" in rows[0].alike
    assert [row.id for row in rows].index("a-twin") == 1


def test_the_sheet_shows_what_changed_since_the_last_approval(team):
    submit(team, symptom="the first wording")
    team.decide("approve", "new-lesson", "ben")
    with team.book.open() as book:
        book.review_merge("new-lesson")
    submit(team, symptom="the second wording")
    with team.book.open() as book:
        changes = book.review_show("new-lesson").changes
    changed = [line for line in changes if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed and all("wording" in line for line in changed)


def test_the_screens_are_plain_text(team):
    submit(team)
    for arguments in (
        ["list"],
        ["next"],
        ["next", "--minutes", "1"],
        ["show", "new-lesson"],
        ["show", "new-lesson", "--run-checks"],
    ):
        ran = team.book.cli("review", *arguments)
        assert ran.status == 0 and "new-lesson" in ran.out and "\x1b" not in ran.out, ran
    assert json.loads(team.book.cli("review", "list", "--json").out)[0]["id"] == "new-lesson"
    assert json.loads(team.book.cli("review", "show", "new-lesson", "--json").out)["digest"].startswith("sha256:")
    team.decide("approve", "new-lesson", "ben")
    assert "approve by ben" in team.book.cli("review", "log", "new-lesson").out
    assert json.loads(team.book.cli("review", "merge", "new-lesson", "--json").out)["id"] == "new-lesson"
    assert json.loads(team.book.cli("review", "check", "HEAD~1..HEAD", "--json").out)["refused"] == []
    assert "nothing is ready" in team.book.cli("review", "next").err


def test_merging_what_is_not_there_or_in_conflict(team, tmp_path):
    with team.book.open() as book, pytest.raises(NoSuchEntry, match="no branch"):
        book.review_merge("nowhere")
    with team.book.open() as book, pytest.raises(NoSuchEntry):
        book.review_show("nowhere")
    submit(team, "entries/tiling/tiny-grid-size.md", title="One wording")
    team.decide("approve", "tiny-grid-size", "ben")
    team.book.write("entries/tiling/tiny-grid-size.md", team.book.entry_text("tiny-grid-size", title="Another wording"))
    team.commit("ada")
    with team.book.open() as book, pytest.raises(GitFailed):
        book.review_merge("tiny-grid-size")
    assert team.book.git("status", "--porcelain") == ""


def test_a_book_in_no_repository_cannot_propose(tiny_book):
    tiny_book.write("entries/tiling/mine.md", tiny_book.entry_text("mine"))
    with tiny_book.open() as book:
        assert book.submit(["entries/tiling/mine.md"], dry_run=True)[0].id == "mine"
        with pytest.raises(NotABook):
            book.submit(["entries/tiling/mine.md"])
        with pytest.raises(NotABook):
            book.review_merge("mine")
        with pytest.raises(CannotSign):
            book.decide(["mine"], "approve", key="/nowhere")
