"""The gate's speed as ratios, measured side by side in one run.

    .venv/bin/python scripts/bench/gate.py

Promises: `cakebook review check` of one changed entry, whole process, at 5,000 entries at most 1.25 × the same at 50, and at
most a whole-process lexical search plus 30 ms; verifying 5,000 new statements at most 0.1 × as many calls of `ssh-keygen`, of
which 200 are timed. Entries are shuffled copies of shipped ones, statements are signed by a key made here.
"""

from __future__ import annotations

import base64
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from hashlib import sha512
from pathlib import Path

from ratios import QUESTIONS, ROOT, copy_of_book, interleaved, shuffle_entries, void

sys.path.insert(0, str(ROOT))
LARGE, SMALL = 5000, 50
PRIVATE_CALLS = 200
"""Calls of ssh-keygen that are timed."""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {
            "CAKEBOOK_STATE": str(folder / "state"), "CAKEBOOK_CACHE": str(folder / "cache"), "CAKEBOOK_EMBEDDER": "none",
            "HOME": str(folder), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@x", "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@x",
        }  # fmt: skip
        key = Key(folder / "ada")
        books = {size: team_book(folder / str(size), size, key) for size in (SMALL, LARGE)}
        print("| measurement | ratio | promise | ms | base ms |\n|---|---|---|---|---|")
        check_ratios(books)
        statement_ratio(books[LARGE], key)


class Key:
    """An ed25519 key that signs here: ssh-keygen would take half a minute for five thousand statements."""

    def __init__(self, path: Path) -> None:
        from cryptography.hazmat.primitives.serialization import load_ssh_private_key

        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
        self.path = path
        self.public = path.with_name(path.name + ".pub").read_text().split()
        self._key = load_ssh_private_key(path.read_bytes(), None)

    def sign(self, message: bytes, namespace: str) -> bytes:
        def string(data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + data

        parts = [namespace.encode(), b"", b"sha512"]
        signed = b"SSHSIG" + b"".join(map(string, [*parts, sha512(message).digest()]))
        value = string(b"ssh-ed25519") + string(self._key.sign(signed))  # type: ignore[union-attr,call-arg]
        blob = b"SSHSIG\0\0\0\1" + string(base64.b64decode(self.public[1])) + b"".join(map(string, parts)) + string(value)
        text = base64.b64encode(blob).decode()
        lines = "\n".join(text[at : at + 70] for at in range(0, len(text), 70))
        return f"-----BEGIN SSH SIGNATURE-----\n{lines}\n-----END SSH SIGNATURE-----\n".encode()


def team_book(folder: Path, size: int, key: Key) -> Path:
    """A book with `size` entries, an admin, a signed approval of each entry, and two commits: all, and one more entry."""
    from cakebook.gate.ledger import make_statement, statement_path, statement_yaml
    from cakebook.repo.entries import read_entries
    from cakebook.repo.layout import FolderSource
    from cakebook.service import Book

    copy_of_book(folder, 0)
    with Book.open(folder) as book:
        book.trust_init("ada", emails=["ada@x"], key=str(key.path), book="bench")
        reviewer = book.people_add("ben", keys=[" ".join(key2(folder))], roles=["reviewer"], signing_key=str(key.path))
        assert reviewer.missing == 0
        anchor = book._facts().trust.anchor
    shuffle_entries(folder, size)
    source = FolderSource(folder)
    files = list(read_entries(source))
    new = files[0].path.replace(files[0].id, "one-more")
    data = (folder / files[0].path).read_text("utf-8").replace(f"id: {files[0].id}\n", "id: one-more\n")
    git(folder, "init", "-q", "-b", "main")
    for file in files:
        put_statement(folder, file, anchor, KEYS[folder], make_statement, statement_yaml, statement_path)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all")
    (folder / new).write_text(data, "utf-8")
    (one,) = [file for file in read_entries(source) if file.id == "one-more"]
    put_statement(folder, one, anchor, KEYS[folder], make_statement, statement_yaml, statement_path)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one more")
    return folder


KEYS: dict[Path, Key] = {}


def key2(folder: Path) -> list[str]:
    """The reviewer's key of a book."""
    KEYS[folder] = Key(folder.with_name(folder.name + "-ben"))
    return KEYS[folder].public[:2]


def put_statement(folder, file, anchor, key, make, to_yaml, to_path) -> None:  # type: ignore[no-untyped-def]
    """File a signed approval of an entry."""
    statement = make(
        {
            "book": anchor.book, "entry": file.id, "digest": file.digest, "kind": file.entry.kind, "decision": "approve",
            "reviewer": "ben", "authors": ("cakebook-founding", "a@x"), "basis": ("read-sources",), "trust": 2,
            "at": "2026-12-01T00:00:00Z",
        }
    )  # fmt: skip
    data = to_yaml(statement)
    path = folder / to_path(statement, data)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.with_name(path.name + ".sig").write_bytes(key.sign(data, "cakebook-review"))


def check_ratios(books: dict[int, Path]) -> None:
    """Whole processes of `review check` on a small and a large book, and of a lexical search on the shipped one."""
    cakebook = [sys.executable, "-m", "cakebook"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    shipped = copy_of_book(books[SMALL].with_name("shipped"), 0)

    def process(*arguments: str):  # type: ignore[no-untyped-def]
        command = [*cakebook, *arguments]
        return lambda: void(subprocess.run(command, env=environment, check=True, capture_output=True))

    process("sync", "--book", str(shipped))()
    search = process("search", QUESTIONS[0], "--mode", "lexical", "--book", str(shipped))
    checks = [process("review", "check", "HEAD~1..HEAD", "--book", str(books[size])) for size in (SMALL, LARGE)]
    lexical, small, large = interleaved([search, *checks], 9)
    row(f"review check, {LARGE} entries / {SMALL} entries", f"{large / small:.2f}", "≤ 1.25", large, small)
    over = f"{(large - lexical) * 1e3:.0f} ms"
    row("review check of one statement, over a lexical search", over, "≤ 30 ms", large, lexical)


def row(what: str, ratio: str, promise: str, ours: float, base: float) -> None:
    """A line of the table; seconds become milliseconds."""
    print(f"| {what} | {ratio} | {promise} | {ours * 1e3:.0f} | {base * 1e3:.0f} |")


def statement_ratio(book: Path, key: Key) -> None:
    """Reading and verifying every statement of a book in this process, against calls of ssh-keygen."""
    from cakebook.gate.facts import gather
    from cakebook.repo.layout import FolderSource
    from cakebook.settings import Settings

    start = time.perf_counter()
    facts = gather(FolderSource(book), Settings.from_environment().trust_roots)
    counting = sum(len(facts.about(entry_id).statements) for entry_id in facts.statement_paths)
    ours = time.perf_counter() - start
    folder = Path(tempfile.mkdtemp(dir=book.parent))
    message, reviewer = b"x" * 400, KEYS[book]
    (folder / "allowed").write_text(f'ben namespaces="cakebook-review" {" ".join(reviewer.public[:2])}\n')
    (folder / "signature").write_bytes(reviewer.sign(message, "cakebook-review"))
    command = ["ssh-keygen", "-Y", "verify", "-f", "allowed", "-I", "ben", "-n", "cakebook-review", "-s", "signature"]
    times = []
    for _ in range(PRIVATE_CALLS):
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, input=message, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    shutil.rmtree(folder)
    theirs = statistics.median(times) * counting
    row(f"reading and verifying {counting} statements / ssh-keygen", f"{ours / theirs:.3f}", "≤ 0.1", ours, theirs)


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder."""
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


if __name__ == "__main__":
    main()
