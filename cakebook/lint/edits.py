"""Edits that mend a finding: what to write where, in the style of the place. Nothing where no edit is certain.

They name characters of the decoded text, by the spans of the front matter's parser; nothing is ever written anew as a whole.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cakebook.lint.subject import Subject
from cakebook.model.entry import Entry
from cakebook.text.frontmatter import Span
from cakebook.text.patch import Edit

Fix = tuple[Edit, ...]
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._-]*(?: [A-Za-z0-9._-]+)*")
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "true", "false", "on", "off", "null"})
"""What other readers of YAML take for something else than text."""
_FIRST = ("type", "id")
_ORDER = (*_FIRST, *(name for name in Entry.model_fields if name not in _FIRST))
"""Keys of the front matter in the order in which `cakebook new` writes them."""


def write(s: Subject, value: str, *path: str | int) -> Fix:
    """Put `value` in the place of the text at `path`; quotes stay as they are."""
    if not isinstance(_value(s, path), str):
        return ()
    return _replace(s.file.text, s.front.spans[path], value)


def rename(s: Subject, key: str, *path: str | int) -> Fix:
    """Put `key` in the place of the key at `path`."""
    return _replace(s.file.text, s.front.keys[path], key) if path in s.front.keys else ()


def put(s: Subject, key: str, value: str) -> Fix:
    """Write the top-level `key`: in its place, else on a line of its own before the one that follows it in an entry."""
    if key in s.front.values:
        return write(s, value, key)
    top, text = s.front.spans.get(()), s.file.text
    if top is None or not s.front.values or text[top.start] == "{":
        return ()
    later = _ORDER[_ORDER.index(key) + 1 :]
    following = next((name for name in s.front.values if name in later), next(iter(s.front.values)))
    place = s.front.keys[(following,)]
    indent = " " * (place.column - 1)
    return (Edit(place.start, place.start, f"{key}: {_scalar(value)}\n{indent}"),)


def remove(s: Subject, *path: str | int) -> Fix:
    """Take an item out of a list: with its comma if the list has brackets, else with its line."""
    above, place = path[:-1], path[-1]
    if not isinstance(place, int) or path not in s.front.spans:
        return ()
    text, whole, item = s.file.text, s.front.spans[above], s.front.spans[path]
    before = s.front.spans.get((*above, place - 1))
    after = s.front.spans.get((*above, place + 1))
    if text[whole.start] == "[":
        if before:
            edit, between = Edit(before.end, item.end, ""), text[before.end : item.start]
        elif after:
            edit, between = Edit(item.start, after.start, ""), text[item.end : after.start]
        else:
            edit, between = Edit(item.start, item.end, ""), ","
            if text[item.end : whole.end].strip() != "]":
                return ()
        return (edit,) if between.strip() == "," else ()
    start = text.rfind("\n", 0, item.start) + 1
    end = text.find("\n", item.end) + 1
    alone = text[start : item.start].strip() == "-" and not text[item.end : end].strip()
    return (Edit(start, end, ""),) if alone and (before or after) else ()


def in_line(s: Subject, number: int, old: str, new: str) -> Fix:
    """Replace `old` in a line of the file, if it stands there once."""
    start, line = line_at(s.file.text, number)
    at = start + line.find(old)
    return (Edit(at, at + len(old), new),) if line.count(old) == 1 else ()


def line_at(text: str, number: int) -> tuple[int, str]:
    """Where line `number` of `text` begins, and what it holds."""
    start = 0
    for _ in range(number - 1):
        start = text.find("\n", start) + 1
        if not start:
            return len(text), ""
    end = text.find("\n", start)
    return start, text[start:] if end < 0 else text[start:end]


def _replace(text: str, span: Span, value: str) -> Fix:
    old = text[span.start : span.end]
    if not old:
        return (Edit(span.start, span.end, " " + _scalar(value)),) if text[span.start - 1] == ":" else ()
    return () if old[0] in "|>" else (Edit(span.start, span.end, _scalar(value, old)),)


def _scalar(value: str, like: str = "") -> str:
    """`value` as YAML writes it, quoted as `like` is and where it must be."""
    if like.startswith("'"):
        return "'" + value.replace("'", "''") + "'"
    plain = _PLAIN.fullmatch(value) and value.casefold() not in _NOT_TEXT
    return value if plain and not like.startswith('"') else json.dumps(value, ensure_ascii=False)


def _value(s: Subject, path: tuple[str | int, ...]) -> Any:
    """What stands at `path`, None if nothing does."""
    if path not in s.front.spans:
        return None
    value: Any = s.front.values
    for part in path:
        value = value[part]
    return value
