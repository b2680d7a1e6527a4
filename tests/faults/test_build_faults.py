"""A builder that is killed or refused anywhere: the old generation answers, a rerun ends where it should, nothing piles up."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cakebook.errors import IndexMissing
from cakebook.index import sync as sync_module
from cakebook.index.generation import Store
from cakebook.index.place import Place
from cakebook.index.sync import sync

ALL = ["tiny-double-buffer", "tiny-grid-size", "tiny-rows-per-tile", "tiny-vector-exception"]
GRID = "entries/tiling/tiny-grid-size.md"
BESIDE = {"CURRENT", "SOURCE", "build.lock"}


@dataclass
class Scene:
    """A build that is about to happen: `before` is the generation that is served, None for none; `after` the one to come.

    `older` is before both; a build that ends early may leave it for the next one to remove.
    """

    book: Any
    before: str | None
    after: str
    older: str | None
    expected: list[str]
    saved: Path
    rebuild: bool = False

    def build(self) -> str:
        return str(self.book.sync(rebuild=self.rebuild).generation)

    def reset(self) -> None:
        """The index as it was before the build."""
        shutil.rmtree(self.book.root / ".cakebook", ignore_errors=True)
        if self.before:
            shutil.copytree(self.saved, self.book.root / ".cakebook")

    def check(self) -> None:
        """What is served now is the old or the new generation, whole; and a rerun leaves exactly what it should."""
        served = self.book.store.current()
        assert served in (self.before, self.after)
        if served is None:
            with pytest.raises(IndexMissing):
                self.book.store.open()
        else:
            assert self.book.served() == (self.expected if served == self.after else ALL)
        report = self.book.sync()
        assert report.generation == self.after == self.book.store.current()
        assert self.book.served() == self.expected
        self.book.store.verify(self.book.store.manifest(self.after))
        with self.book.open() as book:
            assert not book.stale()
        assert self.leftovers() <= {self.older}

    def leftovers(self) -> set[str]:
        """What lies in the index folder and should not."""
        names = {p.name for p in self.book.store.folder.iterdir()}
        return names - BESIDE - {self.before, self.after}


def _first(book: Any) -> bool:
    shutil.rmtree(book.root / ".cakebook", ignore_errors=True)
    return False


def _update(book: Any) -> bool:
    book.write(GRID, book.entry_text("tiny-grid-size", title="Another title"))
    book.write("entries/a-new-one.md", book.entry_text("a-new-one"))
    book.found()
    book.write("entries/a-draft.md", book.entry_text("a-draft"))
    return False


def _third(book: Any) -> bool:
    """An update that has something to prune."""
    book.write(GRID, book.entry_text("tiny-grid-size", title="A title between"))
    book.found()
    book.sync()
    return _update(book)


def _rebuild(book: Any) -> bool:
    return True


def _unchanged(book: Any) -> bool:
    return False


SCENES: dict[str, Callable[[Any], bool]] = {
    "first": _first, "update": _update, "third": _third, "rebuild": _rebuild, "unchanged": _unchanged,
}  # fmt: skip


@pytest.fixture(params=SCENES)
def scene(request: pytest.FixtureRequest, tiny_book: Any, tmp_path: Path) -> Scene:
    tiny_book.sync()
    rebuild = SCENES[request.param](tiny_book)
    saved = tmp_path / "saved"
    before = tiny_book.store.current()
    older = next((p.name for p in tiny_book.store.folder.glob("?" * 16) if p.is_dir() and p.name != before), None)
    if before:
        shutil.copytree(tiny_book.root / ".cakebook", saved)
    elsewhere = Place(tiny_book.root, Store(tmp_path / "elsewhere"), False, True)
    report = sync(elsewhere, tiny_book.settings)
    opened = elsewhere.store.open()
    expected = opened.catalog.ids()
    opened.close()
    return Scene(tiny_book, before, report.generation, older, expected, saved, rebuild)


def test_killed_at_every_change_of_a_file(scene, killed):
    folder = scene.book.root / ".cakebook"
    n = 0
    while True:
        n += 1
        scene.reset()
        alive = not killed(scene.build, n, folder)
        scene.check()
        if alive:
            break
    assert n > 10, "the faults did not reach the build"


def test_killed_again_and_again_nothing_piles_up(scene, killed):
    folder = scene.book.root / ".cakebook"
    for n in (6, 9, 12, 15, 9):
        scene.reset()
        for _ in range(4):
            killed(scene.build, n, folder)
        assert len(scene.leftovers()) <= 2
        scene.check()


@pytest.mark.parametrize("scene", ["third"], indirect=True)
def test_what_an_ended_build_did_not_prune_the_next_one_does(scene, killed):
    folder = scene.book.root / ".cakebook"
    n = next(n for n in range(1, 99) if scene.reset() or (killed(scene.build, n, folder) and scene.leftovers() == {scene.older}
             and scene.book.store.current() == scene.after))  # fmt: skip
    assert n
    scene.book.write(GRID, "edited once more")
    last = scene.book.sync().generation
    assert {p.name for p in scene.book.store.folder.iterdir()} - BESIDE == {scene.after, last}


def test_refused_at_every_change_of_a_file(scene, refused):
    folder = scene.book.root / ".cakebook"
    n, codes = 0, set()
    while True:
        n += 1
        scene.reset()
        outcome = refused(scene.build, n, folder, errno.ENOSPC)
        assert outcome.code in ("", "CB-E305"), outcome.text
        if outcome.code:
            assert "No space left on device" in outcome.text and "\n" not in outcome.text
        codes.add(outcome.code)
        scene.check()
        if not outcome.met:
            break
    assert codes == {"", "CB-E305"} and n > 10


def test_a_system_that_refuses_everything_from_some_point_on(scene, refused):
    folder = scene.book.root / ".cakebook"
    n = 0
    while True:
        n += 1
        scene.reset()
        outcome = refused(scene.build, n, folder, errno.EIO, ever_after=True)
        assert outcome.code in ("", "CB-E305"), outcome.text
        scene.check()
        if not outcome.met:
            break
    assert n > 10


def test_a_disk_that_fills_up_inside_a_file(scene, child):
    """SQLite writes by itself; a limit on the size of files meets it, and everything else, at any byte."""
    codes = set()
    for limit in [0, 1, 100, 4096, *range(8192, 160_000, 16_384)]:
        scene.reset()
        outcome = child(scene.build, partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit)))
        assert outcome.code in ("", "CB-E305"), outcome.text
        codes.add(outcome.code)
        scene.check()
    assert codes == {"", "CB-E305"}


STEPS = """
import os, signal, sys
from cakebook.cli import app
from cakebook.cli.output import run
from cakebook.index import sync

