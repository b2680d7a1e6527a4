"""`submit` and `review`: the way of a lesson into the book."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cakebook.cli.governing import KeyFile
from cakebook.cli.options import BookPath, Json
from cakebook.cli.output import note, write, write_json
from cakebook.errors import BadArgument, one_line
from cakebook.service import Book

Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Entries.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, in one sentence.")]
BasisOption = Annotated[
    list[str] | None,
    typer.Option("--basis", metavar="BASIS", help="read-sources, ran-check, reproduced-on-hardware or own-expertise."),
]
BASES = ("read-sources", "ran-check", "reproduced-on-hardware", "own-expertise")
Entry = Annotated[str, typer.Argument(metavar="ID", help="An entry.")]


def command(name: str) -> Any:
    """The command `name` of this module."""
    if name == "submit":
        single = typer.Typer(rich_markup_mode=None, add_completion=False)
        single.command(name)(submit)
        return typer.main.get_command(single)
    group = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)
    group.callback(help="Decide about entries, and check a change as the gate does.")(_nothing)
    commands: dict[str, Any] = {
        "list": review_list, "next": review_next, "show": review_show, "approve": approve,
        "request-changes": _decision("request-changes"), "decline": _decision("decline"), "merge": review_merge,
        "deprecate": _decision("deprecate"), "supersede": supersede, "withdraw": _decision("withdraw"),
        "reinstate": _decision("reinstate"), "log": review_log, "check": review_check, "install-hook": install_hook,
        "receive": receive,
    }  # fmt: skip
    for word, function in commands.items():
        group.command(word, hidden=word == "receive")(function)
    return typer.main.get_command(group)


def _nothing() -> None:
    """A group."""


def submit(
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATH", help="Entries of the book.")] = None,
    lesson: Annotated[
        str, typer.Option("--from", metavar="FILE", help="Lessons in JSON or Markdown; they become drafts first.")
    ] = "",
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="With --from: what the drafts are.")] = "",
    dsl: Annotated[str, typer.Option("--dsl", metavar="DSL", help="With --from: what they are written for.")] = "",
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="With --from: who learned the lesson.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Look at everything, make no branch.")] = False,
    remote: Annotated[str, typer.Option("--remote", metavar="NAME", help="Push the branch to this remote.")] = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Propose entries: lint, own checks, what resembles them, and a branch proposal/ID each."""
    if bool(paths) == bool(lesson):
        raise BadArgument("name entries, or a file of lessons with --from", hint="cakebook submit PATH…")
    with Book.open(book or None) as opened:
        drafts = opened.draft(Path(lesson), by=by, kind=kind, dsl=dsl) if lesson else []
        made = opened.submit(paths or [draft.path for draft in drafts], dry_run=dry_run, remote=remote)
    if as_json:
        write_json({"drafts": [asdict(d) for d in drafts], "submitted": [asdict(one) for one in made]})
        return
    for draft in drafts:
        write(f"draft {draft.path}")
        for ask in draft.asks:
            write(f"  a reviewer will ask: {ask}")
        for facet, terms in draft.suggested.items():
            write(f"  to be confirmed: {facet} {', '.join(terms)}")
    for one in made:
        write(f"{one.id}: " + (f"branch {one.branch} at {one.commit[:12]}" if one.branch else "nothing stands against it"))
        for finding in one.findings:
            write(f"  {finding.severity} {finding.rule} line {finding.line}: {finding.message}")
        for check in one.checks:
            write(f"  check {check.index} {check.status}")
        for similar in one.similar:
            write(f"  resembles {similar.id} ({similar.score:.2f}): {', '.join(similar.why)}")
        if one.link:
            write(f"  open: {one.link}")
    if not dry_run and not remote:
        note("push it: git push REMOTE proposal/ID, or --remote NAME; then open a pull request")


