"""A small vocabulary and a way to lint files given as a mapping."""

from collections.abc import Callable, Sequence

import pytest

from cakebook.lint import Finding, lint_book
from cakebook.model.terms import Term, Vocabulary
from cakebook.repo.layout import MemorySource, Skipped

Lint = Callable[..., list[Finding]]


def _terms(*ids: str, **more: Term) -> dict[str, Term]:
    return {i: {"id": i, "title": i, "title_zh": i} for i in ids} | {i: {"id": i, **t} for i, t in more.items()}


def _facet(*values: str, **aliases: list[str]) -> Term:
    return {"title": "", "title_zh": "", "values": [{"id": v, "aliases": aliases.get(v, [])} for v in values]}


@pytest.fixture(scope="session")
def vocabulary() -> Vocabulary:
    pattern = {"type": "Kernel Pattern", "role": "lever"}
    kinds = {kind: {"id": kind, "title": kind, "title_zh": kind, **pattern} for kind in ("tiling", "memory", "compute")}
    return Vocabulary(
        {
            "kinds": kinds | {"precision": {"id": "precision", "title": "", "title_zh": "", "type": "Pitfall"}},
            "dsls": _terms("catlass") | {"ascendc": {"id": "ascendc", "title": "Ascend C", "title_zh": "Ascend C"}},
            "targets": _terms("npu-2201", "npu-3510")
            | {
                "910B3": {"id": "910B3", "title": "910B3", "title_zh": "910B3", "level": "sku", "arch": "npu-2201"},
                "950PR": {"id": "950PR", "title": "950PR", "title_zh": "950PR", "level": "sku", "arch": "npu-3510"},
                "atlas-800t-a2": {
                    "id": "atlas-800t-a2", "title": "", "title_zh": "", "level": "product", "resolves_to": ["npu-2201"],
                },
            },
            "stages": _terms("draft", "evolve"),
            "bottlenecks": _terms("mte2-bound"),
            "operators": _terms("softmax"),
            "conditions": {
                "dtype": _facet("float16", "float32", float16=["fp16", "F16"], float32=["fp32"]),
                "layout": _facet("ND", "NZ"),
                "row-fits-ub": _facet("no", "one", "several"),
            },
            "toolchain": _terms("cann", "driver"),
            "error_codes": _terms("507035"),
        }
    )  # fmt: skip


@pytest.fixture(scope="session")
def lint(vocabulary: Vocabulary) -> Lint:
    """Findings in a book made of files by path, as bytes or text."""

    def run(
        files: dict[str, bytes | str],
        founding: Sequence[str] = (),
        paths: Sequence[str] | None = None,
        links: Sequence[str] = (),
    ) -> list[Finding]:
        data = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
        skipped = [Skipped(path, "not-a-file", "symbolic links are not followed") for path in links]
        return lint_book(MemorySource(data, skipped), vocabulary, founding, paths)

    return run
