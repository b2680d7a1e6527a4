"""The draft that `cakebook new` writes: what the tool knows is filled in, what only the author knows is a blank.

A blank reads `FILL-IN(what belongs here)`. It is an error of its own (CB120) until it is replaced, so that no draft can be
proposed with a question in it; a draft whose blanks are filled has no error left.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime

from cakebook.errors import BadArgument, one_line
from cakebook.lint.format import BLANK
from cakebook.lint.subject import nearest
from cakebook.lint.terms import known
from cakebook.model.entry import is_id
from cakebook.model.terms import Vocabulary
from cakebook.text.tokens import has_cjk

_SHORT = """\
---
type: {type}
id: {id}
{title_key}: {title}
kind: {kind}
dsl: [{dsl}]
applies_when: [{{text: {when}}}]
sources: [{{id: src, resource: {resource}, accessed: "{today}"}}]
generated: {{at: "{today}"}}
---
## Pattern
{pattern}
## Numbers
- {numbers}[^src]
[^src]: {part}
"""

_FULL = """\
---
type: {type}
id: {id}
title: {title_en}
title_zh: {title_zh}
description: {description}
description_zh: {description_zh}
kind: {kind}
dsl: [{dsl}]
targets: []  # [any], or architectures or SKUs: {targets}
toolchain: {{}}  # such as {{cann: ">=8.0,<9.2"}}
dtypes: []  # [any], or: {dtypes}
operators: []  # [any], or: {operators}
stages: []  # [any], or: {stages}
bottlenecks: []  # {bottlenecks}
symptoms: [{symptom}]
symptoms_zh: [{symptom_zh}]
apis: []
error_codes: []
applies_when:
  - {{text: {when}, text_zh: {when_zh}}}
avoid_when: []  # like applies_when; when one of these is certainly true, the entry is not shown
requires: []
related: []
conflicts_with: []
sources:
  - {{id: src, resource: {resource}, title: {source_title}, license: unknown, accessed: "{today}"}}
evidence:  # one item for each observation; remove it if nothing was measured
  - id: main
    type: timed  # or ratio-only, or functional
    level: unknown  # kernel, operator, model
    metric: unknown
    unit: unknown
    rows: [{{before: {before}, after: {after}}}]
    runs: unknown
    spread: unknown
    hardware: unknown
    cann: unknown
    driver: unknown
    flags: unknown
    operator: unknown
    baseline: {{kind: unknown, text: ""}}
    timing: {{method: not-stated, warmup: unknown, repeats: unknown, statistic: unknown}}
    correctness: unknown
    origin: reported
    measured_by: unknown
    raw: unknown
    source: src
generated: {{by: {by}, at: "{today}"}}
---
## Summary
{summary}

## 摘要
{summary_zh}

## When
{when_text}

## Pattern
{pattern}

## Why
{why}[^src]

## Numbers
- {numbers}[^src]

## Pitfalls
- {pitfall}

## Sources
[^src]: {part}
"""


def scaffold(
    entry_id: str,
    *,
    title: str = "",
    dsl: str = "",
    kind: str = "",
    full: bool = False,
    vocabulary: Vocabulary,
    today: date | None = None,
) -> str:
    """A draft entry: the six things of a proposal in at most 15 lines, or with `full` everything an entry can say.

    Args:
        title: in either language; it goes to the field of its language.
        today: the date written; by default the current one (UTC).

    Raises:
        BadArgument: the id cannot be one, or the vocabulary does not have the kind or the DSL.
    """
    if not is_id(entry_id):
        hint = "lower-case ASCII letters, digits and single hyphens, at most 80 characters"
        raise BadArgument(f"`{entry_id}` cannot be an id", hint=hint)
    kinds = vocabulary.ids("kinds")
    _require("kind", kind, kinds)
    dsls = (*known(vocabulary, "dsl"), *({"any"} - set(known(vocabulary, "dsl"))))
    _require("dsl", dsl, dsls)
    title = one_line(title)
    chinese = has_cjk(title)
    choice = "one of: " + ", ".join(kinds)
    values = {
        "id": entry_id,
        "type": str(vocabulary.term("kinds", kind).get("type", "")) or _blank("follows from the kind"),
        "kind": kind or _quoted(_blank(choice)),
        "dsl": dsl or _quoted(_blank("one or more of: " + ", ".join(dsls))),
        "title_key": "title_zh" if chinese else "title",
        "title": _quoted(title) if title else _quoted(_blank("what to do, as an order | 标题")),
        "title_en": _quoted(title) if title and not chinese else _quoted(_blank("what to do, as an order")),
        "title_zh": _quoted(title) if chinese else _quoted(_blank("标题")),
        "description": _quoted(_blank("one sentence: what it buys, and when")),
        "description_zh": _quoted(_blank("一句话：收益与适用场景")),
        "symptom": _quoted(_blank("what one sees before, as a person types it")),
        "symptom_zh": _quoted(_blank("现象，按提问时的说法")),
        "when": _quoted(_blank("when it applies" + ("" if full else " | 何时适用"))),
        "when_zh": _quoted(_blank("何时适用")),
        "when_text": _blank("when it applies, and what to do otherwise"),
        "resource": _quoted(_blank("https address; in a Git repository the permanent link")),
        "source_title": _quoted(_blank("title of the source")),
        "before": _blank("number or unknown"),
        "after": _blank("number or unknown"),
        "by": _quoted(_blank("your name or the agent's id")),
        "summary": _blank("at most 80 words: what to do and when"),
        "summary_zh": _blank("摘要，最多 240 字"),
        "pattern": _blank("what to do, best with minimal code" + ("" if full else " | 怎么做")),
        "why": _blank("why it works"),
        "numbers": _blank("what was observed, and under which conditions" + ("" if full else " | 观察到什么")),
        "pitfall": _blank("what goes wrong easily"),
        "part": _blank("title, and which part of it"),
        "today": (today or datetime.now(UTC).date()).isoformat(),
        "targets": _some(vocabulary, "targets", level="architecture"),
        "dtypes": ", ".join(known(vocabulary, "dtypes")),
        "operators": _some(vocabulary, "operators", parent=None),
        "stages": ", ".join(known(vocabulary, "stages")),
        "bottlenecks": ", ".join(known(vocabulary, "bottlenecks")),
    }
    return (_FULL if full else _SHORT).format_map(values)


def _blank(asks: str) -> str:
    return f"{BLANK}{asks})"


def _quoted(text: str) -> str:
    """`text` as a double-quoted YAML scalar, which JSON's escapes are a part of."""
    return json.dumps(text, ensure_ascii=False)


def _some(vocabulary: Vocabulary, file: str, **wanted: str | None) -> str:
    """The ids of a file whose terms have the wanted values: families rather than members, architectures rather than SKUs."""
    ids = [i for i in vocabulary.ids(file) if all((vocabulary.term(file, i).get(k) or None) == v for k, v in wanted.items())]
    return ", ".join(ids)


def _require(name: str, value: str, allowed: Sequence[str]) -> None:
    if value and value not in allowed:
        like = nearest(value, allowed)
        raise BadArgument(
            f"{name} `{value}` is not in the vocabulary", hint=f"did you mean {like}?" if like else ", ".join(allowed)
        )
