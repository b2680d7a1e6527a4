"""A folder as a book: what is read, what is passed over with a reason, and what cannot be read."""

import os
import socket
from pathlib import Path

import pytest

from cakebook.errors import NotABook, Unreadable
from cakebook.repo.layout import FolderSource, MemorySource, entry_paths, find_book, is_book, require_book

ENTRY = b"---\nid: a\n---\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty book."""
    (tmp_path / "book" / "entries" / "tiling").mkdir(parents=True)
    (tmp_path / "book" / "book").mkdir()
    return tmp_path / "book"


def test_entries_are_markdown_below_entries_whatever_their_folder(folder):
    for path in ("entries/a.md", "entries/tiling/b.md", "entries/x/y/z/c.md", "entries/标题/é.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(ENTRY)
    for path in ("entries/a.txt", "entries/a.md.orig", "entries/.hidden", "book/d.md", "e.md"):
        (folder / path).write_bytes(ENTRY)
    assert entry_paths(FolderSource(folder)) == [
        "entries/a.md",
        "entries/tiling/b.md",
        "entries/x/y/z/c.md",
        "entries/标题/é.md",
    ]


@pytest.mark.parametrize("name", ["index.md", "log.md"])
def test_reserved_files_are_no_entries_at_any_depth(folder, name):
    (folder / "entries" / name).write_bytes(ENTRY)
    (folder / "entries" / "tiling" / name).write_bytes(ENTRY)
    (folder / "entries" / "tiling" / f"x-{name}").write_bytes(ENTRY)
    assert entry_paths(FolderSource(folder)) == [f"entries/tiling/x-{name}"]


def test_a_prefix_is_a_path_and_not_the_start_of_a_name(folder):
    (folder / "entries-old").mkdir()
    (folder / "entries-old" / "a.md").write_bytes(ENTRY)
    (folder / "book" / "policy.yaml").write_bytes(b"")
    (folder / "book" / "policy.yaml.bak").write_bytes(b"")
    source = FolderSource(folder)
    assert entry_paths(source) == []
    assert source.paths("book/policy.yaml") == ["book/policy.yaml"]
    memory = MemorySource({"entries-old/a.md": b"", "book/policy.yaml": b"", "book/policy.yaml.bak": b""})
    assert (memory.paths("entries"), memory.paths("book/policy.yaml")) == ([], ["book/policy.yaml"])


def test_what_is_not_there_has_no_paths(folder):
    source = FolderSource(folder)
    assert source.paths("book/vocabulary") == [] and source.paths("entries/a.md/b") == []
    assert source.skipped() == []


# Symbolic links and other things


def test_a_link_to_a_file_outside_is_passed_over_and_named(folder, tmp_path):
    (tmp_path / "secret.md").write_bytes(b"secret")
    (folder / "entries" / "a.md").symlink_to(tmp_path / "secret.md")
    source = FolderSource(folder)
    assert entry_paths(source) == []
    assert [(s.path, s.code, s.text) for s in source.skipped()] == [
        ("entries/a.md", "not-a-file", "symbolic links are not followed")
    ]
    with pytest.raises(Unreadable, match="a symbolic link"):
        source.read("entries/a.md")


@pytest.mark.parametrize("target", ["..", "/", "nowhere", "loop"])
def test_a_link_to_a_folder_is_not_followed(folder, target):
    (folder / "entries" / "loop").symlink_to(target)
    source = FolderSource(folder)
    assert entry_paths(source) == []
    assert [s.path for s in source.skipped()] == ["entries/loop"]


def test_entries_itself_as_a_link_holds_nothing(folder, tmp_path):
    (folder / "entries" / "tiling").rmdir()
    (folder / "entries").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.md").write_bytes(ENTRY)
    (folder / "entries").symlink_to(tmp_path / "elsewhere")
    source = FolderSource(folder)
    assert entry_paths(source) == [] and [s.path for s in source.skipped()] == ["entries"]


def test_pipes_and_sockets_are_passed_over_without_being_opened(folder, monkeypatch):
    os.mkfifo(folder / "entries" / "pipe.md")
    monkeypatch.chdir(folder / "entries")  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")
        source = FolderSource(folder)
        assert entry_paths(source) == []
    assert [(s.path, s.text) for s in source.skipped()] == [
        ("entries/pipe.md", "not a regular file"),
        ("entries/socket.md", "not a regular file"),
    ]


def test_a_name_that_is_no_text_is_passed_over_and_named(folder):
    with open(os.fsencode(folder / "entries") + b"/caf\xe9.md", "wb") as stream:
        stream.write(ENTRY)
    source = FolderSource(folder)
    assert entry_paths(source) == []
    assert [(s.code, s.text) for s in source.skipped()] == [("not-a-file", "its name is not UTF-8")]
    assert source.skipped()[0].path.isprintable()


def test_a_git_folder_below_entries_is_none_of_ours(folder):
    (folder / "entries" / ".git").mkdir()
    (folder / "entries" / ".git" / "a.md").write_bytes(ENTRY)
    assert entry_paths(FolderSource(folder)) == []


# What cannot be read


def test_a_missing_file_is_named(folder):
    with pytest.raises(Unreadable, match=r"entries/a\.md: No such file") as raised:
        FolderSource(folder).read("entries/a.md")
    assert raised.value.hint and raised.value.exit == 4
    with pytest.raises(Unreadable, match=r"entries/a\.md"):
        MemorySource({}).read("entries/a.md")


def test_a_folder_is_no_file(folder):
    with pytest.raises(Unreadable, match="entries/tiling"):
        FolderSource(folder).read("entries/tiling")


def test_a_file_without_permission_is_named(folder, monkeypatch):
    (folder / "entries" / "a.md").write_bytes(ENTRY)

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)  # mode bits do not bind a superuser
    with pytest.raises(Unreadable, match=r"entries/a\.md: Permission denied"):
        FolderSource(folder).read("entries/a.md")


def test_a_folder_without_permission_is_named(folder, monkeypatch):
    real = os.scandir

    def refuse(path):
        if Path(path).name == "tiling":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(Unreadable, match="entries/tiling: Permission denied"):
        FolderSource(folder).paths("entries")


# Finding a book


def test_the_nearest_enclosing_book_is_found(folder):
    deep = folder / "entries" / "tiling"
    assert find_book(deep) == folder and find_book(folder) == folder
    (deep / "entries").mkdir()
    (deep / "book").mkdir()
    assert find_book(deep) == deep
    assert find_book(Path("/")) is None


@pytest.mark.parametrize("missing", ["entries", "book"])
def test_half_a_book_is_none(tmp_path, missing):
    for name in {"entries", "book"} - {missing}:
        (tmp_path / name).mkdir()
    (tmp_path / missing).write_text("a file")
    assert not is_book(tmp_path)
    with pytest.raises(NotABook, match="no `entries/` and `book/` there"):
        require_book(tmp_path)