def review_list(as_json: Json = False, book: BookPath = "") -> None:
    """What waits, the most valuable first; near-duplicates together, what waits for its author last."""
    with Book.open(book or None) as opened:
        rows = opened.review_list()
    if as_json:
        write_json([asdict(row) for row in rows])
        return
    for row in rows:
        alike = f"; like {', '.join(row.alike)}" if row.alike else ""
        write(f"{row.state:8} {row.id}  {row.kind}, {row.days} days, {row.warnings} warnings, {row.minutes} min{alike}")
    if not rows:
        note("nothing waits")


def review_next(
    minutes: Annotated[int, typer.Option("--minutes", metavar="N", help="How much time there is.", min=1)] = 20,
    book: BookPath = "",
) -> None:
    """The proposals that fit into the time, one screen each."""
    with Book.open(book or None) as opened:
        left = minutes
        shown = 0
        for row in opened.review_list():
            if row.state != "ready" or (shown and row.minutes > left):
                continue
            left -= row.minutes
            shown += 1
            if shown > 1:
                write("\n" + "─" * 72 + "\n")
            _print_sheet(opened.review_show(row.id))
            if left <= 0:
                break
    if not shown:
        note("nothing is ready for review")


def review_show(
    entry: Entry,
    run: Annotated[bool, typer.Option("--run-checks", help="Run its check blocks, where they can be contained.")] = False,
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """What changed, what is wrong or missing, what it resembles; its check blocks are printed, not run."""
    with Book.open(book or None) as opened:
        sheet = opened.review_show(entry)
        results = opened.review_run_checks(entry) if run else []
    if as_json:
        write_json({**asdict(sheet), "results": [asdict(r) for r in results]})
        return
    _print_sheet(sheet)
    for result in results:
        write(f"check {result.index} {result.status}" + (f": {result.reason}" if result.reason else ""))


def _print_sheet(sheet: Any) -> None:
    row = sheet.waiting
    where = f"branch at {sheet.revision[:12]}" if sheet.revision else "work tree"
    lines = [
        f"{row.id}: {row.title}",
        f"{row.kind} · {row.state} · {row.days} days · about {row.minutes} min · {sheet.path} ({where})",
        f"digest {sheet.digest}",
        f"authors {', '.join(sheet.authors) or 'unknown'}: none of them may approve",
        *(f"declined before as {text}" for text in filter(None, [sheet.declined_before])),
        *(f"asked: {text}" for text in sheet.asked),
        *(f"{f.severity} {f.rule} line {f.line}: {f.message}" for f in sheet.findings),
    ]
    for near in sheet.neighbours:
        lines += [f"resembles {near.id} ({near.score:.2f}: {', '.join(near.why)})", f"    {near.title}", f"    {near.summary}"]
    lines += ["", *sheet.changes]
    for number, code in enumerate(sheet.checks, 1):
        lines += ["", f"check {number}, not run:", *(f"    {line}" for line in code.splitlines())]
    write("\n".join(one_line(line) if line.strip() == line else _visible(line) for line in lines))


def _visible(line: str) -> str:
    """A line with its indentation and without control characters."""
    body = line.lstrip(" ")
    return " " * (len(line) - len(body)) + one_line(body)


def approve(
    ids: Ids,
    basis: BasisOption = None,
    reason: Reason = "",
    sign_with: KeyFile = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Approve entries as they stand here."""
    _decide(ids, "approve", basis, reason, "", sign_with, as_json, book)


def supersede(
    ids: Ids,
    successor: Annotated[str, typer.Option("--successor", metavar="ID", help="The entry that takes its place.")],
    reason: Reason = "",
    sign_with: KeyFile = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Say that another entry takes the place of these."""
    _decide(ids, "supersede", None, reason, successor, sign_with, as_json, book)


def _decision(decision: Any) -> Any:
    helps = {
        "request-changes": "Ask the author for changes; the entry waits.",
        "decline": "Decline entries; the reason is remembered.",
        "deprecate": "Keep serving entries, with the caveat that they are deprecated.",
        "withdraw": "Stop serving entries; their ids keep resolving.",
        "reinstate": "Lift a withdrawal, deprecation or succession.",
    }

    def run(
        ids: Ids, basis: BasisOption = None, reason: Reason = "", sign_with: KeyFile = "", as_json: Json = False,
        book: BookPath = "",
    ) -> None:  # fmt: skip
        _decide(ids, decision, basis, reason, "", sign_with, as_json, book)

    run.__doc__ = helps[decision]
    return run


def _decide(ids: list[str], decision: Any, basis: Any, reason: str, successor: str, key: str, as_json: bool, book: str) -> None:
    for word in basis or ():
        if word not in BASES:
            raise BadArgument(f"--basis `{word[:80]}`", hint=", ".join(BASES))
    with Book.open(book or None) as opened:
        made = opened.decide(ids, decision, basis=basis or (), reason=reason, successor=successor, key=key)
    if as_json:
        write_json([asdict(one) for one in made])
        return
    for one in made:
        write(f"{one.decision} {one.id} by {one.reviewer}: {one.path}")
    note("commit what lies under book/ledger and push it; it counts wherever these bytes are")


def review_log(
    entry: Annotated[str, typer.Argument(metavar="ID", help="An entry.")], as_json: Json = False, book: BookPath = ""
) -> None:
    """What was decided about an entry, and whether it counts."""
    with Book.open(book or None) as opened:
        said = opened.review_log(entry)
    if as_json:
        rows = [
            {
                "path": s.path,
                "against": s.against,
                "statement": s.statement and s.statement.model_dump(mode="json", by_alias=True),
            }
            for s in said
        ]
        write_json(rows)
        return
    for one in said:
        s = one.statement
        what = f"{s.at} {s.decision} by {s.reviewer} of {s.digest[:19]}: {s.reason or '-'} ({one.sha})" if s else one.path
        write(what + (f"  DOES NOT COUNT: {one.against}" if one.against else ""))
    if not said:
        note("nothing was decided about it")


def review_check(
    span: Annotated[str, typer.Argument(metavar="BASE..HEAD", help="Default: from the trusted branch to HEAD.")] = "",
    as_json: Json = False,
    book: BookPath = "",
) -> int:
    """Judge a change as the gate does; exit status 1 if it may not pass."""
    with Book.open(book or None) as opened:
        checked = opened.review_check(span)
    if as_json:
        write_json({"refused": [asdict(r) for r in checked.refused], "verdicts": [asdict(v) for _, v in checked.verdicts]})
    else:
        for path, verdict in checked.verdicts:
            write(f"{verdict.tier:8} {verdict.id} ({path}), independence {verdict.independence}")
        for refused in checked.refused:
            write(f"refused  {refused.path}: {refused.code}: {refused.text}")
    sys.stdout.flush()
    note(f"{len(checked.refused)} refusals" if checked.refused else "it may pass")
    return 1 if checked.refused else 0


def install_hook(
    bare: Annotated[Path, typer.Argument(metavar="REPOSITORY", help="A bare repository on this machine.")],
    branch: Annotated[str, typer.Option("--branch", metavar="NAME", help="The trusted branch.")] = "main",
    root: Annotated[
        str, typer.Option("--root", metavar="SHA256", help="The root that is believed; default: this book's.")
    ] = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Put the gate into a bare repository: nothing reaches its trusted branch that `review check` refuses."""
    with Book.open(book or None) as opened:
        path, believed = opened.install_hook(bare, branch, root)
    if as_json:
        write_json({"hook": str(path), "branch": branch, "root": believed})
    else:
        write(f"{path}: guards {branch}, believes sha256:{believed}")


def receive() -> int:
    """What the hook runs: a push on stdin, as git hands it over; exit status 1 refuses it."""
    from cakebook.review.hook import main

    refused = main(sys.stdin)
    for one in refused:
        note(f"refused  {one.path}: {one.code}: {one.text}")
    return 1 if refused else 0


def review_merge(entry: Entry, as_json: Json = False, book: BookPath = "") -> None:
    """Merge proposal/ID into the current branch if the gate lets it pass."""
    with Book.open(book or None) as opened:
        merged = opened.review_merge(entry)
    if as_json:
        write_json(merged)
    else:
        write(f"merged {merged.branch} at {merged.commit[:12]}")
    note("push it; `cakebook sync` then serves it")
