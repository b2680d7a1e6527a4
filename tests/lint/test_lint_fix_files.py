"""`--fix` on the disk: each file in one step or not at all, nothing behind a link, nothing that is vouched for unasked."""

import stat
from pathlib import Path

import pytest

from cakebook.errors import NoSuchPath, StoreIO
from cakebook.lint import lint_book
from cakebook.lint.examples import BASE, PATH, other
from cakebook.lint.fixing import fix_folder, mend
from cakebook.lint.runner import lint_view, read_book
from cakebook.repo.entries import digest
from cakebook.repo.layout import FolderSource, MemorySource


@pytest.fixture
def book(tmp_path):
    """Two entries with a wrong type, one that cannot be read, one behind a symbolic link."""
    wrong = {PATH: BASE.replace("Kernel Pattern", "Pitfall").encode(), **other("demo-z", "Kernel Pattern", "Pitfall")}
    for path, data in {**wrong, "entries/tiling/broken.md": b"---\ntype: [\n---\n"}.items():
        (tmp_path / "book" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "book" / path).write_bytes(data)
    (tmp_path / "outside.md").write_bytes(wrong[PATH])
    (tmp_path / "book/entries/tiling/link.md").symlink_to(tmp_path / "outside.md")
    return tmp_path / "book"


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def fix(root, vocabulary, vouched=(), named=(), paths=None):
    told: list[str] = []
    left = fix_folder(FolderSource(root), vocabulary, [], paths, vouched=vouched, named=named, say=told.append)
    return left, told


def test_files_are_mended_and_what_is_left_is_returned(book, vocabulary):
    before = snapshot(book)
    (book / PATH).chmod(0o640)
    left, told = fix(book, vocabulary)
    z = "entries/tiling/demo-z.md"
    assert told == [f"fixed: {PATH}: CB116 type-of-kind", f"fixed: {z}: CB116 type-of-kind"]
    assert snapshot(book) == {**before, PATH: BASE.encode(), **other("demo-z")}
    assert stat.S_IMODE((book / PATH).stat().st_mode) == 0o640
    assert (book / "entries/tiling/link.md").is_symlink()
    assert left == lint_book(FolderSource(book), vocabulary, []) and {f.rule for f in left} == {"CB104", "CB708"}
    assert fix(book, vocabulary) == (left, [])


def test_what_is_vouched_for_is_changed_only_if_it_is_named(book, vocabulary):
    before = snapshot(book)
    vouched = [digest("demo-z", before["entries/tiling/demo-z.md"])]
    left, told = fix(book, vocabulary, vouched)
    assert told[1:] == ["not fixed: entries/tiling/demo-z.md: demo-z is vouched for in these bytes; name the file to fix it"]
    assert snapshot(book) == {**before, PATH: BASE.encode()} and "CB116" in {f.rule for f in left}
    left, told = fix(book, vocabulary, vouched, named=["entries/tiling/demo-z.md"])
    assert told[1:] == ["edited: demo-z is vouched for in these bytes; it is a draft until it is vouched for again"]
    assert (book / "entries/tiling/demo-z.md").read_bytes() == other("demo-z")["entries/tiling/demo-z.md"]


def test_a_file_that_cannot_be_mended_is_named(book, vocabulary, monkeypatch):
    from cakebook.lint import fixing

    before = snapshot(book)
    monkeypatch.setattr(fixing, "_is_sound", lambda *_: False)
    assert fix(book, vocabulary)[1][0] == f"not fixed: {PATH}: no edit is certain here; mend it by hand"
    assert snapshot(book) == before


def test_a_read_only_file_is_refused_before_any_file_is_written(book, vocabulary):
    before = snapshot(book)
    (book / "entries/tiling/demo-z.md").chmod(0o444)
    with pytest.raises(StoreIO) as error:
        fix(book, vocabulary)
    assert "demo-z.md: read-only" in error.value.message and snapshot(book) == before


@pytest.mark.parametrize("step", ["replace", "chmod"])
def test_a_failure_leaves_the_file_and_no_other_behind(book, vocabulary, monkeypatch, step):
    before = snapshot(book)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, step, fail)
    with pytest.raises(StoreIO, match=f"{PATH}: No space left"):
        fix(book, vocabulary)
    assert snapshot(book) == before


@pytest.mark.parametrize("how", ["edited", "gone", "linked"])
def test_a_file_that_changed_meanwhile_is_not_overwritten(book, vocabulary, monkeypatch, how):
    from cakebook.lint import fixing

    def read(*given):
        view = read_book(*given)
        (book / PATH).unlink()
        if how == "edited":
            (book / PATH).write_text("mine")
        elif how == "linked":
            (book / PATH).symlink_to(book.parent / "outside.md")
        return view

    monkeypatch.setattr(fixing, "read_book", read)
    with pytest.raises(StoreIO):
        fix(book, vocabulary)
    assert (book.parent / "outside.md").read_bytes() == BASE.replace("Kernel Pattern", "Pitfall").encode()
    assert how != "edited" or (book / PATH).read_text() == "mine"
    assert not list((book / PATH).parent.glob(".*"))


def test_paths_limit_what_is_mended(book, vocabulary):
    assert fix(book, vocabulary, paths=[PATH])[1] == [f"fixed: {PATH}: CB116 type-of-kind"]
    with pytest.raises(NoSuchPath):
        fix(book, vocabulary, paths=["entries/nothing.md"])


def test_the_view_of_a_book_that_needs_nothing_is_the_same(vocabulary):
    view = read_book(MemorySource({PATH: BASE.encode()}), vocabulary, [])
    book, changes = mend(view, lambda file: False)
    assert book is view and changes == [] and lint_view(book) == []
