"""The identity of a pack, and the fences around what it quotes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from cakebook.model.manifest import canonical_json
from cakebook.model.pack import ContextRequest


def canonical_request(request: ContextRequest) -> dict[str, Any]:
    """The request with its defaults filled in, as plain JSON values. Of code there is only the sha256."""
    fields = asdict(request) | asdict(request.facets)
    del fields["facets"]
    fields["pass"] = fields.pop("pass_")
    if request.code:
        fields["code"] = "sha256:" + sha256(request.code.encode("utf-8", "surrogatepass")).hexdigest()
    return {name: _plain(value) for name, value in fields.items()}


def pack_id(
    request: dict[str, Any], generation: str, embedder: str | None, engine: str, items: Sequence[tuple[str, str, str]]
) -> str:
    """First 16 hex of the sha256 of the canonical JSON of request, generation, embedder, engine and (id, digest, level)."""
    value = {"request": request, "generation": generation, "embedder": embedder, "engine": engine, "items": list(items)}
    return sha256(canonical_json(value)).hexdigest()[:16]


def fence_marker(identity: str, texts: Sequence[str]) -> str:
    """First 24 hex of the sha256 over pack id and texts, hashed again while a text contains it.

    Whoever wrote an entry cannot know the marker before the pack is made, so no entry can close its own fence.
    """
    digest = sha256(b"\0".join(t.encode("utf-8", "surrogatepass") for t in (identity, *texts)))
    while any(digest.hexdigest()[:24] in text for text in texts):
        digest = sha256(digest.digest())
    return digest.hexdigest()[:24]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return list(value) if isinstance(value, tuple) else value
