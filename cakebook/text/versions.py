"""Toolchain versions as they are really printed, which PEP 440 does not read.

Order, by a table and not by guess: test or development build < alpha < beta < RC < release < post-release. A version is
its release numbers and then a list of (stage, number): `8.2.RC1.alpha003` is alpha 3 of RC 1 of 8.2, so it comes before
`8.2.RC1`, which comes before `8.2`. A build (`B020`) of a stage comes before the stage is final.

Against a bound without a pre-release part, a pre-release counts as its release: whoever runs `9.2.RC1` has the behaviour of
9.2, so it does not satisfy `<9.2`, and `8.0.RC1` satisfies `>=8.0`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_STAGES = {
    "t": 0, "dev": 0, "alpha": 1, "a": 1, "beta": 2, "build": 3, "b": 3, "rc": 4, "c": 4, "post": 6, "sp": 6, "p": 6,
}  # fmt: skip
_FINAL = (5, 0)
_RELEASE = re.compile(r"v?([0-9]{1,18}(?:\.[0-9]{1,18})*)", re.IGNORECASE)  # longer numbers are no versions
_STAGE = re.compile(r"[.\-_+]?([A-Za-z]+)[.\-_]?([0-9]{0,18})")
_CLAUSE = re.compile(r"(>=|<=|==|!=|<|>)\s*(\S+)")

Key = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]


def key(text: str) -> Key | None:
    """Sort key of a version, None if it cannot be read. `8.0` and `8.0.0` have the same key."""
    text = text.strip()
    match = _RELEASE.match(text)
    if match is None:
        return None
    numbers = [int(n) for n in match.group(1).split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    stages: list[tuple[int, int]] = []
    at = match.end()
    while at < len(text):
        part = _STAGE.match(text, at)
        if part is None or part.group(1).lower() not in _STAGES:
            return None
        name, number = part.group(1).lower(), part.group(2)
        stages.append((_STAGES[name], int(number or 0)))
        at = part.end()
    return tuple(numbers), (*stages, _FINAL)


def satisfies(version: str, specifier: str) -> bool | None:
    """Whether `version` lies within `specifier` (`>=8.0,<9.2`); None if either cannot be read.

    An empty specifier, `any` or `*` admits every version; `unknown` is None.
    """
    clauses = parse_specifier(specifier)
    if clauses is None:
        return None
    mine = key(version)
    if mine is None:
        return None if clauses else True
    return all(_holds(mine, operator, bound) for operator, bound in clauses)


def parse_specifier(specifier: str) -> list[tuple[str, Key]] | None:
    """The clauses of a specifier, None if one cannot be read."""
    text = specifier.strip()
    if text in ("", "any", "*"):
        return []
    clauses: list[tuple[str, Key]] = []
    for part in text.split(","):
        match = _CLAUSE.fullmatch(part.strip())
        operator, bound_text = match.groups() if match else ("==", part.strip())
        bound = key(bound_text)
        if bound is None:
            return None
        clauses.append((operator, bound))
    return clauses


def _holds(mine: Key, operator: str, bound: Key) -> bool:
    if bound[1] == (_FINAL,) and mine[1][0] < _FINAL:
        mine = (mine[0], (_FINAL,))
    return _COMPARE[operator](mine, bound)


_COMPARE: dict[str, Callable[[Key, Key], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
}
