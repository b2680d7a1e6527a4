"""Finding vocabulary terms in a text: by their aliases, in two languages, the longest where several overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from cakebook.model.terms import Term, Vocabulary
from cakebook.text import tokens

_VERSION = re.compile(r"\s*v?(\d+\.\d+[0-9A-Za-z.\-]*)")

Alias = tuple[str, str, bool]
"""Text, id of the term, and whether it is Chinese."""
Span = tuple[int, int, str]
"""Start and end in the text, and the id found there."""


class AliasFinder:
    """What a text names. Ids and titles do not count, many are everyday words; aliases are chosen to be unmistakable."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.lower = text.lower()
        self.vocabulary = vocabulary
        self._found: dict[str, list[Span]] = {}

    def find(self, file: str) -> tuple[str, ...]:
        """Ids of the terms of a file that the text names, in order of appearance."""
        return tuple(dict.fromkeys(term_id for _, _, term_id in self.spans(file)))

    def words(self, file: str) -> frozenset[str]:
        """Search tokens of the very words by which the text names terms of a file."""
        return frozenset(w for start, end, _ in self.spans(file) for w in tokens.query_words(self.text[start:end]))

    def spans(self, file: str) -> list[Span]:
        """Where the text names terms of a file."""
        if file not in self._found:
            terms = self.vocabulary.files.get(file, {}).items()
            found = [alias for term_id, term in terms for alias in _aliases(term_id, term)]
            if file == "glossary":  # there a title is one more form of the term
                found += [(t["title"], i, False) for i, t in terms] + [(t["title_zh"], i, True) for i, t in terms]
            self._found[file] = self._longest(found, version_follows=file == "toolchain")
        return self._found[file]

    def values(self) -> dict[str, tuple[str, ...]]:
        """Condition facets and values that the text names."""
        found: dict[str, tuple[str, ...]] = {}
        for facet, term in self.vocabulary.files.get("conditions", {}).items():
            spans = self._longest(alias for value in term["values"] for alias in _aliases(value["id"], value))
            if spans:
                found[facet] = tuple(dict.fromkeys(value for _, _, value in spans))
        return found

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

    def _longest(self, aliases: Iterable[Alias], version_follows: bool = False) -> list[Span]:
        """Every place of every alias, without those that overlap a longer one, in order.

        `version_follows`: a digit may stand right behind, as in `CANN8.2.RC1`.
        """
        spans: list[Span] = []
        for alias, term_id, chinese in aliases:
            needle = alias.lower()
            at = self.lower.find(needle)
            while at >= 0:
                end = at + len(needle)
                if self._stands_alone(at, end, chinese, version_follows):
                    spans.append((at, end, term_id))
                at = self.lower.find(needle, end)
        spans.sort(key=lambda s: (s[0] - s[1], s[0], s[2]))
        taken: list[Span] = []
        for span in spans:
            if all(span[1] <= t[0] or span[0] >= t[1] for t in taken):
                taken.append(span)
        return sorted(taken)

    def _stands_alone(self, start: int, end: int, chinese: bool, version_follows: bool) -> bool:
        """Latin letters and digits must end at a word boundary, a plural `s` allowed; Chinese has no boundaries."""
        text = self.lower
        if start > 0 and _latin(text[start]) and _latin(text[start - 1]):
            return False
        if version_follows and end < len(text) and text[end].isdigit() and not text[end - 1].isdigit():
            return True
        if end < len(text) and _latin(text[end - 1]) and _latin(text[end]):
            return not chinese and text[end] == "s" and (end + 1 == len(text) or not _latin(text[end + 1]))
        return True


def _aliases(term_id: str, term: Term) -> Iterator[Alias]:
    """Aliases of a term."""
    for alias in term.get("aliases", ()):
        yield alias, term_id, False
    for alias in term.get("aliases_zh", ()):
        yield alias, term_id, True


def _latin(c: str) -> bool:
    return c.isascii() and (c.isalnum() or c == "_")
