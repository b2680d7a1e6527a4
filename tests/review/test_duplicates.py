"""Near-duplicates: no two shipped entries are one, and an edited copy of any of them is found, whichever way it was edited."""

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cakebook.repo.entries import EntryFile, read_entries, read_entry
from cakebook.repo.layout import FolderSource
from cakebook.review import duplicates
from cakebook.review.duplicates import ALIKE, SAME, Fingerprints, clusters

REPO = Path(__file__).parents[2]


def entry(entry_id: str, body: str = "", **fields) -> EntryFile:
    lines = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in fields.items())
    return read_entry(f"entries/tiling/{entry_id}.md", f"---\nid: {entry_id}\n{lines}---\n{body}".encode())


@pytest.fixture(scope="module")
def shipped() -> list[EntryFile]:
    return list(read_entries(FolderSource(REPO)))


@pytest.fixture(scope="module")
def book(shipped) -> Fingerprints:
    return index(shipped)


def index(files) -> Fingerprints:
    prints = Fingerprints()
    for file in files:
        prints.add(file.id, file)
    return prints


# What a copyist does


def reworded(text: str) -> str:
    """Other words around, another order, every fourth word gone."""
    words = [word for n, word in enumerate(text.split()) if n % 4]
    return "A note: " + " ".join([*words[len(words) // 2 :], *words[: len(words) // 2]])


def shuffled(text: str) -> str:
    """The sentences and lines in another order, one in ten left out."""
    parts = re.split(r"(?<=[.!?。；])\s*|\n", text)
    random.Random(1).shuffle(parts)
    return "\n\n".join(part for n, part in enumerate(parts) if n % 10)


def section(file: EntryFile, title: str) -> str:
    return found.source if (found := file.document.section(title)) else ""


def edited(file: EntryFile) -> EntryFile:
    """All that it says, shuffled, under a title of its own, without its sources and facets."""
    e = file.entry
    body = "".join(f"## {t}\n{shuffled(section(file, t))}\n\n" for t in ("Summary", "摘要"))
    fields = {
        "title": reworded(e.title), "title_zh": "关于" + e.title_zh[4:], "description": reworded(e.description),
        "description_zh": e.description_zh[6:], "symptoms": [*e.symptoms[1:]][::-1], "symptoms_zh": [*e.symptoms_zh[1:]][::-1],
    }  # fmt: skip
    return entry("a-copy", f"{body}## Pattern\n{section(file, 'Pattern')}\n", **fields)


def half(file: EntryFile) -> EntryFile:
    """What it says in Chinese only, as a team keeps it that translates nothing back."""
    e = file.entry
    body = f"## 摘要\n{shuffled(section(file, '摘要'))}\n"
    return entry("a-copy", body, title_zh="关于" + e.title_zh[4:], symptoms_zh=[*e.symptoms_zh])


def quoted(file: EntryFile) -> EntryFile:
    """A lesson of a few lines that takes over summary and pattern."""
    body = f"## Pattern\n{section(file, 'Summary')}\n\n{section(file, 'Pattern')}\n"
    return entry("a-copy", body, title=reworded(file.entry.title))


@pytest.mark.parametrize(("copy", "least"), [(edited, 0.85), (half, 0.75), (quoted, 0.7)])
def test_edited_copies_are_found(shipped, book, copy, least):
    for file in shipped:
        first, *rest = book.near(copy(file))
        assert first.id == file.id and first.same and first.score >= least, (file.id, first)
        assert not any(other.same for other in rest), (file.id, rest)
        assert any(reason.startswith("text ") for reason in first.why)


def test_no_two_shipped_entries_are_near_duplicates(shipped, book):
    nearest = []
    for file in shipped:
        itself, *others = book.near(file)
        assert (itself.id, itself.score) == (file.id, 1.0)
        nearest += [(other.score, file.id, other.id) for other in others]
    assert max(nearest)[0] <= 0.28 < SAME - 0.15, max(nearest)
    assert clusters(shipped) == [[file.id] for file in sorted(shipped, key=lambda f: f.id)]


def test_copies_make_clusters(shipped):
    copies = [entry(f"copy-{n}", edited(file).front.body, title=edited(file).entry.title) for n, file in enumerate(shipped[:3])]
    files = [*shipped, *copies]
    expected = sorted([sorted([file.id, *([f"copy-{n}"] if n < 3 else [])]) for n, file in enumerate(shipped)])
    assert clusters(files) == clusters(files[::-1]) == expected
    assert clusters([]) == []


# What it says about it


SENTENCES = [f"Word{n} copies several tiles of {n} rows before the vector unit waits for part {n * 7}." for n in range(8)]


def test_why_names_what_is_shared():
    common = {"sources": [{"id": "a", "resource": "https://example.org/a"}], "error_codes": ["507035"], "apis": ["DataCopyPad"]}
    one = entry("one", "## Summary\n" + "\n".join(SENTENCES), title="Pad rows", operators=["any", "softmax"], **common)
    two = entry("two", "## Summary\n" + "\n".join(SENTENCES[::-1][1:]), title="Pad rows", operators=["any"], **common)
    (_, similar) = sorted(index([one, two]).near(one), key=lambda s: s.id)
    assert similar.id == "two" and similar.same and similar.why[0] == "the same title"
    assert similar.why[1].startswith("text ") and similar.why[2:] == (
        "the same error code: 507035", "the same source: https://example.org/a", "the same API or operator: datacopypad",
    )  # fmt: skip


def test_shared_sources_and_codes_alone_make_alike_not_same():
    common = {"sources": [{"id": "a", "resource": "https://example.org/a"}], "error_codes": ["507035"], "apis": ["DataCopyPad"]}
    one, two = entry("one", title="Pad rows", **common), entry("two", title="Split cores", **common)
    (_, similar) = sorted(index([one, two]).near(one), key=lambda s: s.id)
    assert ALIKE <= similar.score < SAME and not similar.same
    assert index([entry("x", title="A"), entry("y", title="B", operators=["softmax"])]).near(entry("z", title="C")) == []


def test_an_entry_with_the_same_id_replaces_the_first():
    one, other = entry("one", "## Summary\n" + SENTENCES[0] * 2, title="A"), entry("one", title="Nothing alike")
    prints = index([one])
    prints.add("one", other)
    assert len(prints) == 1
    assert [s.id for s in prints.near(other)] == ["one"] and prints.near(one) == []


@pytest.mark.parametrize("data", [b"", b"\xff", b"---\nid: [\n---\n", b"---\nid: a\ndsl: {a: b}\n---\nText of it.\n"])
def test_what_cannot_be_read_is_like_itself_alone(data):
    broken = read_entry("entries/tiling/broken.md", data)
    prints = index([broken, entry("one", title="Pad rows")])
    assert [(s.id, s.score) for s in prints.near(broken)] == [(broken.id, 1.0)]


def test_other_processes_compute_the_same_hashes():
    code = "from cakebook.review import duplicates; print(duplicates._hash('l', 'data', 'copy'))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], cwd=REPO, env={"PYTHONPATH": str(REPO), "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert outputs == {f"{duplicates._hash('l', 'data', 'copy')}\n"}


# Properties


WORDS = "copy tile rows vector wait buffer queue core split 多核 切分 尾块 双缓冲 DataCopyPad tl.load".split()
TEXT = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)
FIELDS = st.fixed_dictionaries(
    {
        "title": TEXT,
        "symptoms": st.lists(TEXT, max_size=2),
        "apis": st.lists(st.sampled_from(WORDS), max_size=2),
        "error_codes": st.lists(st.sampled_from(["507035", "507014"]), max_size=1),
        "sources": st.lists(st.sampled_from([{"id": n, "resource": f"https://example.org/{n}"} for n in "ab"]), max_size=1),
    }
)
BOOKS = st.lists(st.tuples(FIELDS, TEXT), min_size=1, max_size=8)
QUICK = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def made(contents) -> list[EntryFile]:
    return [entry(f"e{n}", f"## Pattern\n{text}\n", **fields) for n, (fields, text) in enumerate(contents)]


@QUICK
@given(BOOKS)
def test_an_entry_is_nearest_to_itself_and_likeness_goes_both_ways(contents):
    files = made(contents)
    prints = index(files)
    scores = {(file.id, s.id): s.score for file in files for s in prints.near(file, limit=99)}
    for file in files:
        best = prints.near(file, limit=99)
        assert scores[file.id, file.id] == best[0].score == 1.0
        assert [(-s.score, s.id) for s in best] == sorted((-s.score, s.id) for s in best)
        assert prints.near(file, limit=2) == best[:2]
    for (one, other), score in scores.items():
        assert scores[other, one] == score and ALIKE <= score <= 1


@QUICK
@given(BOOKS, st.randoms(use_true_random=False))
def test_the_order_of_adding_changes_nothing(contents, rng):
    files = made(contents)
    mixed = rng.sample(files, len(files))
    one, other = index(files), index(mixed)
    assert [one.near(file) for file in files] == [other.near(file) for file in files]
    assert clusters(files) == clusters(mixed)
    assert sorted(i for group in clusters(files) for i in group) == sorted(file.id for file in files)


def test_thousands_of_entries_are_searched_in_milliseconds(shipped):
    rng = random.Random(2)
    vocabulary = sorted({word for file in shipped for word in re.findall(r"[A-Za-z]{3,}", section(file, "Summary"))})
    prints = Fingerprints()
    for n in range(1000):
        body = ". ".join(" ".join(rng.choices(vocabulary, k=12)) for _ in range(12))
        prints.add(f"e{n}", entry(f"e{n}", f"## Summary\n{body}\n", title=" ".join(rng.choices(vocabulary, k=6))))
    for file in shipped:
        prints.add(file.id, file)
    prints.near(shipped[0])
    took = []
    for file in shipped:
        start = time.perf_counter()
        assert prints.near(file)[0].id == file.id
        took.append(time.perf_counter() - start)
    assert sorted(took)[len(took) // 2] < 0.1  # a tenth of that where nothing else runs
