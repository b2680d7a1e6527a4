"""The body of an entry, through a CommonMark parser: sections, code fences, links, footnotes, each with its line.

No regular expression ever looks for a heading or a fence: a `#` inside `~~~` is code, and only the tokenizer knows.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

SECTIONS: dict[str, tuple[str, ...]] = {
    "Summary": (),
    "摘要": ("中文摘要",),
    "When": ("适用条件", "何时适用"),
    "Pattern": ("做法", "模式"),
    "Why": ("原因", "原理"),
    "Numbers": ("数据", "观察", "Observed"),
    "Pitfalls": ("陷阱", "注意"),
    "Check": ("检查",),
    "Sources": ("来源",),
}
"""Canonical headings in their order → other ways to write them."""
MAX_LABEL = 80
"""Characters of a footnote label; a longer one is text."""
_CANONICAL = {name.casefold(): title for title, others in SECTIONS.items() for name in (title, *others)}


@dataclass(frozen=True)
class Fence:
    """A code block. `language` is the first word of `info`; `is_check` marks an executable check."""

    info: str
    code: str
    line: int
    section: str
    closed: bool = True

    @property
    def language(self) -> str:
        return self.info.split(maxsplit=1)[0] if self.info.split() else ""

    @property
    def is_check(self) -> bool:
        return self.info.split() == ["python", "check"]


@dataclass(frozen=True)
class Heading:
    """A heading: `title` as written, `level` 1–6."""

    level: int
    title: str
    line: int


@dataclass(frozen=True)
class Section:
    """What stands under one level-2 heading. `title` is canonical where the heading is known.

    `source`: Markdown as written, without the heading; `prose`: its text without code, tables, markers or footnotes.
    """

    title: str
    heading: Heading
    source: str
    prose: str


@dataclass(frozen=True)
class Reference:
    """A link target, a footnote label or a piece of raw HTML, and where it stands."""

    value: str
    line: int
    section: str = ""


@dataclass(frozen=True)
class Document:
    """A parsed body. Lines count from 1 in the file."""

    sections: tuple[Section, ...]
    headings: tuple[Heading, ...]
    fences: tuple[Fence, ...]
    links: tuple[Reference, ...]
    images: tuple[Reference, ...]
    html: tuple[Reference, ...]
    footnotes: tuple[Reference, ...]
    definitions: dict[str, Reference]

    def section(self, title: str) -> Section | None:
        """The first section with this canonical title."""
        return next((s for s in self.sections if s.title == title), None)

    @property
    def checks(self) -> tuple[Fence, ...]:
        """The executable check blocks, in order."""
        return tuple(f for f in self.fences if f.is_check)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.footnote import footnote_plugin

    # html stays on in the tokenizer, so that raw HTML is seen and refused instead of passing as text; for the same
    # reason every link counts as one, `javascript:` too, and footnotes are kept where they stand, defined or not
    parser = MarkdownIt("commonmark").enable("table")
    parser.use(footnote_plugin, inline=False, move_to_end=False)
    parser.inline.ruler.at("footnote_ref", _footnote_ref)
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    return parser


def _footnote_ref(state: StateInline, silent: bool) -> bool:
    """`[^label]`, defined or not. The plugin's own rule scans to the end for each `[^`, which is quadratic."""
    start = state.pos
    if not state.src.startswith("[^", start):
        return False
    end = state.src.find("]", start + 3, min(start + 3 + MAX_LABEL, state.posMax))
    label = state.src[start + 2 : end]
    if end < 0 or " " in label or "\n" in label:
        return False
    if not silent:
        state.push("footnote_ref", "", 0).meta = {"label": label}
    state.pos = end + 1
    return True


