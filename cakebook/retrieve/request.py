"""From what people type to vocabulary terms: every filter value resolved, or refused with the valid ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from cakebook.errors import BadArgument, BadFilter, EmptyRequest, TierBelowPolicy, TooLarge
from cakebook.model.query import MAX_LIMIT, MAX_TEXT, MODES, TIERS, Facets, Mode, Tier
from cakebook.model.terms import Vocabulary
from cakebook.text import versions

Names = str | Sequence[str] | None


def listed(value: Names) -> tuple[str, ...]:
    """One name or several, as a tuple without blanks; commas separate too."""
    if value is None:
        return ()
    items = [value] if isinstance(value, str) else list(value)
    return tuple(part.strip() for item in items for part in item.split(",") if part.strip())


def resolve(vocabulary: Vocabulary, file: str, option: str, value: Names) -> tuple[str, ...]:
    """The vocabulary ids that `value` names.

    Raises:
        BadFilter: a name is not there; the hint suggests the nearest, `details.valid` holds all.
    """
    found = []
    for name in listed(value):
        term = vocabulary.resolve(file, name)
        if term is None:
            raise bad_filter(option, name, vocabulary.ids(file))
        found.append(term)
    return tuple(dict.fromkeys(found))


def facets(
    vocabulary: Vocabulary,
    serve: Tier,
    *,
    dsl: Names = None,
    target: Names = None,
    kind: Names = None,
    operator: Names = None,
    stage: Names = None,
    bottleneck: Names = None,
    dtype: Names = None,
    layout: str | None = None,
    when: Mapping[str, Names] | None = None,
    toolchain: Mapping[str, str] | None = None,
    cann: str | None = None,
    shapes: Iterable[Sequence[int]] = (),
    exclude: Names = None,
    strict_scope: bool = False,
    tier: str | None = None,
) -> Facets:
    """The facets of a request.

    Raises:
        BadFilter: a name that the vocabulary does not have.
        BadArgument: a shape or version of the wrong form.
        TierBelowPolicy: `tier` is below what the book serves.
    """
    chain: dict[str, str] = {}
    for name, version in (dict(toolchain or {}) | ({"cann": cann} if cann else {})).items():
        component = vocabulary.resolve("toolchain", name)
        if component is None:
            raise bad_filter("toolchain", name, vocabulary.ids("toolchain"))
        if versions.key(version) is None:
            raise BadArgument(f"`{version}` is not a version of {component}", hint="for example 8.2.RC1 or 9.0.0")
        chain[component] = version
    return Facets(
        dsls=resolve(vocabulary, "dsls", "dsl", dsl),
        targets=resolve(vocabulary, "targets", "target", target),
        kinds=resolve(vocabulary, "kinds", "kind", kind),
        operators=resolve(vocabulary, "operators", "operator", operator),
        stages=resolve(vocabulary, "stages", "stage", stage),
        bottlenecks=resolve(vocabulary, "bottlenecks", "bottleneck", bottleneck),
        dtypes=_values(vocabulary, "dtype", dtype),
        layout=next(iter(_values(vocabulary, "layout", layout)), ""),
        when={facet: _values(vocabulary, facet, value) for facet, value in (when or {}).items()},
        toolchain=chain,
        shapes=tuple(_shape(shape) for shape in shapes),
        exclude=listed(exclude),
        strict_scope=strict_scope,
        tier=_tier(tier, serve),
    )


def check_text(option: str, text: str) -> str:
    """`text` with lone surrogates and NUL replaced, so that it can be stored and printed.

    Raises:
        TooLarge: it is longer than `MAX_TEXT` characters.
    """
    if len(text) > MAX_TEXT:
        raise TooLarge(f"{option} has {len(text):,} characters; {MAX_TEXT:,} are allowed", hint="give the relevant part")
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def check_code(code: str) -> str:
    """`code` with lone surrogates and NUL replaced.

    Raises:
        TooLarge: it is longer than `MAX_CODE` characters.
    """
    from cakebook.model.pack import MAX_CODE  # a search needs nothing of packs

    if len(code) > MAX_CODE:
        raise TooLarge(f"the code has {len(code):,} characters; {MAX_CODE:,} are allowed", hint="give the kernel itself")
    return code.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def check_purpose(mode: str | Sequence[str]) -> tuple[Mode, str]:
    """How to search, and the stage that `generation` or `evolution` stands for, empty without one.

    Raises:
        BadFilter: a word is neither.
    """
    from cakebook.model.pack import PURPOSES

    how: Mode = "auto"
    stage = ""
    for word in listed(mode):
        if word in PURPOSES:
            stage = PURPOSES[word]
        elif word in MODES:
            how = word
        else:
            raise bad_filter("mode", word, (*MODES, *PURPOSES))
    return how, stage


def names(value: Names) -> tuple[str, ...]:
    """One name or several, as given: a comma may be part of a free text."""
    items = [value] if isinstance(value, str) else list(value or ())
    return tuple(item for item in items if item.strip())


def check_limit(limit: int) -> int:
    """`limit` itself.

    Raises:
        BadArgument: it is not in 1..`MAX_LIMIT`.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise BadArgument(f"limit {limit} is not in 1..{MAX_LIMIT}", hint=f"at most {MAX_LIMIT} hits")
    return limit


