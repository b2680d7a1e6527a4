"""The settings: environment variables, read once per call site, never cached at import.

| variable | meaning | default |
|---|---|---|
| `CAKEBOOK_BOOK` | folder of the book to serve | the enclosing book |
| `CAKEBOOK_STATE` | folder for what cannot be rebuilt | the user's data folder |
| `CAKEBOOK_TRUST_ROOT` | sha256 of a trusted `book/trust/1.yaml`, comma-separated | the shipped editions |
| `CAKEBOOK_EMBEDDER` | `use`, `st:<model>` or `none`: what `sync` makes vectors with | that of the index, else `use` |
| `CAKEBOOK_ENGINE` | `scan`, `chroma` or `auto`: who finds near vectors | `auto`, by size |
| `CAKEBOOK_CHROMA_URL` | a Chroma server that holds the vectors too | none |
| `CAKEBOOK_CACHE` | folder for prepared models | the user's cache folder |
| `CAKEBOOK_TRACEBACK` | anything: a bug on the command line shows its traceback | one line |

A few strings do not need a settings library: importing one costs more than a whole search (see the performance
chapter).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SHIPPED_ROOTS = Path(__file__).parent / "data" / "roots.txt"
"""The sha256 of every trust root that this project has shipped."""


@dataclass(frozen=True)
class Settings:
    """What the environment says. `trust_roots` are lower-case hex digests without prefix; texts are empty when not set."""

    book: Path | None = None
    state: Path | None = None
    trust_roots: frozenset[str] = field(default_factory=frozenset)
    embedder: str = ""
    engine: str = ""
    chroma_url: str = ""
    cache: Path | None = None

    @classmethod
    def from_environment(cls) -> Settings:
        roots = os.environ.get("CAKEBOOK_TRUST_ROOT", "")
        return cls(
            book=_folder(os.environ.get("CAKEBOOK_BOOK")),
            state=_folder(os.environ.get("CAKEBOOK_STATE")),
            trust_roots=frozenset(_digests(roots.split(","))) | pinned_roots(_folder(os.environ.get("CAKEBOOK_STATE"))),
            embedder=os.environ.get("CAKEBOOK_EMBEDDER", "").strip(),
            engine=os.environ.get("CAKEBOOK_ENGINE", "").strip(),
            chroma_url=os.environ.get("CAKEBOOK_CHROMA_URL", "").strip(),
            cache=_folder(os.environ.get("CAKEBOOK_CACHE")),
        )

    def state_folder(self, book_id: str) -> Path:
        """Folder for `book_id`'s tokens, pins and outcomes (not created)."""
        return _state(self.state) / book_id

    def cache_folder(self) -> Path:
        """Folder for what every book of this user shares and anybody can make again (not created)."""
        if self.cache is not None:
            return self.cache
        import platformdirs

        return Path(platformdirs.user_cache_dir("cakebook", appauthor=False))


def pins_file(state: Path | None) -> Path:
    """Where the roots that this user has pinned are listed: a line each, the sha256 and the book's id."""
    return _state(state) / "pins.txt"


def pinned_roots(state: Path | None) -> frozenset[str]:
    """The pinned roots; a line that is none is left out, so damage can only lower what is believed."""
    try:
        lines = pins_file(state).read_text("utf-8", "replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(_digests(line.split()[0] for line in lines if line.strip()))


def _digests(items: Iterable[str]) -> Iterator[str]:
    for item in items:
        digest = item.strip().lower().removeprefix("sha256:")
        if digest:
            yield digest


def _state(state: Path | None) -> Path:
    """The user's data folder unless a setting names another one."""
    if state is not None:
        return state
    if str(sys.platform) == "linux":  # as platformdirs has it, which takes longer to import than to answer
        base = os.environ.get("XDG_DATA_HOME", "").strip()
        folder = Path(base or "~/.local/share")
        with contextlib.suppress(RuntimeError):  # a user without a home has no state, and that is no reason to fail
            folder = folder.expanduser()
        return folder / "cakebook"
    import platformdirs

    return Path(platformdirs.user_data_dir("cakebook", appauthor=False))


def _folder(text: str | None) -> Path | None:
    return Path(text) if text else None
