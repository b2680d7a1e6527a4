"""A new founding edition: one more each time, a root that is known before it is used, and refusals."""

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cakebook.errors import BadArgument, BookFileInvalid, HasAdmins, NotShippedBook, StoreIO, Unreadable
from cakebook.gate import founding
from cakebook.gate.facts import gather
from cakebook.gate.trust import ROOT, shipped_roots
from cakebook.repo.layout import FolderSource

DATE = "2026-12-01"


def roots(root: Path) -> list[str]:
    return [line for line in (root / "cakebook/data/roots.txt").read_text().splitlines() if not line.startswith("#")]


def state(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_the_first_edition_lists_everything(tiny_book):
    source = FolderSource(tiny_book.root)
    found = gather(source, tiny_book.settings.trust_roots)
    assert found.founding.edition == found.trust.anchor.edition == 1
    assert found.founding.reason == "the first edition" and found.founding.statement == founding.FOUNDING_MEANS
    assert set(found.trust.anchor.files) == {
        "book/founding.yaml", "book/policy.yaml", *source.paths("book/vocabulary"),
    }  # fmt: skip
    assert found.trust.anchor.admins == {} and found.trust.anchor.statements == ()
    assert roots(tiny_book.root) == [f"{found.trust.root} {found.trust.book} 1"]


def test_an_edition_grows_by_one_and_appends_its_root(tiny_book):
    book = tiny_book.root
    first = roots(book)
    path = tiny_book.write("entries/new-one.md", tiny_book.entry_text("new-one"))
    tiny_book.write("entries/tiling/tiny-grid-size.md", tiny_book.entry_text("tiny-grid-size"))
    (book / "entries/tiling/tiny-rows-per-tile.md").unlink()
    tiny_book.write("book/policy.yaml", "serve: founding\n")
    edition = founding.update(book, " why, in one line ", DATE)
    assert (edition.number, edition.added, edition.changed, edition.removed, edition.files) == (
        2, ("new-one",), ("tiny-grid-size",), ("tiny-rows-per-tile",), ("book/policy.yaml",),
    )  # fmt: skip
    assert roots(book) == [*first, f"{edition.root} {edition.book} 2"]
    assert edition.root == sha256((book / ROOT).read_bytes()).hexdigest()
    listing = founding.load_model(FolderSource(book), "book/founding.yaml", founding.Founding)
    assert (listing.edition, listing.date, listing.reason) == (2, DATE, "why, in one line")
    path.unlink()
    third = founding.update(book, "again", DATE)
    assert (third.number, third.book, third.removed) == (3, edition.book, ("new-one",))
    assert len(roots(book)) == 3


def test_older_editions_of_the_book_read_as_they_were(git_book):
    first = git_book.git("rev-parse", "HEAD")
    git_book.write("entries/new-one.md", git_book.entry_text("new-one"))
    git_book.found()
    git_book.commit()
    assert git_book.sync().entries == 5
    assert git_book.sync(revision=first).entries == 4


def test_nothing_to_do_writes_nothing(tiny_book):
    before = state(tiny_book.root)
    edition = founding.update(tiny_book.root, "no reason", DATE)
    assert edition.empty and edition.number == 1 and edition.root == sha256((tiny_book.root / ROOT).read_bytes()).hexdigest()
    tiny_book.write("README.md", "x")
    assert founding.update(tiny_book.root, "no reason", DATE).empty
    (tiny_book.root / "README.md").unlink()
    assert state(tiny_book.root) == before


def test_pending_says_what_an_update_would_change(tiny_book):
    tiny_book.write("entries/new-one.md", tiny_book.entry_text("new-one"))
    tiny_book.write("book/vocabulary/dsls.yaml", "terms: []\n")
    changes = founding.pending(tiny_book.root)
    assert (changes.number, changes.added, changes.files) == (1, ("new-one",), ("book/vocabulary/dsls.yaml",))
    tiny_book.found()
    assert founding.pending(tiny_book.root).empty


# Refusals


def test_a_reason_is_required(tiny_book):
    tiny_book.write("entries/new-one.md", tiny_book.entry_text("new-one"))
    before = state(tiny_book.root)
    for reason in (
        "",
        "  ",
        "\n",
        "two\nlines",
        "two\rlines",
        "two\u2028lines",
        "\x00",
        "\x7f",
        "\ud800",
        "\x1b[31m",
        "\ufffe",
    ):
        with pytest.raises(BadArgument, match="--reason"):
            founding.update(tiny_book.root, reason, DATE)
    assert state(tiny_book.root) == before
    ran = tiny_book.cli("founding", "update")
    assert ran.status == 2 and "--reason" in ran.err


@given(st.text(st.characters(), min_size=1, max_size=20))
@example("\ufeff")
@example('quotes " and \\ and \t tab')
@example("全角　空格 😀")
@example("a: b # c")
def test_any_reason_is_kept_or_refused(reason):
    try:
        listing = founding._founding_yaml(1, DATE, founding._reason(reason), {})
    except BadArgument:
        return
    loaded = founding.frontmatter.load_yaml(listing.decode())
    assert isinstance(loaded, tuple) and loaded[0]["reason"] == reason.strip()


def test_a_book_that_is_not_shipped_is_refused(tiny_book, tmp_path):
    (tiny_book.root / "cakebook/data/roots.txt").unlink()
    with pytest.raises(NotShippedBook, match="not the book that this project ships"):
        founding.update(tiny_book.root, "x", DATE)
    assert tiny_book.cli("founding", "update", "--reason", "x").status == 1


def test_another_book_in_a_checkout_of_the_project_is_refused(tiny_book):
    tiny_book.write("cakebook/data/roots.txt", "00 another-book 1\n")
    shipped_roots.cache_clear()
    tiny_book.write("entries/new-one.md", tiny_book.entry_text("new-one"))
    before = state(tiny_book.root)
    with pytest.raises(NotShippedBook):
        founding.update(tiny_book.root, "x", DATE)
    assert state(tiny_book.root) == before


def test_a_book_with_admins_is_refused(tiny_book):
    text = (tiny_book.root / ROOT).read_text()
    tiny_book.write(ROOT, text.replace("admins: {}", "admins: {someone: [key]}"))
    with pytest.raises(HasAdmins):
        founding.update(tiny_book.root, "x", DATE)


@pytest.mark.parametrize(
    "text", ["no front matter", "---\nid: [a\n---\n", "---\nid: Bad Id\n---\n", "---\ntitle: [x]\n---\n", "\xff"]
)
def test_a_file_that_cannot_be_read_is_never_vouched_for(tiny_book, text):
    tiny_book.write("entries/broken.md", text.encode("latin-1"))
    before = state(tiny_book.root)
    with pytest.raises(Unreadable, match=r"entries/broken\.md:\d+:"):
        founding.update(tiny_book.root, "x", DATE)
    assert state(tiny_book.root) == before


@pytest.mark.parametrize("other", ["tiny-grid-size", "other-name"])
def test_two_files_of_one_id_are_never_vouched_for(tiny_book, other):
    tiny_book.write(f"entries/{other}.md", tiny_book.entry_text("tiny-grid-size"))
    with pytest.raises(BookFileInvalid, match=r"tiny-grid-size.*entries/"):
        founding.update(tiny_book.root, "x", DATE)


# Interruption


def steps(monkeypatch, stop_before: int, error: BaseException) -> None:
    """Let `update` fail before its write number `stop_before`, counted from 1."""
    real, calls = founding.write_file, []

    def write(path, data):
        calls.append(path)
        if len(calls) == stop_before:
            raise error
        real(path, data)

    monkeypatch.setattr(founding, "write_file", write)


@pytest.mark.parametrize("stop_before", [1, 2, 3])
def test_an_interrupted_update_leaves_a_known_root_and_can_be_run_again(tiny_book, monkeypatch, stop_before):
    root = tiny_book.root
    tiny_book.write("entries/new-one.md", tiny_book.entry_text("new-one"))
    with monkeypatch.context() as patch:
        steps(patch, stop_before, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            founding.update(root, "new", DATE)
    assert any(line.startswith(sha256((root / ROOT).read_bytes()).hexdigest()) for line in roots(root))
    assert not founding.pending(root).empty, "what is half done is still to do"
    edition = tiny_book.found("new")
    assert edition.number == 2 and founding.pending(root).empty
    assert len(roots(root)) == len(set(roots(root)))
    assert roots(root)[-1].startswith(edition.root)
    assert not list(root.rglob("*.new"))
    report = tiny_book.sync()
    assert (report.entries, report.withheld, report.notes) == (5, (), ())


@pytest.mark.parametrize("stop_before", [1, 2, 3])
def test_an_interrupted_first_edition_can_be_run_again(tiny_book, monkeypatch, stop_before):
    root = tiny_book.root
    (root / ROOT).unlink()
    (root / "book/founding.yaml").unlink()
    tiny_book.write("cakebook/data/roots.txt", "# none\n")
    shipped_roots.cache_clear()
    with monkeypatch.context() as patch:
        steps(patch, stop_before, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            founding.update(root, "first", DATE)
    assert tiny_book.found("first").number == 1
    assert tiny_book.sync().entries == 4


@pytest.mark.parametrize("stop_before", [1, 2, 3])
def test_a_full_disk_is_an_error_with_a_code(tiny_book, monkeypatch, stop_before):
    tiny_book.write("entries/new-one.md", tiny_book.entry_text("new-one"))
    steps(monkeypatch, stop_before, OSError(28, "No space left on device", "somewhere"))
    with pytest.raises(StoreIO, match="No space left"):
        founding.update(tiny_book.root, "x", DATE)


def test_an_update_that_was_overtaken_is_noticed(tiny_book):
    """Editing the list by hand is something to do for `update`, even when no entry differs."""
    path = tiny_book.root / "book/founding.yaml"
    path.write_bytes(path.read_bytes() + b"# a note\n")
    assert founding.pending(tiny_book.root).files == ("book/founding.yaml",)
    assert tiny_book.found("restored").number == 2
    assert tiny_book.sync().entries == 4


def test_the_command_says_what_it_did(tiny_book):
    tiny_book.write("entries/new-one.md", tiny_book.entry_text("new-one"))
    ran = tiny_book.cli("founding", "update", "--reason", "one more")
    assert ran.status == 0 and ran.out.startswith("edition 2 of cakebook-") and "1 added" in ran.out
    assert tiny_book.cli("founding", "update", "--reason", "one more").out == "edition 2: nothing to do\n"
