"""Layers, light imports, the public names, and the tools that must be content with the code."""

import ast
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

import cakebook
from cakebook import Book, settings

REPO = Path(__file__).parents[2]
HEAVY = "numpy torch transformers chromadb onnxruntime sentence_transformers pydantic_core git yaml markdown_it rich".split()


def tool(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    return subprocess.run(command, cwd=REPO, env=environment, capture_output=True, text=True, check=False, timeout=300)


def needs(module: str):
    return pytest.mark.skipif(find_spec(module) is None, reason=f"{module} is not installed")


@needs("importlinter")
def test_imports_go_downwards_only():
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = tool(sys.executable, "-c", code)
    assert done.returncode == 0 and "0 broken" in done.stdout, done.stdout + done.stderr


@needs("mypy")
def test_types_are_strict():
    done = tool(sys.executable, "-m", "mypy")
    assert done.returncode == 0, done.stdout


@needs("ruff")
@pytest.mark.parametrize("folder", ["cakebook", "tests", "scripts"])
def test_style(folder):
    done = tool(sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise", folder)
    assert done.returncode == 0, done.stdout


# Trust is decided in one place

READS_TRUST = ("gate/", "repo/", "review/", "service/governing.py", "service/reviewing.py", "service/doctor.py")
"""Where `book/ledger`, `book/trust`, `book/people`, the founding list or an entry's own `status` may be looked at."""
BOOK_ID = ("index/place.py", "TRUST")
"""The index reads the book's id from its root, and believes nothing for it."""


def looked_at(path):
    """What a module names of the files that decide trust, and of an entry's own word about itself."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "cakebook.repo.layout":
            found |= {alias.name for alias in node.names} & {"LEDGER", "TRUST", "FOUNDING", "PEOPLE"}
        elif isinstance(node, ast.Attribute) and node.attr == "status" and isinstance(node.value, ast.Name | ast.Attribute):
            found |= {"status"} if getattr(node.value, "attr", getattr(node.value, "id", "")) in ("entry", "front") else set()
        elif isinstance(node, ast.Call):
            texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            found |= {text for text in texts if text.startswith(("book/ledger", "book/trust", "book/people", "book/founding"))}
    return found


def test_nothing_else_looks_at_what_decides_trust():
    package = REPO / "cakebook"
    modules = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    elsewhere = {name: looked_at(path) for name, path in modules.items() if not name.startswith(READS_TRUST)}
    assert {name: names for name, names in elsewhere.items() if names} == {BOOK_ID[0]: {BOOK_ID[1]}}
    assert looked_at(modules["gate/facts.py"]) >= {"LEDGER", "FOUNDING", "PEOPLE", "status"}, "the test sees what it looks for"


# Light imports


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    root = tmp_path_factory.mktemp("light") / "book"
    for name in ("entries", "book"):
        shutil.copytree(REPO / name, root / name)
    with pytest.MonkeyPatch.context() as patch, Book.open(root) as book:
        patch.setenv("CAKEBOOK_EMBEDDER", "none")
        book.settings = settings.Settings.from_environment()
        book.sync()
    return root


LISTING = """
import atexit, sys
atexit.register(lambda: print("MODULES " + " ".join(sys.modules), file=sys.stderr))
from cakebook.cli import main
main()
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "vector pipe idles waiting for MTE2", "--target", "910B3"],
        ["search", "多核切分尾块怎么处理", "--dsl", "ascendc", "--json"],
        ["search", "--bottleneck", "mte2-bound", "--explain"],
        ["context", "--operator", "layernorm", "--stage", "evolve"],
        ["context", "--error", "507035", "--format", "json"],
        ["show", "ascendc-double-buffer"],
        ["--version"],
        ["search", "x", "--dsl", "nonsense"],
    ],
)
def test_what_a_generator_waits_for_imports_nothing_heavy(indexed, arguments):
    environment = {**os.environ, "PYTHONPATH": str(REPO), "CAKEBOOK_STATE": str(indexed.parent / "state")}
    done = subprocess.run(
        [sys.executable, "-c", LISTING, *arguments],
        cwd=indexed,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    line = next(line for line in done.stderr.splitlines() if line.startswith("MODULES "))
    loaded = {name.partition(".")[0] for name in line.split()[1:]}
    assert done.returncode in (0, 2) and "synced" not in done.stderr and not loaded & set(HEAVY), loaded & set(HEAVY)
    assert "cakebook" in loaded


@pytest.mark.parametrize("arguments", [["--help"], ["search", "--help"], ["context", "-h"], ["sync", "--help"]])
def test_help_imports_nothing_heavy_but_what_typer_needs(indexed, arguments):
    """Typer declares the help option as it declares any other, and asks pydantic about it."""
    done = subprocess.run(
        [sys.executable, "-c", LISTING, *arguments], cwd=indexed, env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & (set(HEAVY) - {"pydantic_core"})


def test_importing_the_package_loads_almost_nothing():
    done = tool(sys.executable, "-c", "import sys; a = set(sys.modules); import cakebook; print(*sorted(set(sys.modules) - a))")
    assert [n for n in done.stdout.split() if n.startswith("cakebook")] == ["cakebook"]
    assert not {n.partition(".")[0] for n in done.stdout.split()} & set(HEAVY)


# Public names


def test_public_names_are_sorted_complete_and_importable():
    public = cakebook.__all__
    assert list(public) == sorted(public) and len(set(public)) == len(public)
    assert set(cakebook._HOMES) | {"__version__"} == set(public) == set(dir(cakebook))
    for name in public:
        assert getattr(cakebook, name) is not None
    for name, home in cakebook._HOMES.items():
        assert getattr(cakebook, name) is getattr(importlib.import_module(home), name)
    namespace: dict = {}
    exec("from cakebook import *", namespace)
    assert set(public) <= set(namespace)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = cakebook.no_such_name


def test_what_a_type_checker_sees_is_what_is_loaded():
    tree = ast.parse((REPO / "cakebook" / "__init__.py").read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == cakebook._HOMES


def test_the_version_is_that_of_the_project():
    text = (REPO / "pyproject.toml").read_text("utf-8")
    assert re.search(r'^version = "(.+)"$', text, re.MULTILINE).group(1) == cakebook.__version__


# Settings


def test_the_table_of_settings_names_what_is_read():
    documented = set(re.findall(r"^\| `(CAKEBOOK_[A-Z_]+)` \|", settings.__doc__, re.MULTILINE))
    read = set()
    for path in (REPO / "cakebook").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            read |= {found for found in _read_names(node) if found.startswith("CAKEBOOK_")}
    assert documented == read


def _read_names(node: ast.AST):
    """Names that `os.environ[...]`, `os.environ.get(...)` and `os.getenv(...)` read."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
        yield ast.literal_eval(node.slice)
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.environ.get", "os.getenv"):
        yield ast.literal_eval(node.args[0])


def test_settings_are_read_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("CAKEBOOK_BOOK", str(tmp_path))
    monkeypatch.setenv("CAKEBOOK_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("CAKEBOOK_TRUST_ROOT", f" sha256:{'A' * 64},, {'b' * 64} ")
    found = settings.Settings.from_environment()
    monkeypatch.setenv("CAKEBOOK_EMBEDDER", " use ")
    found = settings.Settings.from_environment()
    roots = frozenset(["a" * 64, "b" * 64])
    assert replace(found, cache=None) == settings.Settings(tmp_path, tmp_path / "state", roots, embedder="use")
    assert found.state_folder("x") == tmp_path / "state" / "x"
    for name in ("BOOK", "STATE", "TRUST_ROOT", "EMBEDDER", "CACHE"):
        monkeypatch.setenv(f"CAKEBOOK_{name}", "")
    assert settings.Settings.from_environment() == settings.Settings()
    assert settings.Settings().state_folder("x").parts[-2:] == ("cakebook", "x")


def test_modules_stay_under_four_hundred_lines():
    long = {p.name: n for p in (REPO / "cakebook").rglob("*.py") if (n := len(p.read_text("utf-8").splitlines())) > 420}
    assert long == {}


def test_no_dataclass_of_the_answers_needs_pydantic():
    done = tool(sys.executable, "-c", "import sys, cakebook.model.pack, cakebook.model.query; print('pydantic' in sys.modules)")
    assert done.stdout == "False\n"


def test_data_files_are_json_of_one_form():
    weights = json.loads((REPO / "cakebook" / "data" / "ranking.json").read_text("utf-8"))
    from cakebook.model.pack import LEVELS, STAGES

    assert set(weights["packs"]["levels"]) == set(LEVELS) and set(weights["packs"]["stages"]) == set(STAGES)
    for shares in weights["packs"]["stages"].values():
        assert set(shares) == {"constraint", "skeleton", "lever", "diagnosis"} and sum(shares.values()) == pytest.approx(1)
    gains = [weights["packs"]["levels"][level] for level in LEVELS]
    assert gains == sorted(set(gains)) and gains[-1] == 1.0
