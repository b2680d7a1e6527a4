"""Speed as ratios, each measured side by side in one run: no clock of another machine enters.

    .venv/bin/python scripts/bench/ratios.py            # prints a Markdown table
    .venv/bin/python scripts/bench/ratios.py --json
    .venv/bin/python scripts/bench/ratios.py --wheel    # an installed wheel instead: builds it, and an environment for it

Every number is the median of interleaved repetitions. Promises: whole-process lexical search at most 2 × importing typer
and pydantic, and hybrid at most 5 × lexical; sync with one edited entry at most 0.25 × a rebuild that finds all vectors in the
cache, and 0.1 × at 2,000 generated entries; warm lexical search at 2,000 entries at most 3 × that of the shipped book; warm
hybrid search at most 1.7 × the bare embedding call; at 2,000 entries, whose vectors are made from a hash, 2.5 × with the
embedding measured apart, and shown with it too. Peak memory
is that of whole processes. A search and a pack from an installed wheel, in an empty folder, take at most 5 × the repository's
lexical search; the first search of a user, which prepares the model, is shown beside. One BLAS thread throughout, as the
command line sets it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LARGE = 2_000
QUESTIONS = [
    "vector pipe idles waiting for MTE2",
    "多核切分尾块怎么处理",
    "ub overflow, requires 3072000 bits while 1572864 bits available",
    "DataCopyPad",
    "how many rows fit one tile on 950PR",
    "how do I bake bread",
]


def main() -> None:
    from cakebook.service import Book

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "--wheel" in sys.argv[1:]:
            report(wheel_ratios(folder))
            return
        os.environ |= {"CAKEBOOK_STATE": str(folder / "state"), "CAKEBOOK_CACHE": str(folder / "cache")}
        small, large = copy_of_book(folder / "small", 0), copy_of_book(folder / "large", LARGE)
        rows = process_ratios(small)
        rows.append(sync_ratio(small, 0.25))
        with Book.open(small) as few:
            few.sync()
            rows.append(warm_hybrid_ratio(few, 1.7))
            with hashed_vectors(), Book.open(large) as many:
                rows.append(sync_ratio(large, 0.1))
                many.sync()
                rows.append(warm_ratio(few, many))
                rows.append(warm_hybrid_ratio(many, None))
            with hashed_vectors(embed=False), Book.open(large) as many:
                rows.append(warm_hybrid_ratio(many, 2.5, ", embedding measured apart"))
    report(rows)


@contextlib.contextmanager
def hashed_vectors(embed: bool = True) -> Iterator[None]:
    """Unit vectors seeded by a hash of the text: tens of thousands of passages need no model to be searched.

    `embed`: a question is embedded by the model too, as it would be, and the result dropped.
    """
    import numpy as np

    from cakebook.index import embedders
    from cakebook.index.use import INFO, Use

    real = Use(Path(os.environ["CAKEBOOK_CACHE"]))

    class Hashed:
        info = INFO

        def encode(self, texts: list[str], *, query: bool = False) -> object:
            if query and embed:
                real.encode(texts)
            seeds = [int.from_bytes(sha256(text.encode()).digest()[:8], "big") for text in texts]
            return np.stack([np.random.default_rng(seed).standard_normal(INFO.dim) for seed in seeds])

    load = embedders.load
    made = embedders.Embedder(Hashed())
    embedders.load = lambda name, cache: made  # type: ignore[assignment]
    try:
        yield
    finally:
        embedders.load = load


def copy_of_book(folder: Path, generated: int) -> Path:
    """The shipped book in `folder`, with `generated` entries made by shuffling the lines of real ones, all vouched for."""
    from cakebook.gate import founding

    for part in ("entries", "book"):
        shutil.copytree(ROOT / part, folder / part)
    (folder / "cakebook" / "data").mkdir(parents=True)
    shutil.copy(ROOT / "cakebook" / "data" / "roots.txt", folder / "cakebook" / "data" / "roots.txt")
    if generated:
        shuffle_entries(folder, generated)
    edition = founding.update(folder, "bench", "2026-01-01") if generated else founding.pending(folder)
    os.environ["CAKEBOOK_TRUST_ROOT"] = ",".join(filter(None, (os.environ.get("CAKEBOOK_TRUST_ROOT"), edition.root)))
    return folder


def shuffle_entries(folder: Path, size: int) -> None:
    """Make up the entries of the book in `folder` to `size`, by shuffling the paragraphs of those that it has."""
    real = sorted((folder / "entries").rglob("*.md"))
    chance = random.Random(7)
    for number in range(size - len(real)):
        source = real[number % len(real)]
        head, body = source.read_text("utf-8").split("\n---\n", 1)
        head = head.replace(f"id: {source.stem}\n", f"id: {source.stem}-{number}\n")
        paragraphs = body.split("\n\n")
        chance.shuffle(paragraphs)
        (source.parent / f"{source.stem}-{number}.md").write_text(head + "\n---\n" + "\n\n".join(paragraphs), "utf-8")


def process_ratios(book: Path) -> list[dict[str, object]]:
    """Whole `cakebook search` processes: lexical against one that only imports typer and pydantic, hybrid against lexical."""
    cakebook = [sys.executable, "-m", "cakebook"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def process(command: list[str]) -> Callable[[], None]:
        return lambda: void(subprocess.run(command, env=environment, check=True, capture_output=True))

    def search(mode: str) -> Callable[[], None]:
        return process([*cakebook, "search", QUESTIONS[0], "--target", "910B3", "--mode", mode, "--book", str(book)])

    process([*cakebook, "sync", "--book", str(book)])()
    search("hybrid")()
    base, lexical, hybrid = interleaved(
        [process([sys.executable, "-c", "import typer, pydantic"]), search("lexical"), search("hybrid")], 15
    )
    memory = {
        what: peak([*cakebook, *command, "--book", str(book)], environment)
        for what, command in {
            "lexical search": ["search", QUESTIONS[0], "--mode", "lexical"],
            "hybrid search": ["search", QUESTIONS[0], "--mode", "hybrid"],
            "sync from nothing": ["sync", "--rebuild"],
        }.items()
    }
    return [
        row("whole-process lexical search / import typer, pydantic", lexical, base, 2.0),
        row("whole-process hybrid search / lexical", hybrid, lexical, 5.0),
        *(
            {"what": f"peak memory, {what}", "ours_ms": "", "base_ms": "", "ratio": f"{mb:.0f} MB", "limit": "—"}
            for what, mb in memory.items()
        ),
    ]


def wheel_ratios(folder: Path) -> list[dict[str, object]]:
    """Whole processes of an installed wheel, in an empty folder with an empty home, against the repository's lexical search.

    Both sides run in the wheel's own environment. The wheel is built from the tree as it stands.
    """
    wheels, home, empty, book = (folder / name for name in ("wheels", "home", "empty", "book"))
    for made in (home, empty):
        made.mkdir()
    python = folder / "environment" / "bin" / "python"
    pip = [sys.executable, "-m", "pip"]
    for command in (
        [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)],
        [sys.executable, "-m", "venv", "--without-pip", str(python.parents[1])],
    ):
        subprocess.run(command, check=True)
    subprocess.run([*pip, "--python", str(python), "install", "--quiet", *map(str, wheels.glob("*.whl"))], check=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("CAKEBOOK_", "PYTHON", "XDG_"))}
    environment["HOME"] = str(home)
    copy_of_book(book, 0)
    repository = environment | {"PYTHONPATH": str(ROOT), "CAKEBOOK_STATE": str(folder / "state")}

    def cakebook(*arguments: str, env: dict[str, str] = environment) -> Callable[[], None]:
        command = [str(python), "-m", "cakebook", *arguments]
        return lambda: void(subprocess.run(command, cwd=empty, env=env, check=True, capture_output=True))

    ask = ("search", QUESTIONS[0], "--target", "910B3")
    task = ("--operator", "layernorm", "--dsl", "ascendc", "--target", "950PR", "--stage", "evolve", "--budget", "1500")
    search = cakebook(*ask)

    def first() -> None:
        shutil.rmtree(home)
        home.mkdir()
        search()

    cakebook("sync", "--book", str(book), env=repository)()
    lexical = cakebook(*ask, "--mode", "lexical", "--book", str(book), env=repository)
    lexical()
    base, once, ours, pack = interleaved([lexical, first, search, cakebook("context", *task)], 15)
    return [
        row("search from a wheel / lexical search from the repository", ours, base, 5.0),
        row("pack from a wheel / lexical search from the repository", pack, base, 5.0),
        row("first search from a wheel / lexical search from the repository", once, base, None),
    ]


def peak(command: list[str], environment: dict[str, str]) -> float:
    """Peak resident memory of a process in MB (10^6 bytes)."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
    code += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run([sys.executable, "-c", code, *command], env=environment, check=True, capture_output=True, text=True)
    return int(done.stdout) * (1 if sys.platform == "darwin" else 1024) / 1e6


