"""Editing a file by replacing text at known places: all other bytes stay exactly as they were."""

from __future__ import annotations

from dataclasses import dataclass

from cakebook.text.frontmatter import BOM


@dataclass(frozen=True)
class Edit:
    """Replace characters `start:end` of the decoded text (BOM not counted) by `new`."""

    start: int
    end: int
    new: str


def apply(data: bytes, edits: list[Edit]) -> bytes:
    """`data` with `edits` applied. New text takes the file's own line end where it has one.

    Raises:
        ValueError: two edits overlap or one lies outside the text.
    """
    bom = BOM if data.startswith(BOM) else b""
    text = data.removeprefix(BOM).decode("utf-8")
    newline = "\r\n" if "\r\n" in text else "\n"
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if not at <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit {edit.start}:{edit.end} overlaps another or lies outside the text")
        parts += [text[at : edit.start], edit.new.replace("\r\n", "\n").replace("\n", newline)]
        at = edit.end
    return bom + "".join([*parts, text[at:]]).encode("utf-8")
