"""`cakebook lint` on the command line: its formats, and `--fix` on a copy of the shipped book."""

import json
import shutil
import stat

import pytest

from cakebook import __version__
from cakebook.gate.ledger import make_statement, statement_yaml
from cakebook.repo.entries import digest

PATH = "entries/pipelining/ascendc-double-buffer.md"
ID = "ascendc-double-buffer"


def spoil(book, path=PATH):
    """Give an entry a wrong type and an unknown key; returns the bytes before and after."""
    good = (book / path).read_bytes()
    bad = good.replace(b"\ntype: Kernel Pattern\n", b"\nzzz: 1\ntype: Pitfall\n")
    assert bad != good
    (book / path).write_bytes(bad)
    return good, bad


def list_as_founding(book, data):
    """Put the digest of `data` on the founding list."""
    listing = book / "book" / "founding.yaml"
    lines = [
        f'  {ID}: "{digest(ID, data)}"' if line.startswith(f"  {ID}:") else line for line in listing.read_text().split("\n")
    ]
    listing.write_text("\n".join(lines))


def mended(data):
    return data.replace(b"Pitfall", b"Kernel Pattern", 1)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--format", "junk"], "CB-E202", "valid: text, json, github, sarif"),
        (["--format", "junk", "--fix"], "CB-E202", "junk"),
        (["--format", "SARIF"], "CB-E202", "SARIF"),
        (["--format"], "CB-E201", "--format"),
        (["--json", "--format", "sarif"], "CB-E201", "sarif"),
        (["--fix", "entries/nothing.md"], "CB-E209", "entries/nothing.md"),
        (["--fix=yes"], "CB-E201", "--fix"),
    ],
)
def test_wrong_usage(cake, arguments, code, says):
    done = cake("lint", *arguments)
    assert done.status == 2 and done.err.startswith(f"error: {code} ") and says in done.err and done.err.count("\n") == 1


def test_the_formats_tell_the_same_findings(cake, own_book):
    spoil(own_book)

    def lint(*arguments):
        done = cake("lint", PATH, *arguments, cwd=own_book)
        assert done.status == 1 and done.err == "1 errors, 1 warnings; --fix mends 1\n"
        return done.out

    found = json.loads(lint("--format", "json"))
    assert found == json.loads(lint("--json")) == json.loads(lint("--json", "--format", "json"))
    assert [(f["rule"], bool(f["fix"])) for f in found] == [("CB115", False), ("CB116", True)]
    run = json.loads(lint("--format", "sarif"))["runs"][0]
    results = run["results"]
    assert run["tool"]["driver"]["version"] == __version__
    assert [r["ruleId"] for r in results] == ["CB115", "CB116"]
    assert [line.split("file=")[1].split(",")[0] for line in lint("--format", "github").splitlines()] == [PATH, PATH]
    assert [line.split(":")[0] for line in lint().splitlines()] == [PATH, PATH]


def test_annotations_name_the_file_within_the_repository(cake, own_book):
    spoil(own_book)
    (own_book.parent / ".git").mkdir()
    assert f"file=book/{PATH},line=2," in cake("lint", PATH, "--format", "github", cwd=own_book).out
    assert f'"book/{PATH}"' in cake("lint", "--book", "book", "--format", "sarif", cwd=own_book.parent).out
    assert cake("lint", PATH, cwd=own_book).out.startswith(PATH)


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_fix_mends_tells_and_prints_what_is_left(cake, own_book, form):
    _, bad = spoil(own_book)
    done = cake("lint", "--fix", "--format", form, cwd=own_book)
    assert done.status == 0 and done.err == f"fixed: {PATH}: CB116 type-of-kind\n0 errors, 1 warnings\n"
    assert "CB115" in done.out and "CB116" not in done.out
    assert (own_book / PATH).read_bytes() == mended(bad)
    again = cake("lint", "--fix", "--format", form, cwd=own_book)
    assert (again.out, again.err) == (done.out, "0 errors, 1 warnings\n") and (own_book / PATH).read_bytes() == mended(bad)


