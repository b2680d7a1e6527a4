"""Asking a book: search, packs, single entries, its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cakebook.errors import BadArgument, NoSuchEntry
from cakebook.model.notes import Note
from cakebook.model.query import DEFAULT_BUDGET, Facets, Lang, SearchRequest, SearchResult
from cakebook.repo.layout import UNANCHORED
from cakebook.retrieve import request as requests
from cakebook.retrieve.labels import language_of, say
from cakebook.retrieve.view import View, waiting_entries
from cakebook.service.base import Base, nearest_id

if TYPE_CHECKING:
    from cakebook.index.catalog import WithheldEntry
    from cakebook.index.receipts import Receipts
    from cakebook.model.pack import Pack
    from cakebook.model.profile import Diagnosis


PROFILED = 3
"""Bottlenecks of a profile that rank entries, the first ones."""


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
        profile: str | Sequence[str] = (),
        op: str = "",
        **facets: Any,
    ) -> SearchResult:
        """Entries that answer `text`, best first.

        `mode`: `lexical` counts words and names alone, `hybrid` meaning too, `auto` decides by the text and by what is there.
        `profile`: a profiler's folder or CSVs, or `column=value` items, and `op` the kernel in it; the bottlenecks that it
        shows count as if they had been given. Facets: `dsl, target, kind, operator, stage, bottleneck, dtype` (a name or
        several), `layout`, `when` (facet → value), `toolchain` (component → version), `cann`, `shapes`, `exclude`,
        `strict_scope`, `tier`.

        Raises:
            UsageError: a value is wrong. StoreError: there is no usable index (`sync` builds one).
        """
        from cakebook.retrieve.search import search

        view = self._view()
        text = requests.check_text("the query", text)
        language: Any = requests.check_lang(lang)
        how: Any = requests.check_mode(mode)
        given, diagnosis, _ = self._asked(view, facets, profile, op, language_of(text, language))
        requests.require_something(text, given)
        result = search(view, SearchRequest(text, given, requests.check_limit(limit), language, explain, how))
        return replace(result, diagnosis=diagnosis)

    def context(self, *, pack: int = 1, packs: int = 1, **request: Any) -> Pack:
        """A cited pack within `budget_tokens` for a generator.

        `pack` of `packs`: of several packs with the same constraints and different levers, the one of that number; each can
        be made by a process of its own. Everything else: see `contexts`.

        Raises:
            UsageError: a value is wrong. StoreError: there is no usable index (`sync` builds one).
        """
        if not 1 <= pack <= packs:
            raise BadArgument(f"pack {pack} of {packs}", hint="pack counts from 1 to packs")
        return self.contexts(packs, wanted=[pack], **request)[0]

    def contexts(
        self,
        packs: int,
        *,
        wanted: Sequence[int] = (),
        stage: str = "",
        pass_: str = "",
        task: str = "",
        error_text: str = "",
        code: str = "",
        applied: str | Sequence[str] = (),
        tried: str | Sequence[str] = (),
        budget_tokens: int = DEFAULT_BUDGET,
        tokenizer: str = "",
        format: str = "markdown",
        lang: str = "auto",
        mode: str | Sequence[str] = "auto",
        profile: str | Sequence[str] = (),
        op: str = "",
        **facets: Any,
    ) -> list[Pack]:
        """Several packs with the same constraints and different levers, for generators that work side by side.

        `wanted`: their numbers from 1, all by default. `stage`: route, draft, lower (with `pass_`: tiling, init, process,
        nonaligned), evolve, debug or review (of `code`). `mode`: one of `search`'s, or `generation` (stage draft) or
        `evolution` (stage evolve), or one of each. `applied`, `tried`: ids, pack ids or free text, left out. `tokenizer`: a
        `tokenizer.json` to count with instead of `approx-1`. `format`: markdown, advisor or strategies. Profile and
        facets as for `search`.

        Raises:
            UsageError: a value is wrong. StoreError: there is no usable index (`sync` builds one).
        """
        from cakebook.model.pack import MAX_PACKS, ContextRequest
        from cakebook.retrieve.context import Given, contexts

        view = self._view()
        task, error_text = requests.check_text("the task", task), requests.check_text("the error text", error_text)
        code = requests.check_code(code)
        how, purpose = requests.check_purpose(mode)
        language: Any = requests.check_lang(lang)
        given, diagnosis, line = self._asked(view, facets, profile, op, language_of(task + error_text, language))
        requests.require_something(task + error_text + code, given)
        if stage:
            stage = requests.resolve(view.catalog.vocabulary, "stages", "stage", stage)[0]
        if not 1 <= packs <= MAX_PACKS:
            raise BadArgument(f"{packs} packs", hint=f"1 to {MAX_PACKS}")
        request = ContextRequest(
            facets=given, stage=stage or purpose, task=task, error_text=error_text, code=code, pass_=pass_.strip().lower(),
            applied=requests.names(applied), tried=requests.names(tried), budget_tokens=budget_tokens, lang=language,
            tokenizer=tokenizer, mode=how, packs=packs, format=format,
        )  # fmt: skip
        receipts = self._receipts(view)
        made = contexts(view, request, Given(diagnosis, line, receipts.entries), list(wanted) or list(range(1, packs + 1)))
        for pack in made:
            receipts.remember(pack.pack_id, [item.id for item in pack.items])
        return made

    def _receipts(self, view: View) -> Receipts:
        from cakebook.index.receipts import Receipts

        return Receipts(self.settings.state_folder(view.manifest.book or UNANCHORED) / "receipts.sqlite")

    def _asked(
        self, view: View, facets: Mapping[str, Any], profile: str | Sequence[str], op: str, lang: Lang
    ) -> tuple[Facets, Diagnosis | None, str]:
        """The facets, what the profile showed, and a line that says so."""
        given = self._facets(view, facets)
        items = (profile,) if isinstance(profile, str) else tuple(profile)
        if not any(items):
            if op:
                raise BadArgument("an operator of a profile was named, but no profile", hint="give --profile too")
            return given, None, ""
        from cakebook.retrieve.profile import diagnose, in_a_line

        found = diagnose(items, op, view.catalog.vocabulary, lang)
        bottlenecks = tuple(dict.fromkeys([*given.bottlenecks, *found.bottlenecks[:PROFILED]]))
        return replace(given, bottlenecks=bottlenecks), found, in_a_line(found, lang, view.catalog.vocabulary)

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
        if not manifest.entries and (waiting := waiting_entries(catalog)) and not catalog.meta("anchor_reason"):
            notes.append(say("none-admitted", "en", waiting=waiting))
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