def sync_ratio(book: Path, limit: float) -> dict[str, object]:
    """A sync after one edit against a rebuild that finds every vector in the cache, both in this process."""
    from cakebook.service import Book

    path = next((book / "entries" / "memory").glob("ascendc-gm-burst-size.md"))
    original = path.read_text("utf-8")
    versions = itertools.count()
    with Book.open(book) as opened:
        entries = opened.sync(rebuild=True).entries

        def edited_twice() -> None:  # an edit withholds the entry, its reversal reads, chunks, embeds and admits it again
            for text in (original.replace("## Why\n", f"## Why\nEdit {next(versions)}. "), original):
                path.write_text(text, "utf-8")
                opened.sync()

        full, two = interleaved([lambda: void(opened.sync(rebuild=True)), edited_twice], 5 if entries < 100 else 3)
    return row(f"sync after one edit / rebuild with warm cache, {entries} entries", two / 2, full, limit)


def warm_ratio(few: object, many: object) -> dict[str, object]:
    """Six questions on an opened book of 2,000 entries against the shipped book."""

    def ask(book: object) -> Callable[[], None]:
        return lambda: [void(book.search(q, target="910B3", mode="lexical")) for q in QUESTIONS] and None  # type: ignore[attr-defined]

    ask(few)(), ask(many)()
    base, ours = interleaved([ask(few), ask(many)], 15)
    return row(f"warm lexical search, {LARGE} entries / shipped book", ours, base, 3.0)


