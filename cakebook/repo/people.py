"""The people of a book: `book/people/<id>.yaml`, one person or agent each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from cakebook.errors import BookFileInvalid
from cakebook.model.entry import is_id
from cakebook.model.review import Person
from cakebook.repo.layout import PEOPLE, BookSource
from cakebook.repo.vocabulary import load_model


def person_path(person_id: str) -> str:
    """Where a person's file lies."""
    return f"{PEOPLE}/{person_id}.yaml"


def read_people(source: BookSource, paths: Iterable[str]) -> dict[str, Person]:
    """The people in the files `paths`, by id.

    Raises:
        BookFileInvalid: a file has not the form of a person, its name is not the id, a key or an address belongs to two of
            them, or nobody answers for an agent.
    """
    people: dict[str, Person] = {}
    keys: dict[str, str] = {}
    addresses: dict[str, str] = {}
    for path in sorted(paths):
        person = load_model(source, path, Person)
        if path != person_path(person.id) or not is_id(person.id):
            name = PurePosixPath(path).name
            raise BookFileInvalid(f"{path}: {name} holds `{person.id[:80]}`", hint="name the file after the id, in kebab-case")
        people[person.id] = person
        for key in person.keys:
            _own(keys, " ".join(key.public.split()[:2]), person.id, f"{path}: one key")
        for address in person.emails:
            _own(addresses, address.casefold(), person.id, f"{path}: the address {address}")
    for person in people.values():
        operator = people.get(person.operator or "")
        if person.kind == "agent" and (operator is None or operator.kind != "person"):
            raise BookFileInvalid(f"{person_path(person.id)}: nobody answers for this agent", hint="operator: id of a person")
    return people


def _own(owners: dict[str, str], what: str, who: str, text: str) -> None:
    if owners.setdefault(what, who) != who:
        raise BookFileInvalid(f"{text} belongs to {owners[what]} too", hint="one person, one file")
