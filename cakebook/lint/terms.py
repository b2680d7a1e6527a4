"""Rules CB201 to CB209: the terms by which retrieval filters and ranks, against `book/vocabulary`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from cakebook.lint.edits import remove, rename, write
from cakebook.lint.examples import GOOD, edit
from cakebook.lint.registry import Hit, Severity, rule
from cakebook.lint.subject import Subject, nearest
from cakebook.model.base import UNKNOWN
from cakebook.model.entry import Condition
from cakebook.model.terms import Term, Vocabulary
from cakebook.text import versions
from cakebook.text.patch import Edit

ANY = "any"
_FILES = {"dsl": "dsls", "targets": "targets", "operators": "operators", "stages": "stages", "bottlenecks": "bottlenecks"}
"""Facet list → vocabulary file; `dtypes` are the values of the condition facet `dtype`."""
MAY_BE_ANY = frozenset({"dsl", "targets", "dtypes", "operators", "stages"})
SCOPE = ("dsl", "targets", "toolchain", "dtypes", "operators", "stages", "bottlenecks")
_CUES = frozenset({"kinds", "stages", "bottlenecks", "conditions"})
"""Files whose aliases are how people speak of a thing (`too slow`), not names of it (`fp16`)."""
_NAMED_FACETS = frozenset({"dtype", "layout"})
_BETWEEN = re.compile(r"[\s_-]+")
_LISTS = (*SCOPE, "symptoms", "symptoms_zh", "apis", "error_codes", "requires", "related", "conflicts_with", "supersedes")


def known(vocabulary: Vocabulary, field: str) -> tuple[str, ...]:
    """The terms that a facet list may hold, without `any`."""
    return vocabulary.facet_values("dtype") if field == "dtypes" else vocabulary.ids(_FILES[field])


def suggestion(vocabulary: Vocabulary, file: str, text: str, ids: tuple[str, ...]) -> str:
    """What the writer of an unknown term probably meant: the term with this title or alias, else one spelt alike."""
    like = vocabulary.resolve(file, text) or nearest(text, ids)
    return f"did you mean `{like}`?" if like else f"the terms are in book/vocabulary/{file}.yaml"


def value_suggestion(vocabulary: Vocabulary, facet: str, text: str) -> str:
    """The same for a value of a condition facet."""
    for value in vocabulary.term("conditions", facet).get("values", ()):
        names = (value.get("title", ""), value.get("title_zh", ""), *value.get("aliases", ()), *value.get("aliases_zh", ()))
        if text.casefold() in (name.casefold() for name in names):
            return f"did you mean `{value['id']}`?"
    allowed = vocabulary.facet_values(facet)
    like = nearest(text, allowed)
    return f"did you mean `{like}`?" if like else "one of " + ", ".join(allowed)


def named(vocabulary: Vocabulary, file: str, text: str) -> str:
    """The one term whose id, title or other name `text` is, however spelt; nothing if that is none or several."""
    return _only(vocabulary.files.get(file, {}).items(), text, aliases=file not in _CUES)


def named_value(vocabulary: Vocabulary, facet: str, text: str) -> str:
    """The same for a value of a condition facet."""
    values = vocabulary.term("conditions", facet).get("values", ())
    return _only(((value["id"], value) for value in values), text, aliases=facet in _NAMED_FACETS)


def _only(terms: Iterable[tuple[str, Term]], text: str, *, aliases: bool) -> str:
    wanted = _spelt(text)
    by_id: set[str] = set()
    by_name: set[str] = set()
    for term_id, term in terms:
        names = [term.get("title", ""), term.get("title_zh", "")]
        if aliases:
            names += [*term.get("aliases", ()), *term.get("aliases_zh", ())]
        if _spelt(term_id) == wanted:
            by_id.add(term_id)
        if wanted in (_spelt(name) for name in names):
            by_name.add(term_id)
    found = by_id or by_name
    return found.pop() if wanted and len(found) == 1 else ""


def _spelt(text: str) -> str:
    """`text` without what spellings of one name differ in: case, blanks, hyphens, underscores."""
    return _BETWEEN.sub("", text.casefold())


@rule(
    "CB201",
    "unknown-term",
    "vocabulary",
    what="A kind, DSL, target, data type, operator, stage or bottleneck is not in the vocabulary.",
    why="Filters and ranking go by vocabulary terms; an entry with another word is never found by them.",
    fix="Use the nearest known term. A term that is really missing is proposed as a change to the vocabulary.",
    bad=(
        edit("kind: tiling", "kind: tilling"),
        edit("dsl: [ascendc]", "dsl: [Ascend C]"),
        edit("targets: [npu-2201]", "targets: [npu2201]"),
        edit("dtypes: [any]", "dtypes: [fp16]"),
        edit("stages: [draft, evolve]", "stages: [drafting]"),
        edit("bottlenecks: [mte2-bound]", "bottlenecks: [any]"),
        edit("shape: [4096, 8192], dtype: float16", "shape: [4096, 8192], dtype: half"),
    ),
    auto="Writes the term where the word is one term's id, title or other name, apart from case, blanks and hyphens; takes it "
    "out where that term stands in the list too. Words for stages, bottlenecks and kinds that only suggest one stay, and so do "
    "product names.",
    mended=(
        (edit("kind: tiling", "kind: Tiling"), GOOD),
        (edit("dsl: [ascendc]", "dsl: [Ascend C]"), GOOD),
        (edit("targets: [npu-2201]", "targets: ['npu2201']"), edit("targets: [npu-2201]", "targets: ['npu-2201']")),
        (edit("dtypes: [any]", "dtypes: [fp16, float32]"), edit("dtypes: [any]", "dtypes: [float16, float32]")),
        (edit("dtypes: [any]", "dtypes: [float16, fp16]"), edit("dtypes: [any]", "dtypes: [float16]")),
        (edit("operators: [softmax]", "operators: Softmax"), edit("operators: [softmax]", "operators: softmax")),
        (edit("shape: [4096, 8192], dtype: float16", "shape: [4096, 8192], dtype: FP16"), GOOD),
    ),
)
def unknown_term(s: Subject) -> Iterator[Hit]:
    kinds = s.vocabulary.ids("kinds")
    if s.entry.kind and s.entry.kind not in kinds:
        hint = suggestion(s.vocabulary, "kinds", s.entry.kind, kinds)
        fix = write(s, right, "kind") if (right := named(s.vocabulary, "kinds", s.entry.kind)) else ()
        yield s.hit(f"unknown kind `{s.entry.kind}`", "kind", hint=hint, fix=fix)
    for field in (*_FILES, "dtypes"):
        terms = known(s.vocabulary, field)
        written: set[str] = set()
        for path, term in s.term_list(field):
            if term in terms or (term == ANY and field in MAY_BE_ANY):
                continue
            if term == ANY:
                hint = "leave the list empty if it is not known"
            elif field == "dtypes":
                hint = value_suggestion(s.vocabulary, "dtype", term)
            else:
                hint = suggestion(s.vocabulary, _FILES[field], term, terms)
            yield s.hit(f"{field}: unknown term `{term}`", *path, hint=hint, fix=_right_term(s, field, path, term, written))
    yield from _inputs(s)


def _right_term(s: Subject, field: str, path: tuple[str | int, ...], term: str, written: set[str]) -> tuple[Edit, ...]:
    """Edits that put the term that `term` names in its place; `written` collects the terms so put into the list."""
    vocabulary, there = s.vocabulary, [t for _, t in s.term_list(field)]
    right = named_value(vocabulary, "dtype", term) if field == "dtypes" else named(vocabulary, _FILES[field], term)
    if not right or right in written or (right == ANY and len(there) > 1):
        return ()
    if field == "targets" and vocabulary.term("targets", right).get("level") == "product":
        return ()
    if right in there:
        return remove(s, *path)
    written.add(right)
    return write(s, right, *path)


def _inputs(s: Subject) -> Iterator[Hit]:
    for i, item in enumerate(s.entry.evidence):
        for j, row in enumerate(getattr(item, "rows", ())):
            for k, tensor in enumerate(row.inputs):
                for name in ("dtype", "layout"):
                    term, terms = getattr(tensor, name), s.vocabulary.facet_values(name)
                    if term not in (UNKNOWN, *terms):
                        hint = value_suggestion(s.vocabulary, name, term)
                        place = ("evidence", i, "rows", j, "inputs", k, name)
                        fix = write(s, right, *place) if (right := named_value(s.vocabulary, name, term)) else ()
                        yield s.hit(f"{name}: unknown term `{term}`", *place, hint=hint, fix=fix)


@rule(
    "CB202",
    "product-as-target",
    "vocabulary",
    what="A target is a product name.",
    why="Products stand for one or several chips; an entry says for which of them it holds.",
    fix="Write the architectures or SKUs that the vocabulary gives for the product.",
    bad=(edit("targets: [npu-2201]", "targets: [atlas-800t-a2]"),),
)
def product_as_target(s: Subject) -> Iterator[Hit]:
    for path, term in s.term_list("targets"):
        if s.vocabulary.term("targets", term).get("level") == "product":
            chips = ", ".join(s.vocabulary.expand_target(term))
            yield s.hit(f"targets: `{term}` is a product", *path, hint=f"write those of these that it holds for: {chips}")


@rule(
    "CB203",
    "unknown-condition",
    "vocabulary",
    what="A `match` names a facet or a value that the vocabulary does not have.",
    why="A condition that cannot be computed is never true, so it neither withholds nor recommends the entry.",
    fix="Use a facet and values of `book/vocabulary/conditions.yaml`, or leave `match` out and let the text speak.",
    bad=(
        edit("{row-fits-ub: [several]}", "{rows-fit-ub: [several]}"),
        edit("{row-fits-ub: [no]}", "{row-fits-ub: [never]}"),
        edit("{row-fits-ub: [no]}", "{row-fits-ub: []}"),
    ),
    auto="Writes the facet or value where the word is its id or title, apart from case, blanks and hyphens.",
    mended=(
        (edit("{row-fits-ub: [several]}", "{Row_fits_UB: [several]}"), GOOD),
        (edit("ub: [several]", 'ub: ["Several"]'), edit("ub: [several]", 'ub: ["several"]')),
    ),
)
def unknown_condition(s: Subject) -> Iterator[Hit]:
    facets = s.vocabulary.ids("conditions")
    for path, condition in _conditions(s):
        for facet, values in condition.match.items():
            place = (*path, "match", facet)
            if facet not in facets:
                hint = suggestion(s.vocabulary, "conditions", facet, facets)
                right = named(s.vocabulary, "conditions", facet)
                fix = rename(s, right, *place) if right and right not in condition.match else ()
                yield s.hit_key(f"unknown facet `{facet}`", *place, hint=hint, fix=fix)
                continue
            allowed = s.vocabulary.facet_values(facet)
            for value in values:
                if value not in allowed:
                    hint = value_suggestion(s.vocabulary, facet, value)
                    right = named_value(s.vocabulary, facet, value)
                    fix = write(s, right, *_where(s, value, place)) if right and right not in values else ()
                    yield s.hit(f"{facet}: unknown value `{value}`", *place, hint=hint, fix=fix)
            if not values:
                yield s.hit(f"{facet}: no value", *place, hint="one of " + ", ".join(allowed))


def _where(s: Subject, value: str, place: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The path of `value` in the list at `place`, or of the list itself where it is written without brackets."""
    listed: Any = s.front.values
    for part in place:
        listed = listed[part]
    return (*place, listed.index(value)) if isinstance(listed, list) else place


