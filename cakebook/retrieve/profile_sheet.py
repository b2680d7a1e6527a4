"""A table of the profiler as a stream of rows, whatever the size of its file and whatever is wrong with it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cakebook.errors import BadProfile, one_line
from cakebook.retrieve.profile_rows import Header, Position, Row

MAX_LINE = 1 << 20
"""Bytes of a line; a longer one is no row."""

Remark = tuple[str, dict[str, object]]
"""What the reader has to know: the name of a sentence and what stands in it."""

EXPORT = "for a PROF_* folder without mindstudio_profiler_output run `msprof --export=on --output=<folder>`"


class Sheet:
    """A CSV file as a stream of rows; what is wrong with it is counted, not raised.

    A UTF-8 file with or without BOM, else GB18030; `,`, `;` or tab between cells; rows of another width than the header
    are left out.

    Raises:
        BadProfile: there is no header, or it is not text.
    """

    def __init__(self, path: Path, label: str) -> None:
        self.path, self.label = path, one_line(label)
        self.left_out = self.nuls = self.rows_seen = 0
        self.other_encoding = False
        self._start = 0
        self.delimiter = ","
        first = self._first_line()
        self.delimiter = max(",;\t", key=first.count)
        _, cells = next(self._cells(), (0, []))
        if not cells:
            raise BadProfile(f"{label} is empty", hint=EXPORT)
        self._head = cells
        self.header = Header(cells)

    @property
    def usable(self) -> bool:
        """Whether the table has a column with something measured."""
        return bool(self.header.metrics)

    def rows(self) -> Iterator[Row]:
        """Every row with the header's width, and where it starts; the header, also where it is repeated, is not one."""
        width = self.header.width
        self.left_out = self.nuls = self.rows_seen = 0
        for position, cells in self._cells():
            if len(cells) != width:
                if not any(cells):
                    continue
                if len(cells) < width or any(cells[width:]):
                    self.left_out += 1
                    continue
                cells = cells[:width]  # a comma at the end of every row
            if cells[-1] == self._head[-1] and [c.strip() for c in cells] == list(self.header.written):
                continue
            self.rows_seen += 1
            yield position, cells

    def row_at(self, position: Position) -> list[str]:
        """The row that starts at `position`.

        Raises:
            BadProfile: it is not there any more.
        """
        counted = self.left_out, self.nuls
        cells = next(self._cells(position), (position, []))[1]
        self.left_out, self.nuls = counted
        if len(cells) < self.header.width:
            raise BadProfile(f"{self.label} changed while it was read", hint="ask again when the profiler has ended")
        return cells[: self.header.width]

    def line_at(self, position: Position) -> int:
        """The number of the line at `position`, from 1."""
        lines = 1
        with self._open() as file:
            while position > 0 and (block := file.read(min(position, 1 << 16))):
                lines, position = lines + block.count(b"\n"), position - len(block)
        return lines

    def remarks(self) -> list[Remark]:
        """What is wrong with the rows that have been read."""
        found: list[Remark] = []
        if self.left_out:
            found.append(("profile-ragged", {"file": self.label, "n": self.left_out}))
        if self.nuls:
            found.append(("profile-nul", {"file": self.label, "n": self.nuls}))
        if self.other_encoding:
            found.append(("profile-encoding", {"file": self.label}))
        return found

    def _first_line(self) -> str:
        with self._open() as file:
            head = file.readline(MAX_LINE)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")) or head.count(b"\0") > len(head) // 8:
            raise BadProfile(f"{self.label} is not a text of UTF-8 or GB18030", hint="save it as CSV in UTF-8")
        if len(head) >= MAX_LINE:
            raise BadProfile(f"{self.label} has no header: its first line does not end", hint="give a CSV of the profiler")
        return self._decode(head)

    def _cells(self, position: Position = 0) -> Iterator[Row]:
        reader = csv.reader(self._lines(position), delimiter=self.delimiter)
        while True:
            self._start = -1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except OSError as error:
                raise self._unreadable(error) from None
            except csv.Error:  # a quote that never ends, a cell beyond the limit
                self.left_out += 1
                continue
            if cells:
                yield self._start, cells

    def _lines(self, position: Position) -> Iterator[str]:
        with self._open() as file:
            file.seek(position)
            while line := file.readline(MAX_LINE):
                if self._start < 0:
                    self._start = position
                position += len(line)
                if len(line) == MAX_LINE and not line.endswith(b"\n"):
                    while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                        position += len(rest)
                    position, self._start = position + len(rest), -1
                    self.left_out += 1
                    continue
                yield self._decode(line)

    def _decode(self, line: bytes) -> str:
        line = line.removeprefix(b"\xef\xbb\xbf")
        if b"\0" in line:
            self.nuls += line.count(b"\0")
            line = line.replace(b"\0", b"")
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.other_encoding = True
            text = line.decode("gb18030", "replace")
        return text if "\r" not in text else text.rstrip("\r\n").replace("\r", " ") + "\n"

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: OSError) -> BadProfile:
        return BadProfile(f"{self.label} cannot be read: {error.strerror or error}", hint="check its permissions")
