"""Reading `book/vocabulary/*.yaml` and `book/policy.yaml`: strict YAML, validated, then plain data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from cakebook.errors import BookFileInvalid
from cakebook.model.review import Policy
from cakebook.model.terms import Vocabulary
from cakebook.model.vocabulary import FILES
from cakebook.repo.layout import POLICY, VOCABULARY, BookSource
from cakebook.text import frontmatter

if TYPE_CHECKING:
    from cakebook.text.frontmatter import Path, Span

M = TypeVar("M", bound=BaseModel)
Place = Callable[..., str]
"""From keys of a term to the place of that value: path, line and column."""


def load_file(source: BookSource, path: str) -> tuple[dict[str, Any], dict[Path, Span]]:
    """The mapping in a YAML file of the book and the place of each value.

    Raises:
        Unreadable: the file cannot be read.
        BookFileInvalid: it is not strict YAML; the message names line and column.
    """
    text = frontmatter.decode(source.read(path), frontmatter.MAX_LISTING)
    loaded = frontmatter.load_yaml(text) if isinstance(text, str) else text
    if isinstance(loaded, frontmatter.Problem):
        raise BookFileInvalid(f"{path}:{loaded.line}:{loaded.column}: {loaded.message}", hint=loaded.hint)
    return loaded


def load_model(source: BookSource, path: str, model: type[M]) -> M:
    """A YAML file of the book as `model`.

    Raises:
        Unreadable, BookFileInvalid: see `load_file`; also when a value has the wrong form.
    """
    values, spans = load_file(source, path)
    return validate(values, spans, path, model)


def validate(values: dict[str, Any], spans: dict[Path, Span], path: str, model: type[M], at: Path = ()) -> M:
    """`values`, which stand at `at` in the file, as `model`; the first thing wrong raises `BookFileInvalid` with its line."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(p) for p in first["loc"])
        message = f"{name}: {first['msg']}" if name else first["msg"]
        place = _at((*at, *first["loc"]), spans)
        raise BookFileInvalid(f"{path}:{place}: {message}", hint="see book/schema/ for the form") from None


def _at(loc: tuple[int | str, ...], spans: dict[Path, Span]) -> str:
    where = locate(loc, spans)
    return f"{where.line}:{where.column}" if where else "1:1"


def locate(loc: tuple[int | str, ...], spans: dict[Path, Span]) -> Span | None:
    """The place of the value at `loc`, or of the nearest thing around it; parts that name a union branch are passed over."""
    path: Path = ()
    for part in loc:
        if (*path, part) in spans:
            path = (*path, part)
    return spans.get(path)


def load_policy(source: BookSource) -> Policy:
    """The book's policy; the default one where there is no file."""
    if POLICY not in source.paths(POLICY):
        return Policy()
    return load_model(source, POLICY, Policy)


def load_vocabulary(source: BookSource) -> Vocabulary:
    """All vocabulary files of the book. A missing file is an empty one.

    Raises:
        BookFileInvalid: a file or a term has the wrong form, an id stands twice, or a reference leads nowhere.
    """
    present = set(source.paths(VOCABULARY))
    files: dict[str, dict[str, dict[str, Any]]] = {}
    places: dict[str, dict[str, Place]] = {}
    for stem, model in FILES.items():
        path = f"{VOCABULARY}/{stem}.yaml"
        files[stem], places[stem] = _terms(source, path, model) if path in present else ({}, {})
    vocabulary = Vocabulary(files)
    _check_references(vocabulary, places)
    return vocabulary


def _terms(source: BookSource, path: str, model: type[BaseModel]) -> tuple[dict[str, dict[str, Any]], dict[str, Place]]:
    """The terms of a file by id, and for each one a function that says where one of its values stands."""
    values, spans = load_file(source, path)
    listed = values.get("terms")
    if not isinstance(listed, list):
        raise BookFileInvalid(f"{path}:{_at(('terms',), spans)}: terms: not a list of terms", hint="write `terms:` and a list")
    terms: dict[str, dict[str, Any]] = {}
    places: dict[str, Place] = {}
    folded: dict[str, str] = {}
    for i, raw in enumerate(listed):
        term = validate(raw, spans, path, model, ("terms", i)).model_dump(mode="json", exclude_defaults=True)
        term_id = term["id"]
        places[term_id] = partial(lambda i, *loc: f"{path}:{_at(('terms', i, *loc), spans)}", i)
        if other := folded.get(term_id.casefold()):
            raise BookFileInvalid(f"{places[term_id]('id')}: id {term_id} stands twice (as {other})", hint="rename one of them")
        folded[term_id.casefold()] = term_id
        terms[term_id] = term
    return terms, places


def _check_references(vocabulary: Vocabulary, places: dict[str, dict[str, Place]]) -> None:
    for file, key, target in (
        ("targets", "arch", "targets"),
        ("targets", "resolves_to", "targets"),
        ("operators", "parent", "operators"),
    ):
        for term_id, term in vocabulary.files[file].items():
            value = term.get(key, ())
            for name in [value] if isinstance(value, str) else value:
                if name not in vocabulary.files[target]:
                    raise BookFileInvalid(
                        f"{places[file][term_id](key)}: {term_id}: {key} names {name}, which is not there",
                        hint=f"add it to {target}.yaml or correct the name",
                    )
