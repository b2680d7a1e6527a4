"""The settings: environment variables, read once per call site, never cached at import.

| variable | meaning | default |
|---|---|---|
| `CAKEBOOK_BOOK` | folder of the book to serve | the enclosing book |
| `CAKEBOOK_STATE` | folder for what cannot be rebuilt | the user's data folder |
| `CAKEBOOK_TRUST_ROOT` | sha256 of a trusted `book/trust/1.yaml`, comma-separated | the shipped editions |
| `CAKEBOOK_TRACEBACK` | anything: a bug on the command line shows its traceback | one line |

A few strings do not need a settings library: importing one costs more than a whole search (see the performance
chapter).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

SHIPPED_ROOTS = Path(__file__).parent / "data" / "roots.txt"
"""The sha256 of every trust root that this project has shipped."""


@dataclass(frozen=True)
class Settings:
    """What the environment says. `trust_roots` are lower-case hex digests without prefix."""

    book: Path | None = None
    state: Path | None = None
    trust_roots: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def from_environment(cls) -> Settings:
        book, state = os.environ.get("CAKEBOOK_BOOK"), os.environ.get("CAKEBOOK_STATE")
        roots = os.environ.get("CAKEBOOK_TRUST_ROOT", "")
        return cls(
            book=Path(book) if book else None,
            state=Path(state) if state else None,
            trust_roots=frozenset(r.strip().lower().removeprefix("sha256:") for r in roots.split(",") if r.strip()),
        )

    def state_folder(self, book_id: str) -> Path:
        """Folder for `book_id`'s tokens, pins and outcomes (not created)."""
        if self.state is not None:
            return self.state / book_id
        import platformdirs  # only where state is really needed

        return Path(platformdirs.user_data_dir("cakebook", appauthor=False)) / book_id