def _conditions(s: Subject) -> Iterator[tuple[tuple[str | int, ...], Condition]]:
    for field in ("applies_when", "avoid_when"):
        for i, condition in enumerate(getattr(s.entry, field)):
            yield (field, i), condition


@rule(
    "CB204",
    "unknown-component",
    "vocabulary",
    what="`toolchain` names a component that the vocabulary does not have.",
    why="A caller's versions are compared component by component; an unknown one is never compared.",
    fix="Use a component of `book/vocabulary/toolchain.yaml`.",
    bad=(edit("toolchain: {cann:", "toolchain: {CANN-toolkit:"),),
    auto="Writes the component where the word is its id, title or other name, apart from case, blanks and hyphens.",
    mended=((edit("toolchain: {cann:", "toolchain: {CANN:"), GOOD),),
)
def unknown_component(s: Subject) -> Iterator[Hit]:
    components = s.vocabulary.ids("toolchain")
    for name in s.entry.toolchain:
        if name not in components:
            hint = suggestion(s.vocabulary, "toolchain", name, components)
            right = named(s.vocabulary, "toolchain", name)
            fix = rename(s, right, "toolchain", name) if right and right not in s.entry.toolchain else ()
            yield s.hit_key(f"unknown component `{name}`", "toolchain", name, hint=hint, fix=fix)


