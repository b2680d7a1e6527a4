"""Entries that say the same: pairs of words that both hold, and what both cite, without a model and without the network.

Of each entry the title, description, symptoms, summary and pattern count, whatever their order: a *shingle* is two search
tokens that follow each other in one sentence, Latin and Chinese apart, since a copy may keep one language only. The text of
two entries is alike by the mean of Jaccard (shared of all) and overlap (shared of the shorter), in the language in which
they are most alike. Shared sources, APIs and operators, and error codes bring the score nearer to one, by a third at most.

Measured on the 42 shipped entries by `tests/review/test_duplicates.py`, which fails if it is no longer so: no two of them
score above 0.28 (the highest are on-chip budgets of neighbouring chips). An edited copy of any of them (title and
description reworded, symptoms and sentences left out and shuffled, facets and sources dropped) scores above 0.85, a copy in
Chinese only above 0.75, a short lesson that quotes summary and pattern above 0.7. `SAME` lies between.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

from cakebook.model.entry import Entry
from cakebook.repo.entries import EntryFile
from cakebook.text import tokens

SAME = 0.5
"""From this score on two entries are near-duplicates."""
ALIKE = 0.15
"""Below this score nobody is told: entries about one operator resemble each other that much."""
_SECTIONS = ("Summary", "摘要", "Pattern")
_SOURCES, _CODES, _NAMES = 0.15, 0.08, 0.1
"""What shared features can add; together a third of what the text leaves."""
_FEW = 10
"""Shingles that both must have in a language: two short sentences overlap by chance."""
_SENTENCE = re.compile(r"\n|(?<=[.!?;])\s+|[。！？；]")
_PLACE_BITS = 20
_PLACES = 1 << _PLACE_BITS
_HASH_BITS = 43


@dataclass(frozen=True)
class Similar:
    """An entry that resembles another. `score`: 0 to 1, 1 for the same; `why`: what they share, most telling first."""

    id: str
    score: float
    why: tuple[str, ...] = ()

    @property
    def same(self) -> bool:
        """Whether it is a near-duplicate."""
        return self.score >= SAME


@dataclass(frozen=True)
class _Print:
    """What of an entry is compared. `shingles`: hashes of Latin and of Chinese pairs of tokens."""

    id: str
    titles: frozenset[str]
    shingles: tuple[frozenset[int], frozenset[int]]
    sources: frozenset[str]
    names: frozenset[str]
    codes: frozenset[str]

    @property
    def body(self) -> tuple[object, ...]:
        """Everything that is compared: equal for entries that differ in their id alone."""
        return self.titles, self.shingles, self.sources, self.names, self.codes

    def marks(self) -> list[tuple[str, str | int]]:
        """What makes two entries worth comparing though no two words follow each other in both; a name is too common."""
        same = [("body", hash(self.body))]  # an entry without a word is still like itself
        return [*same, *(("source", s) for s in self.sources), *(("code", c) for c in self.codes)]


class Fingerprints:
    """Entries by what they say, to find those that resemble a given one."""

    def __init__(self) -> None:
        self._prints: list[_Print] = []
        self._places: dict[str, int] = {}
        self._postings = array("Q")
        """Hash and place of every shingle, in order: a search is a bisection, and 8 bytes are all that it costs."""
        self._added: list[int] = []
        self._marked: dict[tuple[str, str | int], list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._places)

    def add(self, entry_id: str, file: EntryFile) -> None:
        """Add an entry, served or not; one with the same id is replaced.

        Raises:
            OverflowError: over a million have been added.
        """
        place = len(self._prints)
        if place >= _PLACES:
            raise OverflowError(f"more than {_PLACES:,} entries")
        made = _fingerprint(entry_id, file)
        self._prints.append(made)
        self._places[entry_id] = place
        self._added += [shingle << _PLACE_BITS | place for group in made.shingles for shingle in group]
        for mark in made.marks():
            self._marked[mark].append(place)

    def near(self, file: EntryFile, limit: int = 5) -> list[Similar]:
        """The entries that score `ALIKE` or more against `file`, best first, ties by id; itself too if it was added.

        Args:
            limit: how many at most.
        """
        wanted = _fingerprint(file.id, file)
        ranked = sorted((-score, self._prints[place].id, place) for score, place in self._scores(wanted, ALIKE))
        found = [(self._prints[place], -score) for score, _, place in ranked[:limit]]
        return [Similar(other.id, score, tuple(_why(wanted, other))) for other, score in found]

    def _scores(self, wanted: _Print, least: float) -> Iterator[tuple[float, int]]:
        """Score and place of every entry that scores `least` or more."""
        self._sort()
        keyed = {place for mark in wanted.marks() for place in self._marked.get(mark, ())}
        latin, chinese = map(self._common, wanted.shingles)
        for place in latin.keys() | chinese.keys() | keyed:
            other = self._prints[place]
            text = _text(wanted, other, (latin[place], chinese[place]))
            most = _NAMES + (_SOURCES + _CODES if place in keyed else 0)
            if 1 - (1 - text) * (1 - most) < least or self._places[other.id] != place:
                continue
            if (score := _score(wanted, other, text)) >= least:
                yield score, place

    def _common(self, shingles: Iterable[int]) -> Counter[int]:
        """Place → how many of the shingles it has."""
        found = array("Q")
        for shingle in shingles:
            low = shingle << _PLACE_BITS
            start = bisect_left(self._postings, low)
            found += self._postings[start : bisect_left(self._postings, low + _PLACES, start)]
        return Counter(map((_PLACES - 1).__and__, found))

    def _sort(self) -> None:
        if self._added:
            self._postings = array("Q", sorted([*self._postings, *self._added]))
            self._added = []


def clusters(files: Sequence[EntryFile]) -> list[list[str]]:
    """The ids of `files`, near-duplicates together: each in one list, lists and ids in order of id."""
    prints = Fingerprints()
    for file in files:
        prints.add(file.id, file)
    leader = {file.id: file.id for file in files}

    def first(entry_id: str) -> str:
        while leader[entry_id] != entry_id:
            entry_id = leader[entry_id]
        return entry_id

    for file in files:
        wanted = prints._prints[prints._places[file.id]]
        for _, place in prints._scores(wanted, SAME):
            one, other = sorted((first(file.id), first(prints._prints[place].id)))
            leader[other] = one
    groups: dict[str, list[str]] = defaultdict(list)
    for entry_id in sorted(leader):
        groups[first(entry_id)].append(entry_id)
    return [groups[entry_id] for entry_id in sorted(groups)]


def _fingerprint(entry_id: str, file: EntryFile) -> _Print:
    """Of a file that cannot be read as an entry, its text alone."""
    entry = file.entry or Entry()
    texts = [entry.title, entry.title_zh, entry.description, entry.description_zh, *entry.symptoms, *entry.symptoms_zh]
    if file.entry is None:
        texts.append(file.text)
    else:
        texts += [section.source for section in file.document.sections if section.title in _SECTIONS]
    titles = frozenset(" ".join(tokens.words(title)) for title in (entry.title, entry.title_zh) if title)
    return _Print(
        id=entry_id,
        titles=titles,
        shingles=_shingles(texts),
        sources=frozenset(source.resource for source in entry.sources),
        names=frozenset(name.casefold() for name in (*entry.apis, *entry.operators) if name != "any"),
        codes=frozenset(entry.error_codes),
    )


def _shingles(texts: Iterable[str]) -> tuple[frozenset[int], frozenset[int]]:
    latin: set[int] = set()
    chinese: set[int] = set()
    for sentence in {part for text in texts for part in _SENTENCE.split(text)}:
        words = tokens.words(sentence)
        cjk = [word for word in words if tokens.has_cjk(word)]
        plain = [word for word in words if not tokens.has_cjk(word)] if cjk else words
        latin.update(_hash("l", a, b) for a, b in pairwise(plain))
        chinese.update(_hash("c", a, b) for a, b in pairwise(cjk))
    return frozenset(latin), frozenset(chinese)


def _hash(*words: str) -> int:
    """The same in every process, which Python's own hash of text is not."""
    return int.from_bytes(blake2b("\0".join(words).encode(), digest_size=8).digest()) >> (64 - _HASH_BITS)


