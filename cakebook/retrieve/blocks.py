"""The text of an entry at each level, as it is quoted in a pack. Whole sections only: a code fence is never cut."""

from __future__ import annotations

from dataclasses import dataclass

from cakebook.index.catalog import Section
from cakebook.model.pack import LEVELS, Level
from cakebook.model.query import Lang
from cakebook.retrieve.labels import in_lang
from cakebook.retrieve.scope import Card

FULL = ("Why", "Numbers", "Pitfalls")
"""What the full level adds to the pattern. The check is for `cakebook verify`, the sources stand in the item."""


@dataclass(frozen=True)
class Body:
    """An entry's text at every level; a level that adds nothing equals the one below."""

    texts: dict[Level, str]

    def levels(self) -> tuple[Level, ...]:
        """The levels whose text differs from the one below."""
        found: list[Level] = []
        for level in LEVELS:
            if not found or self.texts[level] != self.texts[found[-1]]:
                found.append(level)
        return tuple(found)


def body(card: Card, sections: tuple[Section, ...], lang: Lang, restrictions: bool = False, one_line: bool = False) -> Body:
    """Title and description → + summary and when → + pattern → + why, numbers and pitfalls, in the question's language.

    `restrictions`: what may go wrong comes before the pattern. `one_line`: the title level has the description and the first
    figure, for forms in which an entry is a line.
    """
    by_title = {s.title: s.source for s in reversed(sections)}
    parts = [in_lang(card, "title", lang), in_lang(card, "description", lang)]
    texts: dict[Level, str] = {"title": "\n".join(p for p in parts if p)}
    if one_line:
        texts["title"] = " ".join(p for p in (parts[1] or parts[0], *(f"[{f}]" for f in card["figures"][:1])) if p)
    # From here on the description only repeats what the summary says better.
    head = [
        parts[0],
        (by_title.get("摘要") if lang == "zh" else "") or by_title.get("Summary") or by_title.get("摘要") or parts[1],
    ]
    when = _cases(card["applies_when"], lang) or by_title.get("When", "")
    if when:
        head.append(("适用：" if lang == "zh" else "When: ") + when)
    avoid = _cases(card["avoid_when"], lang)
    if avoid:
        head.append(("不宜：" if lang == "zh" else "Avoid: ") + avoid)
    texts["summary"] = "\n".join(p for p in head if p)
    first, rest = ("Pattern", FULL) if not restrictions else ("Pitfalls", ("Pattern", "Why", "Numbers"))
    middle = by_title.get(first, "") if first == "Pattern" or not by_title.get(first) else f"{first}:\n{by_title[first]}"
    texts["pattern"] = "\n".join(p for p in (texts["summary"], middle) if p)
    texts["full"] = "\n".join([texts["pattern"], *(f"{name}:\n{by_title[name]}" for name in rest if by_title.get(name))])
    return Body(texts)


def _cases(cases: list[dict[str, str]], lang: Lang) -> str:
    return ("；" if lang == "zh" else "; ").join(in_lang(c, "text", lang) for c in cases)
