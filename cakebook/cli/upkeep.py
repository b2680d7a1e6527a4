"""`sync`, `status` and `founding update`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from cakebook.cli.options import BookPath, Json
from cakebook.cli.output import embedding, note, write, write_json
from cakebook.service import Book


def command(name: str) -> Any:
    """The command `name` of this module."""
    if name == "founding":
        group = typer.Typer(rich_markup_mode=None, add_completion=False, help="The founding list of the shipped book.")
        group.callback()(_founding)
        group.command("update")(founding_update)
        return typer.main.get_command(group)
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    if name == "sync":
        single.command(name)(sync)
    else:
        single.command(name)(status)
    return typer.main.get_command(single)


def sync(
    rev: Annotated[str, typer.Option("--rev", metavar="REV", help="Index this revision instead of the work tree.")] = "",
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Start from nothing; the result is the same.")] = False,
    embedder: Annotated[
        str, typer.Option("--embedder", metavar="NAME", help="use, st:minilm, st:<folder or hub name> or none; kept.")
    ] = "",
    accept_rollback: Annotated[
        bool, typer.Option("--accept-rollback", help="Take the book although it is older than what was here before.")
    ] = False,
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Bring the index up to date with the book."""
    with Book.open(book or None) as opened:
        report = opened.sync(
            revision=rev or None, rebuild=rebuild, embedder=embedder, accept_rollback=accept_rollback, progress=embedding
        )
    if as_json:
        write_json(report)
        return
    for text in report.notes:
        note(f"note: {text}")
    state = f"commit {report.commit[:12]}" if report.commit else "no commit"
    done = f"built, {report.changed} changed" if report.built else "nothing had changed"
    counts = f"{report.entries} entries served, {len(report.withheld)} withheld, {report.vectors} vectors"
    write(f"{report.generation}: {counts}; {done}; {state}{', dirty' * report.dirty}")
    for item in report.withheld:
        write(f"  withheld {item.id} ({item.code}): {item.reason}")


def status(as_json: Json = False, book: BookPath = "") -> None:
    """Say what is served, from which commit, and what waits."""
    with Book.open(book or None) as opened:
        now = opened.status()
    if as_json:
        write_json(now)
        return
    lines = [
        f"book        {now.book} at {now.root}",
        f"generation  {now.generation}, built {now.built_at}" + ("" if now.fresh else " — STALE: run `cakebook sync`"),
        f"commit      {now.commit or 'none'}{' (work tree differs)' * now.dirty}" + (" (pinned)" if now.pinned else ""),
        f"edition     {now.edition if now.edition is not None else 'none'}",
        f"entries     {now.entries} served, {len(now.withheld)} withheld",
        *(f"  withheld  {w.id} ({w.code}): {w.reason}" for w in now.withheld),
        *(f"note        {text}" for text in now.notes),
    ]
    write("\n".join(lines))


def _founding() -> None:
    """The founding list of the shipped book."""


def founding_update(
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why there is a new edition, in one line.")],
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Write a new founding edition of the shipped book: the list, the root that covers it, and the list of roots."""
    with Book.open(book or None) as opened:
        edition = opened.founding_update(reason, datetime.now(UTC).date().isoformat())
    if as_json:
        write_json(edition)
    elif edition.empty:
        write(f"edition {edition.number}: nothing to do")
    else:
        counts = f"{len(edition.added)} added, {len(edition.changed)} changed, {len(edition.removed)} removed"
        write(f"edition {edition.number} of {edition.book}: {counts}; root sha256:{edition.root}")
