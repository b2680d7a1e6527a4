"""`Book`: the one facade that every front end calls."""

from __future__ import annotations

import difflib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cakebook.errors import AlreadyExists, IndexIncompatible, NoSuchEntry, NoSuchPath, NotABook, StoreIO
from cakebook.index.generation import Generation
from cakebook.index.place import SMALL_BOOK, Place, book_id, place, signature
from cakebook.model.query import DEFAULT_BUDGET, Facets, Note, SearchRequest, SearchResult
from cakebook.repo.layout import UNANCHORED, find_book, require_book
from cakebook.retrieve import request as requests
from cakebook.retrieve.labels import say
from cakebook.retrieve.view import View, look
from cakebook.settings import Settings

if TYPE_CHECKING:
    from cakebook.checks.runner import CheckResult
    from cakebook.gate.founding import Edition
    from cakebook.index.catalog import WithheldEntry
    from cakebook.index.meaning import Meaning
    from cakebook.index.sync import SyncReport
    from cakebook.lint.runner import Finding
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


class Book:
    """A book: search it, make packs from it, look at its entries.

    Open one with `Book.open`. Methods that read the index use the current generation, and notice when another one takes its
    place. Not safe for use from several threads at once; open one per thread.
    """

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.settings = settings
        self._place: Place | None = None
        self._opened: Generation | None = None
        self._seen: View | None = None
        self._stale: tuple[float, bool] | None = None

    @classmethod
    def open(cls, path: str | Path | None = None) -> Book:
        """The book at `path`, else `CAKEBOOK_BOOK`, else the one around the current folder.

        Raises:
            NotABook: there is none.
        """
        settings = Settings.from_environment()
        named = Path(path) if path is not None else settings.book
        if named is not None:
            return cls(require_book(named.absolute()), settings)
        found = find_book(Path.cwd())
        if found is None:
            raise NotABook("no book here or above", hint="pass --book PATH or set CAKEBOOK_BOOK")
        return cls(found, settings)

    def close(self) -> None:
        """Release the generation."""
        if self._opened is not None:
            self._opened.close()
            self._opened = self._seen = None

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading the index

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

    # Building the index

    @property
    def place(self) -> Place:
        """Where the index lies."""
        if self._place is None:
            self._place = place(self.root, self.settings)
        return self._place

    def sync(self, *, revision: str | None = None, rebuild: bool = False) -> SyncReport:
        """Bring the index up to date with the work tree or with a revision; see `index.sync.sync` for what it raises."""
        from cakebook.index.sync import sync

        self._stale = None
        where = place(self.root, self.settings, building=True)
        report = sync(where, self.settings, revision=revision, rebuild=rebuild)
        self._place = where
        return report

    def stale(self) -> bool:
        """Whether the index is older than the book on the disk. An index pinned to a revision never is.

        Looking at every file costs more than a search in a large book, so the answer is kept for a second.
        """
        now = time.monotonic()
        if self._stale is None or now - self._stale[0] > 1.0:
            self._stale = now, self._look()
        return self._stale[1]

    def _look(self) -> bool:
        built = self.place.store.built_from()
        if built is None or built.generation != self.place.store.current():
            return True
        return built.revision is None and built.signature != signature(self.root, self.settings)[0]

    def sync_if_stale(self) -> SyncReport | None:
        """Sync a stale or missing index of a small book that can be written; None if nothing was done."""
        if not self.place.writable or not self.stale():
            return None
        if signature(self.root, self.settings)[1] >= SMALL_BOOK:
            return None
        return self.sync()

    # Working on the book itself

    def lint(self, paths: Sequence[str | Path] = ()) -> list[Finding]:
        """Findings of the linter, over the whole book or over `paths` (files or folders inside it).

        Raises:
            NoSuchPath: a path is not there. BookFileInvalid: the vocabulary cannot be read.
        """
        from cakebook.gate.founding import listed_ids
        from cakebook.lint.runner import lint_book
        from cakebook.repo.layout import FolderSource
        from cakebook.repo.vocabulary import load_vocabulary

        source = FolderSource(self.root)
        wanted = [p for path in paths for p in self._entries_below(source, Path(path))] if paths else None
        return lint_book(source, load_vocabulary(source), listed_ids(source), wanted)

    def new(self, entry_id: str, *, title: str = "", dsl: str = "", kind: str = "", full: bool = False) -> str:
        """Write the scaffold of a new entry; returns its path relative to the book.

        Raises:
            BadArgument: the id cannot be one, or the vocabulary does not have the DSL or kind.
            AlreadyExists: the book has an entry of this id. StoreIO: writing failed.
        """
        from cakebook.lint.scaffold import scaffold
        from cakebook.repo.entries import read_entries
        from cakebook.repo.layout import FolderSource
        from cakebook.repo.vocabulary import load_vocabulary

        source = FolderSource(self.root)
        text = scaffold(entry_id, title=title, dsl=dsl, kind=kind, full=full, vocabulary=load_vocabulary(source))
        for file in read_entries(source):
            if file.id.casefold() == entry_id.casefold():
                raise AlreadyExists(f"{file.path} has the id `{entry_id}`", hint="choose another id, or edit that entry")
        path = f"entries/{kind or 'proposals'}/{entry_id}.md"
        try:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            with (self.root / path).open("x", encoding="utf-8", newline="\n") as stream:
                stream.write(text)
        except FileExistsError:
            raise AlreadyExists(f"{path} is there already", hint="choose another id, or edit that entry") from None
        except OSError as error:
            raise StoreIO(f"{path}: {error.strerror}", hint="mend the permissions") from None
        return path

    def verify(self, ids: Sequence[str] = ()) -> list[CheckResult]:
        """Run the check blocks of the entries named, drafts too, or of all entries.

        Raises:
            NoSuchEntry: no file of the book has this id.
        """
        from cakebook.checks.runner import run_checks
        from cakebook.checks.sandbox import available
        from cakebook.gate.facts import gather
        from cakebook.repo.entries import read_entries
        from cakebook.repo.layout import FolderSource

        source = FolderSource(self.root)
        files = {file.id: file for file in read_entries(source)}
        for entry_id in ids:
            if entry_id not in files:
                raise _nearest(entry_id, sorted(files))
        facts = gather(source, self.settings.trust_roots)
        covered = facts.founding.entries if facts.founding else {}
        sandbox = available()
        return [
            result
            for entry_id in (ids or sorted(files))
            for result in run_checks(files[entry_id], sandbox=sandbox, covered=covered.get(entry_id) == files[entry_id].digest)
        ]

    def founding_update(self, reason: str, date: str) -> Edition:
        """Write the next founding edition of the shipped book; see `gate.founding.update`."""
        from cakebook.gate import founding

        return founding.update(self.root, reason, date)

    # Inside

    def _facets(self, view: View, given: Mapping[str, Any]) -> Facets:
        unknown = set(given) - _FACETS
        if unknown:
            raise TypeError(f"unexpected keyword arguments: {', '.join(sorted(unknown))}")
        return requests.facets(view.catalog.vocabulary, view.serve, **given)

    def _view(self) -> View:
        store = self.place.store
        if self._opened is None or self._seen is None or self._opened.manifest.generation != store.current():
            self.close()
            opened = store.open()
            if opened.manifest.book not in (UNANCHORED, book_id(self.root)):
                opened.close()
                raise IndexIncompatible("the index was built from another book", hint="run `cakebook sync`")
            self._opened, self._seen = opened, look(opened.catalog, opened.manifest, self._meaning(opened))
        return self._seen.with_trouble(("stale", {})) if self.stale() else self._seen

    def _meaning(self, opened: Generation) -> Meaning | None:
        if opened.manifest.embedder is None:
            return None
        from cakebook.index.embedders import ModelInfo
        from cakebook.index.meaning import Meaning

        return Meaning(opened, ModelInfo(**opened.manifest.embedder), self.settings)

    def _no_entry(self, view: View, entry_id: str) -> NoSuchEntry:
        for item in view.catalog.withheld():
            if item.id == entry_id:
                hint = f"read {item.path}; `cakebook lint` and `cakebook status` say what it waits for"
                return NoSuchEntry(f"`{entry_id}` is withheld: {item.reason}", hint=hint, withheld=item.code)
        return _nearest(entry_id, sorted({*view.catalog.ids(), *(w.id for w in view.catalog.withheld())}))

    def _entries_below(self, source: Any, path: Path) -> list[str]:
        from cakebook.repo.layout import entry_paths

        inside = (Path.cwd() / path) if not path.is_absolute() else path
        candidates = [inside, self.root / path]
        for candidate in candidates:
            if candidate.exists() and candidate.resolve().is_relative_to(self.root.resolve()):
                name = candidate.resolve().relative_to(self.root.resolve()).as_posix()
                below = [p for p in entry_paths(source) if name == "." or p == name or p.startswith(name + "/")]
                return below if below or candidate.is_dir() else [name]
        raise NoSuchPath(f"{path}: not in the book at {self.root}", hint="give a file or folder under entries/")


_FACETS = frozenset(
    "dsl target kind operator stage bottleneck dtype layout when toolchain cann shapes exclude strict_scope tier".split()
)


def _nearest(entry_id: str, known: Sequence[str]) -> NoSuchEntry:
    near = difflib.get_close_matches(entry_id.casefold(), known, n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else "`cakebook search` finds entries by what they are about"
    return NoSuchEntry(f"no entry `{entry_id[:80]}`", hint=hint, nearest=near[:1])
