"""What a sync builds, keeps, withholds and says; and when an index counts as older than its book."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

import pytest

from cakebook.errors import AnchorInvalid, BadRevision, BookFileInvalid, IndexMissing, NotABook, Unreadable
from cakebook.index import sync as sync_module
from cakebook.index.catalog import SCHEMA
from cakebook.index.generation import Store
from cakebook.model.manifest import Manifest
from cakebook.service import Book

GRID = "entries/tiling/tiny-grid-size.md"
ALL = ["tiny-double-buffer", "tiny-grid-size", "tiny-rows-per-tile", "tiny-vector-exception"]


def generations(book) -> set[str]:
    return {p.name for p in book.store.folder.iterdir() if p.is_dir()}


def change(book, text: str) -> str:
    """Another edition of one entry; returns the generation."""
    book.write(GRID, book.entry_text("tiny-grid-size", title=text))
    book.found()
    return book.sync().generation


# What is built


def test_the_first_sync_builds_what_the_gate_admits(tiny_book):
    report = tiny_book.sync()
    assert report.built and report.entries == report.changed == 4
    assert (report.withheld, report.notes, report.commit, report.dirty) == ((), (), None, False)
    assert tiny_book.served() == ALL
    assert tiny_book.hits("DataCopyPad")[0] == "tiny-rows-per-tile"
    assert tiny_book.hits("507035") == ["tiny-vector-exception"]


def test_the_manifest_says_what_it_is(tiny_book):
    report = tiny_book.sync()
    with tiny_book.generation() as opened:
        manifest = opened.manifest
    assert manifest.generation == report.generation == manifest.identity() == tiny_book.store.current()
    assert (manifest.entries, manifest.withheld, manifest.vectors, manifest.embedder) == (4, 0, 0, None)
    assert (manifest.trust_n, manifest.edition, manifest.commit, manifest.dirty) == (1, 1, None, False)
    assert manifest.book.startswith("cakebook-") and list(manifest.files) == ["catalog.sqlite"]
    tiny_book.store.verify(manifest)


def test_the_identity_is_of_everything_but_id_time_and_files(tiny_book):
    tiny_book.sync()
    with tiny_book.generation() as opened:
        manifest = opened.manifest
    for field in fields(Manifest):
        value = getattr(manifest, field.name)
        other = {str: "other", int: 7, bool: not value, type(None): "other", dict: {"other": "x"}}[type(value)]
        same = replace(manifest, **{field.name: other}).identity() == manifest.identity()
        assert same is (field.name in ("generation", "built_at", "files")), field.name


def test_nothing_changed_builds_nothing(tiny_book):
    first = tiny_book.sync()
    before = {p: p.stat().st_mtime_ns for p in (tiny_book.store.folder / first.generation).iterdir()}
    again = tiny_book.sync()
    assert (again.built, again.changed, again.generation, again.entries) == (False, 0, first.generation, 4)
    assert {p: p.stat().st_mtime_ns for p in (tiny_book.store.folder / first.generation).iterdir()} == before


def test_a_rebuild_of_the_same_book_is_the_same_generation(tiny_book, snapshot):
    first = tiny_book.sync()
    before = snapshot(tiny_book)
    again = tiny_book.sync(rebuild=True)
    assert again.built and again.generation == first.generation and snapshot(tiny_book) == before
    assert generations(tiny_book) == {first.generation}


def test_the_index_of_a_copy_elsewhere_is_the_same_generation(tiny_book, fresh, tmp_path):
    report = tiny_book.sync()
    copy = tmp_path / "another" / "place"
    shutil.copytree(tiny_book.root, copy, ignore=shutil.ignore_patterns(".cakebook"))
    with Book.open(copy) as book:
        assert book.sync().generation == report.generation


def test_the_index_folder_keeps_itself_out_of_git(git_book):
    git_book.sync()
    assert (git_book.root / ".cakebook" / ".gitignore").read_text() == "*\n"
    (git_book.root / ".gitignore").unlink()
    git_book.commit()
    git_book.sync()
    assert git_book.git("status", "--porcelain") == ""


def test_an_index_folder_that_was_left_half_made_keeps_itself_out_of_git(tiny_book):
    (tiny_book.root / ".cakebook").mkdir()
    (tiny_book.root / ".cakebook" / ".gitignore").touch()
    tiny_book.sync()
    assert (tiny_book.root / ".cakebook" / ".gitignore").read_text() == "*\n"


# What is withheld


def test_drafts_and_edits_are_withheld_with_their_reason_and_none_of_their_text(tiny_book):
    tiny_book.write("entries/mine.md", tiny_book.entry_text("mine", title="Xyzzyphant"))
    tiny_book.write(GRID, tiny_book.entry_text("tiny-grid-size", title="Xyzzyphant"))
    report = tiny_book.sync()
    assert {w.id: (w.path, w.code) for w in report.withheld} == {
        "mine": ("entries/mine.md", "not-admitted"), "tiny-grid-size": (GRID, "edited"),
    }  # fmt: skip
    assert "tiny-grid-size" not in tiny_book.served()
    catalog = tiny_book.store.folder / report.generation / "catalog.sqlite"
    assert b"xyzzyphant" not in catalog.read_bytes().lower()


def test_an_edited_entry_leaves_nothing_of_its_old_text(tiny_book):
    tiny_book.write(GRID, tiny_book.entry_text("tiny-grid-size", apis="XyzzyPhant"))
    tiny_book.found()
    tiny_book.sync()
    assert tiny_book.hits("XyzzyPhant") == ["tiny-grid-size"]
    tiny_book.write(GRID, tiny_book.entry_text("tiny-grid-size", apis="Another"))
    report = tiny_book.sync()
    assert tiny_book.hits("XyzzyPhant") == []
    with tiny_book.generation() as opened:
        assert opened.catalog.frequencies(["xyzzyphant", "phant"]) == {} and opened.catalog.named(["xyzzyphant"]) == []
        assert opened.catalog.row_of("tiny-grid-size") is None
    assert report.generation == tiny_book.store.current()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no front matter\n", ":1: no front matter"),
        (b"---\nid: a\ntitle: A: B\n---\n", ":3: not YAML"),
        (b"---\nid: a\ntitle: [x]\n---\n", ":3: title"),
        (b"---\nid: Not_An_Id\n---\n", ":2: `Not_An_Id` cannot be an id"),
        (b"---\nid: a\n\xff\n---\n", ":3: not UTF-8"),
        (b"", ":1: no front matter"),
    ],
)
def test_an_unreadable_entry_is_withheld_with_its_place(tiny_book, data, reason):
    tiny_book.write("entries/tiling/标题.md", data)
    report = tiny_book.sync()
    assert report.entries == 4
    item = report.withheld[0]
    assert (item.path, item.code) == ("entries/tiling/标题.md", "unreadable")
    assert item.reason.startswith(f"entries/tiling/标题.md{reason}")


def test_a_file_too_large_is_withheld(tiny_book):
    tiny_book.write("entries/large.md", b"x" * 300_000)
    assert "300,000 bytes" in tiny_book.sync().withheld[0].reason


@pytest.mark.parametrize("other", ["entries/copy.md", "entries/tiling/copy.md"])
def test_of_two_files_with_the_same_bytes_one_is_served(tiny_book, other):
    tiny_book.sync()
    tiny_book.write(other, (tiny_book.root / GRID).read_bytes())
    report = tiny_book.sync()
    assert [w.code for w in report.withheld] == ["duplicate-id"] and report.withheld[0].path in (other, GRID)
    assert tiny_book.served() == ALL
    (tiny_book.root / other).unlink()
    assert tiny_book.sync().withheld == () and tiny_book.served() == ALL


@pytest.mark.parametrize("other", ["entries/aaa.md", "entries/zzz.md"])
def test_an_unapproved_file_cannot_take_an_admitted_one_out_of_service(tiny_book, other):
    tiny_book.write(other, (tiny_book.root / GRID).read_bytes() + b"\nmore\n")
    for _ in range(2):
        report = tiny_book.sync()
        assert {w.path: w.code for w in report.withheld} == {other: "duplicate-id"}
        assert tiny_book.served() == ALL
    assert tiny_book.sync(rebuild=True).generation == report.generation


def test_of_two_files_that_nobody_admitted_none_is_served(tiny_book):
    for path in ("entries/x.md", "entries/y.md"):
        tiny_book.write(path, tiny_book.entry_text("new-one"))
    report = tiny_book.sync()
    assert {w.path: w.code for w in report.withheld} == {"entries/x.md": "duplicate-id", "entries/y.md": "duplicate-id"}


def test_ids_that_differ_only_in_case_are_one(tiny_book):
    tiny_book.write("entries/TINY-grid-size.md", "---\ntitle: x\n---\n")
    report = tiny_book.sync()
    assert {w.path: w.code for w in report.withheld} == {"entries/TINY-grid-size.md": "duplicate-id"}
    assert tiny_book.served() == ALL


def test_a_link_out_of_the_book_is_not_read_and_is_named(tiny_book, tmp_path):
    (tmp_path / "outside.md").write_text(tiny_book.entry_text("outside"))
    (tiny_book.root / "entries" / "outside.md").symlink_to(tmp_path / "outside.md")
    (tiny_book.root / "entries" / "up").symlink_to("..")
    report = tiny_book.sync()
    assert report.entries == 4 and report.withheld == ()
    assert report.notes == (
        "entries/outside.md: symbolic links are not followed", "entries/up: symbolic links are not followed",
    )  # fmt: skip


def test_a_name_that_is_no_text_is_not_read_and_is_named(tiny_book):
    with open(os.fsencode(tiny_book.root) + b"/entries/caf\xe9.md", "wb") as stream:
        stream.write(b"x")
    report = tiny_book.sync()
    assert report.entries == 4 and "its name is not UTF-8" in report.notes[0]
    assert tiny_book.cli("sync").status == tiny_book.cli("status").status == 0


def test_an_entry_past_its_date_is_served_and_marked(tiny_book):
    text = tiny_book.entry_text("old-one").replace("2999-12-31", "2001-01-01")
    tiny_book.write("entries/old-one.md", text)
    tiny_book.found()
    tiny_book.sync()
    with tiny_book.generation() as opened:
        assert opened.catalog.meta("stale") == ["old-one"]
    assert "old-one" in tiny_book.served()


# What stops a sync


def test_a_vocabulary_that_cannot_be_read_stops_it_and_the_old_index_stays(tiny_book):
    first = tiny_book.sync()
    tiny_book.write("book/vocabulary/dsls.yaml", "terms: [\n")
    with pytest.raises(BookFileInvalid, match=r"book/vocabulary/dsls\.yaml:\d"):
        tiny_book.sync()
    assert tiny_book.store.current() == first.generation and generations(tiny_book) == {first.generation}
    assert tiny_book.hits("DataCopyPad")[0] == "tiny-rows-per-tile"


def test_an_invalid_anchor_stops_it(tiny_book):
    text = (tiny_book.root / "book/trust/1.yaml").read_text().replace("\nn: 1", "\nn: 2")
    tiny_book.trust(sha256(tiny_book.write("book/trust/1.yaml", text).read_bytes()).hexdigest())
    with pytest.raises(AnchorInvalid):
        tiny_book.sync()


def test_a_file_that_vanishes_while_it_reads_stops_it(tiny_book, monkeypatch):
    first = tiny_book.sync()
    monkeypatch.setattr(sync_module, "entry_paths", lambda source: ["entries/gone.md"])
    with pytest.raises(Unreadable, match=r"entries/gone\.md"):
        tiny_book.sync()
    assert tiny_book.store.current() == first.generation


# Git


def test_commit_and_dirty_are_recorded(git_book):
    head = git_book.git("rev-parse", "HEAD")
    report = git_book.sync()
    assert (report.commit, report.dirty) == (head, False)
    git_book.write("entries/mine.md", "x")
    report = git_book.sync()
    assert (report.commit, report.dirty) == (head, True)
    (git_book.root / "entries/mine.md").unlink()
    git_book.write("README.md", "x")
    assert git_book.sync().dirty is False
    commit = git_book.commit()
    with git_book.generation() as opened:
        assert (opened.manifest.commit, opened.manifest.dirty) == (head, False)
    assert git_book.sync().commit == commit


def test_a_new_commit_of_the_same_content_is_another_generation(git_book):
    first = git_book.sync()
    git_book.commit()
    second = git_book.sync()
    assert second.built and second.changed == 0 and second.generation != first.generation


def test_a_repository_without_a_commit_is_dirty(tiny_book):
    tiny_book.git("init", "-q")
    report = tiny_book.sync()
    assert (report.commit, report.dirty, report.entries) == (None, True, 4)


def test_f27_a_deleted_entry_that_is_not_staged_is_not_served_and_the_tree_is_dirty(git_book):
    git_book.sync()
    (git_book.root / GRID).unlink()
    report = git_book.sync()
    assert report.dirty and report.entries == 3 and report.withheld == ()


def test_a_revision_is_indexed_as_a_clone_of_it_is(git_book, snapshot, fresh, tmp_path):
    first = git_book.git("rev-parse", "HEAD")
    change(git_book, "Another title")
    git_book.commit()
    report = git_book.sync(revision="HEAD~1")
    assert (report.commit, report.dirty) == (first, False)
    assert snapshot(git_book) == fresh(git_book, revision=first)
    git_book.git("clone", "-q", str(git_book.root), str(tmp_path / "clone"))
    git_book.git("-C", str(tmp_path / "clone"), "checkout", "-q", first)
    with Book.open(tmp_path / "clone") as clone:
        assert clone.sync(accept_rollback=True).generation == report.generation


def test_a_revision_is_judged_by_its_own_trust_files(git_book):
    old_pins = list(git_book.pins)
    git_book.write("entries/mine.md", git_book.entry_text("mine"))
    git_book.write("book/policy.yaml", "serve: reviewed\n")
    git_book.found()
    git_book.commit()
    assert git_book.sync().entries == 0  # the work tree's policy asks for reviewed
    report = git_book.sync(revision="HEAD~1")
    assert report.entries == 4 and report.withheld == ()
    git_book.pins[:] = [pin for pin in git_book.pins if pin not in old_pins]
    git_book.trust()
    report = git_book.sync(revision="HEAD~1")  # its root is not believed any more
    assert report.entries == 0 and {w.code for w in report.withheld} == {"no-anchor"}


def test_a_pinned_index_is_never_stale_and_says_that_it_is_pinned(git_book):
    commit = git_book.git("rev-parse", "HEAD")
    git_book.sync(revision="HEAD")
    git_book.write("entries/mine.md", "x")
    git_book.commit()
    with git_book.open() as book:
        assert not book.stale() and book.sync_if_stale() is None
        assert book.status().pinned == commit and book.status().fresh
    assert "(pinned)" in git_book.cli("status").out
    git_book.sync()
    with git_book.open() as book:
        assert book.status().pinned is None and book.status().fresh


def test_pinning_to_what_is_indexed_already_only_pins(git_book):
    first = git_book.sync()
    report = git_book.sync(revision="HEAD")
    assert report.generation == first.generation and not report.built
    with git_book.open() as book:
        assert book.status().pinned == first.commit


def test_a_revision_that_is_none_is_refused_and_nothing_changes(git_book):
    first = git_book.sync()
    for revision in ("nothing", "--all"):
        with pytest.raises(BadRevision):
            git_book.sync(revision=revision)
        ran = git_book.cli("sync", f"--rev={revision}")
        assert ran.status == 4 and "CB-E403" in ran.err
    assert git_book.store.current() == first.generation


def test_a_revision_of_a_plain_folder_is_refused(tiny_book):
    with pytest.raises(NotABook, match="no revisions"):
        tiny_book.sync(revision="HEAD")


def test_a_book_in_a_subfolder_is_indexed_like_one_at_the_top(git_book, tmp_path):
    report = git_book.sync()
    inner = tmp_path / "outer" / "docs" / "book"
    shutil.copytree(git_book.root, inner, ignore=shutil.ignore_patterns(".git", ".cakebook"))
    git_book.git("init", "-q", str(tmp_path / "outer"))
    for command in (["add", "-A"], ["commit", "-q", "-m", "x"]):
        git_book.git("-C", str(tmp_path / "outer"), *command)
    with Book.open(inner) as book:
        here, there = book.sync(), book.sync(revision="HEAD")
    assert here.entries == report.entries == there.entries
    assert here.generation == there.generation and not here.dirty


# Retention and readers


def test_the_current_generation_and_its_predecessor_stay(tiny_book):
    made = [change(tiny_book, f"Title {n}") for n in range(4)]
    assert generations(tiny_book) == set(made[-2:])
    assert tiny_book.store.current() == made[-1]


def test_a_generation_that_is_open_stays(tiny_book):
    first = tiny_book.sync().generation
    with tiny_book.generation() as opened:
        made = [change(tiny_book, f"Title {n}") for n in range(3)]
        assert generations(tiny_book) == {first, *made[-2:]}
        assert opened.catalog.ids() == ALL
        assert opened.catalog.match(["program"], 5)
    last = change(tiny_book, "Title 9")
    assert generations(tiny_book) == {made[-1], last}


def test_a_reader_keeps_its_generation_until_it_asks_again(tiny_book):
    tiny_book.sync()
    with tiny_book.open() as book:
        assert book.search("tiny-grid-size").hits[0].title == "Launch as many programs as there are cores"
        opened = book._opened
        change(tiny_book, "Start as many programs as there are cores")
        assert opened.catalog.cards([opened.catalog.row_of("tiny-grid-size")])
        assert book.search("tiny-grid-size").hits[0].title == "Start as many programs as there are cores"


def test_a_reader_that_two_builds_overtake_while_it_opens_gets_the_newest(tiny_book, monkeypatch):
    tiny_book.sync()
    store, made = tiny_book.store, []
    real = Store.manifest

    def manifest(self, generation):
        if not made:
            made.append("")
            made.extend(change(tiny_book, f"Title {n}") for n in range(2))
            shutil.rmtree(store.folder / generation, ignore_errors=True)  # a file system without locks
        return real(self, generation)

    monkeypatch.setattr(Store, "manifest", manifest)
    opened = store.open()
    assert opened.manifest.generation == made[-1] and opened.catalog.ids() == ALL
    opened.close()


@pytest.mark.parametrize("lost", ["catalog.sqlite", "manifest.json"])
def test_a_reader_that_loses_a_file_while_it_opens_gets_the_newest(tiny_book, monkeypatch, lost):
    tiny_book.sync()
    store, made = tiny_book.store, []
    real = Store.manifest

    def manifest(self, generation):
        found = real(self, generation)
        if not made:
            made.append("")
            made.append(change(tiny_book, "Another title"))
            (store.folder / generation / lost).unlink()
        return found

    monkeypatch.setattr(Store, "manifest", manifest)
    opened = store.open()
    assert opened.catalog.ids() == ALL
    opened.close()


# The index folder


def test_an_index_that_was_deleted_is_missing_and_comes_back(tiny_book):
    first = tiny_book.sync()
    shutil.rmtree(tiny_book.root / ".cakebook")
    with pytest.raises(IndexMissing):
        tiny_book.store.open()
    ran = tiny_book.cli("search", "DataCopyPad", "--no-sync")
    assert ran.status == 3 and "CB-E301" in ran.err and "cakebook sync" in ran.err
    assert tiny_book.cli("search", "DataCopyPad").status == 0
    assert tiny_book.store.current() == first.generation


def test_an_index_that_is_deleted_under_a_reader_still_answers(tiny_book):
    tiny_book.sync()
    with tiny_book.generation() as opened:
        shutil.rmtree(tiny_book.root / ".cakebook")
        assert opened.catalog.ids() == ALL and opened.catalog.match(["program"], 5)


@pytest.mark.parametrize("lost", ["catalog.sqlite", "manifest.json", "lock", ""])
def test_a_generation_that_lost_a_part_is_built_again(tiny_book, lost):
    first = tiny_book.sync()
    folder = tiny_book.store.folder / first.generation
    (folder / lost).unlink() if lost else shutil.rmtree(folder)
    if lost == "lock":
        assert tiny_book.served() == ALL
    report = tiny_book.sync()
    assert report.generation == first.generation and report.built is (lost != "lock")
    assert tiny_book.served() == ALL


def test_a_search_mends_an_index_whose_generation_is_gone(tiny_book):
    first = tiny_book.sync()
    shutil.rmtree(tiny_book.store.folder / first.generation)
    assert tiny_book.cli("search", "DataCopyPad").status == 0


@pytest.mark.parametrize("name", ["SOURCE", "build.lock"])
def test_files_beside_the_generations_may_be_lost(tiny_book, name):
    first = tiny_book.sync()
    (tiny_book.store.folder / name).unlink()
    assert tiny_book.served() == ALL
    assert tiny_book.sync().generation == first.generation


def test_an_index_of_another_schema_is_refused_and_built_again(tiny_book, monkeypatch):
    first = tiny_book.sync()
    path = tiny_book.store.folder / first.generation / "manifest.json"
    path.write_text(path.read_text().replace(SCHEMA, "cakebook-catalog-0"))
    ran = tiny_book.cli("search", "x", "--no-sync")
    assert ran.status == 3 and "CB-E302" in ran.err and "cakebook sync" in ran.err
    report = tiny_book.sync()
    assert report.built and report.generation == first.generation and report.changed == 4
    assert tiny_book.served() == ALL


def test_the_index_of_another_book_gives_nothing_to_ours(tiny_book, tmp_path, snapshot, fresh):
    other = tmp_path / "other"
    shutil.copytree(tiny_book.root, other)
    (other / GRID).write_text(tiny_book.entry_text("theirs", title="Theirs"))
    (other / "book/founding.yaml").unlink()
    (other / "book/trust/1.yaml").unlink()
    (other / "cakebook/data/roots.txt").write_text("# none\n")
    from cakebook.gate import founding

    theirs = founding.update(other, "their own book", "2026-11-30")
    tiny_book.trust(theirs.root)
    with Book.open(other) as book:
        book.sync()
    shutil.copytree(other / ".cakebook", tiny_book.root / ".cakebook")
    with tiny_book.open() as book:
        assert book.stale(), "it was built from other files"
    report = tiny_book.sync()
    assert report.built and tiny_book.served() == ALL
    assert snapshot(tiny_book) == fresh(tiny_book)


# Older than the book


def stale(book) -> bool:
    with book.open() as opened:
        return opened.stale()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda b: b.write(GRID, "x"), True, id="edited"),
        pytest.param(lambda b: b.write(GRID, (b.root / GRID).read_bytes()), True, id="written-again"),
        pytest.param(lambda b: (b.root / GRID).unlink(), True, id="deleted"),
        pytest.param(lambda b: b.write("entries/new.md", "x"), True, id="added"),
        pytest.param(lambda b: (b.root / GRID).rename(b.root / "entries/x.md"), True, id="moved"),
        pytest.param(lambda b: b.write("book/policy.yaml", "serve: reviewed\n"), True, id="policy"),
        pytest.param(lambda b: b.write("book/vocabulary/new.yaml", "terms: []\n"), True, id="vocabulary"),
        pytest.param(lambda b: b.found() if b.write("entries/new.md", b.entry_text("new")) else None, True, id="edition"),
        pytest.param(lambda b: b.trust("00" * 32), True, id="pins"),
        pytest.param(lambda b: b.commit(), True, id="commit"),
        pytest.param(lambda b: b.git("checkout", "-q", "--detach", "HEAD~1"), True, id="checkout"),
        pytest.param(lambda b: b.write("README.md", "x"), False, id="elsewhere"),
        pytest.param(lambda b: b.write("book/chapters/guide.md", "x"), False, id="prose"),
        pytest.param(lambda b: b.git("tag", "x"), False, id="tag"),
    ],
)
def test_what_makes_an_index_stale(git_book, change, expected):
    git_book.sync()
    assert not stale(git_book)
    change(git_book)
    assert stale(git_book) is expected


def test_an_edit_of_the_same_size_and_time_is_noticed(tiny_book):
    tiny_book.sync()
    path = tiny_book.root / GRID
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"Launch", b"hcnuaL"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert stale(tiny_book)


def test_a_sync_of_files_that_only_look_new_makes_them_fresh_again(tiny_book):
    tiny_book.sync()
    os.utime(tiny_book.root / GRID)
    assert stale(tiny_book)
    assert tiny_book.sync().built is False
    assert not stale(tiny_book)


def test_a_change_during_a_sync_makes_the_index_stale_and_not_wrong(tiny_book, monkeypatch):
    def step(name: str) -> None:
        if name == "read":
            tiny_book.write("entries/late.md", "x")

    monkeypatch.setattr(sync_module, "step", step)
    tiny_book.sync()
    assert stale(tiny_book)


def test_without_a_sync_a_stale_index_answers_and_says_so(tiny_book):
    tiny_book.sync()
    tiny_book.write("entries/new.md", "x")
    with tiny_book.open() as book:
        result = book.search("DataCopyPad")
    assert result.hits and [note.code for note in result.degraded] == ["stale"]
    assert tiny_book.cli("search", "DataCopyPad", "--no-sync").err


def test_the_command_line_syncs_a_stale_small_book_first(tiny_book):
    ran = tiny_book.cli("search", "DataCopyPad")
    assert ran.status == 0 and ran.err == "synced: 4 entries served, 0 withheld\n"
    tiny_book.write("entries/new.md", "x")
    ran = tiny_book.cli("search", "DataCopyPad")
    assert ran.status == 0 and ran.err.startswith("synced: 4 entries served, 1 withheld\n")
    assert tiny_book.cli("search", "DataCopyPad").err == ""


@pytest.mark.parametrize(("limit", "syncs"), [(5, False), (6, True)])
def test_a_large_book_is_not_synced_behind_ones_back(tiny_book, monkeypatch, limit, syncs):
    tiny_book.sync()
    tiny_book.write("entries/new.md", "x")
    monkeypatch.setattr("cakebook.service.base.SMALL_BOOK", limit)
    with tiny_book.open() as book:
        assert book.stale() and (book.sync_if_stale() is not None) is syncs


def test_staleness_is_looked_at_once_a_second(tiny_book, monkeypatch):
    tiny_book.sync()
    now = [time.monotonic()]
    monkeypatch.setattr("cakebook.service.base.time.monotonic", lambda: now[0])
    with tiny_book.open() as book:
        assert not book.stale()
        tiny_book.write("entries/new.md", "x")
        assert not book.stale()
        now[0] += 2
        assert book.stale()


# Where it lies


def read_only(monkeypatch, *roots: Path) -> None:
    """Make everything below `roots` look read-only: mode bits do not bind a superuser."""
    real = os.access

    def access(path, mode, **more):
        if mode & os.W_OK and any(Path(path).is_relative_to(root) for root in roots):
            return False
        return real(path, mode, **more)

    monkeypatch.setattr(os, "access", access)


def test_a_book_that_can_be_written_holds_its_index(tiny_book):
    assert tiny_book.place.local and tiny_book.place.writable
    assert tiny_book.store.folder == tiny_book.root / ".cakebook" / "index"


def test_a_read_only_book_keeps_its_index_in_the_state_folder(tiny_book, monkeypatch, isolated):
    read_only(monkeypatch, tiny_book.root)
    place = tiny_book.place
    assert not place.local and place.writable and place.store.folder.is_relative_to(isolated / "state")
    assert tiny_book.cli("search", "DataCopyPad").status == 0
    assert not (tiny_book.root / ".cakebook").exists() and place.store.current()
    tiny_book.write("entries/new.md", "x")
    assert tiny_book.cli("search", "DataCopyPad").err.startswith("synced:")


def test_two_read_only_books_do_not_share_an_index(tiny_book, monkeypatch, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tiny_book.root, other)
    read_only(monkeypatch, tiny_book.root, other)
    with Book.open(other) as book:
        assert book.place.store.folder != tiny_book.store.folder


def test_a_read_only_medium_that_carries_its_index_is_read_where_it_is(tiny_book, monkeypatch):
    tiny_book.sync()
    read_only(monkeypatch, tiny_book.root)
    assert tiny_book.place.local
    ran = tiny_book.cli("search", "DataCopyPad")
    assert ran.status == 0 and ran.err == ""


def test_a_read_only_medium_with_a_stale_index_gets_one_elsewhere(tiny_book, monkeypatch):
    tiny_book.sync()
    carried = tiny_book.place.store.current()
    tiny_book.write("entries/new-one.md", tiny_book.entry_text("new-one"))
    read_only(monkeypatch, tiny_book.root)
    ran = tiny_book.cli("search", "DataCopyPad")
    assert ran.status == 0 and "synced" in ran.err
    assert not tiny_book.place.local and tiny_book.place.store.current() not in (None, carried)
    assert tiny_book.cli("search", "DataCopyPad").err == ""


def test_the_index_of_another_book_is_refused(tiny_book):
    tiny_book.sync()
    root = tiny_book.root / "book" / "trust" / "1.yaml"
    root.write_text(root.read_text().replace("book: ", "book: another-"))
    ran = tiny_book.cli("search", "DataCopyPad", "--no-sync")
    assert ran.status == 3 and "CB-E302" in ran.err


def test_without_any_place_to_write_it_says_so(tiny_book, monkeypatch, isolated):
    read_only(monkeypatch, tiny_book.root, isolated)
    assert not tiny_book.place.writable
    ran = tiny_book.cli("search", "DataCopyPad")
    assert ran.status == 3 and "CB-E301" in ran.err


def test_when_the_automatic_sync_fails_the_older_index_answers_and_says_so(tiny_book):
    tiny_book.sync()
    tiny_book.write("book/vocabulary/dsls.yaml", "terms: {a: b}\n")
    ran = tiny_book.cli("search", "DataCopyPad")
    assert ran.status == 0 and "not synced: CB-E405" in ran.err and "older than the book" in ran.err
    shutil.rmtree(tiny_book.root / ".cakebook")
    assert tiny_book.cli("search", "DataCopyPad").status == 4


@pytest.mark.parametrize(
    ("own", "written", "days", "expected"),
    [
        ("2999-12-31", "2026-11-30", 365, "2027-11-30"),
        ("2026-12-15", "2026-11-30", 365, "2026-12-15"),
        ("2999-12-31", "2026-11-30", 0, "2999-12-31"),
        ("unknown", "2026-11-30", 30, "2026-12-30"),
        ("unknown", "unknown", 30, ""),
        ("2999-12-31T00:00:00Z", "yesterday", 30, "2999-12-31"),
    ],
)
def test_an_entry_is_due_for_review_when_it_says_or_when_the_policy_says(tiny_book, own, written, days, expected):
    path = "entries/tiling/tiny-grid-size.md"
    text = (tiny_book.root / path).read_text("utf-8").replace("2999-12-31", own).replace('at: "2026-11-30"', f'at: "{written}"')
    tiny_book.write(path, text)
    tiny_book.write("book/policy.yaml", f"kinds:\n  tiling: {{stale_days: {days}}}\n")
    tiny_book.found()
    tiny_book.sync()
    with tiny_book.generation() as opened:
        (card,) = opened.catalog.cards([opened.catalog.row_of("tiny-grid-size")]).values()
    assert card["stale_after"] == expected
