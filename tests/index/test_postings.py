"""BM25 of one word at a time adds up to that of all words in one query."""

import sqlite3
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook.index import postings
from cakebook.index.postings import FIELDS, Postings
from cakebook.index.ranking import ranking

WORDS = ("tile", "copy", "切分", "vector", "double", "507035")
WEIGHTS = ", ".join(str(float(ranking()["fields"][f])) for f in FIELDS)
SQL = f"SELECT rowid, -bm25(lexical, {WEIGHTS}) FROM lexical WHERE lexical MATCH ?"
documents = st.lists(st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=6, max_size=6), min_size=1, max_size=12)


def database(texts):
    db = sqlite3.connect(":memory:")
    db.execute(f"CREATE VIRTUAL TABLE lexical USING fts5({', '.join(FIELDS)})")
    marks = ", ".join("?" * len(FIELDS))
    db.executemany(f"INSERT INTO lexical VALUES ({marks})", [[" ".join(field) for field in text] for text in texts])
    return db


@settings(deadline=None, max_examples=200)
@given(
    texts=documents,
    words=st.lists(st.sampled_from(WORDS), max_size=5),
    subjects=st.frozensets(st.sampled_from(WORDS), max_size=2),
    limit=st.integers(1, 14),
)
def test_words_asked_one_by_one_score_as_in_one_query(texts, words, subjects, limit):
    db = database(texts)
    about = f"{{{' '.join(FIELDS[:-1])}}} : "
    query = " OR ".join(f'{about if word in subjects else ""}"{word}"' for word in words)
    wanted = dict(db.execute(SQL, (query,))) if words else {}
    asked = Postings(db.execute)
    for _ in range(2):  # from SQLite, then from memory
        found = asked.best(words, limit, subjects)
        assert found == pytest.approx({row: wanted[row] for row in found}) and len(found) == min(limit, len(wanted))
        left = [score for row, score in wanted.items() if row not in found]
        assert max(left, default=-1.0) <= min(found.values(), default=0.0) + 1e-9


def test_of_equal_rows_the_first_are_taken():
    asked = Postings(database([[["tile"]] * 6] * 9).execute)
    assert list(asked.best(["tile", "copy"], 4)) == [1, 2, 3, 4]


def test_a_word_is_asked_once_and_forgotten_when_there_are_too_many(monkeypatch):
    texts = [[["tile"]] * 6, [["copy"]] * 6, [["tile", "copy"]] * 6]
    db, asked = database(texts), Counter()

    def rows(sql, values):
        asked[values] += 1
        return db.execute(sql, values)

    kept = Postings(rows)
    for _ in range(3):
        kept.best(["tile", "copy"], 5)
    assert set(asked.values()) == {1}
    monkeypatch.setattr(postings, "KEPT", 3)
    forgetful = Postings(rows)
    first = [forgetful.best(["tile", "copy"], 5) for _ in range(3)]
    assert min(asked.values()) > 2 and first == [kept.best(["tile", "copy"], 5)] * 3


def test_what_is_given_out_is_not_what_is_kept():
    asked = Postings(database([[["tile"]] * 6]).execute)
    asked.best(["tile"], 5).clear()
    assert list(asked.best(["tile"], 5)) == [1]
