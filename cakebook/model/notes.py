"""A sentence with a code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A caveat or a degradation: a stable code and a sentence in the language of the question."""

    code: str
    text: str
