"""`init`, `preview` and `doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cakebook.cli import options as o
from cakebook.cli.options import BookPath, Json
from cakebook.cli.output import note, write, write_json
from cakebook.cli.reading import as_text
from cakebook.errors import one_line
from cakebook.retrieve.labels import say
from cakebook.service import Book


def command(name: str) -> Any:
    """The command `name` of this module."""
    if name == "preview":
        about = "Search drafts that you name, by words, marked DRAFT; nothing is indexed or served."
        query = o.Option("--query", "TEXT", "the question", default="")
        options = (*o.FACETS, o.STAGE, query, o.LIMIT, o.EXPLAIN, o.LANG, o.JSON, o.BOOK)
        return o.reading_command(name, about, ("paths", "*", "Markdown files, or folders that hold some"), options, preview)
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    single.command(name)(init if name == "init" else doctor)
    return typer.main.get_command(single)


def init(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Begins the book's id; default: the folder's.")] = "",
    as_json: Json = False,
) -> None:
    """Start a book of your own: this release's policy and vocabulary, an id and a root of its own, pinned for you."""
    started = Book.start(Path(folder), name)
    if as_json:
        write_json(started)
        return
    write(f"{started.book} at {started.folder}, root sha256:{started.root} (pinned for you)")
    note(f"next: cakebook new my-lesson --book {started.folder}")


def preview(given: Any) -> None:
    """`cakebook preview`."""
    facets = o.facets(given, (*o.FACETS, o.STAGE))
    with Book.open(given.book) as book:
        result, notes = book.preview(
            given.paths or ["entries"], given.query, limit=given.limit, lang=given.lang, explain=given.explain, **facets
        )
    if given.json:
        write_json({**asdict(result), "draft": True, "notes": list(notes)})
        return
    for text in notes:
        note(f"note: {text}")
    nothing = say("none-draft", result.understood.lang)
    text = as_text(result) if result.hits or result.withheld else nothing
    write("\n".join(f"DRAFT {line}" for line in text.split("\n") if line.strip()))


def doctor(as_json: Json = False, book: BookPath = "") -> int:
    """Say what is missing, broken or stale, and the command that mends it. Exit status 1 if there is a problem."""
    found = Book.examine(book or None)
    if as_json:
        write_json([asdict(finding) for finding in found])
    else:
        for finding in found:
            mend = f"  →  {one_line(finding.mend)}" if finding.mend else ""
            write(f"{finding.state:8}{one_line(finding.what)}{mend}")
    return int(any(finding.state == "problem" for finding in found))
