"""Facets of a lesson: what it states in a field of its own, and what its words suggest, for the contributor to confirm."""

from __future__ import annotations

import re
from collections.abc import Collection

from cakebook.model.terms import Vocabulary
from cakebook.retrieve.aliases import AliasFinder

FACETS = ("dsl", "targets", "operators", "dtypes", "apis", "error_codes", "bottlenecks")
"""The facets that are looked for, by their front-matter keys."""
FIELDS = {
    "dsl": "dsl",
    "targets": "hardware",
    "operators": "operators",
    "dtypes": "dtype",
    "apis": "apis",
    "error_codes": "error_codes",
    "bottlenecks": "bottlenecks",
}
"""Facet → the field of a lesson that states it."""
_FILES = {"dsl": "dsls", "targets": "targets", "operators": "operators", "bottlenecks": "bottlenecks"}
_SEPARATOR = re.compile(r"[,;，；、/()（）\n]|\band\b|\bor\b|和|及|或")
_CALL = re.compile(
    r"(?<![\w./\\-])[A-Za-z_]\w*(?:(?:::|\.)\w+)*(?=\s?\()|(?<![\w./\\-])[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)+(?![\w/-])"
)
_SUFFIXES = frozenset("py cpp cc cxx c h hpp md txt json jsonl yaml yml csv cu sh asc so log org com cn io".split())


def stated(facet: str, field: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The terms that a field's text consists of; nothing if any part of it is no term, since the rest may qualify it."""
    if facet in ("apis", "error_codes"):
        parts = [part.strip().strip("`") for part in re.split(r"[,;，；、\n]", field)]
        return tuple(dict.fromkeys(p for p in parts if p)) if all(re.fullmatch(r"\S{0,80}", p) for p in parts) else ()
    parts = [field] if _terms(facet, field, vocabulary) else [p for p in _SEPARATOR.split(field) if p.strip()]
    found = [_terms(facet, part, vocabulary) for part in parts]
    return tuple(dict.fromkeys(term for terms in found for term in terms)) if all(found) else ()


def suggested(text: str, vocabulary: Vocabulary, apis: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Facet → terms that the words of `text` name, in order of appearance; facets without any are left out.

    Args:
        apis: names that entries of the book use. Beside them, what is written as a qualified name or a call counts.
    """
    finder = AliasFinder(text, vocabulary)
    targets = [target for name in finder.find("targets") for target in vocabulary.expand_target(name)]
    found: dict[str, Collection[str]] = {
        "dsl": [term for term in finder.find("dsls") if term != "any"],
        "targets": targets,
        "operators": finder.find("operators"),
        "dtypes": finder.values().get("dtype", ()),
        "apis": _apis(text, apis),
        "error_codes": [*finder.messages(), *finder.find("error_codes")],
        "bottlenecks": finder.find("bottlenecks"),
    }
    return {facet: tuple(dict.fromkeys(terms)) for facet, terms in found.items() if terms}


def _terms(facet: str, part: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The terms that `part` names, taken as a whole."""
    name = part.strip().strip("`").strip()
    if facet == "dtypes":
        for value in vocabulary.term("conditions", "dtype").get("values", ()):
            forms = (value["id"], value.get("title", ""), *value.get("aliases", ()), *value.get("aliases_zh", ()))
            if name.casefold() in (form.casefold() for form in forms if form):
                return (str(value["id"]),)
        return ("any",) if name.casefold() == "any" else ()
    # `A2` alone names a chip only where a chip is asked for.
    spellings = (name, f"Atlas {name}") if facet == "targets" else (name,)
    for spelling in spellings:
        if term := vocabulary.resolve(_FILES[facet], spelling):
            return vocabulary.expand_target(term) if facet == "targets" else (term,)
    return ("any",) if name.casefold() == "any" and facet != "bottlenecks" else ()


def _apis(text: str, known: Collection[str]) -> list[str]:
    folded = {api.casefold(): api for api in known}
    found: dict[int, str] = {}
    for match in re.finditer(r"[A-Za-z_]\w*(?:(?:::|\.)\w+)*", text):
        if api := folded.get(match.group().casefold()):
            found[match.start()] = api
    for match in _CALL.finditer(text):
        name = match.group()
        parts = re.split(r"::|\.", name)
        qualified = "_" in name or re.search(r"[a-z][A-Z]", name) or (len(parts) > 1 and min(map(len, parts)) > 1)
        if qualified and name.rpartition(".")[2].casefold() not in _SUFFIXES:
            found.setdefault(match.start(), name)
    return list(dict.fromkeys(found[at] for at in sorted(found)))[:12]
