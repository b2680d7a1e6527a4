"""Finding vocabulary terms in a text: by their aliases, in two languages, the longest where several overlap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cakebook.model.terms import Term, Vocabulary
from cakebook.text import tokens

_START = re.compile(r"(?<![a-z0-9_])[a-z0-9_]|[^\sa-z0-9_]")
"""Where an alias can start: not within a Latin word."""
_VERSION = re.compile(r"\s*v?(\d+\.\d+[0-9A-Za-z.\-]*)")

Span = tuple[int, int, str]
"""Start and end in the text, and the id found there."""


@dataclass(frozen=True)
class Alias:
    """One way to write a term. `group`: its file, or `conditions/<facet>` for a value of a facet."""

    text: str
    group: str
    id: str
    chinese: bool


class AliasFinder:
    """What a text names. Ids and titles do not count, many are everyday words; aliases are chosen to be unmistakable."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.lower = lower(text)
        self.vocabulary = vocabulary
        self._found = self._all()

    def find(self, file: str) -> tuple[str, ...]:
        """Ids of the terms of a file that the text names, in order of appearance."""
        return tuple(dict.fromkeys(term_id for _, _, term_id in self.spans(file)))

    def words(self, file: str) -> frozenset[str]:
        """Search tokens of the very words by which the text names terms of a file."""
        return frozenset(w for start, end, _ in self.spans(file) for w in tokens.query_words(self.text[start:end]))

    def spans(self, file: str) -> list[Span]:
        """Where the text names terms of a file, the longest where several overlap, in order."""
        return self._found.get(file, [])

    def values(self) -> dict[str, tuple[str, ...]]:
        """Condition facets and values that the text names."""
        facets = self.vocabulary.files.get("conditions", {})
        found = {facet: self.spans(f"conditions/{facet}") for facet in facets}
        return {facet: tuple(dict.fromkeys(value for _, _, value in spans)) for facet, spans in found.items() if spans}

    def messages(self) -> list[str]:
        """Error codes whose message text occurs, in order of appearance."""
        found = []
        for code, term in self.vocabulary.files.get("error_codes", {}).items():
            places = [self.lower.find(m) for m in term.get("messages", ()) if m in self.lower]
            if places:
                found.append((min(places), code))
        return [code for _, code in sorted(found)]

    def versions(self) -> dict[str, str]:
        """Toolchain components followed by a version, as in `CANN 8.2.RC1`."""
        found: dict[str, str] = {}
        for _, end, component in self.spans("toolchain"):
            if match := _VERSION.match(self.text, end):
                found.setdefault(component, match.group(1).rstrip(".-"))
        return found

    def expansion(self) -> list[str]:
        """Titles, in both languages, of the glossary terms that the text names."""
        terms = [self.vocabulary.term("glossary", term_id) for term_id in self.find("glossary")]
        return [title for term in terms for title in (term["title"], term["title_zh"])]

    def _all(self) -> dict[str, list[Span]]:
        """Every alias of every group, found in one pass over the text."""
        spans: dict[str, list[Span]] = {}
        table, text = alias_table(self.vocabulary), self.lower
        for match in _START.finditer(text):
            at = match.start()
            for key in {text[at], text[at : at + 2]}:
                for alias in table.get(key, ()):
                    end = at + len(alias.text)
                    if text.startswith(alias.text, at) and self._stands_alone(at, end, alias):
                        spans.setdefault(alias.group, []).append((at, end, alias.id))
        return {group: _longest(found, len(text)) for group, found in spans.items()}

    def _stands_alone(self, start: int, end: int, alias: Alias) -> bool:
        """Latin letters and digits must end at a word boundary, a plural `s` allowed; Chinese has no boundaries."""
        text = self.lower
        if start > 0 and _latin(text[start]) and _latin(text[start - 1]):
            return False
        # The name of a component may have its version right behind, as in `CANN8.2.RC1`.
        if alias.group == "toolchain" and end < len(text) and text[end].isdigit() and not text[end - 1].isdigit():
            return True
        if end < len(text) and _latin(text[end - 1]) and _latin(text[end]):
            return not alias.chinese and text[end] == "s" and (end + 1 == len(text) or not _latin(text[end + 1]))
        return True


def alias_table(vocabulary: Vocabulary) -> dict[str, tuple[Alias, ...]]:
    """The aliases of a vocabulary by their first two characters, made once."""
    if "aliases" not in vocabulary.memo:
        table: dict[str, dict[Alias, None]] = {}
        for alias in _aliases(vocabulary):
            table.setdefault(alias.text[:2], {})[alias] = None
        vocabulary.memo["aliases"] = {key: tuple(found) for key, found in table.items()}
    found: dict[str, tuple[Alias, ...]] = vocabulary.memo["aliases"]
    return found


def lower(text: str) -> str:
    """`text` in lower case, character for character: what is found at a place stands at that place of the original."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _longest(spans: list[Span], length: int) -> list[Span]:
    """Spans of a text of `length` characters without those that overlap a longer one, in order."""
    kept, taken = [], bytearray(length)
    for start, end, term_id in sorted(set(spans), key=lambda s: (s[0] - s[1], s[0], s[2])):
        if taken.find(1, start, end) < 0:
            taken[start:end] = b"\1" * (end - start)
            kept.append((start, end, term_id))
    return sorted(kept)


def _aliases(vocabulary: Vocabulary) -> Iterator[Alias]:
    """Every alias; in the glossary a title is one more form of the term."""
    for file, terms in vocabulary.files.items():
        for term_id, term in terms.items():
            if file == "conditions":
                for value in term["values"]:
                    yield from _forms(value, f"{file}/{term_id}", value["id"])
            else:
                yield from _forms(term, file, term_id)
            if file == "glossary":
                for text, chinese in ((term["title"], False), (term["title_zh"], True)):
                    yield Alias(text.lower(), file, term_id, chinese)


def _forms(term: Term, group: str, term_id: str) -> Iterator[Alias]:
    for alias in term.get("aliases", ()):
        yield Alias(alias.lower(), group, term_id, False)
    for alias in term.get("aliases_zh", ()):
        yield Alias(alias.lower(), group, term_id, True)


def _latin(c: str) -> bool:
    return c.isascii() and (c.isalnum() or c == "_")
