"""Writing a draft: the scaffold's full form with what a lesson says in it, and without what it does not say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from cakebook.lint import scaffold
from cakebook.lint.format import BLANK, TITLE_MAX
from cakebook.model.terms import Vocabulary
from cakebook.review.quoting import body, clean, flow, paragraph, prose, scalar
from cakebook.review.reading import Lesson
from cakebook.text import frontmatter
from cakebook.text.patch import Edit, apply
from cakebook.text.tokens import has_cjk

ANY = "any"
SHORT = 200
"""Characters of a text that goes into the front matter; a longer one stands in the body."""
_SRC = "src"
_QUANTITY = re.compile(
    r"(\d{1,9}(?:\.\d{1,9})?)\s*(ns|us|µs|μs|ms|s|cycles|GB/s|TB/s|GFLOPS|TFLOPS|TOPS|t/s|tokens/s)"
    r"(?:\s*[(（]([^()（）]{1,160})[)）])?[.。]?"
)
_UNIT_INSIDE = re.compile(r"\d\s*(?:ns|us|µs|μs|ms|s|cycles|[GT]B/s|[GT]FLOPS|TOPS|t/s|tokens/s)\b")
_LABELS = {
    "before": ("Before", "优化前"),
    "after": ("After", "优化后"),
    "hardware": ("hardware", "硬件"),
    "cann_version": ("CANN version", "CANN 版本"),
    "driver": ("driver", "驱动"),
    "shapes": ("shapes", "形状"),
    "dtype": ("data type", "数据类型"),
    "timing_method": ("timing", "计时方法"),
    "runs": ("repeats", "重复次数"),
    "spread": ("spread", "波动"),
    "baseline": ("baseline", "对照"),
    "tolerance": ("correctness", "正确性"),
}
_CONDITIONS = tuple(_LABELS)[2:]
_NAMES = _LABELS | {
    "change": ("what to do", "做法"),
    "when": ("when it applies", "何时适用"),
    "avoid": ("when not to use it", "何时不适用"),
    "observed": ("what was observed", "观察结果"),
}


@dataclass(frozen=True)
class Parts:
    """What the draft needs beside the lesson: decided, recognised or given by the caller.

    `notes`: what the lesson says in a field and the vocabulary does not know. Named in the text as open: `missing`, as the
    lesson says it, and `not_given`, topics on which it says nothing.
    """

    id: str
    title: str
    kind: str
    dsls: tuple[str, ...]
    dsl_stated: bool
    facets: dict[str, tuple[str, ...]]
    sources: tuple[str, ...]
    by: str
    accessed: date
    notes: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    not_given: tuple[str, ...]


def write(lesson: Lesson, parts: Parts, vocabulary: Vocabulary, *, plain: bool = False) -> str:
    """The whole file. `plain`: no code block names a language.

    Raises:
        BadArgument: the vocabulary does not have the kind or the DSL.
    """
    text = scaffold(
        parts.id, title=parts.title, dsl=parts.dsls[0], kind=parts.kind, full=True, vocabulary=vocabulary, today=parts.accessed
    )
    values = _evidence(lesson)
    if values:
        front = frontmatter.parse(text)
        edits = [Edit(front.spans[path].start, front.spans[path].end, new) for path, new in values.items()]
        text = apply(text.encode(), edits).decode()
    front = frontmatter.parse(text)
    said = _said(lesson, parts)
    keys = sorted((span.line, str(path[0])) for path, span in front.keys.items() if len(path) == 1)
    ends = [line for line, _ in keys[1:]] + [front.body_line - 1]
    lines = text.split("\n")
    kept = ["---"]
    for (line, key), end in zip(keys, ends, strict=True):
        block = [_uncommented(one) for one in lines[line - 1 : end - 1]]
        if key in said:
            kept.append(f"{key}:{'' if said[key].startswith(chr(10)) else ' '}{said[key]}")
        elif not any(BLANK in one for one in block):
            kept += block
    return "\n".join([*kept, "---", _body(lesson, parts, plain), ""])


def _said(lesson: Lesson, parts: Parts) -> dict[str, str]:
    """Front-matter keys that the lesson or the caller fills, as YAML."""
    said = {facet: flow(terms) for facet, terms in parts.facets.items() if terms}
    note = "" if parts.dsl_stated else "  # not stated by the lesson; to be confirmed"
    said["dsl"] = "[" + ", ".join(parts.dsls) + "]" + note
    if 0 < len(lesson.get("title_zh")) <= TITLE_MAX and not has_cjk(parts.title):
        said["title_zh"] = scalar(lesson.get("title_zh"))
    for key, field in (("applies_when", "when"), ("avoid_when", "avoid")):
        if text := _short(lesson.get(field)):
            said[key] = f"[{{{'text_zh' if has_cjk(text) else 'text'}: {scalar(text)}}}]"
    said.setdefault("applies_when", "[]")
    if text := _short(lesson.get("problem")):
        said["symptoms_zh" if has_cjk(text) else "symptoms"] = flow((text,))
    day = parts.accessed.isoformat()
    said["sources"] = "".join(
        f'\n  - {{id: {_label(i)}, resource: {scalar(address)}, license: unknown, accessed: "{day}"}}'
        for i, address in enumerate(parts.sources)
    )
    by = " ".join(clean(parts.by)[0].split())[:SHORT] or "unknown"
    said["generated"] = f'{{by: {scalar(by)}, at: "{day}"}}'
    return said


def _evidence(lesson: Lesson) -> dict[frontmatter.Path, str]:
    """The values of the scaffold's evidence item, if before and after are one quantity each in one unit; else none.

    A bracket behind a quantity is its note, unless it holds another quantity.
    """
    before, after = (_QUANTITY.fullmatch(lesson.get(field)) for field in ("before", "after"))
    if not before or not after or _micro(before.group(2)) != _micro(after.group(2)):
        return {}
    notes = [m.group(3) or "" for m in (before, after)]
    conditions = {"hardware": "hardware", "cann": "cann_version", "driver": "driver", "runs": "runs", "spread": "spread"}
    if any(map(_UNIT_INSIDE.search, notes)) or any(len(lesson.get(field)) > SHORT for field in _CONDITIONS):
        return {}
    note = "; ".join(f"{name}: {text}" for name, text in zip(("before", "after"), notes, strict=True) if text)
    row = f"before: {before.group(1)}, after: {after.group(1)}" + (f", note: {scalar(note)}" if note else "")
    item: frontmatter.Path = ("evidence", 0)
    values = {(*item, "unit"): scalar(before.group(2)), (*item, "rows"): f"[{{{row}}}]", (*item, "timing", "method"): "unknown"}
    values |= {(*item, key): scalar(lesson.get(field)) for key, field in conditions.items() if lesson.get(field)}
    if lesson.get("baseline"):
        values[(*item, "baseline", "text")] = scalar(lesson.get("baseline"))
    if lesson.get("tolerance"):
        values[(*item, "correctness")] = f"{{tolerance: {scalar(lesson.get('tolerance'))}}}"
    return values


def _micro(unit: str) -> str:
    return unit.replace("µ", "u").replace("μ", "u")


def _body(lesson: Lesson, parts: Parts, plain: bool) -> str:
    chinese = has_cjk(parts.title)
    nothing = "未说明。" if chinese else "Not stated."
    when = [] if _short(lesson.get("when")) else [lesson.get("when")]
    avoid = [] if _short(lesson.get("avoid")) else [lesson.get("avoid")]
    sections = {
        "When": "\n\n".join(body(t, plain=plain) for t in (*when, lesson.get("problem")) if t),
        "Pattern": body(lesson.get("change"), plain=plain) or nothing,
        "Why": body(lesson.get("why"), plain=plain),
        "Numbers": _numbers(lesson, parts, chinese, plain),
        "Pitfalls": "\n\n".join(body(t, plain=plain) for t in (*avoid, lesson.get("pitfalls")) if t),
        "Sources": _footnotes(lesson, parts),
    }
    if not sections["When"] and not _short(lesson.get("when")):
        sections["When"] = nothing
    return "\n\n".join(f"## {title}\n{text}" for title, text in sections.items() if text)


def _numbers(lesson: Lesson, parts: Parts, chinese: bool, plain: bool) -> str:
    """What was observed, as written, with its conditions; then what is missing, then what else the lesson says."""
    mark, colon = f"[^{_SRC}]", "：" if chinese else ": "
    bullets = [f"- {_LABELS[f][chinese]}{colon}{prose(lesson.get(f))}{mark}" for f in ("before", "after") if lesson.get(f)]
    given = [f"{_LABELS[f][chinese]} {prose(lesson.get(f))}" for f in _CONDITIONS if lesson.get(f)]
    if given:
        bullets.append(f"- {'条件' if chinese else 'Conditions'}{colon}{('；' if chinese else '; ').join(given)}{mark}")
    observed = body(lesson.get("observed"), note=_SRC, plain=plain)
    text = "\n".join([*([observed] if observed else []), *bullets])
    if not observed and not (lesson.get("before") or lesson.get("after")):
        text = ("未说明观察结果。" if chinese else "What was observed is not stated.") + (f"\n\n{text}" if text else "")
    if parts.missing or parts.not_given:
        named = ("、" if chinese else ", ").join(map(prose, (*parts.missing, *(_NAMES[t][chinese] for t in parts.not_given))))
        text += f"\n\n{'待补充' if chinese else 'Open'}{colon}{named}{'。' if chinese else '.'}"
    notes = [*parts.notes, *lesson.notes]
    if notes:
        heading = "### 另述" if chinese else "### Also said"
        text += f"\n\n{heading}\n" + "\n".join(f"- {paragraph(key)}{colon}{prose(value)}{mark}" for key, value in notes)
    return text


def _footnotes(lesson: Lesson, parts: Parts) -> str:
    state = f" ({prose(lesson.get('state'))})" if lesson.get("state") else ""
    first = f"[^{_SRC}]: {prose(lesson.get('source'))}{state}"
    return "\n".join([first, *(f"[^{_label(i)}]: {prose(address)}" for i, address in enumerate(parts.sources) if i)])


def _label(place: int) -> str:
    return _SRC if place == 0 else f"{_SRC}{place + 1}"


def _short(text: str) -> str:
    """`text` on one line if it is one short paragraph, else nothing."""
    return text if len(text) <= SHORT and "\n" not in text and not text.startswith(("- ", "```")) else ""


def _uncommented(line: str) -> str:
    """A line of the scaffold without its comment, which is addressed to somebody who fills in a form."""
    return line.split("  # ", 1)[0]
