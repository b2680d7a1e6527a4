"""What a wheel carries beside the code: the shipped book, the vectors of its passages, and its index.

With them an installed release answers at once, in any folder, by words and by meaning, without loading a model for the book.
An editable install has none of it: there the book lies beside the code and is indexed like any other.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BOOK = "cakebook/data/book"
INDEX = "cakebook/data/index"
VECTORS = "cakebook/data/vectors"


class BookHook(BuildHookInterface[Any]):
    """Adds the book to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the index and name everything that is to be included."""
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        self._folder = tempfile.TemporaryDirectory(prefix="cakebook-wheel-")
        found = carried(root) | derived(root, Path(self._folder.name), self.metadata.version)
        build_data["force_include"].update({str(source): target for source, target in found.items()})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        with contextlib.suppress(AttributeError):
            self._folder.cleanup()


def carried(root: Path) -> dict[Path, str]:
    """The files of the book at `root`, as a reader finds them: no symbolic links. File → its place in the wheel."""
    from cakebook.repo.layout import FolderSource

    source = FolderSource(root)
    paths = [path for part in ("entries", "book") for path in source.paths(part)]
    return {root / path: f"{BOOK}/{path}" for path in paths if not any(name.startswith(".") for name in path.split("/"))}


def derived(root: Path, folder: Path, release: str) -> dict[Path, str]:
    """Build index and vectors of the book at `root` in `folder`: file → its place in the wheel.

    Two builds of one state give the same bytes, on one day or with one `SOURCE_DATE_EPOCH`.
    """
    for name in [name for name in os.environ if name.startswith("CAKEBOOK_")]:
        del os.environ[name]  # the wheel does not depend on the builder's settings
    from cakebook.index.catalog import Catalog
    from cakebook.index.embedders import ModelInfo
    from cakebook.index.embeddings import pack_vectors, to_bytes, vector_file
    from cakebook.index.generation import CATALOG, MANIFEST, BuiltFrom, Store
    from cakebook.index.place import Place
    from cakebook.index.sync import sync
    from cakebook.index.vectors import FILE, read_matrix
    from cakebook.model.manifest import canonical_json
    from cakebook.settings import Settings

    store = Store(folder / "index")
    report = sync(Place(root, store, False, True), Settings(embedder="use", cache=folder / "models"))
    if report.withheld:  # a release serves everything that it carries
        names = ", ".join(f"{w.id} ({w.code})" for w in report.withheld)
        raise RuntimeError(f"not admitted, so no wheel: {names}; see `cakebook founding update`")
    generation = store.current()
    assert generation is not None
    home, manifest = store.home(generation), store.manifest(generation)
    assert manifest.embedder is not None
    model = ModelInfo(**manifest.embedder)
    catalog = Catalog(home / CATALOG)
    digests = catalog.passage_digests()
    catalog.close()
    vectors = dict(zip(digests, to_bytes(read_matrix(home / FILE, len(digests), model.dim)), strict=True))
    (folder / vector_file(model)).write_bytes(pack_vectors(vectors))
    # Pinned to the release: unpacked files have new times, and nobody may edit them.
    store.record(BuiltFrom(generation, "", f"release {release}", model.id))
    (home / MANIFEST).write_bytes(canonical_json({**asdict(manifest), "built_at": build_time()}))
    names = ("CURRENT", "SOURCE", *(f"{generation}/{path.name}" for path in sorted(home.iterdir())))
    found = {store.folder / name: f"{INDEX}/{name}" for name in names}
    return found | {folder / vector_file(model): f"{VECTORS}/{vector_file(model)}"}


def build_time() -> str:
    """The beginning of the day, or the second that `SOURCE_DATE_EPOCH` names."""
    named = os.environ.get("SOURCE_DATE_EPOCH", "")
    when = datetime.fromtimestamp(int(named), UTC) if named else datetime.now(UTC).replace(hour=0, minute=0, second=0)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")
