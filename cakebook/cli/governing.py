"""`trust`, `people` and `review`: who may decide, decisions, and the gate."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cakebook.cli.options import BookPath, Json
from cakebook.cli.output import note, write, write_json
from cakebook.errors import BadArgument
from cakebook.service import Book

Id = Annotated[str, typer.Argument(metavar="ID", help="Of a person or an agent: lower-case words joined by hyphens.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Entries.")]
KeyFile = Annotated[
    str, typer.Option("--sign-with", metavar="KEY", help="Your SSH key; default: user.signingkey of the Git configuration.")
]
Email = Annotated[list[str] | None, typer.Option("--email", metavar="ADDRESS", help="An address of their commits; repeatable.")]
Name = Annotated[str, typer.Option("--name", metavar="TEXT", help="What they are called.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why, in one sentence.")]
BasisOption = Annotated[
    list[str] | None,
    typer.Option("--basis", metavar="BASIS", help="read-sources, ran-check, reproduced-on-hardware or own-expertise."),
]
BASES = ("read-sources", "ran-check", "reproduced-on-hardware", "own-expertise")


def command(name: str) -> Any:
    """The command group `name` of this module."""
    group = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)
    commands: dict[str, dict[str, Any]] = {
        "trust": {"init": trust_init, "show": trust_show, "pin": trust_pin, "update": trust_update},
        "people": {"add": people_add, "list": people_list, "retire": people_retire, "revoke": people_revoke},
        "review": {
            "approve": approve, "request-changes": _decision("request-changes"), "decline": _decision("decline"),
            "deprecate": _decision("deprecate"), "supersede": supersede, "withdraw": _decision("withdraw"),
            "reinstate": _decision("reinstate"), "log": review_log, "check": review_check,
            "install-hook": install_hook, "receive": receive,
        },
    }  # fmt: skip
    helps = {
        "trust": "The chain of trust: who the admins are and what they vouch for.",
        "people": "Who may review and sign.",
        "review": "Decide about entries, and check a change as the gate does.",
    }
    group.callback(help=helps[name])(_nothing)
    for word, function in commands[name].items():
        group.command(word, hidden=word == "receive")(function)
    return typer.main.get_command(group)


def _nothing() -> None:
    """A group."""


def trust_init(
    person: Annotated[str, typer.Option("--id", metavar="ID", help="You: the first admin, and a reviewer of every kind.")],
    name: Name = "",
    email: Email = None,
    book_name: Annotated[str, typer.Option("--book-name", metavar="NAME", help="What the book's new id begins with.")] = "",
    sign_with: KeyFile = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Start a chain of trust: a root that you sign, pinned for you. From then on entries are admitted by review."""
    with Book.open(book or None) as opened:
        version = opened.trust_init(person, name=name, emails=email or (), key=sign_with, book=book_name)
    _print_version(version, as_json)
    note(f"others believe it after: cakebook trust pin {version.digest}")


def trust_show(as_json: Json = False, book: BookPath = "") -> None:
    """The root, the version that counts, its admins, and what it does not cover."""
    with Book.open(book or None) as opened:
        shown = opened.trust_show()
    if as_json:
        write_json(shown)
        return
    lines = [
        f"book      {shown.book}",
        f"root      sha256:{shown.root or 'none'}" + ("" if shown.believed else " — NOT BELIEVED"),
        f"version   {shown.n or 'none'}" + (f", founding edition {shown.edition}" if shown.edition is not None else ""),
        *(f"admin     {admin}" for admin in shown.admins),
        *(f"uncovered {path}" for path in shown.uncovered),
        *(f"lost      statement {sha}" for sha in shown.lost),
        *(f"note      {text}" for text in shown.notes),
    ]
    write("\n".join(lines))