seen = []

def step(name):
    seen.append(name)
    if len(seen) == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)

sync.step = step
status = run(app, ["sync", "--book", sys.argv[2]])
print(*seen)
sys.exit(status)
"""


def test_the_command_killed_at_every_step(tiny_book, shipped_root, tmp_path):
    """The same from outside: a command line in a process of its own."""
    before = tiny_book.sync().generation
    _update(tiny_book)
    saved = tmp_path / "saved"
    shutil.copytree(tiny_book.root / ".cakebook", saved)
    elsewhere = Place(tiny_book.root, Store(tmp_path / "elsewhere"), False, True)
    after = sync(elsewhere, tiny_book.settings).generation
    scene = Scene(tiny_book, before, after, None, sorted([*ALL, "a-new-one"]), saved)
    n = 0
    while True:
        n += 1
        scene.reset()
        done = subprocess.run(
            [sys.executable, "-c", STEPS, str(n), str(tiny_book.root)],
            env={**os.environ, "PYTHONPATH": str(shipped_root)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == -signal.SIGKILL:
            switched = tiny_book.store.current() == after
            assert switched or tiny_book.cli("search", "DataCopyPad", "--no-sync").status == 0
            scene.check()
            continue
        assert done.returncode == 0, done.stderr
        steps = done.stdout.split("\n")[-2].split()
        assert n == len(steps) + 1 and steps == [
            "read", "folder", "catalog", "entries", "embedded", "closed", "vectors", "installed", "switched", "pruned",
        ]  # fmt: skip
        break


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs user namespaces")
@pytest.mark.parametrize("size", ["16k", "96k"])
def test_a_disk_that_is_really_full(tiny_book, shipped_root, size):
    tiny_book.sync()
    served = tiny_book.served()
    _update(tiny_book)
    mount = 'mkdir -p "$2" && mount -t tmpfs -o size="$1" none "$2" && cp -a "$3/." "$2/" && shift 3 && exec "$@"'
    index = tiny_book.root / ".cakebook"
    aside = tiny_book.root.parent / "aside"
    aside.mkdir()
    prefix = ["unshare", "-Urm", "sh", "-c", mount, "sh", size, str(index), str(aside)]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "cakebook", "sync", "--json", "--book", str(tiny_book.root)],
        env={**os.environ, "PYTHONPATH": str(shipped_root)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "CB-E305" in done.stderr and done.stderr.count("\n") == 1
    assert tiny_book.served() == served


def test_the_steps_of_a_build_are_called_by_name():
    """The step that the tests replace is looked up when it is called, not when the module is loaded."""
    assert "step" in sync_module._sync.__code__.co_names
