"""The catalog of a generation: one SQLite file with cards, an FTS5 table of our own tokens, sections and exact names."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from cakebook.errors import IndexCorrupt
from cakebook.index.postings import FIELDS, Postings
from cakebook.model.terms import Vocabulary
from cakebook.text import tokens

if TYPE_CHECKING:
    from cakebook.index.chunks import Chunks

SCHEMA = "cakebook-catalog-3"
KEPT = 256
"""Entries whose sections and words, and sets of words whose matches, are kept in memory once they have been read."""
_TOKENS = "tokenize = \"unicode61 remove_diacritics 0 tokenchars '_:.-+/#&'\""
_CREATE = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
    rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE, state TEXT NOT NULL, card TEXT NOT NULL,
    sum INTEGER NOT NULL
);
CREATE TABLE sections (
    entry INTEGER NOT NULL, position INTEGER NOT NULL, title TEXT NOT NULL, source TEXT NOT NULL, prose TEXT NOT NULL,
    words TEXT NOT NULL,
    PRIMARY KEY (entry, position)
) WITHOUT ROWID;
CREATE TABLE passages (
    entry INTEGER NOT NULL, position INTEGER NOT NULL, part TEXT NOT NULL, digest TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (entry, position)
) WITHOUT ROWID;
CREATE TABLE names (
    name TEXT NOT NULL, kind TEXT NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (name, kind, entry)
) WITHOUT ROWID;
CREATE INDEX names_entry ON names (entry);
CREATE TABLE withheld (
    path TEXT PRIMARY KEY, id TEXT NOT NULL, state TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE lexicon (word TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE lexical USING fts5({", ".join(FIELDS)}, {_TOKENS});
CREATE VIRTUAL TABLE terms USING fts5vocab(lexical, 'row');
"""


_SENTENCE = r"(?<=[.!?])\s+|(?<=[。！？；])\s*"
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged file raises: its damaged names may stand in SQLite's own message."""
_PASSAGES = "passages p JOIN entries e ON e.rowid = p.entry ORDER BY e.id, p.position"


