"""The user's pins: roots of books that this user believes beside the shipped ones."""

from __future__ import annotations

import os

from filelock import FileLock, Timeout

from cakebook.errors import StoreIO
from cakebook.settings import Settings, pins_file

LOCK_SECONDS = 10.0


def pin(settings: Settings, root: str, book: str) -> None:
    """Believe the root with this sha256 from now on. The file is replaced in one step, under a lock.

    Raises:
        StoreIO: it cannot be written.
    """
    path = pins_file(settings.state)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_name(path.name + ".lock"), timeout=LOCK_SECONDS):
            known = path.read_bytes() if path.exists() else b""
            if known and not known.endswith(b"\n"):
                known += b"\n"
            temporary = path.with_name(path.name + ".new")
            with temporary.open("wb") as stream:
                stream.write(known + f"{root} {book}\n".encode())
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
    except Timeout:
        raise StoreIO(f"{path}: another process keeps it locked", hint="wait for it, or stop it") from None