def _text(a: _Print, b: _Print, common: Sequence[int]) -> float:
    """How alike the texts are; `common`: numbers of shingles that both have."""
    return max(_overlap(len(x), len(y), n) for x, y, n in zip(a.shingles, b.shingles, common, strict=True))


def _overlap(one: int, other: int, common: int) -> float:
    shorter = min(one, other)
    if shorter < _FEW or not common:
        return 0.0
    return (common / (one + other - common) + common / shorter) / 2


def _score(a: _Print, b: _Print, text: float) -> float:
    if a.body == b.body:
        return 1.0
    added = (
        _SOURCES * _jaccard(a.sources, b.sources) + _CODES * _jaccard(a.codes, b.codes) + _NAMES * _jaccard(a.names, b.names)
    )
    return round(1 - (1 - text) * (1 - added), 4)


def _jaccard(x: frozenset[str], y: frozenset[str]) -> float:
    return 0.0 if x.isdisjoint(y) else len(x & y) / len(x | y)


def _why(a: _Print, b: _Print) -> Iterator[str]:
    if a.body == b.body:
        yield "the same text, sources and names"
        return
    if a.titles & b.titles:
        yield "the same title"
    text = _text(a, b, [len(x & y) for x, y in zip(a.shingles, b.shingles, strict=True)])
    if text >= 0.01:
        yield f"text {text:.0%} alike"
    for name, x, y in (
        ("error code", a.codes, b.codes),
        ("source", a.sources, b.sources),
        ("API or operator", a.names, b.names),
    ):
        if both := sorted(x & y):
            more = f" and {len(both) - 3} more" if len(both) > 3 else ""
            yield f"the same {name}: {', '.join(both[:3])}{more}"
