"""Which root is believed, what it covers, and what becomes of a book that has no believed root."""

from hashlib import sha256

import pytest

from cakebook.errors import AnchorInvalid, BookFileInvalid
from cakebook.gate.facts import gather
from cakebook.gate.trust import ROOT, read_trust, shipped_roots
from cakebook.model.review import Policy
from cakebook.repo.entries import digest
from cakebook.repo.git import Repository
from cakebook.repo.layout import JUDGED, FolderSource

NOBODY: frozenset[str] = frozenset()


def facts(book):
    return gather(FolderSource(book.root), book.settings.trust_roots)


def root_of(book) -> str:
    return sha256((book.root / ROOT).read_bytes()).hexdigest()


def repin(book, old: str, new: str) -> None:
    """Change the root and believe the changed one."""
    text = (book.root / ROOT).read_text()
    assert old in text
    book.write(ROOT, text.replace(old, new))
    book.trust(root_of(book))


# Believing a root


def test_a_pinned_root_is_believed(tiny_book):
    found = facts(tiny_book)
    assert found.trust.anchor.edition == 1 and found.trust.reason == "" and found.uncovered == ()
    assert found.trust.root == root_of(tiny_book)
    assert set(found.founding.entries) == {
        "tiny-double-buffer", "tiny-rows-per-tile", "tiny-vector-exception", "tiny-grid-size",
    }  # fmt: skip


@pytest.mark.parametrize("form", ["sha256:{}", " {} ", "0000,{}", "{},", "SHA {}"])
def test_how_a_pin_may_be_written(tiny_book, monkeypatch, form):
    monkeypatch.setenv("CAKEBOOK_TRUST_ROOT", form.format(root_of(tiny_book)))
    assert (facts(tiny_book).trust.anchor is not None) is (not form.startswith("SHA "))
    monkeypatch.setenv("CAKEBOOK_TRUST_ROOT", root_of(tiny_book).upper())
    assert facts(tiny_book).trust.anchor is not None


def test_an_unknown_root_is_not_believed_and_the_reason_names_both_ways_out(tiny_book, monkeypatch):
    monkeypatch.delenv("CAKEBOOK_TRUST_ROOT")
    found = facts(tiny_book)
    assert found.trust.anchor is None and found.founding is None
    assert found.policy == Policy()
    assert "upgrade cakebook" in found.trust.reason
    assert f"CAKEBOOK_TRUST_ROOT={root_of(tiny_book)}" in found.trust.reason
    report = tiny_book.sync()
    assert report.entries == 0 and {w.code for w in report.withheld} == {"no-anchor"}
    assert found.trust.reason in report.notes


def test_an_empty_pin_believes_nothing(tiny_book, monkeypatch):
    monkeypatch.setenv("CAKEBOOK_TRUST_ROOT", " , ,")
    assert tiny_book.settings.trust_roots == frozenset()
    assert facts(tiny_book).trust.anchor is None


def test_the_shipped_editions_are_believed_without_a_pin(shipped_root):
    trust = read_trust(FolderSource(shipped_root), NOBODY)
    assert trust.anchor is not None and trust.book == shipped_roots()[-1].book


def test_roots_are_read_in_order_and_comments_skipped(tmp_path):
    file = tmp_path / "roots.txt"
    file.write_text("# comment\n\naa book-1 1\nbb book-1 2\n")
    assert [(r.digest, r.book, r.edition) for r in shipped_roots(file)] == [("aa", "book-1", 1), ("bb", "book-1", 2)]


@pytest.mark.parametrize("line", ["junk", "aa book", "aa book one", "aa book 1 more"])
def test_a_damaged_list_of_roots_is_named_by_line(tmp_path, line):
    file = tmp_path / "roots.txt"
    file.write_text(f"# comment\n{line}\n")
    with pytest.raises(BookFileInvalid, match=r"roots\.txt:2: "):
        shipped_roots(file)


def test_a_book_without_a_root_is_all_draft(tiny_book):
    (tiny_book.root / ROOT).unlink()
    found = facts(tiny_book)
    assert found.trust.anchor is None and found.trust.book == "unanchored"
    assert "nothing in this book is vouched for" in found.trust.reason
    assert tiny_book.sync().entries == 0


def test_a_root_that_is_a_link_is_no_root(tiny_book, tmp_path):
    (tiny_book.root / ROOT).rename(tmp_path / "1.yaml")
    (tiny_book.root / ROOT).symlink_to(tmp_path / "1.yaml")
    assert facts(tiny_book).trust.anchor is None


@pytest.mark.parametrize(
    ("old", "new"),
    [("\nn: 1", "\nn: 2"), ("cakebook-trust-v1", "cakebook-trust-v2"), ("\nn: 1", "\nn: 1\nprevious: " + "0" * 64)],
)
def test_a_believed_root_that_is_no_version_1_is_an_error(tiny_book, old, new):
    repin(tiny_book, old, new)
    with pytest.raises(AnchorInvalid, match=r"book/trust/1\.yaml: not version 1") as raised:
        facts(tiny_book)
    assert raised.value.exit == 4 and raised.value.hint


