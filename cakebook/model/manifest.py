"""What a generation of the index is. A standard dataclass: see the package docstring."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any


@dataclass(frozen=True)
class Manifest:
    """What a generation is. `content` digests what is served; `generation` all that can change an answer."""

    schema: str
    generation: str
    book: str
    commit: str | None
    dirty: bool
    trust_n: int | None
    edition: int | None
    policy_digest: str
    vocabulary_digest: str
    ranking_digest: str
    code_schema: str
    embedder: dict[str, Any] | None
    content: str
    entries: int
    vectors: int
    withheld: int
    built_at: str
    files: dict[str, str]

    def identity(self) -> str:
        """First 16 hex of the sha256 of the canonical JSON without `generation`, `built_at` and `files`."""
        fields = asdict(self)
        for name in ("generation", "built_at", "files"):
            del fields[name]
        return sha256(canonical_json(fields)).hexdigest()[:16]


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys and no spaces, UTF-8: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
