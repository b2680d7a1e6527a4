"""Understanding a question without a model: the vocabulary's own words, found in the text in two languages."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from cakebook.index.catalog import Catalog
from cakebook.model.query import Lang
from cakebook.model.terms import Vocabulary
from cakebook.text import tokens

QueryClass = Literal["identifier", "en", "zh", "mixed", "facets"]
_VERSION = re.compile(r"\s*v?(\d+\.\d+[0-9A-Za-z.\-]*)")
_WORD = re.compile(r"[A-Za-z0-9_]+(?:(?:::|[.\-])[A-Za-z0-9_]+)*")


@dataclass(frozen=True)
class Reading:
    """What a text says, in terms of the vocabulary and of the names in the index.

    `exact`: rows → the API, code or id that the text names in full. `expansion`: search tokens that the glossary adds.
    """

    lang: Lang
    query_class: QueryClass
    words: tuple[str, ...]
    expansion: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    dsls: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    stages: tuple[str, ...] = ()
    bottlenecks: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    error_codes: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    conditions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    toolchain: dict[str, str] = field(default_factory=dict)
    exact: dict[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def facet_count(self) -> int:
        """Number of things recognised; counts towards confidence."""
        lists = (self.targets, self.dsls, self.operators, self.bottlenecks, self.error_codes, self.apis, tuple(self.conditions))
        return sum(map(len, lists))


def understand(text: str, catalog: Catalog, lang: Lang | None = None) -> Reading:
    """Read `text`. `lang` overrides the language that the text is written in."""
    if not text.strip():
        return Reading(lang or "en", "facets", ())
    vocabulary = catalog.vocabulary
    finder = _Finder(text, vocabulary)
    codes = tuple(dict.fromkeys([*finder.messages(), *finder.find("error_codes")]))
    exact, apis, named_codes = _exact(text, codes, catalog)
    targets = finder.find("targets")
    expansion = finder.expansion()
    words = tuple(tokens.query_words(text))
    known = frozenset(words)
    return Reading(
        lang=lang or ("zh" if tokens.has_cjk(text) else "en"),
        query_class=_class(text, words, bool(exact), bool(codes)),
        words=words,
        expansion=tuple(w for w in dict.fromkeys(w for t in expansion for w in tokens.query_words(t)) if w not in known),
        targets=tuple(dict.fromkeys(t for name in targets for t in vocabulary.expand_target(name))),
        dsls=finder.find("dsls"),
        operators=finder.find("operators"),
        stages=finder.find("stages"),
        bottlenecks=finder.find("bottlenecks"),
        dtypes=finder.values().get("dtype", ()),
        error_codes=tuple(dict.fromkeys([*codes, *named_codes])),
        apis=apis,
        conditions=finder.values(),
        toolchain=finder.versions(),
        exact=exact,
    )


class _Finder:
    """Aliases of vocabulary terms in a text, the longest where several overlap."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.lower = text.lower()
        self.vocabulary = vocabulary

    def find(self, file: str) -> tuple[str, ...]:
        """Ids of the terms of a file that the text names, in order of appearance."""
        aliases = []
        for term_id, term in self.vocabulary.files.get(file, {}).items():
            # Ids and titles are for people who know them; many are everyday words. Aliases are chosen to be unmistakable.
            titles = (term["title"], term["title_zh"]) if file == "glossary" else ("", "")
            aliases += [(n, term_id, False) for n in (titles[0], *term.get("aliases", ()))]
            aliases += [(n, term_id, True) for n in (titles[1], *term.get("aliases_zh", ()))]
        return tuple(dict.fromkeys(term_id for _, term_id in self._longest(aliases)))

    def values(self) -> dict[str, tuple[str, ...]]:
        """Condition facets and values that the text names."""
        found: dict[str, tuple[str, ...]] = {}
        for facet, term in self.vocabulary.files.get("conditions", {}).items():
            aliases = []
            for value in term["values"]:
                aliases += [(n, value["id"], False) for n in value.get("aliases", ())]
                aliases += [(n, value["id"], True) for n in value.get("aliases_zh", ())]
            if hits := tuple(dict.fromkeys(v for _, v in self._longest(aliases))):
                found[facet] = hits
        return found

    def messages(self) -> list[str]:
        """Error codes whose message text occurs."""
        found = []
        for code, term in self.vocabulary.files.get("error_codes", {}).items():
            places = [self.lower.find(m) for m in term.get("messages", ()) if m in self.lower]
            if places:
                found.append((min(places), code))
        return [code for _, code in sorted(found)]

    def versions(self) -> dict[str, str]:
        """Toolchain components followed by a version, as in `CANN 8.2.RC1`."""
        found: dict[str, str] = {}
        for component, term in self.vocabulary.files.get("toolchain", {}).items():
            for end, _ in self._longest([(n, component, False) for n in term.get("aliases", ())]):
                if match := _VERSION.match(self.text, end):
                    found.setdefault(component, match.group(1).rstrip(".-"))
        return found

    def expansion(self) -> list[str]:
        """Other forms of the glossary terms that the text names, most of all those in the other language."""
        forms: list[str] = []
        for term_id in self.find("glossary"):
            term = self.vocabulary.term("glossary", term_id)
            forms += [term["title"], term["title_zh"]]
        return forms

    def _longest(self, aliases: list[tuple[str, str, bool]]) -> list[tuple[int, str]]:
        spans: list[tuple[int, int, str]] = []
        for alias, term_id, inside in aliases:
            needle = alias.lower()
            at = self.lower.find(needle) if needle else -1
            while at >= 0:
                end = at + len(needle)
                if self._stands_alone(at, end, inside):
                    spans.append((at, end, term_id))
                    break
                at = self.lower.find(needle, at + 1)
        spans.sort(key=lambda s: (s[0] - s[1], s[0], s[2]))
        taken: list[tuple[int, int, str]] = []
        for span in spans:
            if all(span[1] <= t[0] or span[0] >= t[1] for t in taken):
                taken.append(span)
        return [(end, term_id) for _, end, term_id in sorted(taken)]

    def _stands_alone(self, start: int, end: int, inside: bool) -> bool:
        """Latin letters and digits must end at a word boundary; Chinese has none."""

        def latin(c: str) -> bool:
            return c.isascii() and (c.isalnum() or c == "_")

        if start > 0 and latin(self.lower[start]) and latin(self.lower[start - 1]):
            return False
        if end < len(self.lower) and latin(self.lower[end - 1]) and latin(self.lower[end]):
            rest = self.lower[end:]  # plural of an English word
            return not inside and rest[0] == "s" and (len(rest) == 1 or not latin(rest[1]))
        return True