def parse(body: str, first_line: int = 1) -> Document:
    """Parse `body`, whose first line is line `first_line` of its file."""
    text = body.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    tokens = _parser().parse(text)
    headings: list[tuple[Heading, int]] = []
    for i, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            title = _inline_text(tokens[i + 1])
            headings.append((Heading(int(token.tag[1]), title, token.map[0] + first_line), token.map[1]))
    starts = [(h, end) for h, end in headings if h.level <= 2]
    start_lines = [h.line for h, _ in starts]
    titles = ["", *(canonical(h.title) for h, _ in starts)]

    def section_of(line: int) -> str:
        return titles[bisect_right(start_lines, line)]

    fences: list[Fence] = []
    links: list[Reference] = []
    images: list[Reference] = []
    html: list[Reference] = []
    notes: list[Reference] = []
    definitions: dict[str, Reference] = {}
    for token in tokens:
        line = (token.map[0] if token.map else 0) + first_line
        where = section_of(line)
        if token.type == "fence":
            fences.append(Fence(token.info.strip(), token.content, line, where, _is_closed(token)))
        elif token.type == "html_block":
            html.append(Reference(token.content.strip(), line, where))
        elif token.type == "footnote_reference_open":
            definitions.setdefault(str(token.meta["label"]), Reference(str(token.meta["label"]), line, where))
    for inline, line in _inlines(tokens, first_line):
        where = section_of(line)
        for child, at in _children(inline, line):
            if child.type == "link_open":
                links.append(Reference(str(child.attrs.get("href", "")), at, where))
            elif child.type == "image":
                images.append(Reference(str(child.attrs.get("src", "")), at, where))
            elif child.type == "html_inline":
                html.append(Reference(child.content, at, where))
            elif child.type == "footnote_ref":
                notes.append(Reference(str(child.meta["label"]), at, where))
    sections = []
    prose = _prose(tokens, first_line)
    prose_lines = [line - first_line for line, _ in prose]
    for k, (heading, body_start) in enumerate(starts):
        stop = starts[k + 1][0].line - first_line if k + 1 < len(starts) else len(lines)
        if heading.level == 2:
            source = "\n".join(lines[body_start:stop]).strip("\n")
            within = slice(bisect_left(prose_lines, body_start), bisect_left(prose_lines, stop))
            words = " ".join(t for _, t in prose[within])
            sections.append(Section(canonical(heading.title), heading, source, words))
    return Document(
        tuple(sections), tuple(h for h, _ in headings), tuple(fences), tuple(links), tuple(images), tuple(html),
        tuple(notes), definitions,
    )  # fmt: skip


def canonical(title: str) -> str:
    """The canonical form of a section heading, or the heading itself."""
    return _CANONICAL.get(title.strip().casefold(), title.strip())


def slug(title: str) -> str:
    """The anchor of a heading as GitHub makes it: lower case, punctuation dropped, spaces to hyphens, CJK kept."""
    kept = [c for c in title.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LNM"]
    return "".join(kept).replace(" ", "-")


def _is_closed(token: Token) -> bool:
    """A closed fence spans its code and two lines more, one that the end of its container cut off only one."""
    assert token.map is not None
    code_lines = token.content.count("\n") + (token.content != "" and not token.content.endswith("\n"))
    return token.map[1] - token.map[0] == code_lines + 2


def _inline_text(token: Token) -> str:
    return "".join(c.content for c in token.children or () if c.type in ("text", "code_inline")).strip()


def _inlines(tokens: list[Token], first_line: int) -> Iterator[tuple[Token, int]]:
    """Inline tokens with the line of their block."""
    for token in tokens:
        if token.type == "inline":
            yield token, (token.map[0] if token.map else 0) + first_line


def _children(inline: Token, line: int) -> Iterator[tuple[Token, int]]:
    for child in inline.children or ():
        yield child, line
        if child.type in ("softbreak", "hardbreak"):
            line += 1


def _prose(tokens: list[Token], first_line: int) -> list[tuple[int, str]]:
    """Text of paragraphs and list items, by line; code, tables, headings and footnote bodies left out."""
    result: list[tuple[int, str]] = []
    skip = 0
    for i, token in enumerate(tokens):
        if token.type in ("table_open", "footnote_reference_open", "heading_open"):
            skip += 1
        elif token.type in ("table_close", "footnote_reference_close", "heading_close"):
            skip -= 1
        elif token.type == "inline" and not skip:
            words = "".join(
                " " if c.type in ("softbreak", "hardbreak") else c.content
                for c in tokens[i].children or ()
                if c.type in ("text", "code_inline", "softbreak", "hardbreak")
            )
            result.append(((token.map[0] if token.map else 0) + first_line, words))
    return result
