"""`context`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from cakebook.cli import options as o
from cakebook.cli.output import note, ready, report_degraded, write, write_json
from cakebook.errors import BadFilter, Unreadable
from cakebook.model.pack import Pack
from cakebook.retrieve.labels import say
from cakebook.service import Book


def command(name: str) -> Any:
    """The command `name` of this module."""
    about = "Build a cited, budgeted pack for a kernel generator."
    options = (*o.FACETS, o.PACK_STAGE, o.TASK, o.ERROR, o.APPLIED, o.BUDGET, o.MODE, o.FORMAT, *o.COMMON)
    return o.reading_command(name, about, ("words", "*", "the task in free text, like --task"), options, context)


def context(given: Any) -> None:
    """`cakebook context`."""
    if given.format not in ("markdown", "json"):
        raise BadFilter(f"no format `{given.format}`", hint="valid: markdown, json")
    facets = o.facets(given)
    task = " ".join([*given.words, given.task]).strip()
    with Book.open(given.book) as book:
        ready(book, not given.no_sync)
        pack = book.context(
            stage=given.stage,
            task=task,
            error_text=_error_text(given.error),
            applied=given.applied or (),
            budget_tokens=given.budget,
            lang=given.lang,
            mode=given.mode,
            **facets,
        )
        if given.json or given.format == "json":
            write_json(pack)
        else:
            report_degraded(pack.degraded)
            if pack.unrecognised:
                lang: Any = pack.request.get("lang", "en")
                note("note: " + say("unrecognised", lang, names=", ".join(pack.unrecognised)))
            write(as_text(pack) if sys.stdout.isatty() else pack.text.rstrip("\n"))


def as_text(pack: Pack) -> str:
    """A pack for a person: the items without fences, provenance in one last line each."""
    lang: Any = pack.request.get("lang", "en")
    lines: list[str] = []
    for item in pack.items:
        lines += [item.text, f"   [{item.id}] {item.role} · {item.tier} · {item.digest[7:19]} · {item.why}", ""]
    if not pack.items:
        lines.append(say("none-withheld" if pack.withheld else "none", lang))
    lines += [f"{say('withheld', lang)}: {w.id} — {w.reason}" for w in pack.withheld]
    lines.append(
        f"pack {pack.pack_id} · {pack.tokens}/{pack.budget_tokens} tokens ({pack.tokenizer}) · {say('founding', lang)}"
    )
    return "\n".join(lines)


def _error_text(given: str) -> str:
    """The text itself, or the content of the file that it names."""
    # Unlike `Path.is_file`, this is false, and no error, for a text that is too long for a path.
    if not given or "\n" in given or not os.path.isfile(given):  # noqa: PTH113
        return given
    try:
        return Path(given).read_text("utf-8", "replace")
    except OSError as error:
        raise Unreadable(f"{given}: {error.strerror}", hint="check the permissions") from None
