"""What of an entry is embedded: a few short passages, each of which says by itself what it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from cakebook.model.entry import Entry
from cakebook.model.terms import Vocabulary
from cakebook.repo.entries import EntryFile
from cakebook.text import tokens

SYMPTOMS = 4
"""Symptoms per language that are embedded."""
PASSAGES = 16
"""Passages of an entry at most."""
NOT_PROSE = frozenset({"Summary", "摘要", "Check", "Sources"})
"""Sections that are part of the head, or not prose."""
CHINESE = 0.2
"""Share of CJK characters from which a section counts as Chinese."""


@dataclass(frozen=True)
class Passage:
    """`part`: `head-en`, `head-zh`, `symptom-en`, `symptom-zh`, or the title of a section."""

    part: str
    text: str

    @property
    def digest(self) -> str:
        """sha256 of the text, in hex: the key of its vector."""
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


def passages(file: EntryFile, entry: Entry, vocabulary: Vocabulary) -> tuple[Passage, ...]:
    """At most `PASSAGES` of an entry: heads, symptoms, then sections in their order. Code and tables are left out.

    Each starts with the title and `dsl · kind`, in its own language: a symptom alone could be anybody's.
    """
    found = list(_all(file, entry, vocabulary))
    return tuple(found[:PASSAGES])


def _all(file: EntryFile, entry: Entry, vocabulary: Vocabulary) -> Iterator[Passage]:
    prose = {s.title: s.prose for s in reversed(file.document.sections)}
    for lang, summary, title, description in (
        ("en", prose.get("Summary", ""), entry.title, entry.description),
        ("zh", prose.get("摘要", ""), entry.title_zh, entry.description_zh),
    ):
        if any(text.strip() for text in (title, description, summary)):
            yield Passage(f"head-{lang}", _join(_about(entry, vocabulary, lang), description, summary))
    for lang, symptoms in (("en", entry.symptoms), ("zh", entry.symptoms_zh)):
        for symptom in symptoms[:SYMPTOMS]:
            yield Passage(f"symptom-{lang}", _join(_about(entry, vocabulary, lang), symptom))
    for section in file.document.sections:
        if section.title not in NOT_PROSE and section.prose.strip():
            characters = [c for c in section.prose if not c.isspace()]
            chinese = sum(map(tokens.has_cjk, characters)) > CHINESE * len(characters)
            yield Passage(section.title, _join(_about(entry, vocabulary, "zh" if chinese else "en"), section.prose))


def _about(entry: Entry, vocabulary: Vocabulary, lang: str) -> str:
    """The title and the scope, in `lang` if there is a title in it."""
    title = (entry.title_zh or entry.title) if lang == "zh" else (entry.title or entry.title_zh)
    dsl = ", ".join(vocabulary.label("dsls", d, lang) for d in entry.dsl if d != "any")
    kind = vocabulary.label("kinds", entry.kind, lang) if entry.kind else ""
    return _join(title, " · ".join(part for part in (dsl, kind) if part))


def _join(*parts: str) -> str:
    return "\n".join(" ".join(part.split()) for part in parts if part.strip())
