"""Generations: immutable folders, one of which `CURRENT` names.

    index/CURRENT               the id of the served generation
    index/SOURCE                what the generation was built from: signature of the files, or the pinned revision
    index/<id>/manifest.json    what it is
    index/<id>/catalog.sqlite   what it holds
    index/<id>/vectors.f32      its vectors, unless it was built without
    index/<id>/chroma/          the same for Chroma, where the book is large or somebody wants it
    index/<id>/lock             held (shared) by every reader

A generation is built beside the others, moved into place complete, and only then named by `CURRENT`, so that a reader sees
the old one or the new one, whatever happens to the builder.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from cakebook.errors import IndexCorrupt, IndexIncompatible, IndexMissing, StoreIO
from cakebook.index.catalog import SCHEMA, Catalog
from cakebook.model.manifest import Manifest, canonical_json

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows refuses to delete an open file by itself
    fcntl = None

CATALOG = "catalog.sqlite"
VECTORS = "vectors.f32"
MANIFEST = "manifest.json"
LOCK = "lock"
BUILDING = ".building-"
HALF = ".new"
"""Suffix of a file that is not complete yet."""
REPLACED = ".replaced-"
"""Prefix of a generation that makes room for a new one of the same id; read until that one is in place."""
_ID = re.compile(r"[0-9a-f]{16}")
VERIFY_LIMIT = 8 * 1024 * 1024
"""Catalogs up to this size (bytes) are hashed whenever they are opened; larger ones when `sync` starts from them."""


@dataclass(frozen=True)
class BuiltFrom:
    """`signature` of the files that were read, or the `revision` to which the index is pinned.

    `embedder`: the one that `sync` was told to keep, empty if none.
    """

    generation: str
    signature: str
    revision: str | None = None
    embedder: str = ""


class Generation:
    """An opened generation. Holds a shared lock, so that no builder removes it; close it when done."""

    def __init__(
        self, manifest: Manifest, catalog: Catalog, folder: Path, lock: IO[bytes] | None, vectors: IO[bytes] | None
    ) -> None:
        """`vectors`: its matrix, held open because a builder may put the same generation anew into its place."""
        self.manifest, self.catalog, self.folder, self._lock, self.vectors = manifest, catalog, folder, lock, vectors

    def close(self) -> None:
        self.catalog.close()
        if self.vectors is not None:
            self.vectors.close()
        if self._lock is not None:
            self._lock.close()


class Store:
    """The folder of all generations of one book."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._current = folder / "CURRENT"
        self._seen: tuple[tuple[int, int, int] | None, str | None] = (None, None)

    def current(self) -> str | None:
        """The id that `CURRENT` names, None if there is none or it is none: a crash of the system can leave zeros."""
        try:
            status = self._current.stat()
            seen = status.st_ino, status.st_mtime_ns, status.st_size
            if seen != self._seen[0]:  # it is only ever replaced by another file
                name = self._current.read_text("utf-8").strip()
                self._seen = seen, name if _ID.fullmatch(name) else None
        except (OSError, UnicodeDecodeError):
            return None
        return self._seen[1]

    def home(self, generation: str) -> Path:
        """The folder of a generation. While one is replaced by another of the same id, the old one is read."""
        folder = self.folder / generation
        return folder if folder.exists() else self.folder / f"{REPLACED}{generation}"

    def built_from(self) -> BuiltFrom | None:
        """What the current generation was built from, None if that is not known or the generation is gone."""
        try:
            data = json.loads((self.folder / "SOURCE").read_text("utf-8"))
            embedder = str(data.get("embedder", ""))
            built = BuiltFrom(str(data["generation"]), str(data["signature"]), data.get("revision"), embedder)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return built if _ID.fullmatch(built.generation) and (self.home(built.generation) / MANIFEST).is_file() else None

    def manifest(self, generation: str) -> Manifest:
        """The manifest of a generation.

        Raises:
            IndexMissing: there is none.
            IndexIncompatible: another release wrote it.
            IndexCorrupt: it cannot be read or does not match its own id.
        """
        path = self.home(generation) / MANIFEST
        try:
            data = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise IndexMissing(f"generation {generation} is gone", hint="run `cakebook sync`") from None
        except (OSError, ValueError, RecursionError) as error:
            raise IndexCorrupt(f"{MANIFEST} of {generation}: {error}", hint="run `cakebook sync --rebuild`") from None
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise IndexIncompatible("the index was written by another release", hint="run `cakebook sync`")
        try:
            manifest = Manifest(**data)
        except TypeError as error:
            raise IndexCorrupt(f"{MANIFEST} of {generation}: {error}", hint="run `cakebook sync --rebuild`") from None
        sound = isinstance(manifest.files, dict) and CATALOG in manifest.files  # the id does not cover them
        if not sound or manifest.identity() != manifest.generation or manifest.generation != generation:
            raise IndexCorrupt(f"{MANIFEST} of {generation} does not match its id", hint="run `cakebook sync --rebuild`")
        return manifest

    def open(self) -> Generation:
        """Open the current generation.

        Raises:
            IndexMissing, IndexIncompatible, IndexCorrupt: see `manifest`; also when a file does not match its digest.
        """
        # A builder may remove or replace the one just read about; then the next look finds another.
        with contextlib.suppress(IndexMissing, IndexCorrupt):
            return self._open()
        with contextlib.suppress(IndexMissing, IndexCorrupt):
            return self._open()
        return self._open()

    def _open(self) -> Generation:
        generation = self.current()
        if generation is None:
            raise IndexMissing("this book has no index yet", hint="run `cakebook sync`")
        lock = _shared_lock(self.home(generation) / LOCK)
        try:
            manifest = self.manifest(generation)
            self.verify(manifest, VERIFY_LIMIT, (CATALOG,))  # who searches by words alone should not wait for the rest
            folder = self.home(generation)
            vectors = (folder / VECTORS).open("rb") if (folder / VECTORS).is_file() else None
            return Generation(manifest, Catalog(folder / CATALOG), folder, lock, vectors)
        except BaseException:
            if lock is not None:
                lock.close()
            raise

    def verify(self, manifest: Manifest, limit: int | None = None, only: Collection[str] = ()) -> None:
        """Compare the files of a generation (up to `limit` bytes each; `only` these, if given) with the manifest.

        Raises:
            IndexCorrupt: one is missing or differs.
        """
        for name, digest in manifest.files.items():
            if only and name not in only:
                continue
            path = self.home(manifest.generation) / name
            try:
                if limit is not None and path.stat().st_size > limit:
                    continue
                same = file_digest(path) == digest
            except OSError as error:
                raise IndexCorrupt(f"{name}: {error.strerror}", hint="run `cakebook sync --rebuild`") from None
            if not same:
                raise IndexCorrupt(f"{name} does not match its digest", hint="run `cakebook sync --rebuild`")

    @contextlib.contextmanager
    def building(self) -> Iterator[Path]:
        """A new empty folder for a generation under construction; leftovers of dead builders are removed first."""
        for leftover in self.folder.glob(REPLACED + "*"):
            final = self.folder / leftover.name.removeprefix(REPLACED)
            if final.exists():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.rename(final)
        for leftover in self.folder.glob(BUILDING + "*"):
            shutil.rmtree(leftover, ignore_errors=True)
        for half in self.folder.glob("*" + HALF):
            half.unlink()
        folder = self.folder / f"{BUILDING}{os.getpid()}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def install(self, building: Path, manifest: Manifest) -> None:
        """Write the manifest, make the files durable and move the folder to its place."""
        (building / LOCK).touch()
        (building / MANIFEST).write_bytes(canonical_json(asdict(manifest)))
        for path in building.iterdir():
            _fsync(path)
        _fsync(building)
        final, aside = self.folder / manifest.generation, self.folder / f"{REPLACED}{manifest.generation}"
        if final.exists():  # rebuilt, damaged or never named by CURRENT; readers may be in it
            final.rename(aside)
        building.rename(final)
        _fsync(self.folder)
        shutil.rmtree(aside, ignore_errors=True)

    def switch(self, built: BuiltFrom) -> None:
        """Name another generation as the served one. `SOURCE` follows: without it the index only counts as stale."""
        self._replace("CURRENT", built.generation.encode() + b"\n")
        self.record(built)

    def record(self, built: BuiltFrom) -> None:
        """Write down what the current generation was built from."""
        self._replace("SOURCE", canonical_json(asdict(built)))

    def prune(self, keep: set[str]) -> None:
        """Remove generations that are neither in `keep` nor open in any process."""
        for folder in self.folder.iterdir():
            if folder.is_dir() and folder.name not in keep and _ID.fullmatch(folder.name):
                lock = _exclusive_lock(folder / LOCK)
                if lock is not None:
                    shutil.rmtree(folder, ignore_errors=True)
                    lock.close()

    def _replace(self, name: str, data: bytes) -> None:
        temporary = self.folder / f"{name}{HALF}"
        with temporary.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(self.folder / name)
        _fsync(self.folder)


@contextlib.contextmanager
def store_errors() -> Iterator[None]:
    """Turn errors of the operating system and of SQLite in a build into `StoreIO`."""
    hint = "free some space, mend the permissions, or set CAKEBOOK_STATE to a writable folder"
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise StoreIO(f"{where}{error.strerror or error}", hint=hint) from None
    except sqlite3.Error as error:
        raise StoreIO(f"{CATALOG}: {error}", hint=hint) from None


def file_digest(path: Path) -> str:
    """sha256 of a file, in hex."""
    digest = sha256()
    with path.open("rb") as stream:
        while part := stream.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _shared_lock(path: Path) -> IO[bytes] | None:
    if fcntl is None:
        return None
    try:
        stream = path.open("rb")
    except OSError:
        return None  # gone, or on a medium without it: the manifest decides
    with contextlib.suppress(OSError):  # being removed right now, or a file system without locks
        fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return stream


def _exclusive_lock(path: Path) -> IO[bytes] | None:
    """The lock, None if a reader holds it or it cannot be had."""
    try:
        stream = path.open("ab")
    except OSError:
        return None
    if fcntl is not None:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            stream.close()
            return None
    return stream


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