@rule(
    "CB205",
    "unreadable-specifier",
    "vocabulary",
    what="A version specifier of `toolchain` cannot be read.",
    why="It would count as not known, and the entry would be shown for versions that it excludes.",
    fix='Write comparisons joined by commas: `">=8.0,<9.2"`. Versions such as `8.2.RC1.alpha003` are understood.',
    bad=(edit('">=8.0,<9.2"', '"8.0 or newer"'), edit('">=8.0,<9.2"', '"~=8.0"'), edit('">=8.0,<9.2"', '">=8.0,"')),
    good=(edit('">=8.0,<9.2"', "unknown"), edit('">=8.0,<9.2"', '">=8.2.RC1.alpha003"'), edit('">=8.0,<9.2"', "any")),
)
def unreadable_specifier(s: Subject) -> Iterator[Hit]:
    for name, specifier in s.entry.toolchain.items():
        if specifier.strip() != UNKNOWN and versions.parse_specifier(specifier) is None:
            yield s.hit(f"{name}: cannot read `{specifier}`", "toolchain", name, hint='write comparisons: ">=8.0,<9.2"')


@rule(
    "CB206",
    "unknown-error-code",
    "vocabulary",
    severity=Severity.WARNING,
    what="An error code is not in the vocabulary.",
    why="A code is recognised in an error text through the vocabulary; this one is found only if it is typed exactly.",
    fix="Check the code; if it is right, propose it for `book/vocabulary/error_codes.yaml`.",
    bad=(edit('error_codes: ["507035"]', 'error_codes: ["50735"]'),),
)
def unknown_error_code(s: Subject) -> Iterator[Hit]:
    codes = s.vocabulary.ids("error_codes")
    for path, code in s.term_list("error_codes"):
        if code not in codes:
            yield s.hit(f"unknown error code `{code}`", *path, hint=suggestion(s.vocabulary, "error_codes", code, codes))