def check_lang(lang: str) -> str:
    """`lang` itself.

    Raises:
        BadFilter: it is not one of auto, en, zh.
    """
    if lang not in ("auto", "en", "zh"):
        raise bad_filter("lang", lang, ("auto", "en", "zh"))
    return lang


def check_mode(mode: str) -> str:
    """`mode` itself.

    Raises:
        BadFilter: it is not one of `MODES`.
    """
    if mode not in MODES:
        raise bad_filter("mode", mode, MODES)
    return mode


def require_something(text: str, given: Facets) -> None:
    """Nothing was asked when there is neither text nor a facet.

    Raises:
        EmptyRequest: that is so.
    """
    if not text.strip() and given in (Facets(), Facets(strict_scope=True)):
        raise EmptyRequest("nothing was asked", hint="give a question, or a facet such as --operator or --bottleneck")


def parse_shape(text: str) -> tuple[int, ...]:
    """`4096,8192` or `4096x8192` as a shape in elements.

    Raises:
        BadArgument: it is not a list of positive integers.
    """
    parts = [p for p in re.split(r"[,xX×*\s]+", text.strip("[]() ")) if p]
    if not parts or not all(p.isascii() and p.isdigit() for p in parts):
        raise BadArgument(f"`{text}` is not a shape", hint="for example --shape 4096,8192")
    return _shape([int(p) for p in parts])


def parse_pairs(option: str, items: Sequence[str]) -> dict[str, str]:
    """`name=value` items as a mapping; a name given twice keeps both values, separated by a comma.

    Raises:
        BadArgument: an item has no `=`.
    """
    pairs: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise BadArgument(f"{option} `{item}` is not name=value", hint=f"for example {option} {_EXAMPLES[option]}")
        pairs[name.strip()] = f"{pairs[name.strip()]},{value.strip()}" if name.strip() in pairs else value.strip()
    return pairs


_EXAMPLES = {"--when": "tail=present", "--toolchain": "cann=8.2.RC1"}


def _values(vocabulary: Vocabulary, facet: str, value: Names) -> tuple[str, ...]:
    names = listed(value)
    if not names:  # a book need not have every facet
        return ()
    if facet not in vocabulary.ids("conditions"):
        raise bad_filter("when", facet, vocabulary.ids("conditions"))
    table: dict[str, str] = {}
    for term in vocabulary.term("conditions", facet).get("values", ()):
        for name in (term["id"], term["title"], *term.get("aliases", ()), *term.get("aliases_zh", ())):
            table.setdefault(name.casefold(), term["id"])
    found = []
    for name in names:
        if name.casefold() not in table:
            raise bad_filter(facet, name, vocabulary.facet_values(facet))
        found.append(table[name.casefold()])
    return tuple(dict.fromkeys(found))


def _tier(tier: str | None, serve: Tier) -> Tier | None:
    if tier is None:
        return None
    for known in TIERS:
        if known == tier:
            if TIERS.index(known) < TIERS.index(serve):
                raise TierBelowPolicy(f"tier {tier} is below what this book serves ({serve})", hint=f"ask for {serve} or above")
            return known
    raise bad_filter("tier", tier, TIERS)


def _shape(shape: Sequence[int]) -> tuple[int, ...]:
    if not shape or len(shape) > 16 or any(not 0 < n < 2**48 for n in shape):
        raise BadArgument(f"`{','.join(map(str, shape))[:80]}` is not a shape", hint="1 to 16 positive integers below 2^48")
    return tuple(int(n) for n in shape)


def bad_filter(option: str, name: str, valid: Sequence[str]) -> BadFilter:
    """The refusal of a name that is none of `valid`, with the nearest of them."""
    near = difflib.get_close_matches(name.casefold(), [v.casefold() for v in valid], n=1, cutoff=0.6)
    guess = next((f"did you mean `{v}`? " for v in valid if near and v.casefold() == near[0]), "")
    return BadFilter(
        f"{option} `{name[:80]}` is not known", hint=f"{guess}valid: {', '.join(valid)}", option=option, valid=list(valid)
    )
