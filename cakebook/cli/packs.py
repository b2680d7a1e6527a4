"""`context` and `route`."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cakebook.cli import options as o
from cakebook.cli.output import note, ready, report_degraded, report_profile, write, write_json
from cakebook.errors import BadArgument, BadFilter, Unreadable
from cakebook.model.pack import FORMATS, MAX_CODE, Pack
from cakebook.model.query import MAX_TEXT
from cakebook.retrieve.labels import say
from cakebook.service import Book

HEAD_CHARACTERS = 4_000
"""Of a long log the beginning so far, then its end: that is where the error stands."""


def command(name: str) -> Any:
    """The command `name` of this module."""
    words = ("words", "*", "the task in free text, like --task")
    if name == "route":
        about = "Which DSL fits an operator on a chip, and what the book knows of it there."
        few = (*o.FACETS, o.TASK, o.BUDGET, o.TOKENIZER, o.PACK_MODE, o.FORMAT, *o.COMMON)
        return o.reading_command(name, about, words, few, route)
    about = "Build a cited, budgeted pack for a kernel generator."
    options = (
        *o.FACETS, o.PACK_STAGE, o.PASS, o.TASK, o.ERROR, o.CODE, o.PROFILE, o.OP, o.APPLIED, o.TRIED, o.PACKS, o.PACK,
        o.BUDGET, o.TOKENIZER, o.PACK_MODE, o.FORMAT, *o.COMMON,
    )  # fmt: skip
    return o.reading_command(name, about, words, options, context)


def context(given: Any) -> None:
    """`cakebook context`."""
    if given.packs < 1 or given.pack < 0 or given.pack > max(given.packs, 1):
        raise BadArgument(f"--pack {given.pack} of --packs {given.packs}", hint="--pack counts from 1 to --packs")
    request = {
        "stage": given.stage, "pass_": getattr(given, "pass"), "error_text": _error_text(given.error),
        "code": _code(given.code), "applied": given.applied or (), "tried": given.tried or (),
        "profile": given.profile or (), "op": given.op,
    }  # fmt: skip
    _packs(given, request, given.packs, [given.pack] if given.pack else [])


def route(given: Any) -> None:
    """`cakebook route`."""
    _packs(given, {"stage": "route"}, 1, [])


def _packs(given: Any, request: dict[str, Any], packs: int, wanted: list[int]) -> None:
    as_json = given.json or given.format == "json"
    form = "markdown" if given.format == "json" else given.format
    if form not in FORMATS:
        raise BadFilter(f"no format `{form}`", hint="valid: json, " + ", ".join(FORMATS))
    facets = o.facets(given)
    task = " ".join([*given.words, given.task]).strip()
    with Book.open(given.book) as book:
        ready(book, not given.no_sync)
        made = book.contexts(
            packs, wanted=wanted, task=task, budget_tokens=given.budget, tokenizer=given.tokenizer, lang=given.lang,
            mode=given.mode or "auto", format=form, **request, **facets,
        )  # fmt: skip
    if as_json:
        write_json(made[0] if packs == 1 else {"packs": [asdict(pack) for pack in made]})
        return
    report_degraded(made[0].degraded)
    lang: Any = made[0].request.get("lang", "en")
    if made[0].unrecognised:
        note("note: " + say("unrecognised", lang, names=", ".join(made[0].unrecognised)))
    report_profile(made[0].diagnosis, lang)
    terminal = sys.stdout.isatty() and given.format == "markdown"
    write("\n".join(as_text(pack) if terminal else pack.text.rstrip("\n") for pack in made))


def as_text(pack: Pack) -> str:
    """A pack for a person: the items without fences, provenance in one last line each."""
    lang: Any = pack.request.get("lang", "en")
    lines: list[str] = []
    for item in pack.items:
        lines += [item.text, f"   [{item.id}] {item.role} · {item.tier} · {item.digest[7:19]} · {item.why}", ""]
    if not pack.items:
        lines.append(say("none-withheld" if pack.withheld else "none", lang))
    elif pack.exhausted:
        lines += [say("exhausted", lang), ""]
    lines += [f"{say('withheld', lang)}: {w.id} — {w.reason}" for w in pack.withheld]
    number = f"{pack.request['pack']}/{pack.request['packs']} " if pack.request["packs"] != 1 else ""
    lines.append(
        f"pack {number}{pack.pack_id} · {pack.tokens}/{pack.budget_tokens} tokens ({pack.tokenizer}) · {say('founding', lang)}"
    )
    return "\n".join(lines)


def _error_text(given: str) -> str:
    """The text itself, or the content of the file that it names; of a long log its beginning and its end."""
    # Unlike `Path.is_file`, this is false, and no error, for a text that is too long for a path.
    if not given or "\n" in given or not os.path.isfile(given):  # noqa: PTH113
        return given
    text = _read(given)
    if len(text) <= MAX_TEXT:
        return text
    note(f"note: {given} has {len(text):,} characters: its beginning and its end are used")
    return text[:HEAD_CHARACTERS] + "\n" + text[len(text) - MAX_TEXT + HEAD_CHARACTERS + 1 :]


def _code(given: str) -> str:
    if given == "-":
        return sys.stdin.read(MAX_CODE + 1)
    return _read(given) if given else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError as error:
        raise Unreadable(f"{path[:200]}: {error.strerror}", hint="check the path and the permissions") from None