@rule(
    "CB207",
    "any-mixed",
    "vocabulary",
    what="A facet list holds `any` beside other values.",
    why="`[any]` declares that the lesson holds for every value, other values that it holds for those only: not both.",
    fix="Keep `any` alone, or name the values.",
    bad=(edit("dsl: [ascendc]", "dsl: [ascendc, any]"),),
)
def any_mixed(s: Subject) -> Iterator[Hit]:
    for field in sorted(MAY_BE_ANY):
        terms = [term for _, term in s.term_list(field)]
        if ANY in terms and len(set(terms)) > 1:
            yield s.hit(f"{field}: `any` beside other values", field, hint="keep `any` alone, or name the values")


@rule(
    "CB208",
    "repeated-item",
    "vocabulary",
    severity=Severity.WARNING,
    what="A list holds the same item twice.",
    why="It counts once; the second was probably meant to be another.",
    fix="Remove it, or write what was meant.",
    bad=(edit("stages: [draft, evolve]", "stages: [draft, draft]"),),
)
def repeated_item(s: Subject) -> Iterator[Hit]:
    for field in _LISTS:
        seen: set[str] = set()
        for path, term in s.term_list(field):
            if term in seen:
                yield s.hit(f"{field}: `{term[:60]}` stands twice", *path, hint="remove it")
            seen.add(term)


@rule(
    "CB209",
    "scope-missing",
    "vocabulary",
    completeness=True,
    needs="front",
    what="A facet by which callers filter or rank is left out.",
    why="It counts as not known: the entry ranks below declared matches, and passes each filter marked `not verified`.",
    fix="Write the values, `[any]` if it holds for every value, or `[]` to say that it is not known.",
    bad=(edit("stages: [draft, evolve]\n", ""), edit("targets: [npu-2201]\n", "")),
)
def scope_missing(s: Subject) -> Iterator[Hit]:
    for field in SCOPE:
        if field not in s.front.values and field != "dsl":
            form = "{}" if field == "toolchain" else "[]"
            ranks = field in ("operators", "stages", "bottlenecks")
            loss = "it ranks below entries that name theirs" if ranks else "callers who filter by it see `not verified`"
            hint = f"without it, {loss}; write `{field}: {form}` if not known"
            yield s.hit(f"no `{field}`", field, hint=hint)
