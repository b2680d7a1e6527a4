"""Rules CB101 to CB110: what `text.frontmatter` and `repo.entries` report while they read a file.

They have no check of their own. A file with one of these findings is not read further than it could be.
"""

from __future__ import annotations

from cakebook.lint.examples import edit, whole
from cakebook.lint.registry import reported

reported(
    "CB101",
    "unreadable-text",
    "format",
    what="The file is not UTF-8 text, holds a NUL character or cannot be read at all.",
    why="Readers that guess an encoding show different texts for the same bytes, and a review covers only one of them.",
    fix="Save the file as UTF-8. A byte-order mark at its start and CRLF line ends are fine.",
    bad=(whole(b"---\ntitle: \xff\xfe\n---\n"), whole(b"---\ntitle: a\0b\n---\n")),
)
reported(
    "CB102",
    "no-front-matter",
    "format",
    what="The file does not begin with a front-matter block.",
    why="Without it there is no id, no scope and no source, so the text cannot be served as an entry.",
    fix="Begin the file with a line `---`, then `key: value` lines, then another `---`. `cakebook new` writes one.",
    bad=(whole("# A lesson\n\nSome text.\n"), whole("")),
)
reported(
    "CB103",
    "front-matter-unclosed",
    "format",
    what="The front-matter block is opened and never closed.",
    why="Everything after it would be metadata, and the lesson would be empty.",
    fix="End the block with a line `---` before the first heading.",
    bad=(whole("---\nid: a\ntitle: b\n"),),
)
reported(
    "CB104",
    "yaml-syntax",
    "format",
    what="The front matter is not YAML.",
    why="Most often a value holds a colon and a space, which start a mapping; some readers would then see no metadata.",
    fix='Quote the value: `title: "Part 1: tiling"`. Indent with spaces, not tabs.',
    bad=(whole("---\ntitle: Assignment 1: Some Title\n---\n"), whole("---\n\ttitle: a\n---\n")),
)
reported(
    "CB105",
    "duplicate-key",
    "format",
    what="A key stands twice in one mapping.",
    why="YAML readers disagree which of the two holds, so the reviewed value may not be the served one.",
    fix="Keep one of them.",
    bad=(edit("kind: tiling\n", "kind: tiling\nkind: memory\n"),),
)
reported(
    "CB106",
    "yaml-feature",
    "format",
    what="The front matter uses anchors, aliases, tags, merge keys, several documents or a key that is not plain text.",
    why="They let a short text stand for a long or a different one, and readers treat them differently.",
    fix="Write the value out, and quote it if it begins with `*`, `&`, `!` or `{`.",
    bad=(
        edit("kind: tiling\n", "kind: &k tiling\n"),
        edit("runs: 5\n", "runs: !!int 5\n"),
        edit('at: "2026-11-30"}', "at: {{date}}}"),
    ),
)
reported(
    "CB107",
    "too-large",
    "format",
    what="The file, its front matter or the nesting of a value is larger than an entry may be.",
    why="One lesson is small; what is not costs every reader time and cannot be reviewed.",
    fix="Split the lesson, link to raw data instead of holding it, flatten the value.",
    bad=(whole(b"x" * 300_000), whole("---\na: " + "[" * 20 + "]" * 20 + "\n---\n")),
)
reported(
    "CB108",
    "not-a-mapping",
    "format",
    what="The front matter is empty, or a plain value or list.",
    why="Fields have names; without a mapping there are none.",
    fix="Write `key: value` lines.",
    bad=(whole("---\njust a string\n---\n"), whole("---\n---\n")),
)
reported(
    "CB109",
    "wrong-form",
    "format",
    what="A field's value has another form than the field has: text for a list, a word for a number, an unknown choice.",
    why="Retrieval reads the field by its form; a value that cannot be read would silently drop out of every filter.",
    fix="See `book/schema/entry.json` for the form. A measurement that is not known is `unknown`.",
    bad=(edit("toolchain: {", "toolchain: [", '">=8.0,<9.2"}', '">=8.0,<9.2"]'), edit("level: kernel", "level: core")),
)
reported(
    "CB110",
    "bad-id",
    "format",
    what="The id is not kebab-case ASCII of at most 80 characters.",
    why="The id is the identity of the lesson in citations, receipts and statements, and the name of its file.",
    fix="Use lower-case letters, digits and single hyphens. Best leave the id as `cakebook new` wrote it.",
    bad=(edit("id: demo-rows-per-tile", "id: Demo_Rows"),),
)
