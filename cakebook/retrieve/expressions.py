"""A small expression language over named numbers and strings, for rules that live in the vocabulary as data.

Grammar: a part of Python's expressions. Numbers, quoted strings, names, `+ - * // / %`, comparisons, `and or not`,
parentheses and the functions `min max ceil_div round_up`. Logic is three-valued: a name without a value is unknown, and
unknown spreads unless the other side decides.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
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


@cache
def compile_expression(text: str) -> ast.expr:
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


def names(text: str) -> frozenset[str]:
    """The names that an expression uses, functions left out."""
    tree = compile_expression(text)
    return frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)) - frozenset(_FUNCTIONS)


def evaluate(text: str, values: Mapping[str, Value]) -> bool | None:
    """Whether the expression holds; None if that depends on a name without a value, or on a division by zero.

    Raises:
        ValueError: the expression is not of the grammar.
    """
    result = _value(compile_expression(text), values)
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


def _value(node: ast.expr, values: Mapping[str, Value]) -> Any:
    """The value of a part; None if it is unknown or has none, as a division by zero or a sum with a string."""
    try:
        return _apply(node, values)
    except (ZeroDivisionError, TypeError, ValueError, OverflowError):
        return None


def _apply(node: ast.expr, values: Mapping[str, Value]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values.get(node.id)
    if isinstance(node, ast.BoolOp):
        return _logic(isinstance(node.op, ast.And), [_value(v, values) for v in node.values])
    if isinstance(node, ast.UnaryOp):
        inner = _value(node.operand, values)
        return None if inner is None else (not inner if isinstance(node.op, ast.Not) else -inner)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, values), _value(node.right, values)
        if isinstance(left, str) or isinstance(right, str):  # neither repetition nor formatting
            raise TypeError
        return None if left is None or right is None else _ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Compare):
        items = [_value(v, values) for v in (node.left, *node.comparators)]
        pairs = zip(items, items[1:], node.ops, strict=False)
        return _logic(True, [None if a is None or b is None else _COMPARE[type(op)](a, b) for a, b, op in pairs])
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    arguments = [_value(a, values) for a in node.args]
    return None if None in arguments else _FUNCTIONS[node.func.id](*arguments)


def _logic(is_and: bool, parts: list[Any]) -> bool | None:
    decisive = not is_and
    if any(p is not None and bool(p) is decisive for p in parts):
        return decisive
    return None if None in parts else is_and
