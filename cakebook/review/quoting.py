"""A stranger's text, put into an entry so that it stays where it was put and reads as it was written.

Nothing that Markdown or YAML acts on survives outside a code span or a fence of ours: no heading, fence, HTML, link, image,
footnote or entity. What cannot be seen is taken out, since lint refuses it and a reviewer could not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cakebook.lint.code import SPELT
from cakebook.lint.format import BLANK
from cakebook.lint.safety import _is_bidi, _is_control, _is_unseen
from cakebook.text import markdown

_SPAN = re.compile(r"(?<!`)`(?!`)[^`]+`(?!`)")
_ACTIVE = re.compile(r"[\\`\[]|<(?=[A-Za-z/!?])|&(?=[#A-Za-z0-9])")
_EMPHASIS = re.compile(r"\*|(?<![^\W_])_|_(?![^\W_])")
_BLOCK = re.compile(r"(?:#{1,6}|[-+*])(?:\s|$)|>|~~~|-+\s*$|(?:-\s*){3,}$|=+\s*$")
_NUMBERED = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(.*)")
_LANGUAGE = re.compile(r"[a-z][a-z0-9+#-]{0,19}")


@dataclass(frozen=True)
class Block:
    """A piece of text: `kind` is `text`, `item` (of a list) or `code`, the latter with its `language`."""

    kind: str
    text: str
    language: str = ""


def clean(text: str) -> tuple[str, int]:
    """`text` with LF line ends and without characters that lint refuses, and how many of those there were.

    The mark of a scaffold's blank is taken apart, because it would ask the reader for something.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    odd: dict[str, str | int | None] = {}
    for char in set(text):
        if _is_bidi(char) or _is_unseen(char):
            odd[char] = ""
        elif _is_control(char):
            odd[char] = " "
    removed = sum(text.count(char) for char in odd)
    return text.translate(str.maketrans(odd)).replace(BLANK, f"{BLANK[:-1]} ("), removed


def scalar(text: str) -> str:
    """`text` as a YAML scalar on one line, in double quotes, which JSON's escapes are a part of."""
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def flow(items: tuple[str, ...]) -> str:
    """`items` as a YAML list on one line."""
    return "[" + ", ".join(map(scalar, items)) + "]"


def prose(text: str) -> str:
    """`text` as Markdown for one line that a label or a bullet precedes; only code spans keep their meaning."""
    flat = " ".join(text.split())
    outside = _SPAN.sub("", flat)
    emphasis = len(_EMPHASIS.findall(outside)) > 1  # a single mark emphasises nothing
    parts, at = [], 0
    for span in _SPAN.finditer(flat):
        parts += [_escaped(flat[at : span.start()], emphasis), span.group()]
        at = span.end()
    line = "".join([*parts, _escaped(flat[at:], emphasis)])
    # A footnote mark may follow, and `![` would open an image.
    return line[:-1] + "\\!" if line.endswith("!") else line


def paragraph(text: str) -> str:
    """`text` as Markdown for a paragraph of its own: as `prose`, and nothing at its start opens a block."""
    line = prose(text)
    if _BLOCK.match(line):
        return "\\" + line
    return _NUMBERED.sub(r"\1\\\2", line, count=1) if _NUMBERED.match(line) else line


def blocks(text: str) -> Iterator[Block]:
    """The paragraphs, list items and code blocks of a Markdown text, in order; nested lists are flattened."""
    fences = {fence.line: fence for fence in markdown.parse(text).fences}
    lines = text.split("\n")
    held: list[str] = []
    kind = "text"
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        fence = fences.get(number)
        item = None if fence else _ITEM.fullmatch(line)
        if (fence or item or not line.strip()) and held:
            yield Block(kind, " ".join(held))
            held, kind = [], "text"
        if fence:
            if fence.code.strip():
                yield Block("code", fence.code, fence.language)
            number += fence.code.count("\n") + (not fence.code.endswith("\n") and fence.code != "") + fence.closed
        elif item:
            held, kind = [item.group(1)], "item"
        elif line.strip():
            held.append(line)
    if held:
        yield Block(kind, " ".join(held))


def body(text: str, *, note: str = "", plain: bool = False) -> str:
    """`text` as blocks of an entry's section.

    Args:
        note: the label of a footnote that every claim carries; with it each paragraph becomes a bullet.
        plain: name no language for code, because it does not parse as the one it claims to be.
    """
    parts: list[str] = []
    listed = False
    for block in blocks(text):
        bullet = block.kind == "item" or (note != "" and block.kind == "text")
        if block.kind == "code":
            written = fenced(block.text, "" if plain else block.language)
        elif bullet:
            written = "- " + paragraph(block.text) + (f"[^{note}]" if note else "")
        else:
            written = paragraph(block.text)
        parts += ["" if not parts else "\n" if bullet and listed else "\n\n", written]
        listed = bullet
    return "".join(parts)


def fenced(code: str, language: str) -> str:
    """`code` in a fence that nothing in it can close."""
    name = SPELT.get(language.casefold(), language.casefold())
    name = name if _LANGUAGE.fullmatch(name) and name != "check" else "text"
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    ticks = "`" * max(3, longest + 1)
    inside = code.strip("\n")
    return f"{ticks}{name}\n{inside}\n{ticks}"


def _escaped(text: str, emphasis: bool) -> str:
    text = _ACTIVE.sub(r"\\\g<0>", text)
    return _EMPHASIS.sub(r"\\\g<0>", text) if emphasis else text
