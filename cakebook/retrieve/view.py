"""What a request reads: one opened generation, its state, and how to search it by meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from cakebook.errors import IndexMissing, StoreError
from cakebook.index.catalog import Catalog
from cakebook.model.manifest import Manifest
from cakebook.model.notes import Note
from cakebook.model.query import TIERS, Lang, Mode, Tier
from cakebook.retrieve.labels import say

if TYPE_CHECKING:
    from cakebook.index.meaning import Meaning
    from cakebook.index.vectors import Near

Trouble = tuple[str, dict[str, object]]
"""Name of a sentence and its values."""
Nearest = Callable[[int], "dict[int, Near]"]
"""Entry rows near the text, at most so many, nearest first."""


@dataclass(frozen=True)
class View:
    """`troubles`: what is wrong with every answer from it. `meaning` opens what searches by meaning, None where the index has
    no vectors; `no_vectors` then says why, unless nobody wanted any."""

    catalog: Catalog
    manifest: Manifest
    serve: Tier
    stale: frozenset[str]
    troubles: tuple[Trouble, ...] = ()
    meaning: Callable[[], Meaning] | None = None
    no_vectors: str = ""

    def degraded(self, lang: Lang) -> tuple[Note, ...]:
        """What is wrong with every answer, in `lang`."""
        return tuple(Note(name, say(name, lang, **values)) for name, values in self.troubles)

    def with_trouble(self, *troubles: Trouble) -> View:
        """The same with further troubles."""
        return replace(self, troubles=(*self.troubles, *troubles))


@dataclass(frozen=True)
class Sense:
    """How one text is searched. `nearest` is None in lexical mode; `view` knows what could not be done."""

    view: View
    nearest: Nearest | None = None
    meaning: Meaning | None = None

    @property
    def embedder(self) -> str | None:
        """Name and digest of the model, None if it was not asked."""
        return f"{self.meaning.model.id}@{self.meaning.model.digest[:12]}" if self.meaning else None

    @property
    def engine(self) -> str:
        """Who found near vectors."""
        return self.meaning.engine if self.meaning else "scan"

    def degraded(self, lang: Lang) -> tuple[Note, ...]:
        """What is wrong with the answer, in `lang`; to be asked when the search is over."""
        found = self.view.degraded(lang)
        if self.meaning and self.meaning.problem:
            found = (*found, Note("engine", say("engine", lang, reason=self.meaning.problem)))
        return found

    @property
    def mode(self) -> Literal["lexical", "hybrid"]:
        return "hybrid" if self.nearest else "lexical"


def sense(view: View, text: str, mode: Mode, identifier: bool) -> Sense:
    """Decide whether a text is searched by meaning too; `identifier`: it is only names and codes.

    Raises:
        StoreError: mode `hybrid` was asked for, and the index has no vectors or the model cannot be had.
    """
    if mode == "lexical" or not text.strip() or (mode == "auto" and identifier):
        return Sense(view)
    if view.meaning is None:
        if mode == "hybrid":
            why = f": {view.no_vectors}" if view.no_vectors else ""
            raise IndexMissing(f"the index has no vectors{why}", hint="run `cakebook sync --embedder use`")
        return Sense(view.with_trouble(("no-vectors", {"reason": view.no_vectors})) if view.no_vectors else view)
    try:
        meaning = view.meaning()
        meaning.prepare()
    except StoreError as error:
        if mode == "hybrid":
            raise
        return Sense(view.with_trouble(("no-vectors", {"reason": str(error)})))

    return Sense(view, partial(meaning.nearest, text), meaning)


def look(catalog: Catalog, manifest: Manifest, meaning: Callable[[], Meaning] | None) -> View:
    """What a generation says about itself."""
    troubles: list[Trouble] = []
    edited = [w.id for w in catalog.withheld() if w.code == "edited"]
    if edited:
        troubles.append(("edited", {"edition": manifest.edition, "ids": ", ".join(edited)}))
    if reason := catalog.meta("anchor_reason"):
        troubles.append(("no-anchor", {"reason": reason}))
    if broken := catalog.meta("trust_broken"):
        troubles.append(("trust-broken", {"reason": broken}))
    if uncovered := catalog.meta("uncovered"):
        troubles.append(("uncovered", {"files": ", ".join(uncovered)}))
    if not manifest.entries and (waiting := waiting_entries(catalog)) and not catalog.meta("anchor_reason"):
        troubles.append(("none-admitted", {"waiting": waiting}))
    serve: Tier = catalog.meta("serve") or TIERS[1]
    stale = frozenset(catalog.meta("stale") or ())
    return View(catalog, manifest, serve, stale, tuple(troubles), meaning, str(catalog.meta("no_vectors") or ""))


def waiting_entries(catalog: Catalog) -> str:
    """How many entries wait, and for what: `3 not-admitted, 1 unreadable`."""
    counts = Counter(item.code for item in catalog.withheld())
    return ", ".join(f"{n} {code}" for code, n in sorted(counts.items()))
