"""Rules CB401 to CB408: relations between entries. They always see the whole book.

Relations are written by the newer side only and inverses are computed, so that adding an entry never asks for an edit
of an admitted one. Where two entries do not go together, the one that is not settled is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from cakebook.lint.edits import remove, write
from cakebook.lint.examples import GOOD, edit, other
from cakebook.lint.registry import Hit, rule
from cakebook.lint.subject import BookView, Subject, nearest
from cakebook.model.entry import is_id
from cakebook.repo.layout import ENTRIES

_WORDS = re.compile(r"[A-Za-z0-9]+(?:[ _-]+[A-Za-z0-9]+)*")
RELATIONS = ("requires", "related", "conflicts_with", "supersedes")


def _targets(s: Subject, relation: str) -> list[tuple[tuple[str | int, ...], str]]:
    return s.term_list(relation)


@rule(
    "CB401",
    "target-missing",
    "relations",
    what="A relation names an entry that the book does not have.",
    why="Packs follow relations; a required lesson that is missing makes the entry unusable.",
    fix="Correct the id, or write that entry first. Ids keep resolving: entries are withdrawn, never deleted.",
    bad=(edit("related: []", "related: [demo-two]"), edit("requires: []", "requires: [demo-row-per-tile]")),
    good=(edit("related: []", "related: [demo-two]", others=other("demo-two")),),
)
def target_missing(s: Subject) -> Iterator[Hit]:
    for relation in RELATIONS:
        for path, target in _targets(s, relation):
            if target not in s.book.by_id:
                like = nearest(target, (i for i in s.book.by_id if i != s.file.id))
                hint = f"did you mean `{like}`?" if like else "write that entry first"
                yield s.hit(f"{relation}: no entry `{target}`", *path, hint=hint)


@rule(
    "CB402",
    "self-reference",
    "relations",
    what="An entry is related to itself.",
    why="It says nothing, and an entry that requires itself can never be packed.",
    fix="Remove the id.",
    bad=(edit("related: []", "related: [demo-rows-per-tile]"),),
)
def self_reference(s: Subject) -> Iterator[Hit]:
    for relation in RELATIONS:
        for path, target in _targets(s, relation):
            if target == s.file.id:
                yield s.hit(f"{relation}: names the entry itself", *path, hint="remove it")


@rule(
    "CB403",
    "requires-cycle",
    "relations",
    what="Following `requires` leads back to this entry.",
    why="What an entry requires is packed with it as one unit, each part before what needs it; a circle has no order.",
    fix="Remove one `requires` of the circle, or make it `related`.",
    bad=(
        edit(
            "requires: []", "requires: [demo-two]", others=other("demo-two", "requires: []", "requires: [demo-rows-per-tile]")
        ),
    ),
    good=(edit("requires: []", "requires: [demo-two]", others=other("demo-two")),),
)
def requires_cycle(s: Subject) -> Iterator[Hit]:
    yield from _cycle(s, "requires")


@rule(
    "CB404",
    "supersedes-cycle",
    "relations",
    what="Following `supersedes` leads back to this entry.",
    why="Of two entries that supersede each other none would be served.",
    fix="Keep the `supersedes` of the newer entry only.",
    bad=(
        edit(
            "related: []", "supersedes: [demo-two]", others=other("demo-two", "related: []", "supersedes: [demo-rows-per-tile]")
        ),
    ),
    good=(edit("related: []", "supersedes: [demo-two]", others=other("demo-two")),),
)
def supersedes_cycle(s: Subject) -> Iterator[Hit]:
    yield from _cycle(s, "supersedes")


def _cycle(s: Subject, relation: str) -> Iterator[Hit]:
    """A hit if the entry lies on a circle and must answer for it: it is not settled, or all on the circle are."""
    circle = _way_back(s.book, s.file.id, relation)
    if len(circle) < 2:
        return
    files = [s.book.by_id[entry_id] for entry_id in circle]
    if s.book.settled(s.file) and not all(s.book.settled(f) for f in files):
        return
    way = " → ".join([*circle, circle[0]][:8])
    yield s.hit(f"{relation} leads back to this entry: {way}", relation, hint=f"remove one `{relation}` of the circle")


def _way_back(book: BookView, start: str, relation: str) -> list[str]:
    """The shortest circle through `start`, or nothing."""
    came: dict[str, str] = {}
    level = [start]
    while level:
        following: list[str] = []
        for entry_id in level:
            file = book.by_id.get(entry_id)
            for target in getattr(file.entry, relation) if file and file.entry else ():
                if target == start:
                    circle = [entry_id]
                    while circle[-1] != start:
                        circle.append(came[circle[-1]])
                    return circle[::-1]
                if target not in came:
                    came[target] = entry_id
                    following.append(target)
        level = following
    return []


@rule(
    "CB405",
    "relation-twice",
    "relations",
    what="Two entries both name each other in `related` or `conflicts_with`.",
    why="The inverse is computed; written twice, each later change asks for an edit of two reviewed entries.",
    fix="Keep it in the newer entry; among new ones, in the one whose id sorts first.",
    bad=(
        edit("related: []", "related: [demo-a]", others=other("demo-a", "related: []", "related: [demo-rows-per-tile]")),
        edit(
            "related: []",
            "conflicts_with: [demo-a]",
            others=other("demo-a", "related: []", "conflicts_with: [demo-rows-per-tile]"),
        ),
    ),
    good=(edit("related: []", "related: [demo-z]", others=other("demo-z", "related: []", "related: [demo-rows-per-tile]")),),
    auto="Takes the id out of the list here.",
    mended=(
        (
            edit("related: []", "related: [demo-a]", others=other("demo-a", "related: []", "related: [demo-rows-per-tile]")),
            edit(others=other("demo-a", "related: []", "related: [demo-rows-per-tile]")),
        ),
    ),
)
def relation_twice(s: Subject) -> Iterator[Hit]:
    for relation in ("related", "conflicts_with"):
        for path, target in _targets(s, relation):
            back = s.book.by_id.get(target)
            if not (back and back.entry and s.file.id in getattr(back.entry, relation) and target != s.file.id):
                continue
            if s.book.answers(s.file, back):
                message, hint = f"{relation}: `{target}` names this entry already", "remove it here; the inverse is computed"
                yield s.hit(message, *path, hint=hint, fix=remove(s, *path))


@rule(
    "CB406",
    "relation-contradiction",
    "relations",
    what="An entry requires or supersedes another and conflicts with it, or stands in two such relations to it.",
    why="A pack cannot both hold the two together and keep them apart.",
    fix="Keep the relation that is meant.",
    bad=(edit("requires: []\nrelated: []", "requires: [demo-two]\nconflicts_with: [demo-two]", others=other("demo-two")),),
)
def relation_contradiction(s: Subject) -> Iterator[Hit]:
    first: dict[str, str] = {}
    for relation in ("requires", "supersedes", "conflicts_with"):
        for path, target in _targets(s, relation):
            if first.setdefault(target, relation) != relation:
                yield s.hit(f"`{target}` stands in {first[target]} and in {relation}", *path, hint="keep the one that is meant")


@rule(
    "CB407",
    "dead-entry-link",
    "relations",
    needs="text",
    what="A relative link leads to no file below `entries/`.",
    why="Entries are read from clones, sites and packs: a link must hold in all of them, and may not lead out of the book.",
    fix="Link to an entry as `../<kind>/<id>.md`.",
    bad=(
        edit("Row-wise kernels", "Row-wise [kernels](../memory/none.md)"),
        edit("Row-wise kernels", "Row-wise [kernels](../../../etc/passwd)"),
        edit("Row-wise kernels", "Row-wise [kernels](..%2f..%2f..%2fsecret.md)"),
    ),
    good=(
        edit("Row-wise kernels", "Row-wise [kernels](../memory/demo-two.md#why)", others=other("demo-two", kind="memory")),
        edit("Row-wise kernels", "Row-wise [kernels](demo-two.md)", others=other("demo-two")),
        edit("Row-wise kernels", "Row-wise [kernels](/tiling/demo-two.md)", others=other("demo-two")),
    ),
)
def dead_entry_link(s: Subject) -> Iterator[Hit]:
    for link in s.document.links:
        if is_relative(link.value) and _resolve(s.file.path, link.value) not in s.book.every_path:
            yield Hit(f"link leads to no file of the book: {link.value[:80]}", link.line, hint="write ../<kind>/<id>.md")


@rule(
    "CB408",
    "group-name",
    "relations",
    what="`variant_of` is not a plain group name.",
    why="Variants of one idea are kept apart by this name; two spellings would be two groups.",
    fix="Write it in kebab-case, like an id.",
    bad=(edit("variant_of: rows-per-tile", "variant_of: Rows per tile"),),
    good=(edit("variant_of: rows-per-tile\n", ""),),
    auto="Writes words of ASCII letters and digits in lower case, joined by hyphens.",
    mended=((edit("variant_of: rows-per-tile", "variant_of: Rows per_tile"), GOOD),),
)
def group_name(s: Subject) -> Iterator[Hit]:
    group = s.entry.variant_of
    if group and not is_id(group):
        kebab = re.sub(r"[ _-]+", "-", group.lower()) if _WORDS.fullmatch(group) else ""
        fix = write(s, kebab, "variant_of") if is_id(kebab) else ()
        yield s.hit(f"variant_of: `{group}` is not a group name", "variant_of", hint="kebab-case, like an id", fix=fix)


def is_relative(href: str) -> bool:
    """Whether a link's target is a path: no scheme, no host, not only a fragment."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return not parts.scheme and not parts.netloc and bool(parts.path) and not href.startswith("//")


def _resolve(path: str, href: str) -> str:
    """The path that a relative link names; one that begins with `/` counts from `entries/`, as OKF has it."""
    target = unquote(urlsplit(href).path)
    base = ENTRIES if target.startswith("/") else str(PurePosixPath(path).parent)
    return normpath(f"{base}/{target.lstrip('/')}")
