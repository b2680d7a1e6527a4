"""The command line: options in, text or JSON out, exit codes. No logic of its own.

Each command lives in a module that is imported only when it is called: a search must not pay for the options of `sync`.
"""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

COMMANDS: dict[str, str] = {
    "search": "cakebook.cli.reading",
    "show": "cakebook.cli.reading",
    "context": "cakebook.cli.packs",
    "route": "cakebook.cli.packs",
    "preview": "cakebook.cli.starting",
    "init": "cakebook.cli.starting",
    "new": "cakebook.cli.writing",
    "lint": "cakebook.cli.writing",
    "verify": "cakebook.cli.writing",
    "submit": "cakebook.cli.reviewing",
    "review": "cakebook.cli.reviewing",
    "people": "cakebook.cli.governing",
    "trust": "cakebook.cli.governing",
    "sync": "cakebook.cli.upkeep",
    "status": "cakebook.cli.upkeep",
    "doctor": "cakebook.cli.starting",
    "founding": "cakebook.cli.upkeep",
}
"""Command → the module that defines it, in the order of `--help`."""


class _LazyGroup(TyperGroup):
    """A command group that imports a command when it is looked up."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        return import_module(COMMANDS[cmd_name]).command(cmd_name)


app = typer.Typer(
    name="cakebook",
    cls=_LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Before or after a command: --book PATH, the book to use (default: CAKEBOOK_BOOK, else the enclosing one).",
)


@app.callback()
def root() -> None:
    """Reviewed knowledge for accelerator-kernel optimisation: search it, build packs from it, add to it."""


def main() -> NoReturn:
    """Run the command line and exit with the status that `errors` documents."""
    from cakebook.cli.output import run

    # One question is too small for a pool of threads, and a pool spins against whatever else runs here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = sys.argv[1:]
    sys.exit(run(_version if arguments == ["--version"] else app, _book_last(arguments)))


def _version(**_: Any) -> None:
    """`cakebook --version`."""
    from cakebook import __version__
    from cakebook.cli.output import write

    write(f"cakebook {__version__}")


def _book_last(arguments: list[str]) -> list[str]:
    """`--book PATH` before the command means the same as after it; every command takes it there."""
    if not arguments or arguments[0].partition("=")[0] != "--book":
        return arguments
    length = 1 if "=" in arguments[0] else 2
    book, rest = arguments[:length], arguments[length:]
    at = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:at], *book, *rest[at:]]
