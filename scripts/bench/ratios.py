"""Speed as ratios, each measured side by side in one run: no clock of another machine enters.

    .venv/bin/python scripts/bench/ratios.py            # prints a Markdown table
    .venv/bin/python scripts/bench/ratios.py --json

Every number is the median of interleaved repetitions. Promises: whole-process lexical search at most 2 × importing typer
and pydantic; sync with one edited entry at most 0.5 × a full build at the size of the shipped book and 0.1 × at 2,000
generated entries; warm search at 2,000 entries at most 3 × that of the shipped book.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
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
        os.environ["CAKEBOOK_STATE"] = str(folder / "state")
        small, large = copy_of_book(folder / "small", 0), copy_of_book(folder / "large", LARGE)
        rows = [process_ratio(small)]
        for book, limit in ((small, 0.5), (large, 0.1)):
            rows.append(sync_ratio(book, limit))
        with Book.open(small) as few, Book.open(large) as many:
            few.sync()
            many.sync()
            rows.append(warm_ratio(few, many))
    report(rows)


def copy_of_book(folder: Path, generated: int) -> Path:
    """The shipped book in `folder`, with `generated` entries made by shuffling the lines of real ones, all vouched for."""
    from cakebook.gate import founding

    for part in ("entries", "book"):
        shutil.copytree(ROOT / part, folder / part)
    (folder / "cakebook" / "data").mkdir(parents=True)
    shutil.copy(ROOT / "cakebook" / "data" / "roots.txt", folder / "cakebook" / "data" / "roots.txt")
    if generated:
        real = sorted((folder / "entries").rglob("*.md"))
        chance = random.Random(7)
        for number in range(generated - len(real)):
            source = real[number % len(real)]
            head, body = source.read_text("utf-8").split("\n---\n", 1)
            head = head.replace(f"id: {source.stem}\n", f"id: {source.stem}-{number}\n")
            paragraphs = body.split("\n\n")
            chance.shuffle(paragraphs)
            (source.parent / f"{source.stem}-{number}.md").write_text(head + "\n---\n" + "\n\n".join(paragraphs), "utf-8")
    edition = founding.update(folder, "bench", "2026-01-01") if generated else founding.pending(folder)
    os.environ["CAKEBOOK_TRUST_ROOT"] = ",".join(filter(None, (os.environ.get("CAKEBOOK_TRUST_ROOT"), edition.root)))
    return folder


def process_ratio(book: Path) -> dict[str, object]:
    """A whole `cakebook search` process against one that only imports typer and pydantic."""
    search = [sys.executable, "-m", "cakebook", "search", QUESTIONS[0], "--target", "910B3", "--book", str(book)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(search, env=environment, check=True, capture_output=True)  # builds the index

    def process(command: list[str]) -> Callable[[], None]:
        return lambda: void(subprocess.run(command, env=environment, check=True, capture_output=True))

    base, ours = interleaved(process([sys.executable, "-c", "import typer, pydantic"]), process(search), 15)
    return row("whole-process search / import typer, pydantic", ours, base, 2.0)


def sync_ratio(book: Path, limit: float) -> dict[str, object]:
    """A sync after one edit against a build from nothing, both in this process."""
    from cakebook.service import Book

    path = next((book / "entries" / "memory").glob("ascendc-gm-burst-size.md"))
    original = path.read_bytes()
    with Book.open(book) as opened:
        entries = opened.sync(rebuild=True).entries

        def edited_twice() -> None:  # an edit withholds the entry, its reversal reads, chunks and admits it again
            for data in (original + b"\n", original):
                path.write_bytes(data)
                opened.sync()

        full, two = interleaved(lambda: void(opened.sync(rebuild=True)), edited_twice, 5 if entries < 100 else 3)
    return row(f"sync after one edit / full build, {entries} entries", two / 2, full, limit)


def warm_ratio(few: object, many: object) -> dict[str, object]:
    """Six questions on an opened book of 2,000 entries against the shipped book."""

    def ask(book: object) -> Callable[[], None]:
        return lambda: [void(book.search(q, target="910B3")) for q in QUESTIONS] and None  # type: ignore[attr-defined]

    ask(few)(), ask(many)()
    base, ours = interleaved(ask(few), ask(many), 15)
    return row(f"warm search, {LARGE} entries / shipped book", ours, base, 3.0)


def interleaved(first: Callable[[], None], second: Callable[[], None], repeats: int) -> tuple[float, float]:
    """Median seconds of two actions, run in turn so that both meet the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for action, found in zip((first, second), times, strict=True):
            start = time.perf_counter()
            action()
            found.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def row(what: str, ours: float, base: float, limit: float) -> dict[str, object]:
    return {
        "what": what,
        "ours_ms": round(ours * 1e3, 1),
        "base_ms": round(base * 1e3, 1),
        "ratio": round(ours / base, 3),
        "limit": limit,
    }


def report(rows: list[dict[str, object]]) -> None:
    if "--json" in sys.argv[1:]:
        print(json.dumps(rows, indent=2))
        return
    print("| measurement | ratio | promise | ms | base ms |\n|---|---|---|---|---|")
    for r in rows:
        print(f"| {r['what']} | {r['ratio']} | ≤ {r['limit']} | {r['ours_ms']} | {r['base_ms']} |")


def void(_: object) -> None:
    """Drop a result."""


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
