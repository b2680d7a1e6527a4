"""A small expression language over named numbers and strings, for rules that live in the vocabulary as data.

Grammar: a part of Python's expressions. Numbers, quoted strings, names, `+ - * // / %`, comparisons, `and or not`,
parentheses and the functions `min max ceil_div round_up`. Logic is three-valued: a name without a value is unknown, and
unknown spreads unless the other side decides.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

Value = int | float | str
MAX_NODES = 200

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "ceil_div": lambda a, b: -(-a // b),
    "round_up": lambda a, b: -(-a // b) * b,
}


Compiled = Callable[[Mapping[str, Value]], Any]
"""What a part of an expression becomes: values of the names → its value; None if that is unknown or there is none."""


@cache
def checked(text: str) -> ast.expr:
    """The checked tree of an expression.

    Raises:
        ValueError: it is not of the grammar; the message says what is not.
    """
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"not an expression: {text}") from None
    nodes = [
        n for n in ast.walk(tree) if not isinstance(n, ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop)
    ]
    if len(nodes) > MAX_NODES:
        raise ValueError(f"expression has more than {MAX_NODES} parts")
    for node in ast.walk(tree):
        _check(node)
    return tree


@cache
def compiled(text: str) -> Compiled:
    """The expression as a function of its names; rules are evaluated for every candidate of every request.

    Raises:
        ValueError: the expression is not of the grammar.
    """
    return _compile(checked(text))


def names(text: str) -> frozenset[str]:
    """The names that an expression uses, functions left out."""
    return frozenset(n.id for n in ast.walk(checked(text)) if isinstance(n, ast.Name)) - frozenset(_FUNCTIONS)


def evaluate(text: str, values: Mapping[str, Value]) -> bool | None:
    """Whether the expression holds; None if that depends on a name without a value, or on a division by zero.

    Raises:
        ValueError: the expression is not of the grammar.
    """
    result = compiled(text)(values)
    return None if result is None else bool(result)


def _check(node: ast.AST) -> None:
    ok = isinstance(
        node,
        ast.BoolOp | ast.boolop | ast.Compare | ast.Name | ast.expr_context | ast.UnaryOp | ast.Not | ast.USub,
    )
    if isinstance(node, ast.BinOp):
        ok = type(node.op) in _ARITHMETIC
    elif isinstance(node, ast.cmpop):
        ok = type(node) in _COMPARE
    elif isinstance(node, ast.operator):
        ok = type(node) in _ARITHMETIC
    elif isinstance(node, ast.Constant):
        ok = isinstance(node.value, int | float | str) and not isinstance(node.value, bool)
    elif isinstance(node, ast.Call):
        ok = isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and len(node.args) == 2 and not node.keywords
    if not ok:
        raise ValueError(f"{type(node).__name__} is not allowed in a rule")


def _compile(node: ast.expr) -> Compiled:
    if isinstance(node, ast.Constant):
        constant = node.value
        return lambda _: constant
    if isinstance(node, ast.Name):
        name = node.id
        return lambda values: values.get(name)
    if isinstance(node, ast.BoolOp):
        is_and, parts = isinstance(node.op, ast.And), [_compile(v) for v in node.values]
        return lambda values: _logic(is_and, (part(values) for part in parts))
    if isinstance(node, ast.UnaryOp):
        return _applied(operator.not_ if isinstance(node.op, ast.Not) else operator.neg, [node.operand])
    if isinstance(node, ast.BinOp):
        return _applied(_numbers_only(_ARITHMETIC[type(node.op)]), [node.left, node.right])
    if isinstance(node, ast.Compare):
        items = [node.left, *node.comparators]
        pairs = [_applied(_COMPARE[type(op)], [a, b]) for a, b, op in zip(items, items[1:], node.ops, strict=False)]
        return lambda values: _logic(True, (pair(values) for pair in pairs))
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return _applied(_FUNCTIONS[node.func.id], node.args)


def _applied(function: Callable[..., Any], parts: list[ast.expr]) -> Compiled:
    """`function` of the parts; None if one is unknown, or it has no value, as a division by zero or a sum with a string."""
    arguments = [_compile(part) for part in parts]

    def call(values: Mapping[str, Value]) -> Any:
        given = [argument(values) for argument in arguments]
        try:
            return None if None in given else function(*given)
        except (ZeroDivisionError, TypeError, ValueError, OverflowError):
            return None

    return call


def _numbers_only(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`function` without what it does to strings: neither repetition nor formatting."""

    def call(left: Any, right: Any) -> Any:
        return None if isinstance(left, str) or isinstance(right, str) else function(left, right)

    return call


def _logic(is_and: bool, parts: Iterable[Any]) -> bool | None:
    """Three-valued `and` or `or`: the first deciding part ends it."""
    unknown = False
    for part in parts:
        if part is None:
            unknown = True
        elif bool(part) is not is_and:
            return not is_and
    return None if unknown else is_and
