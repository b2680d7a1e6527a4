"""One entry file, read: bytes, front matter with places, validated model, parsed body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import PurePosixPath

from pydantic import ValidationError

from cakebook.model.entry import Entry, is_id
from cakebook.repo.layout import BookSource, entry_paths
from cakebook.repo.vocabulary import locate
from cakebook.text import frontmatter, markdown
from cakebook.text.frontmatter import FrontMatter, Problem


def digest(entry_id: str, data: bytes) -> str:
    """`sha256:` + hex of sha256(`cakebook-entry-v1` NUL id NUL bytes)."""
    return "sha256:" + sha256(b"cakebook-entry-v1\0" + entry_id.encode() + b"\0" + data).hexdigest()


@dataclass(frozen=True)
class EntryFile:
    """An entry as read. `entry` is None when the front matter has the wrong form; `problems` then says how.

    `text` is the decoded file without BOM, the text that spans refer to.
    """

    path: str
    data: bytes
    text: str
    front: FrontMatter
    entry: Entry | None
    problems: tuple[Problem, ...] = field(default=())

    @property
    def id(self) -> str:
        """The id as written, else the file stem."""
        written = self.entry.id if self.entry else self.front.values.get("id")
        return written if isinstance(written, str) and written else PurePosixPath(self.path).stem

    @cached_property
    def document(self) -> markdown.Document:
        """The parsed body."""
        return markdown.parse(self.front.body, self.front.body_line)

    @property
    def digest(self) -> str:
        return digest(self.id, self.data)


def read_entries(source: BookSource) -> Iterator[EntryFile]:
    """All entries of a book, by path.

    Raises:
        Unreadable: a file cannot be read.
    """
    return (read_entry(path, source.read(path)) for path in entry_paths(source))


def read_entry(path: str, data: bytes) -> EntryFile:
    """Read one entry file. Never raises: what is wrong is in `problems`."""
    text = frontmatter.decode(data)
    if isinstance(text, Problem):
        return EntryFile(path, data, "", FrontMatter(), None, (text,))
    front = frontmatter.parse(text)
    if front.problems:
        return EntryFile(path, data, text, front, None, front.problems)
    try:
        entry = Entry.model_validate(front.values)
    except ValidationError as error:
        return EntryFile(path, data, text, front, None, tuple(_problem(e, front) for e in error.errors()))
    problems: tuple[Problem, ...] = ()
    if entry.id and not is_id(entry.id):
        span = front.spans.get(("id",))
        hint = "lower-case ASCII letters, digits and single hyphens, at most 80 characters"
        problems = (
            Problem("CB110", f"`{entry.id}` cannot be an id", span.line if span else 1, span.column if span else 1, hint),
        )
    return EntryFile(path, data, text, front, entry, problems)


def _problem(error: object, front: FrontMatter) -> Problem:
    detail: dict[str, object] = dict(error)  # type: ignore[call-overload]
    loc: tuple[int | str, ...] = detail["loc"]  # type: ignore[assignment]
    span = locate(loc, front.spans)
    name = ".".join(str(p) for p in loc) or "front matter"
    message = str(detail["msg"]).removeprefix("Value error, ")
    return Problem(
        "CB109", f"{name}: {message}", span.line if span else 1, span.column if span else 1, "see book/schema/entry.json"
    )
