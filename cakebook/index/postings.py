"""What a word says for each entry: its BM25, asked of SQLite a word at a time and kept, as questions repeat their words."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence

from cakebook.index.ranking import ranking

FIELDS = ("ids", "titles", "symptoms", "descriptions", "conditions", "sections")
KEPT = 200_000
"""Scores that are kept: some twenty megabytes."""
_ABOUT = f"{{{' '.join(FIELDS[:-1])}}} : "


class Postings:
    """Weighted BM25 over the table `lexical` of a catalog. BM25 of several words is the sum of that of each."""

    def __init__(self, rows: Callable[[str, Sequence[str]], Iterable[tuple[int, float]]]) -> None:
        """`rows` runs a query with its values."""
        self._rows = rows
        self._known: dict[tuple[str, bool], dict[int, float]] = {}
        self._kept = 0

    def best(self, words: Sequence[str], limit: int, subjects: Collection[str] = ()) -> dict[int, float]:
        """The best `limit` rows that hold any of `words`, of equal ones the first; higher is better.

        `subjects`: words that count only where an entry says what it is about, not in the prose of its sections.
        """
        totals: dict[int, float] = {}
        for word in words:
            scores = self._scores(word, word in subjects)
            if not totals:
                totals = scores.copy()
                continue
            for row, score in scores.items():
                totals[row] = totals.get(row, 0.0) + score
        if len(totals) <= limit:  # sorting would take longer than all the rest
            return totals
        best = heapq.nlargest(limit, zip(totals.values(), map(int.__neg__, totals), strict=True))
        return {-row: score for score, row in best}

    def _scores(self, word: str, about: bool) -> dict[int, float]:
        found = self._known.get((word, about))
        if found is None:
            weights = ", ".join(str(float(ranking()["fields"][f])) for f in FIELDS)
            sql = f"SELECT rowid, -bm25(lexical, {weights}) FROM lexical WHERE lexical MATCH ?"
            found = dict(self._rows(sql, (f'{_ABOUT if about else ""}"{word}"',)))
            if self._kept + len(found) > KEPT:
                self._known.clear()
                self._kept = 0
            self._known[word, about] = found
            self._kept += len(found)
        return found
