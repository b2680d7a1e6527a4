"""JSON Schemas of every shape that leaves or enters, for `book/schema/`. A test compares the files with this."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from cakebook.model import pack, query
from cakebook.model.entry import Entry
from cakebook.model.manifest import Manifest
from cakebook.model.pack import ContextRequest, Pack
from cakebook.model.profile import Diagnosis
from cakebook.model.query import SearchRequest, SearchResult
from cakebook.model.review import Anchor, Founding, Person, Policy, Statement, Verdict
from cakebook.model.vocabulary import FILES

for module in (query, pack):  # they name it for the type checker alone
    vars(module)["Diagnosis"] = Diagnosis
SHAPES: dict[str, Any] = {
    "entry": Entry,
    "policy": Policy,
    "founding": Founding,
    "trust": Anchor,
    "person": Person,
    "statement": Statement,
    "verdict": Verdict,
    "manifest": Manifest,
    "search-request": SearchRequest,
    "search-result": SearchResult,
    "context-request": ContextRequest,
    "pack": Pack,
    **{f"vocabulary-{stem.replace('_', '-')}": model for stem, model in FILES.items()},
}
"""File stem → the shape; for a vocabulary file, that of one term."""


def schemas() -> dict[str, dict[str, Any]]:
    """File stem → JSON Schema (2020-12)."""
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: {**dialect, **TypeAdapter(shape).json_schema()} for name, shape in SHAPES.items()}
