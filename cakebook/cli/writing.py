"""`new`, `lint` and `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cakebook.cli.options import BookPath, Json
from cakebook.cli.output import note, write, write_json
from cakebook.errors import BadArgument, BadFilter
from cakebook.service import Book


def command(name: str) -> Any:
    """The command `name` of this module."""
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    if name == "new":
        single.command(name)(new)
    elif name == "lint":
        single.command(name)(lint)
    else:
        single.command(name)(verify)
    return typer.main.get_command(single)


def new(
    entry_id: Annotated[str, typer.Argument(metavar="ID", help="The new entry's id: lower-case words joined by hyphens.")],
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Its title, in English or Chinese.")] = "",
    dsl: Annotated[str, typer.Option("--dsl", metavar="DSL", help="The DSL it is about, or any.")] = "",
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="Its kind; decides the folder.")] = "",
    full: Annotated[
        bool, typer.Option("--full", help="Every field an entry can have, not only the six of a proposal.")
    ] = False,
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Write the scaffold of a new entry, to be filled in and linted."""
    with Book.open(book or None) as opened:
        path = opened.new(entry_id, title=title, dsl=dsl, kind=kind, full=full)
    if as_json:
        write_json({"path": path})
    else:
        write(path)
    note(f"fill in the blanks, then: cakebook lint {path}")


def lint(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH", help="Entries or folders; default: the whole book.")
    ] = None,
    form: Annotated[
        str, typer.Option("--format", metavar="text|json|github|sarif", help="How to print the findings.")
    ] = "text",
    fix: Annotated[
        bool, typer.Option("--fix", help="First mend in place what can be mended mechanically; print what is left.")
    ] = False,
    explain: Annotated[str, typer.Option("--explain", metavar="RULE", help="Explain a rule, such as CB101.")] = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Check entries against the rules; exit status 1 if there is an error."""
    from cakebook import __version__
    from cakebook.lint import runner
    from cakebook.lint.formats import FORMATS, OF_THE_REPOSITORY, render

    if form not in FORMATS:
        raise BadFilter(f"no format `{form}`", hint="valid: " + ", ".join(FORMATS))
    if as_json and form not in ("text", "json"):
        raise BadArgument(f"--json and --format {form} ask for two forms", hint="give one of them")
    if explain:
        write(runner.explain(explain).rstrip())
        return
    with Book.open(book or None) as opened:
        findings = opened.lint(paths or (), fix=note if fix else None)
        base = _below_repository(opened.root) if form in OF_THE_REPOSITORY else ""
    text = render("json" if as_json else form, findings, base, __version__)
    if text.strip():
        write(text.rstrip("\n"))
    errors = sum(f.severity == "error" for f in findings)
    fixable = 0 if fix else sum(bool(f.fix) for f in findings)
    note(f"{errors} errors, {len(findings) - errors} warnings" + (f"; --fix mends {fixable}" if fixable else ""))
    if errors:
        raise typer.Exit(1)


def _below_repository(root: Path) -> str:
    """Where the book lies in the repository around it, empty if at its top or in none."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    return "" if top == root else root.relative_to(top).as_posix()


def verify(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help="Entries, drafts too; default: all.")] = None,
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Run the check blocks of entries in a sandbox; exit status 1 if one fails."""
    with Book.open(book or None) as opened:
        results = opened.verify(ids or ())
    if as_json:
        write_json([vars(r) for r in results])
    else:
        for result in results:
            write(f"{result.status:9} {result.entry_id} #{result.index}" + (f": {result.reason}" if result.reason else ""))
    counts = {s: sum(r.status == s for r in results) for s in ("passed", "failed", "timed-out", "not-run")}
    note(", ".join(f"{n} {s}" for s, n in counts.items() if n) or "no check blocks")
    if counts["failed"] or counts["timed-out"]:
        raise typer.Exit(1)