def _exact(
    text: str, codes: tuple[str, ...], catalog: Catalog
) -> tuple[dict[int, tuple[str, ...]], tuple[str, ...], tuple[str, ...]]:
    """Rows named in full by the text; the APIs and the codes that did it."""
    written = [m.group() for m in _WORD.finditer(text[:4000])]
    alone = len(written) == 1 and len(text.split()) == 1
    candidates = {
        w.casefold(): w for w in written if alone or tokens.is_identifier(w) or (w.isdigit() and len(w) >= 5) or "-" in w
    }
    names = [*candidates, *(c.casefold() for c in codes)]
    exact: dict[int, list[str]] = {}
    apis: dict[str, None] = {}
    found_codes: dict[str, None] = {}
    for name, kind, row in sorted(catalog.named(names[:200])):
        exact.setdefault(row, []).append(name)
        if kind == "api":
            apis[candidates.get(name, name)] = None
        elif kind == "code":
            found_codes[name] = None
    return {row: tuple(found) for row, found in exact.items()}, tuple(apis), tuple(found_codes)


def _class(text: str, words: tuple[str, ...], exact: bool, error: bool) -> QueryClass:
    plain = [w for w in words if not tokens.has_cjk(w)]
    if tokens.has_cjk(text):
        return "mixed" if len(plain) > 2 else "zh"
    written = text.split()
    if exact and (error or len(written) <= 2 or sum(map(tokens.is_identifier, written)) * 2 >= len(written)):
        return "identifier"
    return "en"