def test_fix_in_a_book_that_needs_none_changes_nothing(cake, own_book):
    before = {p: p.read_bytes() for p in own_book.rglob("*") if p.is_file() and ".cakebook" not in p.parts}
    cake("lint", "--fix", cwd=own_book)
    assert before == {p: p.read_bytes() for p in own_book.rglob("*") if p.is_file() and ".cakebook" not in p.parts}


@pytest.mark.parametrize("by", ["the founding list", "an approval"])
def test_what_is_vouched_for_is_fixed_only_where_its_file_is_named(cake, own_book, by):
    _, bad = spoil(own_book)
    if by == "the founding list":
        list_as_founding(own_book, bad)
    else:
        values = {
            "schema": "cakebook-statement-v1", "book": "b-00000000", "entry": ID, "digest": digest(ID, bad), "kind": "pipelining",
            "decision": "approve", "reviewer": "someone", "trust": 1, "at": "2026-11-30T00:00:00Z",
        }  # fmt: skip
        folder = own_book / "book" / "ledger" / ID
        folder.mkdir(parents=True)
        (folder / "a.yaml").write_bytes(statement_yaml(make_statement(values)))
        (folder / "b.yaml").write_text("no: statement\n")
    for paths in ([], ["."], ["entries"], ["entries/pipelining"]):
        done = cake("lint", "--fix", *paths, cwd=own_book)
        assert done.status == 1 and f"not fixed: {PATH}: {ID} is vouched for in these bytes; name the file" in done.err
        assert (own_book / PATH).read_bytes() == bad
    done = cake("lint", "--fix", PATH, cwd=own_book)
    assert done.status == 0 and f"\nedited: {ID} is vouched for in these bytes; it is a draft until" in done.err
    assert (own_book / PATH).read_bytes() == mended(bad)


def test_fix_of_a_read_only_file_is_an_error_and_changes_nothing(cake, own_book):
    _, bad = spoil(own_book)
    (own_book / PATH).chmod(0o444)
    done = cake("lint", "--fix", cwd=own_book)
    assert done.status == 3 and done.out == "" and done.err.startswith(f"error: CB-E305 {PATH}: read-only")
    assert (own_book / PATH).read_bytes() == bad and stat.S_IMODE((own_book / PATH).stat().st_mode) == 0o444


def test_fix_follows_no_symbolic_link(cake, own_book):
    _, bad = spoil(own_book)
    (own_book / "entries" / "link.md").symlink_to(own_book / PATH)
    (own_book / "entries" / "way").symlink_to(own_book / "entries" / "pipelining")
    (own_book.parent / "outer.md").symlink_to(own_book / PATH)
    for path in ("entries/link.md", f"entries/way/{ID}.md", "entries/way", "../outer.md"):
        done = cake("lint", "--fix", path, cwd=own_book)
        assert done.status == 2 and done.err.startswith("error: CB-E201 ") and "a symbolic link" in done.err
        assert (own_book / PATH).read_bytes() == bad
    (own_book.parent / "same").symlink_to(own_book)
    done = cake("lint", "--fix", "--book", "same", PATH, cwd=own_book.parent)
    assert "fixed: " in done.err and (own_book / PATH).read_bytes() == mended(bad)


def test_fix_leaves_what_it_cannot_read(cake, own_book):
    path = own_book / "entries" / "pipelining" / "broken.md"
    shutil.copyfile(own_book / PATH, path)
    path.write_bytes(path.read_bytes().replace(b"type: Kernel Pattern", b"type: Pitfall: x"))
    before = path.read_bytes()
    done = cake("lint", "--fix", str(path), cwd=own_book)
    assert done.status == 1 and "CB104" in done.out and "fixed" not in done.err and path.read_bytes() == before


def test_explain_marks_what_is_fixable(cake):
    assert "CB116 type-of-kind (error; fixable)" in cake("lint", "--explain", "CB116").out
    assert "\n--fix: Writes that type." in cake("lint", "--explain", "CB116").out
    assert "fix" not in cake("lint", "--explain", "CB304").out.replace("Fix: ", "")
