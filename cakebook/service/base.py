"""What every method of a book stands on: where it lies, its index, the generation that is open."""

from __future__ import annotations

import difflib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from cakebook.errors import IndexIncompatible, NoSuchEntry, NotABook
from cakebook.index.generation import Generation
from cakebook.index.place import SMALL_BOOK, Place, book_id, place, signature
from cakebook.repo.layout import PACKAGED_BOOK, UNANCHORED, find_book, require_book
from cakebook.retrieve.view import View, look
from cakebook.settings import Settings

if TYPE_CHECKING:
    from cakebook.index.matrix import Progress
    from cakebook.index.meaning import Meaning
    from cakebook.index.sync import SyncReport


class Base:
    """An opened book. Not safe for use from several threads at once."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.settings = settings
        self._place: Place | None = None
        self._opened: Generation | None = None
        self._seen: View | None = None
        self._meaning: Meaning | None = None
        self._stale: tuple[float, bool] | None = None

    @classmethod
    def open(cls, path: str | Path | None = None) -> Self:
        """The book at `path`, else `CAKEBOOK_BOOK`, else the one around the current folder, else the one of this release.

        Raises:
            NotABook: there is none.
        """
        settings = Settings.from_environment()
        named = Path(path) if path is not None else settings.book
        if named is not None:
            return cls(require_book(named.absolute()), settings)
        found = find_book(Path.cwd()) or (PACKAGED_BOOK if PACKAGED_BOOK.is_dir() else None)
        if found is None:
            raise NotABook("no book here or above", hint="pass --book PATH or set CAKEBOOK_BOOK")
        return cls(found, settings)

    def close(self) -> None:
        """Release the generation."""
        if self._meaning is not None:
            self._meaning.close()
        if self._opened is not None:
            self._opened.close()
            self._opened = self._seen = self._meaning = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def place(self) -> Place:
        """Where the index lies."""
        if self._place is None:
            self._place = place(self.root, self.settings)
        return self._place

    def sync(
        self,
        *,
        revision: str | None = None,
        rebuild: bool = False,
        embedder: str = "",
        accept_rollback: bool = False,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Bring the index up to date with the work tree or with a revision; see `index.sync.sync` for what it raises.

        `embedder`: what makes the vectors from now on; empty keeps it. `progress` is told how far embedding is.
        """
        from cakebook.index.sync import sync

        self._stale = None
        where = place(self.root, self.settings, building=True)
        report = sync(
            where, self.settings, revision=revision, rebuild=rebuild, embedder=embedder, accept_rollback=accept_rollback,
            progress=progress,
        )  # fmt: skip
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

    def sync_if_stale(self, progress: Progress | None = None) -> SyncReport | None:
        """Sync a stale or missing index of a small book that can be written; None if nothing was done."""
        if not self.place.writable or not self.stale():
            return None
        if signature(self.root, self.settings)[1] >= SMALL_BOOK:
            return None
        return self.sync(progress=progress)

    def _view(self) -> View:
        store = self.place.store
        if self._opened is None or self._seen is None or self._opened.manifest.generation != store.current():
            self.close()
            opened = store.open()
            if opened.manifest.book not in (UNANCHORED, book_id(self.root)):
                opened.close()
                raise IndexIncompatible("the index was built from another book", hint="run `cakebook sync`")
            meaning = self._open_meaning if opened.manifest.embedder else None
            self._opened, self._seen = opened, look(opened.catalog, opened.manifest, meaning)
        return self._seen.with_trouble(("stale", {})) if self.stale() else self._seen

    def no_vectors(self) -> str:
        """Why the index has no vectors, empty if it has or nobody wanted any."""
        return self._view().no_vectors

    def passage_ids(self) -> list[str]:
        """Ids of the passages of the index, in the order of its vectors."""
        return self._view().catalog.passage_ids()

    def _open_meaning(self) -> Meaning:
        """What searches the opened generation by meaning; made when a question first needs it."""
        assert self._opened is not None and self._opened.manifest.embedder is not None
        if self._meaning is None:
            from cakebook.index.embedders import ModelInfo
            from cakebook.index.meaning import Meaning

            self._meaning = Meaning(self._opened, ModelInfo(**self._opened.manifest.embedder), self.settings)
        return self._meaning


def nearest_id(entry_id: str, known: Sequence[str]) -> NoSuchEntry:
    near = difflib.get_close_matches(entry_id.casefold(), known, n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else "`cakebook search` finds entries by what they are about"
    return NoSuchEntry(f"no entry `{entry_id[:80]}`", hint=hint, nearest=near[:1])