def warm_hybrid_ratio(book: object, limit: float | None, how: str = "") -> dict[str, object]:
    """New questions on an opened book in hybrid mode against embedding them and nothing else."""
    from cakebook.index.embedders import Embedder
    from cakebook.index.use import Use

    real = Embedder(Use(Path(os.environ["CAKEBOOK_CACHE"])))
    numbers = itertools.count(100_000)
    questions = [q for q in QUESTIONS if " " in q or not q.isascii()]

    def each(call: Callable[[str], object]) -> Callable[[], None]:
        def run() -> None:
            number = next(numbers)  # no question twice: vectors of questions are remembered; no entry holds such a number
            for question in questions:
                void(call(f"{question} {number}"))

        return run

    bare = each(real.embed_query)
    search = each(lambda q: book.search(q, target="910B3", mode="hybrid"))  # type: ignore[attr-defined]
    bare(), search()
    base, ours = interleaved([bare, search], 15)
    entries = book.status().entries  # type: ignore[attr-defined]
    return row(f"warm hybrid search{how} / bare embedding call, {entries} entries", ours, base, limit)


def interleaved(actions: list[Callable[[], None]], repeats: int) -> list[float]:
    """Median seconds of some actions, run in turn so that all meet the same machine."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats):
        for action, found in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            found.append(time.perf_counter() - start)
    return [statistics.median(found) for found in times]


def row(what: str, ours: float, base: float, limit: float | None) -> dict[str, object]:
    return {
        "what": what,
        "ours_ms": round(ours * 1e3, 1),
        "base_ms": round(base * 1e3, 1),
        "ratio": round(ours / base, 3),
        "limit": limit or "—",
    }


def report(rows: list[dict[str, object]]) -> None:
    if "--json" in sys.argv[1:]:
        print(json.dumps(rows, indent=2))
        return
    print("| measurement | ratio | promise | ms | base ms |\n|---|---|---|---|---|")
    for r in rows:
        limit = r["limit"] if r["limit"] == "—" else f"≤ {r['limit']}"
        print(f"| {r['what']} | {r['ratio']} | {limit} | {r['ours_ms']} | {r['base_ms']} |")


def void(_: object) -> None:
    """Drop a result."""


if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    sys.path.insert(0, str(ROOT))
    main()
