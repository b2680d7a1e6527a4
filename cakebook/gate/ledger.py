"""The ledger: signed statements under `book/ledger/<id>/`, one file each and a signature beside it, never changed.

A statement counts for an id and for bytes, not for a commit or a path: it may arrive before, with or after its entry.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from cakebook.errors import BookFileInvalid, Unreadable
from cakebook.gate.signing import SignatureInvalid, public_key, verify
from cakebook.gate.verdict import REVIEW
from cakebook.model.review import Key, Person, Reason, Signed, Statement
from cakebook.repo.layout import LEDGER, BookSource
from cakebook.repo.vocabulary import load_model

SCHEMA = "cakebook-statement-v1"
MAX_BYTES = 64_000
"""Longer statements are not read."""
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Filed:
    """A statement's file: path, sha256 of its bytes, and the bytes of both files; `signature` is None where there is none."""

    path: str
    sha: str
    data: bytes
    signature: bytes | None


def statement_paths(source: BookSource) -> dict[str, list[str]]:
    """Id → paths of the statements about it, sorted."""
    found: dict[str, list[str]] = {}
    for path in source.paths(LEDGER):
        parts = path.removeprefix(LEDGER + "/").split("/")
        if len(parts) == 2 and path.endswith(".yaml"):
            found.setdefault(parts[0], []).append(path)
    return found


def read_statement(source: BookSource, path: str, there: frozenset[str]) -> Filed:
    """The files of a statement. `there`: all paths of the ledger."""
    data = source.read(path)
    beside = path + ".sig"
    return Filed(path, sha256(data).hexdigest(), data, source.read(beside) if beside in there else None)


def judge_statement(source: BookSource, filed: Filed, people: Mapping[str, Person]) -> Signed | Reason:
    """A statement whose form is right and whose signature is that of the person whom it names; else why it is none."""
    try:
        if len(filed.data) > MAX_BYTES:
            raise Unreadable(f"{filed.path}: longer than {MAX_BYTES} bytes")
        statement = _as_written(filed.data) or load_model(source, filed.path, Statement)
    except (BookFileInvalid, Unreadable) as error:
        return Reason("statement-invalid", error.message)
    if filed.path != statement_path(statement, filed.data):
        return Reason("statement-invalid", f"{filed.path}: its name does not say what it holds")
    person = people.get(statement.reviewer)
    if person is None:
        text = f"{filed.path}: {statement.reviewer} is nobody whom this book knows"
        return Reason("unknown-reviewer", text, statement.reviewer, statement.at)
    if filed.signature is None:
        return Reason("unsigned", f"{filed.path}: there is no signature beside it", person.id, statement.at)
    key = signing_key(person, filed.data, filed.signature, REVIEW)
    if key is None:
        return Reason("signature-invalid", f"{filed.path}: not signed by a key of {person.id}", person.id, statement.at)
    return Signed(filed.sha, statement, key)


def signing_key(person: Person, data: bytes, signature: bytes, namespace: str) -> Key | None:
    """The key of `person` that made `signature`, None if none did."""
    for key in person.keys:
        try:
            verify(public_key(key.public), namespace, data, signature)
        except SignatureInvalid:
            continue
        return key
    return None


def _as_written(data: bytes) -> Statement | None:
    """A statement in exactly the form that `statement_yaml` gives it: JSON is read twenty times faster than YAML."""
    try:
        lines = data.decode().splitlines()
        values = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines)}
        statement = Statement.model_validate(values)
    except ValueError:  # any other form is read as YAML, which says what is wrong with it
        return None
    return statement if statement_yaml(statement) == data else None


def statement_path(statement: Statement, data: bytes) -> str:
    """`book/ledger/<id>/<time>-<reviewer>-<first 8 hex of the sha256>.yaml`."""
    time = re.sub(r"[-:]", "", statement.at)
    return str(PurePosixPath(LEDGER, statement.entry, f"{time}-{statement.reviewer}-{sha256(data).hexdigest()[:8]}.yaml"))


def make_statement(values: Mapping[str, Any]) -> Statement:
    """A statement of `values`; `schema` is filled in.

    Raises:
        ValueError: a value has the wrong form (pydantic's ValidationError is one).
    """
    statement = Statement.model_validate({"schema": SCHEMA, **values})
    if not _TIME.fullmatch(statement.at):
        raise ValueError(f"at: `{statement.at}` is not a time in UTC like 2026-12-01T09:30:00Z")
    return statement


def statement_yaml(statement: Statement) -> bytes:
    """The bytes of a statement: a key a line, values as JSON, which is YAML; what is empty is left out."""
    given = statement.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in given.items()).encode()
