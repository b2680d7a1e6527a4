"""The options of the reading commands, as data.

Typer builds a pydantic validator for every annotated parameter, and importing pydantic's core for that takes longer than a
whole search. `search`, `show` and `context` therefore declare their options here and have the standard library read them;
typer still dispatches, and the commands that nobody waits for use its annotations.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

import typer
from typer.core import TyperCommand

from cakebook.errors import BadArgument
from cakebook.model.query import DEFAULT_BUDGET

BookPath = Annotated[
    str, typer.Option("--book", metavar="PATH", help="The book; default: CAKEBOOK_BOOK, else the enclosing one.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
"""Options of the commands that use typer's annotations."""


@dataclass(frozen=True)
class Option:
    """One option. `many` may be given several times; `flag` takes no value."""

    name: str
    metavar: str
    help: str
    form: Literal["one", "many", "flag", "int"] = "one"
    default: Any = None

    @property
    def key(self) -> str:
        """Name of the attribute that holds the value."""
        return self.name.removeprefix("--").replace("-", "_")


DSL = Option("--dsl", "DSL", "only entries for this DSL", "many")
TARGET = Option("--target", "CHIP", "only entries for this architecture, SKU or product", "many")
KIND = Option("--kind", "KIND", "only entries of this kind", "many")
OPERATOR = Option("--operator", "OP", "rank entries for this operator first", "many")
STAGE = Option("--stage", "STAGE", "rank entries for this stage first", "many")
PACK_STAGE = Option(
    "--stage", "STAGE", "route, draft, lower, evolve, debug or review; default: by what is given, else draft", default=""
)
BOTTLENECK = Option("--bottleneck", "NAME", "rank entries for this bottleneck first", "many")
DTYPE = Option("--dtype", "TYPE", "only entries that hold for this element type", "many")
LAYOUT = Option("--layout", "LAYOUT", "memory layout of the first input, such as ND or NZ", default="")
SHAPE = Option("--shape", "4096,8192", "shape of an input in elements; once per input", "many")
WHEN = Option("--when", "FACET=VALUE", "a condition that holds, such as tail=present", "many")
TOOLCHAIN = Option("--toolchain", "NAME=VERSION", "a toolchain component's version", "many")
CANN = Option("--cann", "VERSION", "short for --toolchain cann=VERSION", default="")
EXCLUDE = Option("--exclude", "ID", "leave this entry out", "many")
STRICT = Option("--strict-scope", "", "withhold entries that say nothing about a filter", "flag", False)
TIER = Option("--tier", "TIER", "the least trusted tier to show", default="")
LIMIT = Option("--limit", "N", "hits at most (8)", "int", 8)
BUDGET = Option("--budget", "N", f"tokens at most, everything counted ({DEFAULT_BUDGET})", "int", DEFAULT_BUDGET)
LANG = Option("--lang", "auto|en|zh", "language of labels; auto: that of the question", default="auto")
MODE = Option("--mode", "auto|lexical|hybrid", "by words, or by meaning too; auto: as the text needs", default="auto")
NO_SYNC = Option("--no-sync", "", "answer from the index as it is, even if it is stale", "flag", False)
EXPLAIN = Option("--explain", "", "show every term of each score", "flag", False)
PACK_MODE = Option(
    "--mode", "MODE", "auto, lexical, hybrid, as for search; generation or evolution: stage draft or evolve", "many"
)
PROFILE = Option("--profile", "PATH|COLUMN=VALUE", "a PROF_*/OPPROF_* folder, its CSVs, or values", "many")
OP = Option("--op", "NAME", "the kernel in the profile; default: the one that took longest", default="")
PASS = Option("--pass", "NAME", "the lowering pass: tiling, init, process, nonaligned", default="")
CODE = Option("--code", "FILE", "the kernel's code, - for standard input", default="")
TRIED = Option("--tried", "ID", "what did not help; left out", "many")
PACKS = Option("--packs", "N", "so many packs: same constraints, different levers", "int", 1)
PACK = Option("--pack", "I", "of --packs N only this one", "int", 0)
TOKENIZER = Option("--tokenizer", "FILE", "count with this tokenizer.json instead of approx-1", default="")
TASK = Option("--task", "TEXT", "what is being done, in free text", default="")
ERROR = Option("--error", "TEXT|FILE", "an error text, or a file that holds it", default="")
APPLIED = Option("--applied", "ID", "what the kernel already does (id, pack id or words); left out", "many")
FORMAT = Option("--format", "FORMAT", "markdown, advisor, strategies, or json", default="markdown")
LEVEL = Option("--level", "LEVEL", "title, summary, pattern, full, or source (every section)", default="full")
WHY = Option("--why", "", "say why the entry is served", "flag", False)
JSON = Option("--json", "", "print the result as JSON", "flag", False)
BOOK = Option("--book", "PATH", "the book; default: CAKEBOOK_BOOK, else the enclosing one")

FACETS = (DSL, TARGET, KIND, OPERATOR, BOTTLENECK, DTYPE, LAYOUT, SHAPE, WHEN, TOOLCHAIN, CANN, EXCLUDE, STRICT, TIER)
"""Options that become facets of a request, beside the stage."""
COMMON = (LANG, NO_SYNC, JSON, BOOK)


class _Raw(TyperCommand):
    """A command whose arguments typer leaves alone, `--` included."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.args = args
        return args


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadArgument(message, hint=f"see `{self.prog} --help`")


def reading_command(
    name: str, about: str, argument: tuple[str, str, str], options: tuple[Option, ...], call: Callable[[Any], None]
) -> Any:
    """A typer command that reads its arguments by `options`.

    `argument`: attribute, number (`*` or `1`) and help of the positional argument.
    """
    single = typer.Typer(rich_markup_mode=None, add_completion=False)

    @single.command(name, help=about, cls=_Raw, add_help_option=False)
    def command(ctx: typer.Context) -> None:
        call(_parse(name, about, argument, options, ctx.args))

    return typer.main.get_command(single)


def _parse(name: str, about: str, argument: tuple[str, str, str], options: tuple[Option, ...], given: list[str]) -> Any:
    parser = _Parser(prog=f"cakebook {name}", description=about, allow_abbrev=False)
    positional, number, explanation = argument
    parser.add_argument(positional, nargs=None if number == "1" else "*", help=explanation)
    for option in options:
        if option.form == "flag":
            parser.add_argument(option.name, action="store_true", help=option.help)
        else:
            form: dict[str, Any] = {"action": "append"} if option.form == "many" else {"default": option.default}
            if option.form == "int":
                form["type"] = int
            parser.add_argument(option.name, metavar=option.metavar, help=option.help, **form)
    # The standard library takes `--` for an option when it reads intermixed arguments.
    at = given.index("--") if number == "*" and "--" in given else len(given)
    parsed = parser.parse_intermixed_args(given[:at])
    if number == "*":
        setattr(parsed, positional, [*getattr(parsed, positional), *given[at + 1 :]])
    return parsed


def facets(given: Any, options: tuple[Option, ...] = FACETS) -> dict[str, Any]:
    """Parsed options as keyword arguments of `Book.search` and `Book.context`; what was not given is left out."""
    from cakebook.retrieve.request import parse_pairs, parse_shape

    values = {option.key: getattr(given, option.key) for option in options}
    for option in (WHEN, TOOLCHAIN):
        if values.get(option.key):
            values[option.key] = parse_pairs(option.name, values[option.key])
    if shapes := values.pop("shape", None):
        values["shapes"] = [parse_shape(s) for s in shapes]
    return {name: value for name, value in values.items() if value}
