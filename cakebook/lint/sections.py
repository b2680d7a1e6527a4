"""Rules CB121 to CB130: the body as a whole: its sections, headings, fences and inner links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from urllib.parse import unquote

from cakebook.lint.edits import in_line
from cakebook.lint.examples import CHECK, GOOD, edit
from cakebook.lint.registry import Hit, Severity, rule
from cakebook.lint.subject import Subject, nearest
from cakebook.text import markdown
from cakebook.text.markdown import SECTIONS, Document

SUMMARY_WORDS = 80
SUMMARY_ZH_CHARACTERS = 240
OPTIONAL = frozenset({"Check"})
_ORDER = {title: place for place, title in enumerate(SECTIONS)}
_KNOWN = [name for title, others in SECTIONS.items() for name in (title, *others)]


@rule(
    "CB121",
    "no-h1",
    "format",
    needs="text",
    what="The body has a heading of level 1.",
    why="The title is in the front matter, in two languages; a second one would differ sooner or later.",
    fix="Remove it, or make it `##` if it is a section.",
    bad=(edit("## Summary\n", "# Rows per tile\n## Summary\n"), edit("## Summary\n", "Rows per tile\n===\n## Summary\n")),
    good=(edit("uint64_t rows", "# not a heading in a fence\nuint64_t rows"),),
)
def no_h1(s: Subject) -> Iterator[Hit]:
    for heading in s.document.headings:
        if heading.level == 1:
            yield Hit(f"heading of level 1: {heading.title[:60]}", heading.line, hint="the title is in the front matter")


@rule(
    "CB122",
    "section-order",
    "format",
    needs="text",
    what="A known section stands before one that belongs in front of it.",
    why="Packs cut entries by section and readers know where to look; the order is the same in every entry.",
    fix="Order them: " + ", ".join(SECTIONS) + ".",
    bad=(
        edit("## Why\nFewer", "## Numbers\n- none\n\n## Why\nFewer"),
        edit("## Summary\nBudget", "## Pitfalls\n- x\n\n## Summary\nBudget"),
    ),
)
def section_order(s: Subject) -> Iterator[Hit]:
    last = -1
    seen: set[str] = set()
    for section in s.document.sections:
        place = _ORDER.get(section.title)
        if place is None or section.title in seen:
            continue
        seen.add(section.title)
        if place < last:
            before = list(SECTIONS)[last]
            yield Hit(
                f"section `{section.title}` stands after `{before}`", section.heading.line, hint=f"move it before `{before}`"
            )
        last = max(last, place)


@rule(
    "CB123",
    "unknown-section",
    "format",
    severity=Severity.WARNING,
    needs="text",
    what="A section's heading is none of the known ones.",
    why="Its text is found by search but belongs to no part of a pack.",
    fix="Use a known heading, in either language, or make it a `###` below one: " + ", ".join(SECTIONS) + ".",
    bad=(edit("## Pitfalls", "## Pitfals"),),
    good=(edit("## Pitfalls", "## 陷阱"), edit("## Why\n", "## Why\n### In short\n")),
)
def unknown_section(s: Subject) -> Iterator[Hit]:
    for section in s.document.sections:
        if section.title not in _ORDER:
            like = nearest(section.title, _KNOWN)
            hint = f"did you mean `## {like}`?" if like else "known: " + ", ".join(SECTIONS)
            yield Hit(f"unknown section `{section.title[:60]}`", section.heading.line, hint=hint)


@rule(
    "CB124",
    "repeated-section",
    "format",
    needs="text",
    what="A section stands twice, under the same heading or under its name in the other language.",
    why="Packs take the first one; what the second says would be lost.",
    fix="Merge them, or use `###` headings within one.",
    bad=(edit("## Pitfalls\n", "## Why\nMore.\n\n## Pitfalls\n"), edit("## Pitfalls\n", "## 原因\n更多。\n\n## Pitfalls\n")),
)
def repeated_section(s: Subject) -> Iterator[Hit]:
    first: dict[str, int] = {}
    for section in s.document.sections:
        if section.title in first:
            line = first[section.title]
            yield Hit(
                f"section `{section.title[:60]}` stands twice, first on line {line}", section.heading.line, hint="merge them"
            )
        first.setdefault(section.title, section.heading.line)


@rule(
    "CB125",
    "text-outside-sections",
    "format",
    severity=Severity.WARNING,
    needs="text",
    what="There is text before the first section.",
    why="It belongs to no section, so no pack shows it.",
    fix="Put it under a heading, best `## Summary`.",
    bad=(edit("## Summary\n", "Some words first.\n\n## Summary\n"),),
)
def text_outside_sections(s: Subject) -> Iterator[Hit]:
    starts = [h.line for h in s.document.headings if h.level <= 2]
    end = starts[0] if starts else None
    for number, line in enumerate(s.front.body.split("\n"), s.front.body_line):
        if number == end:
            return
        if line.strip():
            yield Hit("text before the first section", number, hint="put it under `## Summary`")
            return


@rule(
    "CB126",
    "section-missing",
    "format",
    completeness=True,
    what="A section is missing or empty. `## Check` is optional.",
    why="A complete entry stands alone at every length of a pack: summary and when, then pattern, then the rest.",
    fix="Write the section. What is not known is said in it.",
    bad=(
        edit("## Pitfalls\n- The last tile has fewer rows: size buffers for the larger of the two.\n", ""),
        edit("## When\nRow-wise kernels whose rows are short. See [the numbers](#numbers) first.\n", "## When\n"),
    ),
    good=(edit("## Check\n" + CHECK, ""),),
)
def section_missing(s: Subject) -> Iterator[Hit]:
    written = {section.title: section for section in reversed(s.document.sections)}
    missing = [t for t in SECTIONS if t not in written and t not in OPTIONAL]
    if missing:
        yield Hit("missing sections: " + ", ".join(missing), s.front.body_line, hint="a complete entry has all of them")
    for title, section in written.items():
        if title in _ORDER and not section.source.strip():
            yield Hit(f"section `{title}` is empty", section.heading.line, hint="write it or remove the heading")


@rule(
    "CB127",
    "summary-too-long",
    "format",
    needs="text",
    what=f"The summary has more than {SUMMARY_WORDS} words, or `## 摘要` more than {SUMMARY_ZH_CHARACTERS} characters.",
    why="The summary is what fits into the smallest pack; it is paid for in every one.",
    fix="Keep what to do and when; reasons and numbers have their own sections.",
    bad=(edit("Budget UB before", "Budget " * 80 + "UB before"), edit("先算 UB 账再定", "先算账" * 80 + "再定")),
)
def summary_too_long(s: Subject) -> Iterator[Hit]:
    if section := s.document.section("Summary"):
        words = sum(any(c.isalnum() for c in word) for word in section.prose.split())
        if words > SUMMARY_WORDS:
            yield Hit(f"Summary has {words} words; {SUMMARY_WORDS} are allowed", section.heading.line, hint="shorten it")
    if section := s.document.section("摘要"):
        size = len("".join(section.prose.split()))
        if size > SUMMARY_ZH_CHARACTERS:
            yield Hit(
                f"摘要 has {size} characters; {SUMMARY_ZH_CHARACTERS} are allowed", section.heading.line, hint="shorten it"
            )


@rule(
    "CB128",
    "unclosed-fence",
    "format",
    needs="text",
    what="A code fence is opened and never closed.",
    why="All that follows is code: sections vanish from search and packs without a trace.",
    fix="Close it with as many backticks (or tildes) as opened it. To show a fence inside a fence, give the outer one more: "
    "````` ```` `````.",
    bad=(edit(CHECK, CHECK.removesuffix("```\n")), edit("```cpp\n", "~~~cpp\n")),
    good=(edit("- The last", "> ```cpp\n> int x;\n> ```\n\n- The last"),),
)
def unclosed_fence(s: Subject) -> Iterator[Hit]:
    for fence in s.document.fences:
        if not fence.closed:
            yield Hit("code fence is never closed", fence.line, hint="close it with as many backticks as opened it")


_NESTED = """## Pattern
```markdown
An example:

   ```query
   x
   ```

## Why
Swallowed.

```
"""


@rule(
    "CB129",
    "heading-in-fence",
    "format",
    severity=Severity.WARNING,
    needs="text",
    what="A heading of a section stands inside a code fence.",
    why="Most often an inner fence closed the outer one too early, and the next fence swallowed a part of the entry.",
    fix="Open the outer fence with four backticks, or close the fence before the heading.",
    bad=(
        edit("```\n\n## Why", "\n## Why"),
        edit("## Pattern\n```cpp\nuint64_t rows = (usable - fixed) / perRow;\n```\n\n## Why\n", _NESTED),
    ),
    good=(edit("USABLE, FIXED", "## a comment\n# Summary\nUSABLE, FIXED"),),
)
def heading_in_fence(s: Subject) -> Iterator[Hit]:
    for fence in s.document.fences:
        if "#" not in fence.code and "--" not in fence.code:
            continue
        inner = markdown.parse(fence.code, fence.line + 1)
        lost = [h for h in inner.headings if h.level >= 2 and (markdown.canonical(h.title) in _ORDER or not fence.closed)]
        if lost:
            names = ", ".join(h.title[:40] for h in lost[:5])
            message = f"the fence on line {fence.line} holds {len(lost)} heading(s): {names}"
            yield Hit(message, lost[0].line, hint="open an outer fence with four backticks, or close it earlier")


@rule(
    "CB130",
    "dead-anchor",
    "format",
    needs="text",
    what="A link to a heading of this entry leads nowhere.",
    why="The reader is sent nowhere. Anchors are made as GitHub makes them: lower case, punctuation dropped, a hyphen for "
    "each space, Chinese kept.",
    fix="Use the anchor that the finding suggests.",
    bad=(
        edit("(#numbers)", "(#Numbers)"),
        edit("(#numbers)", "(#number)"),
        edit("(#numbers)", "(#fake)", "uint64_t rows", "# Fake\nuint64_t rows"),
    ),
    good=(
        edit("(#numbers)", "(#循环分块迴圈)", "## Why\n", "## Why\n### 循环分块（迴圈）\n"),
        edit("(#numbers)", "(#copy--compute)", "## Why\n", "## Why\n### Copy & Compute\n"),
        edit("(#numbers)", "(#in-short-1)", "## Why\n", "## Why\n### In short\n### In short\n"),
    ),
    auto="Writes the anchor from which the link differs only in case.",
    mended=((edit("(#numbers)", "(#Numbers)"), GOOD),),
)
def dead_anchor(s: Subject) -> Iterator[Hit]:
    anchors = anchors_of(s.document)
    folded = {a.casefold(): a for a in anchors}
    collapsed = {a.replace("--", "-"): a for a in anchors}
    for link in s.document.links:
        if not link.value.startswith("#"):
            continue
        wanted = unquote(link.value[1:])
        if wanted in anchors:
            continue
        if like := folded.get(wanted.casefold()):
            fix = in_line(s, link.line, f"]({link.value})", f"](#{like})")
            message = f"`#{wanted[:60]}` differs only in case from `#{like}`"
            yield Hit(message, link.line, hint=f"write `#{like}`", fix=fix)
            continue
        like = collapsed.get(wanted.casefold().replace("--", "-")) or nearest(wanted, anchors)
        hint = f"did you mean `#{like}`? (anchors are made as GitHub makes them)" if like else "no heading has this anchor"
        yield Hit(f"`#{wanted[:60]}` leads nowhere", link.line, hint=hint)


def anchors_of(document: Document) -> set[str]:
    """The anchors of a body's headings; a repeated one gets `-1`, `-2` and so on."""
    seen: Counter[str] = Counter()
    anchors: set[str] = set()
    for heading in document.headings:
        slug = markdown.slug(heading.title)
        anchors.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return anchors
