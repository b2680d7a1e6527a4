"""How a pack reads: the frame, each item, the fences. Every character here counts towards the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cakebook.model.pack import Item, Level, Role
from cakebook.model.query import Lang
from cakebook.retrieve.labels import in_lang, say
from cakebook.retrieve.receipt import fence_marker

MARKER = "0" * 24
IDENTITY = "0" * 16
"""Stand-ins of the same length while the real ones are not known."""


@dataclass(frozen=True)
class Form:
    """A format of the text.

    `levels`: those that items can have. `roles`, where the stage is about levers, and `items` limit what is chosen; empty
        and 0: not. `one_fence`: all items stand in one fence, a line each.
    """

    name: str
    levels: tuple[Level, ...] = ("title", "summary", "pattern", "full")
    roles: tuple[Role, ...] = ()
    items: int = 0
    one_fence: bool = False

    def item(self, card: dict[str, Any], role: str, text: str, lang: Lang, marker: str = MARKER) -> str:
        """What one item adds to the text."""
        if not self.one_fence:
            cite = f"[{card['id']}] {role} · {card['tier']} · {card['digest'][7:19]}"
            return f"<<<{marker} {cite}\n{text}\n{marker}>>>\n"
        title = in_lang(card, "title", lang) if "title_zh" in card else card["title"]
        if self.name == "strategies":
            return f"| [{card['id']}] {role} | {_cell(title)} | {_cell(text)} | {card['tier']} {card['digest'][7:19]} |\n"
        return f"- [{card['id']}] {title}: {_line(text)} ({card['tier']} {card['digest'][7:19]})\n"

    def frame(self, lang: Lang, generation: str, head: Sequence[str], identity: str = IDENTITY, marker: str = MARKER) -> str:
        """What stands before the items; `head`: lines that say what was found out."""
        lines = [say("pack-frame", lang, id=identity, generation=generation, founding=say("founding", lang)), *head]
        if self.one_fence:
            lines.append(f"<<<{marker}")
        if self.name == "strategies":
            lines += [say("strategies-head", lang), "|---|---|---|---|"]
        return "\n".join(lines) + "\n"

    def end(self, marker: str = MARKER) -> str:
        """What stands behind the items."""
        return f"{marker}>>>\n" if self.one_fence else ""

    def render(
        self, items: Sequence[Item], lang: Lang, generation: str, head: Sequence[str], identity: str, nothing: str
    ) -> str:
        """The whole text; `nothing` is said where there is no item."""
        if not items:
            return FORMS["markdown"].frame(lang, generation, head, identity) + nothing + "\n"
        marker = fence_marker(identity, [f"{i.title}\n{i.text}" if self.one_fence else i.text for i in items])
        cards = [{"id": i.id, "tier": i.tier, "digest": i.digest, "title": i.title} for i in items]
        blocks = [self.item(card, i.role, i.text, lang, marker) for card, i in zip(cards, items, strict=True)]
        return self.frame(lang, generation, head, identity, marker) + "".join(blocks) + self.end(marker)


FORMS = {
    "markdown": Form("markdown"),
    "advisor": Form("advisor", levels=("title",), roles=("lever", "skeleton"), items=3, one_fence=True),
    "strategies": Form("strategies", levels=("title",), one_fence=True),
}


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")
