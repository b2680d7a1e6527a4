"""The tree of errors: what is drawn is what is there, and no error breaks the line it is printed on."""

import json
import pickle
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cakebook import errors
from cakebook.errors import CakeBookError, one_line

CLASSES = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, CakeBookError)]
LEAVES = [c for c in CLASSES if c.code]


def drawn():
    """Class → (parent, code, exit, http) as the docstring draws it."""
    found: dict[str, tuple] = {}
    branch, exit_status, http, last = "CakeBookError", 0, 0, ""
    for line in errors.__doc__.splitlines():
        if match := re.match(r"    [├└]── (\w+)\s+exit (\d+) / HTTP (\d+)$", line):
            branch, exit_status, http = match.group(1), int(match.group(2)), int(match.group(3))
            found[branch], last = ("CakeBookError", "", exit_status, http), branch
        elif match := re.match(r"    [│ ]   [├└]── (\w+)\s+(CB-E\d{3})(?:\s+\(HTTP (\d+)\))?$", line):
            found[match.group(1)] = (branch, match.group(2), exit_status, int(match.group(3) or http))
        elif match := re.match(r"\s+(CB-E\d{3})$", line):
            found[last] = (*found[last][:1], match.group(1), *found[last][2:])
        elif "──" in line:
            raise AssertionError(f"not understood: {line}")
    return found


def test_the_drawing_in_the_docstring_is_the_tree():
    actual = {c.__name__: (c.__bases__[0].__name__, c.code, c.exit, c.http) for c in CLASSES if c is not CakeBookError}
    assert drawn() == actual


def test_codes_are_unique_and_tell_their_branch():
    codes = [c.code for c in LEAVES]
    assert len(set(codes)) == len(codes) and codes == sorted(codes)
    for c in LEAVES:
        assert int(c.code[4]) == c.exit or (c is errors.Bug and c.exit == 70)
        assert c.__doc__ and c.__doc__.strip().endswith(".")


HOSTILE = ["\x1b[31m\x07\x00", "a\nb\r\nc\x85d\u2028e", "\ud800", "\u202e\u200b", "x" * 5000, "", "\t \n", "统一\u3000缓冲"]


@pytest.mark.parametrize("cls", LEAVES)
def test_errors_survive_pickling_with_everything_they_know(cls):
    for text in HOSTILE:
        error = cls(text, hint=text, nearest=["a"], number=1)
        copy = pickle.loads(pickle.dumps(error))
        assert (
            type(copy) is cls and str(copy) == str(error) and copy.details == error.details == {"nearest": ["a"], "number": 1}
        )
        assert copy.to_dict() == error.to_dict()


@pytest.mark.parametrize("text", HOSTILE)
def test_messages_and_hints_keep_to_one_printable_line(text):
    error = errors.BadArgument(f"before {text} after", hint=text)
    for part in (error.message, error.hint, str(error)):
        assert part.isprintable() and part.encode() is not None  # no lone surrogate is left
    assert error.message.startswith("before ") and error.message.endswith(" after")


def test_the_error_shape():
    error = errors.NoSuchEntry("no entry `x`", hint="did you mean `y`?", nearest=["y"])
    assert error.to_dict() == {
        "error": {"code": "CB-E206", "message": "no entry `x`", "hint": "did you mean `y`?", "details": {"nearest": ["y"]}}
    }
    assert str(error) == "CB-E206 no entry `x` (did you mean `y`?)" and str(errors.Bug("x")) == "CB-E901 x"


@settings(deadline=None)
@given(st.text(st.characters(), max_size=80) | st.text(st.characters(categories=["Cs", "Cc", "Zl", "Zp"]), max_size=9))
def test_any_text_becomes_one_printable_line(text):
    flat = one_line(text)
    assert flat.isprintable() and len(flat) <= len(text) and json.dumps(flat, ensure_ascii=False).encode()
    assert one_line(flat) == flat
