"""Printing: results on stdout, everything else on stderr, one line per error, and no traceback for what can be foreseen."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cakebook.errors import BadArgument, Bug, CakeBookError, StoreIO, one_line
from cakebook.model.notes import Note

if TYPE_CHECKING:
    from collections.abc import Callable

    from cakebook.model.profile import Diagnosis
    from cakebook.model.query import Lang
    from cakebook.service import Book


class Unwritable(Exception):
    """The result cannot be written to stdout; the cause says why."""


def write(text: str) -> None:
    """A result, on stdout. What the terminal's encoding cannot show becomes `?`.

    Raises:
        Unwritable: the reader went away, as `| head` does, or there is no space.
    """
    try:
        _put(sys.stdout, text)
    except OSError as error:
        raise Unwritable from error


def note(text: str) -> None:
    """Anything that is not the result, on stderr, as one line. If nobody can read it, the exit status has to do."""
    try:
        _put(sys.stderr, one_line(text))
    except OSError:
        _silence(sys.stderr)


def write_json(value: Any) -> None:
    """A result as JSON; dataclasses become objects."""
    plain = asdict(value) if hasattr(value, "__dataclass_fields__") else value
    write(json.dumps(plain, ensure_ascii=False, indent=2))


def _put(stream: Any, text: str) -> None:
    if stream is None:  # it was closed before we started
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "replace").decode(encoding) + "\n")


def _silence(stream: Any) -> None:
    """Let what is still buffered for a stream that is gone go nowhere, so that closing it at exit cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def fail(error: CakeBookError, as_json: bool) -> int:
    """Print an error and return its exit status."""
    if as_json:
        try:
            write_json(error.to_dict())
        except Unwritable:
            _silence(sys.stdout)
    note(f"error: {error}")
    return error.exit


def run(app: Callable[..., Any], given: list[str]) -> int:
    """Run the typer application on `given`; returns the exit status."""
    as_json = "--json" in given or "--format=json" in given or ("--format", "json") in pairwise(given)
    status = 0
    try:
        status = _call(app, given)
    except CakeBookError as error:
        status = fail(error, as_json)
    except Unwritable as error:
        status = _lost(error.__cause__, 0)
    except KeyboardInterrupt:
        note("interrupted")
        return 130
    except Exception as error:
        if os.environ.get("CAKEBOOK_TRACEBACK"):
            raise
        hint = "please report it with the command line; CAKEBOOK_TRACEBACK=1 shows where"
        status = fail(Bug(f"{type(error).__name__}: {error}", hint=hint), as_json)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return _lost(error, status)
    return status


def _lost(error: BaseException | None, status: int) -> int:
    """The exit status when stdout took no result: that a reader went away early is no failure."""
    _silence(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return status
    why = getattr(error, "strerror", "")
    return fail(StoreIO(f"the result could not be written: {why}", hint="look at where stdout goes"), False)


def _call(app: Callable[..., Any], given: list[str]) -> int:
    """Typer's own usage errors keep their text and get our form and exit status 2."""
    import typer
    from typer.exceptions import TyperException

    # A help option is an annotated parameter like any other: typer loads pydantic for it, so it is there only when used.
    asks = {"-h", "--help"}
    given = given or ["--help"]
    names = sorted(asks) if asks & set(given) else []
    try:
        result = app(
            args=[a.encode("utf-8", "replace").decode() for a in given], standalone_mode=False, help_option_names=names
        )
    except TyperException as error:
        text = getattr(error, "format_message", error.__str__)()
        path = getattr(getattr(error, "ctx", None), "command_path", "cakebook")
        raise BadArgument(text or "nothing to do", hint=f"see `{path} --help`") from None
    except typer.Exit as error:
        return int(error.exit_code)
    except typer.Abort:
        return 130
    except SystemExit as stop:  # after `--help`
        return int(stop.code or 0)
    return result if isinstance(result, int) else 0


def report_degraded(notes: tuple[Note, ...]) -> None:
    """What is wrong with the answer as a whole, on stderr."""
    for item in notes:
        note(f"note: {item.text}")


def report_profile(diagnosis: Diagnosis | None, lang: Lang) -> None:
    """What a profile showed, on stderr."""
    if diagnosis is not None:
        from cakebook.retrieve.profile import as_text

        for line in as_text(diagnosis, lang):
            note(line)


def embedding(done: int, of: int) -> None:
    """Say once that embedding takes a while."""
    if not done and of > 50:
        note(f"embedding {of} passages, once; they are remembered")


def ready(book: Book, sync: bool) -> None:
    """Bring a stale or missing index of a small book up to date, with one line on stderr.

    If that fails and an index is there, the failure is a note: an older answer, which says so, is better than none.
    """
    if not sync:
        return
    try:
        done = book.sync_if_stale(embedding)
    except CakeBookError as error:
        if book.place.store.current() is None:
            raise
        note(f"note: not synced: {error}")
        return
    if done is not None and done.built:
        note(f"synced: {done.entries} entries served, {len(done.withheld)} withheld")