def trust_pin(
    digest: Annotated[str, typer.Argument(metavar="SHA256", help="Of the root, as its admins told you.")] = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Believe the root of this book from now on."""
    with Book.open(book or None) as opened:
        found, name = opened.trust_pin(digest)
    if as_json:
        write_json({"root": found, "book": name})
        return
    write(f"{name}: root sha256:{found} is pinned")
    if not digest:
        note("note: nobody compared it with anything; ask an admin of the book for the sha256 of its root")


def trust_update(
    approvals: Annotated[int, typer.Option("--admin-approvals", metavar="K", help="Signatures that later versions need.")] = 0,
    sign_with: KeyFile = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Sign a version that covers policy, people and vocabulary as they stand here, or the one that waits for signatures."""
    with Book.open(book or None) as opened:
        _print_version(opened.trust_update(key=sign_with, approvals=approvals or None), as_json)


def people_add(
    person: Id,
    key: Annotated[list[str] | None, typer.Option("--key", metavar="KEY", help="A public key, or its .pub file.")] = None,
    role: Annotated[
        list[str] | None, typer.Option("--role", metavar="ROLE", help="admin, reviewer, or reviewer:tiling,memory; repeatable.")
    ] = None,
    email: Email = None,
    name: Name = "",
    operator: Annotated[
        str, typer.Option("--operator", metavar="ID", help="Makes it an agent: the person who answers for it.")
    ] = "",
    replace_keys: Annotated[
        bool, typer.Option("--replace-keys", help="End the keys that they had; what was decided stays.")
    ] = False,
    sign_with: KeyFile = "",
    as_json: Json = False,
    book: BookPath = "",
) -> None:
    """Add a person or an agent, or give one that is there more; an admin signs."""
    with Book.open(book or None) as opened:
        version = opened.people_add(
            person, keys=key or (), roles=role or (), emails=email or (), name=name, operator=operator,
            replace_keys=replace_keys, signing_key=sign_with,
        )  # fmt: skip
    _print_version(version, as_json)


def people_list(as_json: Json = False, book: BookPath = "") -> None:
    """Everybody whom the chain of trust covers."""
    with Book.open(book or None) as opened:
        people = opened.people()
    if as_json:
        write_json([person.model_dump(mode="json") for person in people])
        return
    for person in people:
        roles = [r.role + (":" + ",".join(r.kinds) if r.kinds else "") for r in person.roles if r.until is None]
        kind = f"agent of {person.operator}" if person.kind == "agent" else " ".join(roles) or "no role"
        write(f"{person.id:20} {person.state:8} {kind}  {' '.join(person.emails)}".rstrip())


def people_retire(person: Id, sign_with: KeyFile = "", as_json: Json = False, book: BookPath = "") -> None:
    """End somebody's roles and keys; what they decided stays."""
    with Book.open(book or None) as opened:
        _print_version(opened.people_retire(person, signing_key=sign_with), as_json)


def people_revoke(
    person: Id,
    keep: Annotated[list[str] | None, typer.Option("--keep", metavar="SHA256", help="A statement that still counts.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this only what would be lost is listed.")] = False,
    sign_with: KeyFile = "",
    as_json: Json = False,
    book: BookPath = "",
) -> int:
    """End somebody's roles and keys, and what they decided with them."""
    with Book.open(book or None) as opened:
        losing = opened.people_losing(person)
        if yes:
            _print_version(opened.people_revoke(person, keep=keep or (), signing_key=sign_with), as_json)
        elif as_json:
            write_json({"no_longer_served": losing})
        else:
            write("\n".join(f"no longer served: {entry}" for entry in losing) or "every entry would still be served")
    if not yes:
        note("nothing was changed; --yes does it")
    return 0 if yes else 1


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
            {"path": s.path, "against": s.against, "statement": s.statement and s.statement.model_dump(mode="json")}
            for s in said
        ]
        write_json(rows)
        return
    for one in said:
        s = one.statement
        what = f"{s.at} {s.decision} by {s.reviewer} of {s.digest[:19]}: {s.reason or '-'}" if s else one.path
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


def _print_version(version: Any, as_json: bool) -> None:
    if as_json:
        write_json(version)
        return
    if version.empty:
        write(f"version {version.n}: nothing to do")
        return
    write(f"version {version.n} of {version.book}, signed by {', '.join(version.signed_by)}; sha256:{version.digest}")
    for path in version.files:
        write(f"  covers {path}")
    if version.statements:
        write(f"  lists {version.statements} new statements")
    if version.missing:
        note(f"it counts when {version.missing} more admins have signed: cakebook trust update")
