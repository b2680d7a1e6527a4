"""Asking a book: search, packs, single entries, its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cakebook.errors import NoSuchEntry
from cakebook.model.query import DEFAULT_BUDGET, Facets, Note, SearchRequest, SearchResult
from cakebook.retrieve import request as requests
from cakebook.retrieve.labels import say
from cakebook.retrieve.view import View
from cakebook.service.base import Base, nearest_id

if TYPE_CHECKING:
    from cakebook.index.catalog import WithheldEntry
    from cakebook.model.pack import Pack


@dataclass(frozen=True)
class Status:
    """The state of a book and its index. `fresh`: the index was built from the files as they are now."""

    root: str
    book: str
    generation: str
    commit: str | None
    dirty: bool
    edition: int | None
    entries: int
    withheld: tuple[WithheldEntry, ...]
    built_at: str
    fresh: bool
    pinned: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """An entry as `show` gives it: its card, its text at a level, and the gate's reasons."""

    card: dict[str, Any]
    text: str
    why: tuple[Note, ...]
    degraded: tuple[Note, ...]


class Asking(Base):
    """The methods that read the index."""

    def search(
        self,
        text: str = "",
        *,
        limit: int = 8,
        lang: str = "auto",
        explain: bool = False,
        mode: str = "auto",
        **facets: Any,
    ) -> SearchResult:
        """Entries that answer `text`, best first.

        `mode`: `lexical` counts words and names alone, `hybrid` meaning too, `auto` decides by the text and by what is there.
        Facets: `dsl, target, kind, operator, stage, bottleneck, dtype` (a name or several), `layout`, `when` (facet →
        value), `toolchain` (component → version), `cann`, `shapes`, `exclude`, `strict_scope`, `tier`.

        Raises:
            UsageError: a value is wrong. StoreError: there is no usable index (`sync` builds one).
        """
        from cakebook.retrieve.search import search

        view = self._view()
        text = requests.check_text("the query", text)
        given = self._facets(view, facets)
        requests.require_something(text, given)
        language: Any = requests.check_lang(lang)
        how: Any = requests.check_mode(mode)
        return search(view, SearchRequest(text, given, requests.check_limit(limit), language, explain, how))

    def context(
        self,
        *,
        stage: str = "",
        task: str = "",
        error_text: str = "",
        applied: str | Sequence[str] = (),
        budget_tokens: int = DEFAULT_BUDGET,
        lang: str = "auto",
        mode: str = "auto",
        **facets: Any,
    ) -> Pack:
        """A cited pack within `budget_tokens` for a generator. Facets as for `search`; `stage` is draft, evolve or debug.

        Raises:
            UsageError: a value is wrong. StoreError: there is no usable index (`sync` builds one).
        """
        from cakebook.model.pack import ContextRequest
        from cakebook.retrieve.context import context

        view = self._view()
        task, error_text = requests.check_text("the task", task), requests.check_text("the error text", error_text)
        given = self._facets(view, facets)
        requests.require_something(task + error_text, given)
        language: Any = requests.check_lang(lang)
        if stage:
            stage = requests.resolve(view.catalog.vocabulary, "stages", "stage", stage)[0]
        names = (applied,) if isinstance(applied, str) else tuple(applied)
        how: Any = requests.check_mode(mode)
        return context(view, ContextRequest(given, stage, task, error_text, names, budget_tokens, language, mode=how))

    def show(self, entry_id: str, *, level: str = "full", lang: str = "auto") -> Shown:
        """One entry, at a level of packs (`title`, `summary`, `pattern`, `full`) or `source`, every section as written.

        Raises:
            NoSuchEntry: no served entry has this id; if the gate withholds it, the message says why.
            BadFilter: no such level.
        """
        from cakebook.model.pack import LEVELS
        from cakebook.retrieve.blocks import body

        view = self._view()
        level = level.strip().lower()
        if level not in (*LEVELS, "source"):
            raise requests.bad_filter("level", level, (*LEVELS, "source"))
        row = view.catalog.row_of(entry_id)
        if row is None:
            raise self._no_entry(view, entry_id)
        card = view.catalog.cards([row])[row]
        language: Any = "en" if requests.check_lang(lang) == "auto" else lang
        sections = view.catalog.sections(row)
        if level == "source":
            text = "\n\n".join(f"## {s.title}\n{s.source}" for s in sections)
        else:
            text = body(card, sections, language).texts[level]  # type: ignore[index]
        why = tuple(Note(reason["code"], reason["text"]) for reason in card["why"])
        return Shown(card, text, why, view.degraded(language))

    def status(self) -> Status:
        """What is served and what is not."""
        self._view()
        assert self._opened is not None
        manifest, catalog = self._opened.manifest, self._opened.catalog
        where = self.place
        built = where.store.built_from()
        pinned = built.revision if built and built.generation == manifest.generation else None
        notes = [str(n) for n in [catalog.meta("anchor_reason")] if n]
        if uncovered := catalog.meta("uncovered"):
            notes.append(say("uncovered", "en", files=", ".join(uncovered)))
        return Status(
            root=str(self.root),
            book=manifest.book,
            generation=manifest.generation,
            commit=manifest.commit,
            dirty=manifest.dirty,
            edition=manifest.edition,
            entries=manifest.entries,
            withheld=tuple(catalog.withheld()),
            built_at=manifest.built_at,
            fresh=not self.stale(),
            pinned=pinned,
            notes=tuple(notes),
        )

    def _facets(self, view: View, given: Mapping[str, Any]) -> Facets:
        unknown = set(given) - _FACETS
        if unknown:
            raise TypeError(f"unexpected keyword arguments: {', '.join(sorted(unknown))}")
        return requests.facets(view.catalog.vocabulary, view.serve, **given)

    def _no_entry(self, view: View, entry_id: str) -> NoSuchEntry:
        for item in view.catalog.withheld():
            if item.id == entry_id:
                hint = f"read {item.path}; `cakebook lint` and `cakebook status` say what it waits for"
                return NoSuchEntry(f"`{entry_id}` is withheld: {item.reason}", hint=hint, withheld=item.code)
        return nearest_id(entry_id, sorted({*view.catalog.ids(), *(w.id for w in view.catalog.withheld())}))


_FACETS = frozenset(
    "dsl target kind operator stage bottleneck dtype layout when toolchain cann shapes exclude strict_scope tier".split()
)
