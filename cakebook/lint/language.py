"""Rules CB501 and CB502: English and Chinese. A proposal may have one; a complete entry has both."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cakebook.lint.examples import edit
from cakebook.lint.registry import Hit, rule
from cakebook.lint.subject import Subject
from cakebook.text.tokens import CJK, has_cjk

_CJK = re.compile(f"[{CJK}]")
_CODE = re.compile(r"`[^`]*`")
_PAIRS = (("title", "title_zh"), ("description", "description_zh"), ("symptoms", "symptoms_zh"))

Text = tuple[str, str, tuple[str | int, ...], int]
"""Name, text, its path in the front matter, its line in the body (0 if in the front matter)."""


@rule(
    "CB501",
    "second-language",
    "language",
    completeness=True,
    what="A text is there in one language only, or in none.",
    why="The entry cannot be found by a question in the other language as well as in this one, nor be shown in it.",
    fix="Write the missing one: `title`, `description`, `symptoms`, `text` in English, the same with `_zh` in Chinese, "
    "`## Summary` and `## 摘要`.",
    bad=(
        edit("title_zh: 由 UB 预算反推每个 tile 的行数\n", ""),
        edit('symptoms: ["one row per loop iteration and small copies"]\n', ""),
        edit(', text_zh: "UB 能放下多行"', ""),
        edit("先算 UB 账再定 tile：扣除常驻表之后，除以每行字节数即为行数。", ""),
    ),
)
def second_language(s: Subject) -> Iterator[Hit]:
    for zh, texts in ((False, _english(s)), (True, _chinese(s))):
        for name, text, path, line in texts:
            if not text.strip():
                hint = f"without it, questions in {'Chinese' if zh else 'English'} find the entry less well"
                yield Hit(f"no {name}", line, hint=hint) if line else s.hit(f"no {name}", *path, hint=hint)


@rule(
    "CB502",
    "wrong-language",
    "language",
    completeness=True,
    what="A Chinese text holds no Chinese, or an English one is mostly Chinese.",
    why="Each language is searched and shown by its own fields; a text in the wrong one is missing from both.",
    fix="Move it to the field of its language. Names, code and quoted tool output may stand in either.",
    bad=(
        edit("title_zh: 由 UB 预算反推每个 tile 的行数", "title_zh: Derive rows per tile"),
        edit("title: Derive rows per tile from the UB budget", "title: 由 UB 预算反推行数"),
        edit('text: "a row fits UB several times"', 'text: "UB 能放下多行"'),
    ),
    good=(edit('small copies"]', 'small copies, the log says 超时"]'),),
)
def wrong_language(s: Subject) -> Iterator[Hit]:
    for name, text, path, line in _chinese(s):
        if text.strip() and not has_cjk(text):
            yield _at(s, f"{name} holds no Chinese", path, line, "move it to the English field")
    for name, text, path, line in _english(s):
        if _mostly_chinese(text):
            yield _at(s, f"{name} is in Chinese", path, line, "move it to the Chinese field")


def _at(s: Subject, message: str, path: tuple[str | int, ...], line: int, hint: str) -> Hit:
    return Hit(message, line, hint=hint) if line else s.hit(message, *path, hint=hint)


def _mostly_chinese(text: str) -> bool:
    """More than a third of its letters, code left out."""
    plain = _CODE.sub("", text)
    letters = sum(c.isalpha() for c in plain)
    return len(_CJK.findall(plain)) * 3 > letters


def _english(s: Subject) -> Iterator[Text]:
    yield from _texts(s, 0, "Summary", "")


def _chinese(s: Subject) -> Iterator[Text]:
    yield from _texts(s, 1, "摘要", "_zh")


def _texts(s: Subject, side: int, section: str, suffix: str) -> Iterator[Text]:
    """The texts of one language. Those that stand in neither language are asked for in both."""
    for pair in _PAIRS:
        value = getattr(s.entry, pair[side])
        yield pair[side], value if isinstance(value, str) else "\n".join(value), (pair[side],), 0
    for field in ("applies_when", "avoid_when"):
        for i, condition in enumerate(getattr(s.entry, field)):
            name = "text" + suffix
            yield f"{field}[{i}].{name}", getattr(condition, name), (field, i, name), 0
    part = s.document.section(section)
    yield f"## {section}", part.prose if part else "", (), part.heading.line if part else s.front.body_line