def test_a_root_whose_admins_have_not_signed_it_is_an_error(tiny_book):
    repin(tiny_book, "admins: {}", "admins: {someone: [key]}")
    with pytest.raises(AnchorInvalid, match="none of its admins has signed it"):
        facts(tiny_book)


@pytest.mark.parametrize("text", ["n: 2\n", "not: [yaml", "", "schema: cakebook-trust-v1\nbook: x\nn: 2\n"])
def test_no_version_follows_a_root_without_admins_and_that_it_is_there_is_said(tiny_book, text):
    tiny_book.write("book/trust/2.yaml", text)
    found = facts(tiny_book)
    assert found.trust.anchor.n == 1 and found.trust.broken.startswith("book/trust/2.yaml")
    ran = tiny_book.cli("sync")
    assert ran.status == 0 and f"note: {found.trust.broken}" in ran.err
    assert tiny_book.served() != []


def test_versions_of_a_root_that_is_not_believed_do_not_matter(tiny_book, monkeypatch):
    tiny_book.write("book/trust/2.yaml", "n: 2\n")
    monkeypatch.delenv("CAKEBOOK_TRUST_ROOT")
    assert facts(tiny_book).trust.anchor is None


def test_a_believed_root_that_cannot_be_read_is_an_error(tiny_book):
    repin(tiny_book, "statements: []", "statements: [")
    with pytest.raises(BookFileInvalid, match=r"book/trust/1\.yaml:"):
        facts(tiny_book)


def test_keys_of_later_releases_are_no_error(tiny_book):
    repin(tiny_book, "statements: []", "statements: []\nlater: {a: b}")
    assert facts(tiny_book).trust.anchor is not None


# What it covers


@pytest.mark.parametrize(("asked", "served"), [("draft", "founding"), ("founding", "founding"), ("reviewed", "reviewed")])
def test_a_policy_that_is_not_covered_can_only_be_stricter(tiny_book, asked, served):
    tiny_book.write("book/policy.yaml", f"serve: {asked}\nauthors: known\n")
    found = facts(tiny_book)
    assert found.policy == Policy(serve=served) and found.uncovered == ("book/policy.yaml",)
    assert found.founding is not None


def test_a_policy_that_cannot_be_read_stops_everything(tiny_book):
    tiny_book.write("book/policy.yaml", "not a mapping")
    with pytest.raises(BookFileInvalid, match=r"policy\.yaml:1:1"):
        facts(tiny_book)


def test_a_covered_policy_is_used(tiny_book):
    tiny_book.write("book/policy.yaml", "serve: reviewed\n")
    tiny_book.found()
    assert facts(tiny_book).policy.serve == "reviewed"
    report = tiny_book.sync()
    assert report.entries == 0 and {w.code for w in report.withheld} == {"below-policy"}


def test_a_founding_list_that_is_not_covered_vouches_for_nothing(tiny_book):
    path = "book/founding.yaml"
    text = (tiny_book.root / path).read_text()
    tiny_book.write(path, text.replace("edition: 1", "edition: 1 "))  # the same values in other bytes
    found = facts(tiny_book)
    assert found.founding is None and found.uncovered == (path,)
    assert "cakebook founding update" in found.trust.reason and "restore" in found.trust.reason
    report = tiny_book.sync()
    assert report.entries == 0 and {w.code for w in report.withheld} == {"no-anchor"}


def test_nobody_can_add_to_the_list_by_hand(tiny_book):
    draft = tiny_book.entry_text("mine")
    tiny_book.write("entries/mine.md", draft)
    listing = (tiny_book.root / "book/founding.yaml").read_text()
    tiny_book.write("book/founding.yaml", listing + f'  mine: "{digest("mine", draft.encode())}"\n')
    assert tiny_book.sync().entries == 0


@pytest.mark.parametrize("path", ["book/founding.yaml", "book/policy.yaml", "book/vocabulary/dsls.yaml"])
def test_a_covered_file_that_is_gone_is_named(tiny_book, path):
    (tiny_book.root / path).unlink()
    assert path in facts(tiny_book).uncovered


@pytest.mark.parametrize("path", ["book/vocabulary/new.yaml", "book/people/a.yaml", "book/agents/skill.md"])
def test_a_file_beside_the_covered_ones_is_named(tiny_book, path):
    tiny_book.write(path, "terms: []\n")
    assert facts(tiny_book).uncovered == (path,)


def test_what_is_not_governed_does_not_matter(tiny_book):
    tiny_book.write("book/chapters/new.md", "x")
    tiny_book.write("book/schema/x.json", "{}")
    tiny_book.write("README.md", "x")
    assert facts(tiny_book).uncovered == ()


def test_every_governed_file_is_covered_in_the_folder_and_at_the_revision(git_book):
    git_book.write("book/people/a.yaml", "id: a\n")
    git_book.write("book/agents/skills/b.md", "# B\n")
    git_book.found()
    git_book.commit()
    assert facts(git_book).uncovered == ()
    at_head = Repository.around(git_book.root).at("HEAD", JUDGED)
    assert gather(at_head, git_book.settings.trust_roots).uncovered == ()
