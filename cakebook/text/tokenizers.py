"""Counting tokens with the tokenizer of the reader's own model, from a file. Nothing is ever downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from cakebook.errors import BadArgument, NoSuchPath
from cakebook.text import tokens

APPROXIMATE = "approx-1"


@dataclass(frozen=True)
class Counter:
    """`name` goes into the identity of a pack: `approx-1`, or the file's name with a part of its sha256."""

    name: str
    count: Callable[[str], int]


DEFAULT = Counter(APPROXIMATE, tokens.count)


def counter(given: str) -> Counter:
    """The counter that `given` names: empty or `approx-1`, or the path of a `tokenizer.json`.

    Raises:
        NoSuchPath: no such file. BadArgument: it is no tokenizer, or the `tokenizers` package is not installed.
    """
    if given in ("", APPROXIMATE):
        return DEFAULT
    path = Path(given)
    if not path.is_file():
        raise NoSuchPath(f"{given[:200]}: no such file", hint="give approx-1, or the tokenizer.json of a model")
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise BadArgument("the package tokenizers is not installed", hint="pip install 'cakebook[tokenizer]'") from None
    try:
        data = path.read_bytes()
        made: Any = Tokenizer.from_buffer(data)
    except Exception as error:  # the library raises bare exceptions
        first = next(iter(str(error).splitlines()), "")
        raise BadArgument(f"{given[:200]} is no tokenizer: {first[:200]}", hint="give the tokenizer.json of a model") from None
    made.no_truncation()
    made.no_padding()
    name = f"{path.name}@{sha256(data).hexdigest()[:12]}"
    return Counter(name, lambda text: len(made.encode(text, add_special_tokens=False).ids))