@dataclass(frozen=True)
class Section:
    """One section of an entry: canonical title, Markdown as written, prose without code, search tokens of the prose."""

    title: str
    source: str
    prose: str
    words: frozenset[str]

    @cached_property
    def sentences(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """The sentences of the prose, each with its search tokens."""
        return tuple((s, frozenset(tokens.words(s))) for s in re.split(_SENTENCE, self.prose) if s)


@dataclass(frozen=True)
class WithheldEntry:
    """An entry that the gate does not admit."""

    id: str
    path: str
    code: str
    reason: str


class CatalogWriter:
    """Writes the catalog of a generation under construction."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        # The file is new and nobody reads it before it is complete: no journal is needed to protect it.
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        if fresh:
            self._db.executescript(_CREATE)
        self._db.execute("BEGIN")

    def known(self) -> dict[str, tuple[str, str, str]]:
        """Path → (what its state was, id, code of the reason if withheld) of everything in the catalog."""
        rows = self._db.execute("SELECT path, state, id, '' FROM entries UNION ALL SELECT path, state, id, code FROM withheld")
        return {path: (sha, entry_id, code) for path, sha, entry_id, code in rows}

    def remove(self, path: str) -> None:
        """Forget the entry at `path`."""
        self._db.execute("DELETE FROM withheld WHERE path = ?", (path,))
        for (rowid,) in self._db.execute("SELECT rowid FROM entries WHERE path = ?", (path,)).fetchall():
            for table in ("sections", "passages", "names"):
                self._db.execute(f"DELETE FROM {table} WHERE entry = ?", (rowid,))
            for table in ("entries", "lexical"):
                self._db.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))

    def add(self, chunks: Chunks) -> None:
        """Write an admitted entry."""
        cursor = self._db.execute(
            "INSERT INTO entries (id, path, state, card, sum) VALUES (?, ?, ?, ?, ?)",
            (chunks.id, chunks.path, chunks.state, chunks.card, _sum(chunks.card)),
        )
        row = cursor.lastrowid
        marks = ", ".join("?" * (len(FIELDS) + 1))
        self._db.execute(
            f"INSERT INTO lexical (rowid, {', '.join(FIELDS)}) VALUES ({marks})", (row, *(chunks.fields[f] for f in FIELDS))
        )
        self._db.executemany(
            "INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?)", [(row, i, *section) for i, section in enumerate(chunks.sections)]
        )
        self._db.executemany(
            "INSERT INTO passages VALUES (?, ?, ?, ?, ?)",
            [(row, i, p.part, p.digest, p.text) for i, p in enumerate(chunks.passages)],
        )
        self._db.executemany("INSERT INTO names VALUES (?, ?, ?)", [(name, kind, row) for kind, name in chunks.names])

    def passage_digests(self) -> list[str]:
        """Text digests of all passages, in the order of the rows of the matrix: by id of the entry, then by position."""
        return [digest for (digest,) in self._db.execute(f"SELECT p.digest FROM {_PASSAGES}")]

    def passage_ids(self) -> list[str]:
        """`<entry id>#<position>` of all passages, in the same order."""
        return _passage_ids(self._db)

    def passage_texts(self) -> Iterator[tuple[str, str]]:
        """(digest, text) of every passage, in the order of the rows of the matrix."""
        yield from self._db.execute(f"SELECT p.digest, p.text FROM {_PASSAGES}")

    def withhold(self, item: WithheldEntry, state: str) -> None:
        """Record an entry that is not admitted: its id and the reason, none of its text."""
        self._db.execute("INSERT INTO withheld VALUES (?, ?, ?, ?, ?)", (item.path, item.id, state, item.code, item.reason))

    def set_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Store the vocabulary, and the search tokens of all its labels and aliases: the words of the field."""
        self.set_meta("vocabulary", vocabulary.files)
        self._db.execute("DELETE FROM lexicon")
        found = {w for text in vocabulary.texts() for w in tokens.query_words(text)}
        self._db.executemany("INSERT INTO lexicon VALUES (?)", [(word,) for word in sorted(found)])

    def cards(self) -> list[dict[str, Any]]:
        """All cards, by id."""
        return [json.loads(card) for (card,) in self._db.execute("SELECT card FROM entries ORDER BY id")]

    def withheld(self) -> list[WithheldEntry]:
        """All entries that are not admitted, by id."""
        return _withheld(self._db)

    def set_meta(self, key: str, value: Any) -> None:
        """Store a JSON value."""
        text = json.dumps(value, ensure_ascii=False)
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, text, _sum(text)))

    def meta(self, key: str) -> Any:
        """A stored JSON value, None if there is none."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return json.loads(row[0]) if row else None

    def close(self) -> None:
        """Commit."""
        self._db.execute("COMMIT")
        self._db.close()

    def abandon(self) -> None:
        """Close without committing."""
        self._db.close()


class Catalog:
    """Reads the catalog of a complete generation. Immutable: SQLite takes no locks and writes nothing beside the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._cards: dict[int, dict[str, Any]] = {}
        self._size: int | None = None
        self._known: dict[str, tuple[int, bool]] = {}
        self._words: dict[int, frozenset[str]] = {}
        self._sections: dict[int, tuple[Section, ...]] = {}
        self._vocabulary: Vocabulary | None = None
        # Questions differ; the operators and bottlenecks that they name, and the other names of these, come again.
        self._matched = lru_cache(KEPT)(Postings(self._rows).best)
        self._declared = lru_cache(KEPT)(self._declaring)
        try:
            uri = path.absolute().as_uri() + "?mode=ro&immutable=1"
            self._db = sqlite3.connect(uri, uri=True, check_same_thread=False)
            self._db.execute("SELECT count(*) FROM meta")
        except _DAMAGE as error:
            raise self._corrupt(error) from None

    def close(self) -> None:
        self._db.close()

    def _corrupt(self, error: Exception) -> IndexCorrupt:
        return IndexCorrupt(f"{self.path.name}: {error}", hint="run `cakebook sync --rebuild`")

    def _sealed(self, text: str, check: int) -> Any:
        """A stored JSON value: a large catalog is not hashed when it is opened, so what is parsed is checked by itself."""
        if _sum(text) != check:
            raise self._corrupt(ValueError("a stored value does not match its sum"))
        return json.loads(text)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, values).fetchall()
        except _DAMAGE as error:
            raise self._corrupt(error) from None

    def meta(self, key: str) -> Any:
        """A stored JSON value, None if there is none."""
        rows = self._rows("SELECT value, sum FROM meta WHERE key = ?", (key,))
        return self._sealed(*rows[0]) if rows else None

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that the generation was built with."""
        if self._vocabulary is None:
            self._vocabulary = Vocabulary(self.meta("vocabulary") or {})
        return self._vocabulary

    def size(self) -> int:
        """Admitted entries."""
        if self._size is None:
            self._size = int(self._rows("SELECT count(*) FROM entries")[0][0])
        return self._size

    def rows(self) -> list[int]:
        """Row numbers of all entries, by id."""
        return [row for (row,) in self._rows("SELECT rowid FROM entries ORDER BY id")]

    def cards(self, rows: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Cards by row number; each is parsed once per process."""
        wanted = list(rows)
        new = [row for row in wanted if row not in self._cards]
        for at in range(0, len(new), 500):
            part = new[at : at + 500]
            marks = ", ".join("?" * len(part))
            for row, card, check in self._rows(f"SELECT rowid, card, sum FROM entries WHERE rowid IN ({marks})", part):
                self._cards[row] = self._sealed(card, check)
        return {row: self._cards[row] for row in wanted if row in self._cards}

    def row_of(self, entry_id: str) -> int | None:
        """The row of an entry, None if it is not admitted."""
        rows = self._rows("SELECT rowid FROM entries WHERE id = ?", (entry_id,))
        return int(rows[0][0]) if rows else None

    def ids(self) -> list[str]:
        """Ids of all admitted entries."""
        return [row[0] for row in self._rows("SELECT id FROM entries ORDER BY id")]

    def sections(self, row: int) -> tuple[Section, ...]:
        """The sections of an entry, in order."""
        if row not in self._sections:
            sql = "SELECT title, source, prose, words FROM sections WHERE entry = ? ORDER BY position"
            found = tuple(
                Section(title, source, prose, frozenset(words.split()))
                for title, source, prose, words in self._rows(sql, (row,))
            )
            if len(self._sections) >= KEPT:
                self._sections.clear()
            self._sections[row] = found
        return self._sections[row]

    def passages(self) -> tuple[list[int], list[str]]:
        """Entry rows and parts of all passages, in the order of the rows of the matrix."""
        found = self._rows(f"SELECT p.entry, p.part FROM {_PASSAGES}")
        return [entry for entry, _ in found], [part for _, part in found]

    def passage_digests(self) -> list[str]:
        """Text digests of all passages, in the order of the rows of the matrix."""
        return [digest for (digest,) in self._rows(f"SELECT p.digest FROM {_PASSAGES}")]

    def passage_ids(self) -> list[str]:
        """`<entry id>#<position>` of all passages, in the order of the rows of the matrix."""
        try:
            return _passage_ids(self._db)
        except _DAMAGE as error:
            raise self._corrupt(error) from None

    def withheld(self) -> list[WithheldEntry]:
        """Entries that the gate does not admit, by id."""
        try:
            return _withheld(self._db)
        except _DAMAGE as error:
            raise self._corrupt(error) from None

    def match(self, words: Sequence[str], limit: int, subjects: Collection[str] = ()) -> Mapping[int, float]:
        """Rows that hold any of `words`, with their weighted BM25 (higher is better); the best `limit` of them.

        `subjects`: words that count only where an entry says what it is about, not in the prose of its sections.
        """
        return self._matched(tuple(self._telling(words)), limit, frozenset(subjects))

    def _telling(self, words: Sequence[str]) -> list[str]:
        """Words that some entry holds, without those that more than half of them hold: BM25 gives these no weight."""
        frequencies = self.frequencies(words)
        held = [word for word in words if word in frequencies]
        return [word for word in held if frequencies[word] <= self.size() / 2] or held

    def frequencies(self, words: Sequence[str]) -> dict[str, int]:
        """Number of entries that hold each word; words that none holds are absent."""
        return {word: n for word, (n, _) in self._about(words).items() if n}

    def of_the_field(self, words: Sequence[str]) -> frozenset[str]:
        """Those of `words` that occur in the vocabulary, whether or not an entry uses them."""
        return frozenset(word for word, (_, known) in self._about(words).items() if known)

    def _about(self, words: Sequence[str]) -> dict[str, tuple[int, bool]]:
        """Word → number of entries that hold it, and whether the vocabulary does; kept, as questions repeat their words."""
        found = {word: self._known[word] for word in words if word in self._known}
        new = [word for word in words if word not in found]
        if new:
            marks = ", ".join("?" * len(new))
            counts = dict(self._rows(f"SELECT term, doc FROM terms WHERE term IN ({marks})", [w.lower() for w in new]))
            field = {word for (word,) in self._rows(f"SELECT word FROM lexicon WHERE word IN ({marks})", new)}
            fresh = {word: (counts.get(word.lower(), 0), word in field) for word in new}
            if len(self._known) >= 100 * KEPT:
                self._known.clear()
            self._known |= fresh
            found |= fresh
        return found

    def words_of(self, row: int) -> frozenset[str]:
        """All search tokens of an entry."""
        if row not in self._words:
            rows = self._rows(f"SELECT {' || char(32) || '.join(FIELDS)} FROM lexical WHERE rowid = ?", (row,))
            if len(self._words) >= KEPT:
                self._words.clear()
            self._words[row] = frozenset(rows[0][0].split()) if rows else frozenset()
        return self._words[row]

    def named(self, names: Sequence[str]) -> list[tuple[str, str, int]]:
        """(name, kind, row) for every entry that carries one of `names` (case-folded) as id, API or error code."""
        if not names:
            return []
        marks = ", ".join("?" * len(names))
        return [
            tuple(r)
            for r in self._rows(f"SELECT name, kind, entry FROM names WHERE name IN ({marks}) AND kind != 'facet'", list(names))
        ]

    def declaring(self, terms: Sequence[str], limit: int) -> Sequence[int]:
        """Rows that declare one of `terms` as operator or bottleneck, those that declare most of them first."""
        return self._declared(tuple(terms), limit) if terms else ()

    def _declaring(self, terms: tuple[str, ...], limit: int) -> tuple[int, ...]:
        marks = ", ".join("?" * len(terms))
        where = f"kind = 'facet' AND name IN ({marks})"
        sql = f"SELECT entry FROM names WHERE {where} GROUP BY entry ORDER BY count(*) DESC, entry LIMIT ?"
        return tuple(row for (row,) in self._rows(sql, [*terms, limit]))


def _sum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _withheld(db: sqlite3.Connection) -> list[WithheldEntry]:
    return [WithheldEntry(*row) for row in db.execute("SELECT id, path, code, reason FROM withheld ORDER BY id, path")]


def _passage_ids(db: sqlite3.Connection) -> list[str]:
    return [f"{entry}#{position}" for entry, position in db.execute(f"SELECT e.id, p.position FROM {_PASSAGES}")]
