"""`trust` and `people`: who may decide, and what the admins vouch for."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cakebook.cli.options import BookPath, Json
from cakebook.cli.output import note, write, write_json
from cakebook.service import Book

Id = Annotated[str, typer.Argument(metavar="ID", help="Of a person or an agent: lower-case words joined by hyphens.")]
KeyFile = Annotated[
    str, typer.Option("--sign-with", metavar="KEY", help="Your SSH key; default: user.signingkey of the Git configuration.")
]
Email = Annotated[list[str] | None, typer.Option("--email", metavar="ADDRESS", help="An address of their commits; repeatable.")]
Name = Annotated[str, typer.Option("--name", metavar="TEXT", help="What they are called.")]


def command(name: str) -> Any:
    """The command group `name` of this module."""
    group = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)
    commands: dict[str, dict[str, Any]] = {
        "trust": {"init": trust_init, "show": trust_show, "pin": trust_pin, "update": trust_update},
        "people": {"add": people_add, "list": people_list, "retire": people_retire, "revoke": people_revoke},
    }  # fmt: skip
    helps = {
        "trust": "The chain of trust: who the admins are and what they vouch for.",
        "people": "Who may review and sign.",
    }
    group.callback(help=helps[name])(_nothing)
    for word, function in commands[name].items():
        group.command(word)(function)
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
