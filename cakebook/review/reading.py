"""Reading a lesson as somebody wrote it: JSON, JSON lines, or Markdown in a small forgiving form.

JSON: one object, or in a `.jsonl` file one a line; a key is any of the names below, its value text, a number or a list.

Markdown, in English or Chinese, either or both of:

- lines `name: value` before the first heading (a bullet, bold or a full-width colon are fine). Lines that follow belong to
  it: of a title, DSL or kind none, of other short fields up to a blank line; a line `---` is passed over;
- headings that are names, each followed by its text, at any level: what a forge's issue form produces. `_No response_`,
  `unknown` and nothing mean that it is not known. Comments of a template are passed over. A first heading of level 1 that is
  no name is the title. A deeper heading that is no name belongs to the text above it.

    # Copy whole rows            or:   title: 整行搬运
    dsl: Ascend C                      dsl: Ascend C
    ## What to do                      做法: 一次搬多行
    Copy several rows at a time.       何时适用: 行短
    ## When it applies                 来源: owner/repo#12
    Rows are short.                    观察: 54.3 us 变为 49.0 us

Names that are none of ours are kept as notes, never an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cakebook.errors import BadArgument, TooLarge
from cakebook.review import quoting
from cakebook.text import markdown

MAX_FILE = 1024 * 1024
"""Bytes of a file of lessons."""
MAX_LESSON = 32 * 1024
"""Characters of one lesson: it is a few lines, and the entry made of it must be read by a person."""
MAX_LESSONS = 200
_DEPTH = 4

FIELDS: dict[str, str] = {
    "title": "title, lesson, optimization title, 标题, 题目",
    "title_zh": "title zh, chinese title, 中文标题",
    "dsl": "dsl, language, 编程语言",
    "kind": "kind, 类别, 种类",
    "problem": "problem, symptom, symptoms, what was wrong, 问题, 现象",
    "change": "change, what to do, do, pattern, solution, fix, 做法, 怎么做, 改动, 解决办法, 解决方法",
    "when": "when, when it applies, when does it apply, applies when, 何时适用, 适用条件, 适用场景",
    "avoid": "avoid when, when not, when not to use it, 何时不适用, 不适用条件, 不适用",
    "why": "why, why it works, reason, root mechanism, 原因, 原理",
    "observed": "observed, what was observed, observation, observations, result, results, numbers, 观察, 观察到什么, 结果",
    "before": "before, duration before, 优化前, 改动前, 之前",
    "after": "after, duration after, 优化后, 改动后, 之后",
    "hardware": "hardware, chip, device, npu, 硬件, 芯片, 型号",
    "cann_version": "cann version, cann, toolchain, CANN 版本, 版本",
    "driver": "driver, driver version, 驱动, 驱动版本",
    "shapes": "shapes, shape, input shapes, 形状, 输入形状, shape 形状",
    "dtype": "dtype, dtypes, data type, 数据类型, 精度类型",
    "timing_method": "timing method, timing, how it was timed, how it was measured, 计时方法, 测量方法, 测试方法",
    "spread": "spread, variance, 波动, 方差",
    "runs": "runs, repeats, 重复次数, 次数",
    "baseline": "baseline, compared with, 基线, 对比对象, 对照",
    "tolerance": "tolerance, correctness, correctness check, 误差, 容差, 正确性",
    "pitfalls": "pitfalls, caveats, 陷阱, 注意, 注意事项",
    "source": "source, sources, link, url, reference, 来源, 出处, 链接",
    "state": "state, status, 状态",
    "what_is_missing": "what is missing, missing, not known, 缺什么, 缺少, 缺失",
    "targets": "targets, target, architectures, 目标硬件, 适用硬件",
    "operators": "operators, operator, op, 算子",
    "bottlenecks": "bottlenecks, bottleneck, 瓶颈",
    "apis": "apis, api, 接口",
    "error_codes": "error codes, error code, 错误码, 报错码",
}  # fmt: skip
"""What a lesson can say → how it may be called."""
LONG = frozenset("problem change when avoid why observed pitfalls".split())
"""Fields that may be several paragraphs; a list of values is a list of items."""
_WORDS = frozenset("title title_zh dsl kind problem change when source".split())
"""Fields for which a bare number is a mistake."""
_LINE_ONLY = frozenset("title title_zh dsl kind".split())
_EMPTY = frozenset(
    {"", "_no response_", "no response", "unknown", "n/a", "none given", "not stated", "tbd", "未知", "不详", "未填写"}
)
_LINE = re.compile(r"(?:[-*+]\s+)?(?:\*\*|__)?([^:：*`]{1,60}?)(?:\*\*|__)?\s*[:：](?:\*\*|__)?(?:\s+(.*)|([^\s/].*)|)")
_OTHER = re.compile(r"[a-z][a-z0-9_\-]{0,39}")
"""A name that is none of ours; `Note: …` and Chinese before a colon are sentences of the text above."""
_LABEL_PARTS = re.compile(r"[/|（）()·?？]")


def _label(text: str) -> str:
    return " ".join(re.sub(r"[_\-*`:：]", " ", text).split()).casefold()


_NAMES = {_label(name): field for field, names in FIELDS.items() for name in (field, *names.split(", "))}


@dataclass(frozen=True)
class Lesson:
    """What a lesson says: `fields` by our names, none of them empty; `notes` under other names; characters taken out."""

    fields: dict[str, str]
    notes: tuple[tuple[str, str], ...] = ()
    removed: int = 0

    def get(self, name: str) -> str:
        """The field, or nothing."""
        return self.fields.get(name, "")


class _Number(str):
    """A number of a JSON file, as it is written there."""


def read_lessons(name: str, data: bytes) -> list[Lesson]:
    """The lessons in a file, in order; at least one.

    Args:
        name: of the file, which says what it is (`.json`, `.jsonl`, else by its first character) and stands in messages.

    Raises:
        TooLarge: the file, one lesson or their number is beyond `MAX_FILE`, `MAX_LESSON` or `MAX_LESSONS`.
        BadArgument: not UTF-8, not JSON, no object, a value of the wrong type, or a lesson without title; with the place.
    """
    if len(data) > MAX_FILE:
        raise TooLarge(f"{name}: {len(data):,} bytes; {MAX_FILE:,} are allowed", hint="a lesson is a few lines")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        byte = data[error.start]
        raise BadArgument(f"{name}:{line}: not UTF-8: byte 0x{byte:02x}", hint="save the file as UTF-8") from None
    suffix = name.casefold().rpartition(".")[2]
    if suffix == "jsonl":
        rows = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(rows) > MAX_LESSONS:
            raise TooLarge(f"{name}: {len(rows)} lessons; {MAX_LESSONS} are allowed at a time", hint="split the file")
        lessons = [_from_json(name, line, n) for n, line in rows]
    elif suffix == "json" or text.lstrip()[:1] in ("{", "["):
        lessons = [_from_json(name, text, 1)]
    else:
        lessons = [_from_markdown(name, text)]
    if not lessons:
        raise BadArgument(f"{name}: holds no lesson", hint="write one JSON object a line")
    return lessons


def _from_json(name: str, text: str, line: int) -> Lesson:
    _fits(name, line, text)
    try:
        value = json.loads(
            text, parse_float=_Number, parse_int=_Number, parse_constant=_Number, object_pairs_hook=lambda pairs: pairs
        )
    except json.JSONDecodeError as error:
        at = f"{name}:{line + error.lineno - 1}:{error.colno}"
        hint = "several lessons go into a .jsonl file, one a line" if error.msg == "Extra data" else "write one JSON object"
        raise BadArgument(f"{at}: not JSON: {error.msg}", hint=hint) from None
    except RecursionError:
        raise BadArgument(f"{name}:{line}: not JSON that can be read: nested too deeply", hint="flatten the value") from None
    # Objects come as tuples of pairs in a list, so that a key that stands twice is not lost.
    if text.lstrip()[:1] != "{":
        raise BadArgument(f"{name}:{line}: not an object", hint="write {…}; several lessons go into a .jsonl file, one a line")
    pairs: list[tuple[str, str]] = []
    for key, given in value:
        field = _NAMES.get(_label(key), "")
        pairs.append((key, _value(f"{name}:{line}", field, key, given) if field else _written(given)))
    return _lesson(f"{name}:{line}", pairs)


def _is_object(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(pair, tuple) for pair in value)


def _value(place: str, field: str, key: str, given: Any) -> str:
    """The text of a known field."""
    items = [given] if not isinstance(given, list) or _is_object(given) else given
    if any(isinstance(item, list | bool) or (isinstance(item, _Number) and field in _WORDS) for item in items):
        kind = "text" if field in _WORDS else "text, a number or a list of them"
        raise BadArgument(f"{place}: `{key[:60]}` has the wrong type", hint=f"it must be {kind}")
    texts = [str(item) for item in items if item is not None]
    if field == "what_is_missing":
        return "\n".join(texts)
    if field in LONG and isinstance(given, list):
        return "\n".join(f"- {item}" for item in texts)
    return ", ".join(texts)


def _written(value: Any, depth: int = 0) -> str:
    """Any JSON value as text."""
    if depth > _DEPTH:
        return "…"
    if _is_object(value):
        return "{" + ", ".join(f"{key}: {_written(item, depth + 1)}" for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_written(item, depth + 1) for item in value) + "]"
    return value if isinstance(value, str) else json.dumps(value)


def _from_markdown(name: str, text: str) -> Lesson:
    _fits(name, 1, text)
    text = _uncommented(text.replace("\r\n", "\n").replace("\r", "\n"))
    document = markdown.parse(text)
    lines = text.split("\n")
    # Only `#` makes a heading here: a value underlined with dashes is still a value.
    headings = [h for h in document.headings if lines[h.line - 1].lstrip().startswith("#")]
    code = {n for f in document.fences for n in range(f.line, f.line + f.code.count("\n") + 2)}
    first = headings[0].line if headings else len(lines) + 1
    pairs = list(_lines(lines[: first - 1], code))
    top = 0  # level of the heading that the text at hand belongs to
    for heading, end in zip(headings, [*(h.line for h in headings[1:]), len(lines) + 1], strict=False):
        inside = "\n".join(lines[heading.line : end - 1]).strip("\n")
        field = _named(heading.title)
        if not field and heading.level == 1 and heading is headings[0]:
            more = list(_lines(lines[heading.line : end - 1], {n - heading.line for n in code}))
            pairs += [("title", heading.title), *more]
        elif field or not pairs or not top or heading.level <= top:
            pairs.append((field or heading.title, inside))
            top = heading.level
        else:
            key, above = pairs[-1]
            pairs[-1] = (key, f"{above}\n\n{heading.title}\n\n{inside}")
    return _lesson(name, pairs)


def _lines(lines: list[str], code: set[int]) -> Iterator[tuple[str, str]]:
    """The `name: value` lines, each with the lines that follow it. `code`: numbers of lines that are code."""
    key, held = "", list[str]()
    for number, line in enumerate(lines, 1):
        match = None if number in code or line.strip() == "---" else _LINE.fullmatch(line)
        field = _named(match.group(1)) if match else ""
        if match and (field or _OTHER.fullmatch(match.group(1).strip())):
            if held:
                yield key or "text", "\n".join(held).strip("\n")
            key, held = field or match.group(1), [match.group(2) or match.group(3) or ""]
        elif line.strip() != "---" or number in code:
            if key in _LINE_ONLY or (key in FIELDS and key not in LONG and not line.strip()):
                yield key, "\n".join(held).strip("\n")
                key, held = "", []
            held.append(line)
    if held:
        yield key or "text", "\n".join(held).strip("\n")


def _named(label: str) -> str:
    """The field that a label names; of a label in two languages either part may."""
    for part in (label, *_LABEL_PARTS.split(label)):
        if field := _NAMES.get(_label(part)):
            return field
    return ""


def _uncommented(text: str) -> str:
    """`text` without HTML comments, which issue templates hold as instructions."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join([*parts, text[at:]])


def _lesson(place: str, pairs: list[tuple[str, str]]) -> Lesson:
    """The first value for each field; what is said again, or under another name, is a note."""
    fields: dict[str, str] = {}
    notes: list[tuple[str, str]] = []
    removed = 0
    for key, given in pairs:
        (value, gone), (label, gone_too) = quoting.clean(given), quoting.clean(key)
        removed += gone + gone_too
        field = _NAMES.get(_label(key), "")
        value = value.strip()
        if value.casefold().rstrip(".。") in _EMPTY:
            continue
        if field and field not in fields:
            fields[field] = value
        else:
            notes.append((" ".join(label.split())[:60] or "text", value))
    if "title" not in fields and "title_zh" in fields:
        fields["title"] = fields.pop("title_zh")
    if not fields.get("title", "").strip():
        raise BadArgument(f"{place}: no title", hint="write `title: …`, or in Markdown a heading `# …`")
    return Lesson(fields, tuple(notes), removed)


def _fits(name: str, line: int, text: str) -> None:
    if len(text) > MAX_LESSON:
        hint = "one lesson to an entry; link to logs and data instead of holding them"
        raise TooLarge(f"{name}:{line}: a lesson of {len(text):,} characters; {MAX_LESSON:,} are allowed", hint=hint)
