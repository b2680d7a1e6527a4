"""Builders and readers in several processes: one builds at a time, and nobody sees half of anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest
from filelock import FileLock

from cakebook.errors import IndexBusy
from cakebook.index import sync as sync_module

GRID = "entries/tiling/tiny-grid-size.md"


class Child:
    """`call` in a process of its own, forked from this one. `go` lets it pass `wait`, which it is given."""

    def __init__(self, call: Callable[[Callable[[], None], Callable[[], None]], None]) -> None:
        ready_out, ready_in = os.pipe()
        go_out, go_in = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(ready_out), os.close(go_in)
                call(lambda: os.write(ready_in, b"."), lambda: os.read(go_out, 1))
                os._exit(0)
            except BaseException as error:  # nothing of the child may reach the test runner
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
                os._exit(1)
        os.close(ready_in), os.close(go_out)
        self._ready, self._go = ready_out, go_in

    def ready(self) -> None:
        """Wait until the child says that it is where it should be."""
        assert os.read(self._ready, 1) == b"."

    def go(self) -> None:
        os.write(self._go, b".")

    def ends(self) -> int:
        """Its exit status."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._ready), os.close(self._go)
        return status


def hold_at(step: str, ready, wait) -> None:
    """In this process, stop a sync at `step` until told to go on."""

    def stop(name: str) -> None:
        if name == step:
            ready(), wait()

    sync_module.step = stop


@pytest.mark.parametrize("step", ["read", "entries", "installed", "switched"])
def test_a_second_builder_waits_and_finds_nothing_left_to_do(tiny_book, step):
    def build(ready, wait):
        hold_at(step, ready, wait)
        assert tiny_book.sync().built

    def build_too(ready, wait):
        ready()
        assert not tiny_book.sync().built

    first = Child(build)
    first.ready()
    second = Child(build_too)
    second.ready()
    first.go()
    assert (first.ends(), second.ends()) == (0, 0)
    assert len(tiny_book.served()) == 4


def test_a_builder_that_waits_too_long_says_that_another_one_is_at_work(tiny_book, monkeypatch):
    def build(ready, wait):
        hold_at("entries", ready, wait)
        tiny_book.sync()

    first = Child(build)
    first.ready()
    monkeypatch.setattr(sync_module, "LOCK_SECONDS", 0.05)
    try:
        with pytest.raises(IndexBusy, match="another process") as raised:
            tiny_book.sync()
        assert raised.value.exit == 3
        ran = tiny_book.cli("sync")
        assert ran.status == 3 and "CB-E303" in ran.err
    finally:
        first.go()
        assert first.ends() == 0
    assert tiny_book.sync().built is False


def test_a_builder_that_was_killed_locks_nobody_out(tiny_book, monkeypatch):
    def build(ready, wait):
        hold_at("entries", ready, wait)
        tiny_book.sync()

    first = Child(build)
    first.ready()
    os.kill(first.pid, 9)
    assert first.ends() == -9
    monkeypatch.setattr(sync_module, "LOCK_SECONDS", 0.05)
    assert tiny_book.sync().built


def test_a_lock_file_of_nobody_locks_nobody_out(tiny_book, monkeypatch):
    tiny_book.store.folder.mkdir(parents=True)
    (tiny_book.store.folder / "build.lock").write_text("12345")
    monkeypatch.setattr(sync_module, "LOCK_SECONDS", 0.05)
    assert tiny_book.sync().built
    lock = FileLock(tiny_book.store.folder / "build.lock")
    with lock.acquire(timeout=1):
        assert len(tiny_book.served()) == 4, "readers do not care"


def test_a_generation_open_in_another_process_stays(tiny_book):
    first = tiny_book.sync().generation

    def read(ready, wait):
        with tiny_book.generation() as opened:
            ready(), wait()
            assert len(opened.catalog.ids()) == 4 and opened.catalog.match(["program"], 5)

    reader = Child(read)
    reader.ready()
    for n in range(3):
        tiny_book.write(GRID, tiny_book.entry_text("tiny-grid-size", title=f"Title {n}"))
        tiny_book.found()
        tiny_book.sync()
    assert (tiny_book.store.folder / first).is_dir()
    reader.go()
    assert reader.ends() == 0


def test_readers_never_see_a_mixture(tiny_book):
    """Two entries always change together; a reader that opens as fast as it can must always find them equal."""

    def write(title: str) -> None:
        for entry_id in ("twin-a", "twin-b"):
            tiny_book.write(f"entries/{entry_id}.md", tiny_book.entry_text(entry_id, title=title, summary=f"{title} of twins."))
        tiny_book.found()

    write("Title 0")
    tiny_book.sync()

    def read(ready, wait):
        ready()
        for _ in range(120):
            with tiny_book.generation() as opened:
                catalog = opened.catalog
                cards = catalog.cards([catalog.row_of("twin-a"), catalog.row_of("twin-b")])
                assert len({card["title"] for card in cards.values()}) == 1
                assert catalog.size() == opened.manifest.entries == 6

    readers = [Child(read) for _ in range(2)]
    for reader in readers:
        reader.ready()
    for n in range(1, 13):
        write(f"Title {n}")
        tiny_book.sync(rebuild=n % 3 == 0)
    assert [reader.ends() for reader in readers] == [0, 0]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs user namespaces")
def test_a_book_on_a_read_only_mount(tiny_book, shipped_root):
    """A real read-only file system, which binds a superuser too."""
    mount = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
    prefix = ["unshare", "-Urm", "sh", "-c", mount, "sh", str(tiny_book.root)]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    env = {**os.environ, "PYTHONPATH": str(shipped_root)}
    for expected in ("synced: 4 entries served", ""):
        command = [sys.executable, "-m", "cakebook", "search", "DataCopyPad", "--book", str(tiny_book.root)]
        done = subprocess.run([*prefix, *command], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "tiny-rows-per-tile" in done.stdout and done.stderr.startswith(expected)
    assert not (tiny_book.root / ".cakebook").exists()
