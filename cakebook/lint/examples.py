"""Examples of rules: a small entry in which nothing is wrong, and edits that make one thing wrong.

They are documentation and tests at once: each rule's bad example must yield that rule and its good ones must not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PATH = "entries/tiling/demo-rows-per-tile.md"
"""Where the base entry stands."""

BASE = """\
---
type: Kernel Pattern
id: demo-rows-per-tile
title: Derive rows per tile from the UB budget
title_zh: 由 UB 预算反推每个 tile 的行数
description: Solve for the rows that fit one tile, so that fewer and larger copies are issued.
description_zh: 按 UB 可用字节数解出单次搬运的行数，减少循环次数、增大单次搬运量。
kind: tiling
dsl: [ascendc]
targets: [npu-2201]
toolchain: {cann: ">=8.0,<9.2"}
dtypes: [any]
operators: [softmax]
stages: [draft, evolve]
bottlenecks: [mte2-bound]
symptoms: ["one row per loop iteration and small copies"]
symptoms_zh: ["每次循环只处理一行，单次搬运很小"]
apis: [TPipe::InitBuffer]
error_codes: ["507035"]
applies_when:
  - {text: "a row fits UB several times", text_zh: "UB 能放下多行", match: {row-fits-ub: [several]}}
avoid_when:
  - {text: "one row exceeds the budget", text_zh: "单行已放不下", match: {row-fits-ub: [no]}}
requires: []
related: []
variant_of: rows-per-tile
sources:
  - {id: story, resource: "https://github.com/owner/repo/blob/0123456789abcdef0123456789abcdef01234567/docs/story.md", title: "Story", license: MIT, accessed: "2026-11-30"}
evidence:
  - id: rows
    type: timed
    level: kernel
    metric: task_duration
    unit: us
    rows: [{inputs: [{shape: [4096, 8192], dtype: float16}], before: 54.3, after: 49.0}]
    runs: 5
    spread: unknown
    hardware: 910B3
    cann: "8.2.RC1"
    driver: unknown
    flags: unknown
    operator: RmsNorm
    baseline: {kind: previous, text: "one row per loop"}
    timing: {method: board, warmup: 3, repeats: 20, statistic: median}
    correctness: {tolerance: "1e-3", cases: 4, passed: 4, reference: numpy}
    origin: reported
    measured_by: unknown
    raw: unknown
    source: story
generated: {by: "someone", at: "2026-11-30"}
stale_after: "2027-11-30"
---
## Summary
Budget UB before choosing a tile: rows are what is left after fixed tables, divided by the bytes of one row.

## 摘要
先算 UB 账再定 tile：扣除常驻表之后，除以每行字节数即为行数。

## When
Row-wise kernels whose rows are short. See [the numbers](#numbers) first.

## Pattern
```cpp
uint64_t rows = (usable - fixed) / perRow;
```

## Why
Fewer iterations and larger copies.[^story]

## Numbers
- float16 4096 × 8192, board, median of 20: one row per loop 54.3 µs, ten rows 49.0 µs.[^story]

## Pitfalls
- The last tile has fewer rows: size buffers for the larger of the two.

## Check
```python check
USABLE, FIXED, PER_ROW = 188_160, 49_184, 49_156
assert (USABLE - FIXED) // PER_ROW == 2
```

## Sources
[^story]: Story, step 5.
"""  # noqa: E501


CHECK = BASE[BASE.index("```python check") : BASE.index("\n## Sources")]
"""The check of the base entry."""
PINNED = "github.com/owner/repo/blob/0123456789abcdef0123456789abcdef01234567/docs/story.md"
"""The address of its source, without the scheme."""


@dataclass(frozen=True)
class Example:
    """One book with one file to look at: `edits` (old text, new text) of the base entry, or `data` as the whole file.

    `others`: further files; `link`: the file is a symbolic link.
    """

    edits: tuple[tuple[str, str], ...] = ()
    data: bytes | None = None
    path: str = PATH
    others: Mapping[str, bytes] = field(default_factory=dict)
    link: bool = False

    def files(self) -> dict[str, bytes]:
        """The book's entries by path.

        Raises:
            ValueError: an edit's old text does not stand exactly once in the base entry.
        """
        text = BASE
        for old, new in self.edits:
            if text.count(old) != 1:
                raise ValueError(f"{old!r} stands {text.count(old)} times in the base entry")
            text = text.replace(old, new)
        return {self.path: text.encode() if self.data is None else self.data, **self.others}


GOOD = Example()
"""The base entry as it stands."""


def edit(*pairs: str, path: str = PATH, others: Mapping[str, bytes] | None = None) -> Example:
    """The base entry with texts replaced: old, new, old, new …"""
    return Example(tuple(zip(pairs[::2], pairs[1::2], strict=True)), path=path, others=others or {})


def whole(text: str | bytes, path: str = PATH) -> Example:
    """A file of its own."""
    return Example(data=text.encode() if isinstance(text, str) else text, path=path)


def other(entry_id: str, *pairs: str, kind: str = "tiling") -> dict[str, bytes]:
    """A second entry: the base entry under another id, with texts replaced."""
    moved = edit("id: demo-rows-per-tile", f"id: {entry_id}", *pairs, path=f"entries/{kind}/{entry_id}.md")
    return moved.files()
