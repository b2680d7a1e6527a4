"""Rules CB111 to CB120: the front matter as a whole, and what every entry must have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import PurePosixPath

from cakebook.lint.edits import put, write
from cakebook.lint.examples import GOOD, edit, other, whole
from cakebook.lint.registry import Hit, Severity, rule
from cakebook.lint.subject import Subject, nearest
from cakebook.model.base import UNKNOWN, OpenModel
from cakebook.model.entry import Condition, Entry, Generated, Source, is_id
from cakebook.model.evidence import Baseline, Correctness, Functional, Ratio, Timed, Timing

TITLE_MAX = 120
DESCRIPTION_MAX = 200
BLANK = "FILL-IN("
"""How a scaffold marks what is still to be written: `FILL-IN(what belongs here)`."""

_OKF_KEYS = {"resource", "verified", "timestamp", "usage_window"}
_OKF_SOURCE_KEYS = {"usage_count", "usage_window", "last_modified"}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_YEAR_FIRST = re.compile(r"([0-9]{4})(?:([-/.])([0-9]{1,2})\2([0-9]{1,2})|年([0-9]{1,2})月([0-9]{1,2})日|([0-9]{2})([0-9]{2}))")
"""Dates that can be read in one way only, since nobody puts the day between year and month."""


@rule(
    "CB111",
    "id-is-stem",
    "format",
    needs="front",
    what="The id is missing or differs from the file name.",
    why="Whoever has the id must find the file, and a renamed file must not take on another identity unnoticed.",
    fix="Write the file's stem as `id`, or rename the file.",
    bad=(edit("id: demo-rows-per-tile\n", ""), edit("id: demo-rows-per-tile", "id: other-lesson")),
    auto="Writes the file's stem where there is no `id`. An id that differs is another identity and stays.",
    mended=((edit("id: demo-rows-per-tile\n", ""), GOOD), (edit("id: demo-rows-per-tile", "id:"), GOOD)),
)
def id_is_stem(s: Subject) -> Iterator[Hit]:
    stem = PurePosixPath(s.file.path).stem
    written = s.front.values.get("id")
    if not written:
        fix = put(s, "id", stem) if is_id(stem) and not s.book.rivals_by_id(s.file) else ()
        yield s.hit("no `id`", "id", hint=f"write `id: {stem}`", fix=fix)
    elif written != stem:
        yield s.hit(f"id `{written}` differs from the file name `{stem}`", "id", hint="rename the file or correct the id")


@rule(
    "CB112",
    "folder-is-kind",
    "format",
    needs="front",
    what="The kind is missing, or the file does not stand in the folder of its kind.",
    why="The kind decides the part that a lesson plays in a pack; folder and kind saying two things means one is wrong.",
    fix="Write the kind, or move the file to `entries/<kind>/<id>.md`.",
    bad=(edit(path="entries/memory/demo-rows-per-tile.md"), edit("kind: tiling\n", "")),
    auto="Writes the folder's name where there is no `kind` and the folder is that of one.",
    mended=((edit("kind: tiling\n", ""), GOOD),),
)
def folder_is_kind(s: Subject) -> Iterator[Hit]:
    folder = PurePosixPath(s.file.path).parent.name
    kind = s.front.values.get("kind")
    if not kind:
        at_home = folder in s.vocabulary.ids("kinds") and PurePosixPath(s.file.path).parts[:-1] == ("entries", folder)
        fix = put(s, "kind", folder) if at_home else ()
        yield s.hit("no `kind`", "kind", hint=f"the folder suggests `kind: {folder}`", fix=fix)
    elif PurePosixPath(s.file.path).parts[:-1] != ("entries", kind):
        yield s.hit(f"kind `{kind}` stands in the folder `{folder}`", "kind", hint=f"move the file to entries/{kind}/")


@rule(
    "CB113",
    "id-unique",
    "format",
    needs="front",
    what="Another entry has the same id, or one that differs only in case or Unicode form.",
    why="An id names one lesson for ever: approvals, citations and relations refer to it.",
    fix="Choose another id for the newer entry. Of two entries the one not on the founding list is reported.",
    bad=(
        edit(
            others={
                "entries/compute/demo-rows-per-tile.md": other("demo-rows-per-tile")["entries/tiling/demo-rows-per-tile.md"]
            }
        ),
    ),
    good=(edit(others=other("demo-two")),),
)
def id_unique(s: Subject) -> Iterator[Hit]:
    for rival in s.book.rivals_by_id(s.file):
        if s.book.answers(s.file, rival):
            yield s.hit(f"{rival.path} has the id `{rival.id}` already", "id", hint="choose another id")


@rule(
    "CB114",
    "path-unique",
    "format",
    needs="text",
    what="Another file's path differs from this one only in case or Unicode form.",
    why="On macOS and Windows one of the two silently disappears from the working copy.",
    fix="Rename the newer file; ids and folders are lower-case ASCII.",
    bad=(edit(others={"entries/tiling/Demo-Rows-per-tile.md": other("demo-a")["entries/tiling/demo-a.md"]}),),
)
def path_unique(s: Subject) -> Iterator[Hit]:
    for rival in s.book.rivals_by_path(s.file):
        if s.book.answers(s.file, rival):
            yield Hit(f"{rival.path} differs only in case or Unicode form", hint="rename this file")


@rule(
    "CB115",
    "unknown-key",
    "format",
    severity=Severity.WARNING,
    needs="front",
    what="A key is not a field of entries.",
    why="It is kept, as OKF asks, but nothing reads it; most often it is a misspelt field that now counts as not known.",
    fix="Correct the name, or leave it if another tool needs it.",
    bad=(edit("bottlenecks:", "bottleneck:"), edit("license: MIT", "licence: MIT"), edit("warmup: 3", "warm_up: 3")),
)
def unknown_key(s: Subject) -> Iterator[Hit]:
    entry = set(Entry.model_fields) | _OKF_KEYS
    within = {
        "sources": set(Source.model_fields) | _OKF_SOURCE_KEYS,
        "applies_when": set(Condition.model_fields),
        "avoid_when": set(Condition.model_fields),
        "evidence": {*Functional.model_fields, *Ratio.model_fields, *Timed.model_fields},
        "generated": set(Generated.model_fields),
    }
    blocks: dict[str, type[OpenModel]] = {"baseline": Baseline, "timing": Timing, "correctness": Correctness}
    for path in s.front.keys:
        *above, key = path
        if not above:
            known = entry
        elif above[0] in within and (len(above) == 1 or (len(above) == 2 and isinstance(above[1], int))):
            known = within[str(above[0])]
        elif len(above) == 3 and above[0] == "evidence" and above[2] in blocks:
            known = set(blocks[str(above[2])].model_fields)
        else:
            continue
        if key not in known:
            like = nearest(str(key), known)
            yield s.hit_key(f"unknown key `{key}`", *path, hint=f"did you mean `{like}`?" if like else "nothing reads it")


@rule(
    "CB116",
    "type-of-kind",
    "format",
    needs="front",
    what="The OKF `type` is missing or is not the one that belongs to the kind.",
    why="Other OKF tools go by `type`; it follows from the kind, so it may not say something else.",
    fix="Write the type that `book/vocabulary/kinds.yaml` gives for the kind.",
    bad=(edit("type: Kernel Pattern\n", ""), edit("type: Kernel Pattern", "type: Pitfall")),
    auto="Writes that type.",
    mended=((edit("type: Kernel Pattern\n", ""), GOOD), (edit("type: Kernel Pattern", "type: Pitfall"), GOOD)),
)
def type_of_kind(s: Subject) -> Iterator[Hit]:
    kind = s.front.values.get("kind")
    want = s.vocabulary.term("kinds", kind).get("type") if isinstance(kind, str) else None
    have = s.front.values.get("type")
    if want and have != want:
        message = f"type `{have}` does not belong to the kind `{kind}`" if have else "no `type`"
        yield s.hit(message, "type", hint=f"write `type: {want}`", fix=put(s, "type", str(want)))
    elif not want and not have:
        yield s.hit("no `type`", "type", hint="it follows from the kind")


@rule(
    "CB117",
    "proposal-incomplete",
    "format",
    what="One of the six things of a proposal is missing: title, DSL, what to do, when it applies, one source, what was "
    "observed.",
    why="With less, a reviewer cannot judge a lesson and a reader cannot apply it. Either language will do.",
    fix="Write `title`, `dsl` (or `dsl: [any]`), a section `## Pattern`, a section `## When` or `applies_when`, one item of "
    "`sources`, and a section `## Numbers` or `evidence`. An observation may be a plain sentence.",
    bad=(
        edit("title: Derive rows per tile from the UB budget\ntitle_zh: 由 UB 预算反推每个 tile 的行数\n", ""),
        edit("dsl: [ascendc]\n", ""),
        edit("## Pattern\n```cpp\nuint64_t rows = (usable - fixed) / perRow;\n```\n", ""),
        whole("---\nid: demo-rows-per-tile\ntitle_zh: 由 UB 预算反推行数\n---\n## 做法\n先算账。\n"),
    ),
    good=(
        whole(
            "---\ntitle_zh: 由 UB 预算反推行数\ndsl: any\nsources: [{id: a, resource: 'https://example.org/a'}]\n---\n"
            "## 做法\n先算 UB 账。\n## 适用条件\n行间独立。\n## 观察\n- 每次十行更快。[^a]\n\n[^a]: 全文。\n"
        ),
    ),
)
def proposal_incomplete(s: Subject) -> Iterator[Hit]:
    entry = s.entry

    def written(section: str) -> bool:
        return any(part.source.strip() for part in s.document.sections if part.title == section)

    if not (entry.title.strip() or entry.title_zh.strip()):
        yield s.hit("no title", "title", hint="write `title` or `title_zh`")
    if not entry.dsl:
        yield s.hit("no DSL", "dsl", hint="write `dsl: [ascendc]`, or `dsl: [any]` if it holds for every one")
    if not written("Pattern"):
        yield s.hit("does not say what to do", hint="write a section `## Pattern` (or `## 做法`)")
    if not (written("When") or any(c.text or c.text_zh or c.match for c in entry.applies_when)):
        yield s.hit("does not say when it applies", "applies_when", hint="write `## When` (or `## 适用条件`) or `applies_when`")
    if not entry.sources:
        yield s.hit("no source", "sources", hint='write `sources: [{id: …, resource: "https://…"}]`')
    if not (written("Numbers") or entry.evidence):
        yield s.hit("does not say what was observed", "evidence", hint="write `## Numbers` (or `## 观察`) or `evidence`")


@rule(
    "CB118",
    "head-too-long",
    "format",
    what=f"A title has more than {TITLE_MAX} characters or a description more than {DESCRIPTION_MAX}, or it has several lines.",
    why="Titles and descriptions are shown for every hit and counted in every pack; the budget is the reader's.",
    fix="Say in one sentence what it buys, and when. Conditions belong to `applies_when`, reasons to `## Why`.",
    bad=(
        edit("title: Derive", "title: " + "Derive " * 20),
        edit("description: Solve", "description: " + "Solve " * 40),
        edit("description_zh: 按", "description_zh: " + "按" * 200),
    ),
)
def head_too_long(s: Subject) -> Iterator[Hit]:
    limits = {"title": TITLE_MAX, "title_zh": TITLE_MAX, "description": DESCRIPTION_MAX, "description_zh": DESCRIPTION_MAX}
    for name, limit in limits.items():
        text = str(getattr(s.entry, name)).strip()
        if len(text) > limit:
            yield s.hit(f"{name} has {len(text)} characters; {limit} are allowed", name, hint="shorten it")
        elif "\n" in text:
            yield s.hit(f"{name} has several lines", name, hint="write one line")


@rule(
    "CB119",
    "date-form",
    "format",
    what="`accessed`, `at` or `stale_after` is not a date as ISO 8601 writes it.",
    why="Staleness is computed from these dates; `11/30/2026` means two days, and a template's placeholder none.",
    fix='Write `"2026-11-30"`, or a full time as `"2026-11-30T08:00:00Z"`.',
    bad=(
        edit('stale_after: "2027-11-30"', "stale_after: 30.11.2027"),
        edit('accessed: "2026-11-30"', 'accessed: "2026-13-01"'),
        edit('at: "2026-11-30"', "at: yesterday"),
    ),
    good=(edit('at: "2026-11-30"', 'at: "2026-11-30T08:00:00Z"'), edit('stale_after: "2027-11-30"', "stale_after: unknown")),
    auto="Rewrites a date that begins with the year: `2026/1/5`, `2026.01.05`, `20260105`, `2026年1月5日`. Others stay.",
    mended=(
        (edit('stale_after: "2027-11-30"', "stale_after: 2027/11/30"), GOOD),
        (edit('accessed: "2026-11-30"', "accessed: '20261130'"), edit('accessed: "2026-11-30"', "accessed: '2026-11-30'")),
        (edit('at: "2026-11-30"', "at: 2026年11月30日"), GOOD),
    ),
)
def date_form(s: Subject) -> Iterator[Hit]:
    entry = s.entry
    dates: list[tuple[tuple[str | int, ...], str]] = [(("stale_after",), entry.stale_after)]
    dates += [(("sources", i, "accessed"), source.accessed) for i, source in enumerate(entry.sources)]
    if entry.generated:
        dates.append((("generated", "at"), entry.generated.at))
    for path, text in dates:
        if text not in ("", UNKNOWN) and not _is_date(text):
            fix = write(s, right, *path) if (right := _iso(text)) else ()
            yield s.hit(f"{path[-1]}: `{text}` is not an ISO date", *path, hint='write it as "2026-11-30"', fix=fix)


def _is_date(text: str) -> bool:
    if not _DAY.match(text):
        return False
    try:
        date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _iso(text: str) -> str:
    """The day that `text` can only mean, as ISO 8601 writes it, or nothing."""
    match = _YEAR_FIRST.fullmatch(text.strip())
    if not match:
        return ""
    year, month, day = (part for part in match.groups() if part and part.isdecimal())
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""


@rule(
    "CB120",
    "unfilled-blank",
    "format",
    needs="text",
    what=f"A blank of the scaffold, `{BLANK}…)`, is still there.",
    why="It is a question to the author and would be served as an answer.",
    fix="Replace the blank, brackets included, by what it asks for; remove optional lines that do not apply.",
    bad=(
        edit("title: Derive rows per tile from the UB budget", f"title: {BLANK}what the lesson is called)"),
        edit("Fewer iterations and larger copies.", f"{BLANK}why it works)"),
    ),
)
def unfilled_blank(s: Subject) -> Iterator[Hit]:
    for number, line in enumerate(s.file.text.split("\n"), 1):
        if (at := line.find(BLANK)) >= 0:
            asked = line[at + len(BLANK) :].split(")")[0]
            yield Hit(f"still to fill in: {asked[:80]}", number, at + 1, f"replace {BLANK}…) by your text")
