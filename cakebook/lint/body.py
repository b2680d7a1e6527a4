"""What lint needs of a body beyond `text.markdown.Document`: list items, indented code and the decoded text.

It reads the token stream of the same parser, so a bullet, a fence or an entity means here what it means everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cakebook.text import markdown

if TYPE_CHECKING:
    from markdown_it.token import Token


@dataclass
class Item:
    """A list item: its own text without code, the footnotes that it or an item around it carries, its first line."""

    line: int
    text: str = ""
    cited: bool = False


@dataclass(frozen=True)
class Body:
    """`items` in order; `indented`: first lines of indented code; `texts`: (line, text with entities decoded)."""

    items: tuple[Item, ...] = ()
    indented: tuple[int, ...] = ()
    texts: tuple[tuple[int, str], ...] = field(default=(), repr=False)


def read_body(body: str, first_line: int) -> Body:
    """Read `body`, whose first line is line `first_line` of its file."""
    items: list[Item] = []
    indented: list[int] = []
    texts: list[tuple[int, str]] = []
    around: list[Item] = []
    for token in _tokens(body):
        line = (token.map[0] if token.map else 0) + first_line
        if token.type == "list_item_open":
            items.append(Item(line, cited=bool(around) and around[-1].cited))
            around.append(items[-1])
        elif token.type == "list_item_close":
            around.pop()
        elif token.type == "code_block":
            indented.append(line)
        elif token.type == "inline":
            for child in token.children or ():
                if child.type in ("softbreak", "hardbreak"):
                    line += 1
                elif child.content:
                    texts.append((line, child.content))
                if around and child.type == "footnote_ref":
                    around[-1].cited = True
                elif around and child.type in ("text", "softbreak", "hardbreak"):
                    around[-1].text += child.content or " "
    return Body(tuple(items), tuple(indented), tuple(texts))


def _tokens(body: str) -> Iterator[Token]:
    text = body.replace("\r\n", "\n").replace("\r", "\n")
    yield from markdown._parser().parse(text)
