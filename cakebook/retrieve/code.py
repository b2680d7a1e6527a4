"""Which APIs of the book a piece of code uses: literal names, in any of the languages that kernels are written in."""

from __future__ import annotations

import math
import re

from cakebook.index.catalog import Catalog

_CHAIN = re.compile(r"[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*")
_PYTHON = re.compile(r"^\s*(?:def|import|from|class|@\w)", re.MULTILINE)
_COMMENT_PYTHON = re.compile(r"#[^\n]*")
_COMMENT_CPP = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PART = re.compile(r"::|\.")


def names_in(code: str) -> frozenset[str]:
    """Names that the code writes, and their endings: `pipe.InitBuffer` is also `InitBuffer`. Comments do not count."""
    names: set[str] = set()
    comment = _COMMENT_PYTHON if _PYTHON.search(code) else _COMMENT_CPP
    for chain in {m.group() for m in _CHAIN.finditer(comment.sub(" ", code))}:
        names.add(chain)
        names |= {chain[m.end() :] for m in _PART.finditer(chain)}
    return frozenset(names)


def apis_in(code: str, catalog: Catalog) -> dict[int, tuple[str, ...]]:
    """Entry rows → the APIs of each that the code uses, spelled as in the entry."""
    written = names_in(code)
    folded = sorted({name.casefold() for name in written})
    rows: set[int] = set()
    for at in range(0, len(folded), 400):
        rows |= {row for _, kind, row in catalog.named(folded[at : at + 400]) if kind == "api"}
    found: dict[int, tuple[str, ...]] = {}
    for row, card in catalog.cards(sorted(rows)).items():
        used = [api for api in card["apis"] if api in written or (_PART.split(api)[-1] in written and _is_name(api))]
        if used:
            found[row] = tuple(used)
    return found


def weight_of_apis(found: dict[int, tuple[str, ...]], catalog: Catalog) -> dict[int, float]:
    """Rows → how much the APIs that they share with the code say.

    A name that every entry carries says nothing (IDF); an entry names first what it is about.
    """
    counts: dict[str, int] = {}
    for apis in found.values():
        for api in apis:
            counts[api] = counts.get(api, 0) + 1
    size = catalog.size()
    cards = catalog.cards(found)
    return {
        row: sum(math.log(1 + size / counts[api]) / math.sqrt(1 + cards[row]["apis"].index(api)) for api in apis)
        for row, apis in found.items()
    }


def _is_name(api: str) -> bool:
    """Whether the last part of an API is telling by itself: `InitBuffer` is, the `load` of `tl.load` is a word."""
    return re.search(r"[A-Z_0-9]", _PART.split(api)[-1][1:]) is not None
