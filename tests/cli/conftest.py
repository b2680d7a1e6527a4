"""The command line, in this process and as a process of its own, over copies of the shipped book."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cakebook import Book
from cakebook.cli import main

REPO = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """What a call left behind."""

    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CAKEBOOK_BOOK", "CAKEBOOK_TRUST_ROOT", "CAKEBOOK_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))


def copy_book(root: Path) -> Path:
    for name in ("entries", "book"):
        shutil.copytree(REPO / name, root / name)
    return root


@pytest.fixture(scope="session")
def indexed_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the shipped book with a fresh index; not to be changed."""
    root = copy_book(tmp_path_factory.mktemp("cli") / "book")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAKEBOOK_EMBEDDER", "none")
        with Book.open(root) as book:
            book.sync()
    return root


@pytest.fixture
def own_book(indexed_book: Path, tmp_path: Path) -> Path:
    """A copy of that, to be changed; its index counts as stale, because the files are new."""
    return shutil.copytree(indexed_book, tmp_path / "book", symlinks=True)


@pytest.fixture
def cake(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], indexed_book: Path) -> Callable[..., Done]:
    """`cakebook ARGUMENTS` in this process, inside the book, unless `cwd` says otherwise."""

    def call(*arguments: str, cwd: Path = indexed_book) -> Done:
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(sys, "argv", ["cakebook", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return Done(stop.value.code, captured.out, captured.err)

    return call


@pytest.fixture
def process(indexed_book: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """`python -m cakebook ARGUMENTS` (text or bytes) as a process of its own."""

    def call(*arguments: str | bytes, cwd: Path = indexed_book, **more: object) -> subprocess.CompletedProcess[bytes]:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
        environment |= {"PYTHONPATH": str(REPO), "PYTHONUTF8": "1", **more.pop("env", {})}  # type: ignore[dict-item]
        command = [sys.executable, "-m", "cakebook", *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
        return subprocess.run(command, cwd=cwd, env=environment, timeout=120, check=False, **streams)  # type: ignore[call-overload, no-any-return]

    return call
