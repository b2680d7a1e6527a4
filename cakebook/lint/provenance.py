"""Rules CB301 to CB309: where each claim comes from, so that a reader can look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import SplitResult, unquote, urlsplit

from cakebook.lint.examples import PINNED, edit
from cakebook.lint.registry import Hit, rule
from cakebook.lint.subject import Subject, nearest
from cakebook.model.base import UNKNOWN

GIT_HOSTS = frozenset({"github.com", "gitlab.com", "gitee.com", "gitcode.com", "raw.githubusercontent.com", "raw.gitcode.com"})
_AT_REVISION = frozenset({"blob", "tree", "raw", "commit", "blame", "edit"})
_PURL = re.compile(r"pkg:[a-z]+/[^\s@?#]+@[^\s@?#]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_FIGURE = re.compile(r"(?<![\w.\-])[-−+~≈<>≤≥]?\d[\d,.]*\w*")
_AT = PINNED.removesuffix("/docs/story.md")
_REF = "blob/" + _AT.rsplit("/", 1)[-1]
_LABEL = re.compile(r"[^\s\[\]^]+")


def web_address(text: str) -> SplitResult | None:
    """`text` as an absolute https address, None if it is not one."""
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        return None
    return parts if parts.scheme == "https" and host else None


def pinned(parts: SplitResult) -> bool | None:
    """Whether an address in a Git repository names a commit; None if it is not a file, folder or whole repository."""
    segments = [p for p in unquote(parts.path).split("/") if p and p != "-"]
    host = (parts.hostname or "").removeprefix("www.")
    if host.startswith("raw."):
        at = segments[2:3] if segments[2:3] != ["raw"] else segments[3:4]
        return bool(at and _COMMIT.fullmatch(at[0]))
    if host not in GIT_HOSTS and "/-/" not in parts.path:
        return None
    for place, segment in enumerate(segments[2:], 2):
        if segment in _AT_REVISION:
            at = segments[place + 1 : place + 2]
            return bool(at and _COMMIT.fullmatch(at[0]))
        if host in GIT_HOSTS and host != "gitlab.com":
            break
    return False if len(segments) == 2 else None


@rule(
    "CB301",
    "source-address",
    "provenance",
    what="A source's `resource` is neither an absolute https address nor the package URL of a released version.",
    why="A reader must be able to look, wherever the book was cloned to, and nobody on the way may change the answer.",
    fix="Write the full address, beginning with `https://`; for a released package its purl, as in `pkg:pypi/name@1.2.3`.",
    bad=(
        edit("https://github.com/owner", "http://github.com/owner"),
        edit("https://" + PINNED, "docs/story.md"),
        edit("https://github.com/owner", "https://[github.com/owner"),
        edit("https://" + PINNED, "pkg:pypi/some-package"),
    ),
    good=(edit("https://" + PINNED, "pkg:pypi/some-package@1.2.3"),),
)
def source_address(s: Subject) -> Iterator[Hit]:
    for i, source in enumerate(s.entry.sources):
        if web_address(source.resource) is None and not _PURL.fullmatch(source.resource):
            hint = "begin it with https://, or name a package version as pkg:type/name@version"
            yield s.hit(
                f"source `{source.id}`: not an https address: {source.resource[:80]}", "sources", i, "resource", hint=hint
            )


@rule(
    "CB302",
    "source-id",
    "provenance",
    what="Two sources have the same id, or an id cannot be a footnote label.",
    why="Footnotes name sources by id; a reader could not tell which one is meant.",
    fix="Give each source a short id of its own, without spaces or brackets.",
    bad=(
        edit("sources:\n", 'sources:\n  - {id: story, resource: "https://example.org/a", accessed: "2026-11-30"}\n'),
        edit("{id: story,", '{id: "the story",'),
    ),
)
def source_id(s: Subject) -> Iterator[Hit]:
    seen: set[str] = set()
    for i, source in enumerate(s.entry.sources):
        if source.id in seen:
            yield s.hit(f"source id `{source.id}` stands twice", "sources", i, "id", hint="rename one of them")
        if not _LABEL.fullmatch(source.id):
            yield s.hit(f"source id `{source.id}` cannot be a footnote label", "sources", i, "id", hint="no spaces or brackets")
        seen.add(source.id)


@rule(
    "CB303",
    "git-unpinned",
    "provenance",
    what="A source in a Git repository names a branch, a tag or nothing instead of a commit.",
    why="Branches move: tomorrow the address shows another text, and the claim can no longer be checked.",
    fix="Open the file, press `y` (or “permanent link”), and copy the address with the 40-digit commit.",
    bad=(
        edit(_REF, "blob/main"),
        edit(_REF, "blob/0123456"),
        edit(_AT, "gitlab.com/g/sub/repo/-/tree/v1.0"),
        edit(_AT, "raw.githubusercontent.com/owner/repo/master"),
        edit(PINNED, "gitee.com/owner/repo"),
    ),
    good=(
        edit(
            PINNED,
            "github.com/owner/repo/issues/7",
        ),
        edit("github.com/owner/repo/blob/", "gitlab.com/g/sub/repo/-/blob/"),
        edit("github.com/owner/repo/blob/0123", "raw.githubusercontent.com/owner/repo/0123"),
        edit(PINNED, "www.hiascend.com/document/x"),
    ),
)
def git_unpinned(s: Subject) -> Iterator[Hit]:
    for i, source in enumerate(s.entry.sources):
        parts = web_address(source.resource)
        if parts and pinned(parts) is False:
            hint = "use the address with the 40-digit commit (permanent link)"
            yield s.hit(f"source `{source.id}` is not pinned to a commit", "sources", i, "resource", hint=hint)


@rule(
    "CB304",
    "accessed-missing",
    "provenance",
    what="A source that is not pinned to a commit does not say when it was read.",
    why="Documents, issues and pull requests change; the date says which state the claim is about.",
    fix='Add `accessed: "2026-11-30"`, the day on which you read it.',
    bad=(edit(PINNED, "github.com/owner/repo/issues/7", ', accessed: "2026-11-30"', ""),),
    good=(edit(', accessed: "2026-11-30"', ""),),
)
def accessed_missing(s: Subject) -> Iterator[Hit]:
    for i, source in enumerate(s.entry.sources):
        parts = web_address(source.resource)
        if parts and not pinned(parts) and source.accessed in ("", UNKNOWN):
            yield s.hit(f"source `{source.id}`: no `accessed` date", "sources", i, hint='add accessed: "YYYY-MM-DD"')


@rule(
    "CB305",
    "footnote-without-source",
    "provenance",
    what="A footnote is used or defined and no source has its id.",
    why="The claim looks supported and is not.",
    fix="Correct the label, or add the source to `sources`.",
    bad=(edit("larger copies.[^story]", "larger copies.[^tale]"), edit("[^story]: Story", "[^other]: x\n[^story]: Story")),
    good=(edit("larger copies.[^story]", "larger copies `[^tale]`.[^story]"),),
)
def footnote_without_source(s: Subject) -> Iterator[Hit]:
    ids = [source.id for source in s.entry.sources]
    for note in (*s.document.footnotes, *s.document.definitions.values()):
        if note.value not in ids:
            like = nearest(note.value, ids)
            hint = f"did you mean [^{like}]?" if like else "add the source to `sources`"
            yield Hit(f"footnote [^{note.value}]: no source has this id", note.line, hint=hint)


@rule(
    "CB306",
    "footnote-undefined",
    "provenance",
    needs="text",
    what="A footnote is used but has no definition in the body.",
    why="The definition says which part of the source supports the claim; without it the mark is shown as plain text.",
    fix="Add `[^id]: Title, which part of it.` under `## Sources`.",
    bad=(edit("[^story]: Story, step 5.\n", ""), edit("[^story]: Story, step 5.\n", "```text\n[^story]: Story\n```\n")),
)
def footnote_undefined(s: Subject) -> Iterator[Hit]:
    reported: set[str] = set()
    for note in s.document.footnotes:
        if note.value not in s.document.definitions and note.value not in reported:
            reported.add(note.value)
            hint = f"add `[^{note.value}]: Title, which part of it.` under ## Sources"
            yield Hit(f"footnote [^{note.value}] has no definition", note.line, hint=hint)


@rule(
    "CB307",
    "source-uncited",
    "provenance",
    completeness=True,
    what="No footnote and no evidence refers to a source.",
    why="A source that supports nothing misleads; most often a footnote was forgotten.",
    fix="Add `[^id]` after the claim that it supports, or remove the source.",
    bad=(edit("sources:\n", 'sources:\n  - {id: extra, resource: "https://example.org/a", accessed: "2026-11-30"}\n'),),
)
def source_uncited(s: Subject) -> Iterator[Hit]:
    cited = {note.value for note in s.document.footnotes} | {item.source for item in s.entry.evidence}
    for i, source in enumerate(s.entry.sources):
        if source.id not in cited:
            yield s.hit(
                f"source `{source.id}` is never cited", "sources", i, hint=f"add [^{source.id}] after the claim, or remove it"
            )


@rule(
    "CB308",
    "figure-without-footnote",
    "provenance",
    needs="text",
    what="A bullet of `## Numbers` states a figure and carries no footnote.",
    why="A number without its source is the part of a lesson that spreads fastest and can be checked least.",
    fix="End the bullet with `[^id]`, the id of the source that states the figure.",
    bad=(edit("49.0 µs.[^story]", "49.0 µs."), edit("49.0 µs.[^story]", "49.0 µs.[^story]\n- Twelve rows: 48.5 µs.")),
    good=(
        edit("49.0 µs.[^story]", "49.0 µs.[^story]\n- On npu-2201 and 910B3 with float16: not stated."),
        edit("49.0 µs.[^story]", "49.0 µs.[^story]\n  - ten rows: 49.0 µs"),
    ),
)
def figure_without_footnote(s: Subject) -> Iterator[Hit]:
    names = {*s.vocabulary.ids("targets"), *s.vocabulary.ids("error_codes")}
    bounds = [h.line for h in s.document.headings if h.level <= 2]
    for section in (x for x in s.document.sections if x.title == "Numbers"):
        start = section.heading.line
        stop = min((b for b in bounds if b > start), default=float("inf"))
        for item in s.body.items:
            if start < item.line < stop and not item.cited and (figure := _figure(item.text, names)):
                yield Hit(f"the figure {figure} carries no footnote", item.line, hint="end the bullet with [^id] of its source")


def _figure(text: str, names: set[str]) -> str:
    """The first figure in `text` that is not the name of a chip or an error code."""
    found = (m.group().strip("-−+~≈<>≤≥.,") for m in _FIGURE.finditer(text))
    return next((f for f in found if f not in names), "")


@rule(
    "CB309",
    "evidence-source",
    "provenance",
    what="`source` of an evidence item is no source's id, or a reported observation names none.",
    why="An observation by somebody else is worth what its source is worth.",
    fix="Write the id of one of `sources`; for an observation of your own, `origin: own` and `measured_by`.",
    bad=(edit("source: story\n", "source: tale\n"), edit("source: story\n", "source: unknown\n")),
)
def evidence_source(s: Subject) -> Iterator[Hit]:
    ids = [source.id for source in s.entry.sources]
    for i, item in enumerate(s.entry.evidence):
        if item.source == UNKNOWN:
            if item.origin == "reported":
                yield s.hit(
                    f"evidence `{item.id}` is reported and names no source",
                    "evidence",
                    i,
                    "source",
                    hint="write the source's id",
                )
        elif item.source not in ids:
            like = nearest(item.source, ids)
            hint = f"did you mean `{like}`?" if like else "add it to `sources`"
            yield s.hit(f"evidence `{item.id}`: no source `{item.source}`", "evidence", i, "source", hint=hint)
