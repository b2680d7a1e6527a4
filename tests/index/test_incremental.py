"""A sync that starts from the last generation ends where one from nothing ends: same id, same cards, same answers."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from cakebook.errors import CakeBookError

GRID = "entries/tiling/tiny-grid-size.md"
ROWS = "entries/tiling/tiny-rows-per-tile.md"


def edit(book, path: str, old: str, new: str) -> None:
    text = (book.root / path).read_text("utf-8")
    assert old in text
    book.write(path, text.replace(old, new))


def move(book, path: str, to: str) -> None:
    (book.root / to).parent.mkdir(parents=True, exist_ok=True)
    (book.root / path).rename(book.root / to)


def draft(book, entry_id: str = "a-draft", folder: str = "proposals") -> str:
    path = f"entries/{folder}/{entry_id}.md"
    book.write(path, book.entry_text(entry_id))
    return path


CHANGES = {
    "nothing": lambda b: None,
    "edit": lambda b: edit(b, GRID, "Launch as many", "Start as many"),
    "edit-and-found": lambda b: (edit(b, GRID, "Launch as many", "Start as many"), b.found()),
    "delete": lambda b: (b.root / GRID).unlink(),
    "delete-and-found": lambda b: ((b.root / GRID).unlink(), b.found()),
    "delete-all": lambda b: [p.unlink() for p in b.root.glob("entries/*/*.md")],
    "add-draft": draft,
    "add-and-found": lambda b: (draft(b), b.found()),
    "move": lambda b: move(b, GRID, "entries/elsewhere/deep/other-name.md"),
    "swap-files": lambda b: (move(b, GRID, "entries/x.md"), move(b, ROWS, GRID), move(b, "entries/x.md", ROWS)),
    "same-id-twice": lambda b: b.write("entries/copy.md", (b.root / GRID).read_bytes()),
    "id-by-stem-twice": lambda b: b.write("entries/x/tiny-grid-size.md", "---\ntitle: x\n---\n"),
    "unreadable": lambda b: b.write(GRID, "---\nid: [\n---\n"),
    "binary": lambda b: b.write(GRID, b"\xff\xfe\0"),
    "empty": lambda b: b.write(GRID, b""),
    "crlf": lambda b: b.write(GRID, (b.root / GRID).read_bytes().replace(b"\n", b"\r\n")),
    "reserved-file": lambda b: b.write("entries/index.md", "# Index\n"),
    "policy": lambda b: b.write("book/policy.yaml", "serve: reviewed\n"),
    "policy-and-found": lambda b: (b.write("book/policy.yaml", "serve: reviewed\n"), b.found()),
    "vocabulary": lambda b: edit(b, "book/vocabulary/dsls.yaml", "aliases: [ascend c]", "aliases: [ascend c, asc]"),
    "vocabulary-and-found": lambda b: (edit(b, "book/vocabulary/dsls.yaml", "[ascend c]", "[asc]"), b.found()),
    "list-by-hand": lambda b: edit(b, "book/founding.yaml", "edition: 1", "edition: 7"),
    "no-root": lambda b: (b.root / "book/trust/1.yaml").unlink(),
    "no-list": lambda b: (b.root / "book/founding.yaml").unlink(),
    "no-pin": lambda b: (b.pins.clear(), b.trust()),
    "unknown-edition": lambda b: (draft(b), b.found(trust=False)),
    "prose": lambda b: b.write("book/chapters/guide.md", "other"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_and_back(tiny_book, snapshot, fresh, change, tmp_path):
    saved, pins = tmp_path / "saved", list(tiny_book.pins)
    shutil.copytree(tiny_book.root, saved)
    first = tiny_book.sync()
    before = snapshot(tiny_book)
    CHANGES[change](tiny_book)
    tiny_book.sync()
    assert snapshot(tiny_book) == fresh(tiny_book)
    for part in ("entries", "book", "cakebook"):
        shutil.rmtree(tiny_book.root / part)
        shutil.copytree(saved / part, tiny_book.root / part)
    tiny_book.pins[:] = pins
    tiny_book.trust()
    assert tiny_book.sync(accept_rollback=True).generation == first.generation
    assert snapshot(tiny_book) == before


def test_commits_back_and_forth(git_book, snapshot, fresh):
    git_book.sync()
    draft(git_book)
    git_book.found()
    git_book.commit()
    CHANGES["move"](git_book)
    CHANGES["policy"](git_book)
    git_book.commit()
    git_book.git("revert", "--no-edit", "HEAD")
    for revision in ("main~1", "main", "main~2", "main~3", "main"):
        git_book.git("checkout", "-q", revision)
        git_book.sync(accept_rollback=True)
        assert snapshot(git_book) == fresh(git_book)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(lambda b: draft(b, "one"), lambda b: move(b, "entries/proposals/one.md", "entries/x/one.md"), id="moved"),
        pytest.param(
            lambda b: draft(b, "one"), lambda b: ((b.root / "entries/proposals/one.md").unlink(), draft(b, "two")), id="replaced"
        ),
        pytest.param(
            lambda b: b.write("entries/a.md", "no front matter"), lambda b: b.write("entries/a.md", "---\nx: [\n---\n"),
            id="wrong-in-another-way",
        ),
        pytest.param(
            lambda b: (b.write(GRID, "---\nid: tiny-grid-size\n---\n"), draft(b, "one")),
            lambda b: (b.write("entries/proposals/one.md", (b.root / GRID).read_bytes())),
            id="another-reason",
        ),
    ],
)  # fmt: skip
def test_what_is_only_withheld_is_kept_up_to_date_too(tiny_book, snapshot, fresh, first, second):
    """Served entries stay the same here: the difference is in what `status` and `show` say about the others."""
    first(tiny_book)
    tiny_book.sync()
    second(tiny_book)
    tiny_book.sync()
    assert snapshot(tiny_book) == fresh(tiny_book)


def test_a_file_beside_the_covered_ones_comes_and_goes(tiny_book, snapshot, fresh):
    tiny_book.sync()
    path = tiny_book.write("book/people/a.yaml", "id: a\n")
    for _ in range(2):
        tiny_book.sync()
        assert snapshot(tiny_book) == fresh(tiny_book)
        path.unlink(missing_ok=True)


class Index(RuleBasedStateMachine):
    """Any changes in any order, each followed by a sync."""

    template: tuple[Path, str]
    make_book: Any
    snapshot: Any

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()
        self.patch.setenv("CAKEBOOK_STATE", str(self.folder / "state"))
        shutil.copytree(self.template[0], self.folder / "book")
        self.book = self.make_book(self.folder / "book", [self.template[1]], self.patch)
        self.original = {path: (self.book.root / path).read_bytes() for path in self.files()}

    def teardown(self) -> None:
        self.compare(ask=True)
        self.patch.undo()
        shutil.rmtree(self.folder)

    def files(self) -> list[str]:
        return sorted(str(p.relative_to(self.book.root)) for p in self.book.root.glob("entries/**/*.md"))

    def one(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self.files()))

    @initialize()
    def start(self) -> None:
        self.book.sync()

    @rule(entry_id=st.sampled_from(["new-a", "new-b", "tiny-grid-size"]), folder=st.sampled_from(["x", "tiling"]))
    def add(self, entry_id: str, folder: str) -> None:
        draft(self.book, entry_id, folder)

    @precondition(lambda self: self.files())
    @rule(data=st.data(), what=st.sampled_from(["Lesson", "vector", "双缓冲", "status"]))
    def change(self, data: st.DataObject, what: str) -> None:
        path = self.one(data)
        text = (self.book.root / path).read_bytes()
        if what == "status":
            text = text.replace(b"generated:", b"status: draft\ngenerated:", 1)
        self.book.write(path, text + f"\n{what} {len(text)}\n".encode())

    @precondition(lambda self: self.files())
    @rule(data=st.data(), damage=st.sampled_from([b"", b"\xff", b"---\nid: [\n---\n", b"---\nid: Bad_Id\n---\n"]))
    def damage(self, data: st.DataObject, damage: bytes) -> None:
        self.book.write(self.one(data), damage)

    @precondition(lambda self: self.files())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        (self.book.root / self.one(data)).unlink()

    @precondition(lambda self: self.files())
    @rule(data=st.data(), name=st.sampled_from(["entries/y/moved.md", "entries/new-a.md"]))
    def rename(self, data: st.DataObject, name: str) -> None:
        move(self.book, self.one(data), name)

    @precondition(lambda self: self.files())
    @rule(data=st.data(), name=st.sampled_from(["entries/z/copy.md", "entries/new-b.md"]))
    def duplicate(self, data: st.DataObject, name: str) -> None:
        self.book.write(name, (self.book.root / self.one(data)).read_bytes())

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.original)))
        self.book.write(path, self.original[path])

    @rule(trust=st.booleans())
    def found(self, trust: bool) -> None:
        try:
            self.book.found(trust=trust)
        except CakeBookError:  # a file that cannot be vouched for
            return

    @rule(serve=st.sampled_from(["founding", "reviewed", "draft"]))
    def policy(self, serve: str) -> None:
        self.book.write("book/policy.yaml", f"serve: {serve}\n")

    @rule(alias=st.sampled_from(["asc", "kernel language"]))
    def vocabulary(self, alias: str) -> None:
        text = (self.book.root / "book/vocabulary/dsls.yaml").read_text("utf-8").splitlines()[:3]
        text.append(f"  - {{id: other, title: Other, title_zh: 其他, aliases: [{alias}]}}")
        self.book.write("book/vocabulary/dsls.yaml", "\n".join(text) + "\n")

    @rule()
    def sync(self) -> None:
        assert self.book.sync().built is False

    @invariant()
    def same(self) -> None:
        if (self.book.root / ".cakebook").exists():
            self.compare()

    def compare(self, *, ask: bool = False) -> None:
        self.book.sync()
        here, elsewhere = self.snapshot
        assert here(self.book, ask=ask) == elsewhere(self.book, self.folder / "fresh", ask=ask)


def test_any_changes_in_any_order(book_template, tiny_book, snapshot, rebuild):
    machine = type("Machine", (Index,), {"template": book_template, "make_book": type(tiny_book)})
    machine.snapshot = (snapshot, rebuild)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12, stateful_step_count=10, deadline=None, suppress_health_check=[HealthCheck.too_slow],
        ),
    )  # fmt: skip
