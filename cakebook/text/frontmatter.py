"""Front matter: a strict YAML subset in which every scalar stays text and every value knows its place.

PyYAML's `CBaseLoader` composes to nodes and is the only part used: no constructor runs, so `no` is not False and `8.10`
is not 8.1. What YAML allows and a reviewed file does not need (anchors, aliases, tags, merge keys, several documents,
repeated keys) is refused, since two readers could understand it differently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

MAX_FRONT_MATTER = 64 * 1024
MAX_FILE = 256 * 1024
MAX_LISTING = 8 * 1024 * 1024
"""Of a file that lists every entry or statement of a book."""
MAX_DEPTH = 8
BOM = b"\xef\xbb\xbf"

_ODD_BREAK = re.compile("\r(?!\n)|[\x85\u2028\u2029]")
"""Line breaks of YAML 1.1 that editors and YAML 1.2 do not show as such: a second key could hide behind one."""

Path = tuple[str | int, ...]
"""Where a value stands: keys and list positions from the top."""


@dataclass(frozen=True)
class Problem:
    """Something wrong at a place. `rule` is the lint rule that explains it; lines and columns count from 1."""

    rule: str
    message: str
    line: int = 1
    column: int = 1
    hint: str = ""


@dataclass(frozen=True)
class Span:
    """A place: line and column from 1, and the half-open range of characters in the decoded text."""

    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True)
class FrontMatter:
    """`values`: the mapping, scalars as text. `spans`: place of each value; `keys`: place of each key."""

    values: dict[str, Any] = field(default_factory=dict)
    spans: dict[Path, Span] = field(default_factory=dict)
    keys: dict[Path, Span] = field(default_factory=dict)
    body: str = ""
    body_line: int = 1
    problems: tuple[Problem, ...] = ()


class _Refused(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def decode(data: bytes, limit: int = MAX_FILE) -> str | Problem:
    """The text of a file of at most `limit` bytes: UTF-8, an initial BOM dropped, line ends as they are; or what is wrong."""
    if len(data) > limit:
        return Problem("CB107", f"file has {len(data):,} bytes; {limit:,} are allowed", hint="split the lesson in two")
    try:
        text = data.removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return Problem("CB101", f"not UTF-8: byte 0x{data[error.start]:02x}", line, hint="save the file as UTF-8")
    if (at := text.find("\0")) >= 0:
        return Problem("CB101", "holds a NUL character", text.count("\n", 0, at) + 1, hint="remove it")
    return text


def parse(text: str) -> FrontMatter:
    """Split decoded text into front matter and body. Never raises: what is wrong is in `problems`."""
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        hint = "the first line must be `---`, followed by `key: value` lines and another `---`"
        return FrontMatter(body=text, problems=(Problem("CB102", "no front matter", hint=hint),))
    offset = len(first) + 1
    end = _closing(rest)
    if end is None:
        hint = "end the block with a line `---`"
        return FrontMatter(problems=(Problem("CB103", "front matter is never closed", hint=hint),))
    source, body_at = rest[: end[0]], end[1]
    body, body_line = rest[body_at:], 2 + rest.count("\n", 0, body_at)
    if len(source.encode("utf-8", "surrogatepass")) > MAX_FRONT_MATTER:
        problem = Problem("CB107", f"front matter is longer than {MAX_FRONT_MATTER:,} bytes", hint="move prose to the body")
        return FrontMatter(body=body, body_line=body_line, problems=(problem,))
    try:
        values, spans, keys = _mapping(source, offset)
    except _Refused as refused:
        return FrontMatter(body=body, body_line=body_line, problems=(refused.problem,))
    return FrontMatter(values, spans, keys, body, body_line)


def load_yaml(text: str) -> tuple[dict[str, Any], dict[Path, Span]] | Problem:
    """A whole YAML file of the book under the same rules as front matter; lines count from 1."""
    try:
        values, spans, _ = _mapping(text, 0, first_line=1)
    except _Refused as refused:
        return refused.problem
    return values, spans


def _closing(rest: str) -> tuple[int, int] | None:
    """Start of the closing `---` line and start of what follows it."""
    at = 0
    while at <= len(rest):
        newline = rest.find("\n", at)
        line = rest[at:] if newline < 0 else rest[at:newline]
        if line.rstrip() == "---":
            return at, (len(rest) if newline < 0 else newline + 1)
        if newline < 0:
            return None
        at = newline + 1
    return None


def _mapping(source: str, offset: int, first_line: int = 2) -> tuple[dict[str, Any], dict[Path, Span], dict[Path, Span]]:
    """Parse YAML `source`, which starts at character `offset` and line `first_line` of its file."""
    _guard(source, first_line)
    loader = yaml.CBaseLoader(source)
    spans: dict[Path, Span] = {}
    keys: dict[Path, Span] = {}
    walk = _Walk(first_line, offset, spans, keys)
    try:
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        raise _Refused(_syntax(error, source, first_line)) from None
    except yaml.YAMLError as error:
        raise _Refused(Problem("CB104", f"not YAML: {str(error).splitlines()[0]}", first_line)) from None
    finally:
        loader.dispose()
    if node is None:
        raise _Refused(Problem("CB108", "front matter is empty", first_line, hint="write `title: …` and so on"))
    if not isinstance(node, yaml.MappingNode):
        raise _Refused(Problem("CB108", "metadata must be a mapping", walk.line(node), hint="write `key: value` lines"))
    return walk.value(node, (), 1), spans, keys


@dataclass
class _Walk:
    first_line: int
    offset: int
    spans: dict[Path, Span]
    keys: dict[Path, Span]

    def line(self, node: yaml.Node) -> int:
        return int(node.start_mark.line) + self.first_line

    def span(self, node: yaml.Node) -> Span:
        start, end = node.start_mark, node.end_mark
        assert start is not None and end is not None  # composed nodes always carry marks
        return Span(self.line(node), start.column + 1, start.index + self.offset, end.index + self.offset)

    def refuse(self, node: yaml.Node, rule: str, message: str, hint: str) -> None:
        raise _Refused(Problem(rule, message, self.line(node), node.start_mark.column + 1, hint))

    def value(self, node: yaml.Node, path: Path, depth: int) -> Any:
        if depth > MAX_DEPTH and isinstance(node, yaml.CollectionNode):
            self.refuse(node, "CB107", f"nested deeper than {MAX_DEPTH} levels", "flatten the value")
        self.spans[path] = self.span(node)
        if isinstance(node, yaml.ScalarNode):
            return node.value
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*path, i), depth + 1) for i, child in enumerate(node.value)]
        result: dict[str, Any] = {}
        for key, child in node.value:
            if not isinstance(key, yaml.ScalarNode):
                hint = "quote the value: `{{…}}` reads as a mapping used as a key"
                self.refuse(key, "CB106", "a key must be plain text", hint)
            name = key.value
            if name == "<<" and not key.style:  # libyaml says "" for plain, the Python scanner None
                self.refuse(key, "CB106", "merge keys are not allowed", "write the values out")
            if name in result:
                first = self.keys[(*path, name)].line
                self.refuse(key, "CB105", f"key `{name}` stands twice, first on line {first}", "keep one of them")
            self.keys[(*path, name)] = self.span(key)
            result[name] = self.value(child, (*path, name), depth + 1)
        return result


def _guard(source: str, first_line: int) -> None:
    """Refuse features by event, before nodes are composed: an alias would share one node, a deep nest costs a stack."""
    depth = 0
    documents = 0
    if odd := _ODD_BREAK.search(source):
        line, column = source.count("\n", 0, odd.start()) + first_line, odd.start() - source.rfind("\n", 0, odd.start())
        message = f"holds a line break that is neither LF nor CRLF (U+{ord(odd[0]):04X})"
        raise _Refused(Problem("CB104", message, line, column, "remove it, or put a plain line break there"))
    try:
        for event in yaml.parse(source, yaml.CBaseLoader):
            mark = event.start_mark
            line, column = (mark.line + first_line, mark.column + 1) if mark else (first_line, 1)
            if isinstance(event, yaml.AliasEvent):
                raise _Refused(Problem("CB106", "aliases (`*name`) are not allowed", line, column, "quote or repeat the value"))
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _Refused(Problem("CB106", "several YAML documents in one block", line, column, "keep one"))
            if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
                raise _Refused(Problem("CB106", "anchors (`&name`) are not allowed", line, column, "quote or repeat the value"))
            if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag not in (None, "!"):
                raise _Refused(Problem("CB106", f"tags (`{event.tag}`) are not allowed", line, column, "quote the value"))
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise _Refused(
                        Problem("CB107", f"nested deeper than {MAX_DEPTH} levels", line, column, "flatten the value")
                    )
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.MarkedYAMLError as error:
        raise _Refused(_syntax(error, source, first_line)) from None
    except UnicodeEncodeError as error:  # no file can hold one, a caller's text can
        line = source.count("\n", 0, error.start) + first_line
        raise _Refused(Problem("CB104", "holds a lone surrogate", line, hint="remove it")) from None
    except yaml.YAMLError as error:  # the reader's own errors (control characters) carry a position but no mark
        at = getattr(error, "position", 0) or 0
        line = source.count("\n", 0, at) + first_line
        raise _Refused(Problem("CB104", "holds a control character that YAML does not allow", line)) from None


def _syntax(error: yaml.MarkedYAMLError, source: str, first_line: int) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column + 1) if mark else (0, 1)
    lines = source.split("\n")
    text = lines[line] if line < len(lines) else ""
    what = (error.problem or error.context or "syntax error").strip()
    if "maximum nesting depth" in what:  # libyaml's own limit, far beyond ours
        return Problem("CB107", f"nested deeper than {MAX_DEPTH} levels", line + first_line, column, "flatten the value")
    hint = "quote the value"
    if "\t" in text[: len(text) - len(text.lstrip())] or "'\\t'" in what:
        hint = "indent with spaces, not tabs"
    elif "mapping values are not allowed" in what:
        hint = 'quote the value: a colon and a space inside it start a mapping, as in `title: "A: B"`'
    return Problem("CB104", f"not YAML: {what}", line + first_line, column, hint)
