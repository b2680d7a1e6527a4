"""Books that a test may change, and an environment in which nothing of the user's is seen.

`tiny_book` is a whole book of four invented entries with its own small vocabulary, policy and founding edition; `git_book` is
the same book with a history. Both are copied from a template that is made once per session, and both are trusted through
`CAKEBOOK_TRUST_ROOT`, as a team's book would be.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# As the command line sets it: the threads of two processes that embed would spin against each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from cakebook.cli import app
from cakebook.cli.output import run
from cakebook.gate import founding
from cakebook.gate.trust import shipped_roots
from cakebook.index.generation import Generation, Store
from cakebook.index.place import Place, place
from cakebook.index.sync import SyncReport, sync
from cakebook.service import Book
from cakebook.settings import Settings

REPOSITORY = Path(__file__).parent.parent
DATE = "2026-11-30"

VOCABULARY = {
    "kinds": """\
terms:
  - {id: tiling, title: Tiling, title_zh: 切分, type: Kernel Pattern, role: lever, aliases: [tile size]}
  - {id: memory, title: Memory, title_zh: 访存, type: Kernel Pattern, role: lever}
  - {id: pipelining, title: Pipelining, title_zh: 流水, type: Kernel Pattern, role: lever}
  - {id: debugging, title: Debugging, title_zh: 调试, type: Playbook, role: diagnosis}
""",
    "dsls": """\
terms:
  - {id: ascendc, title: Ascend C, title_zh: Ascend C, aliases: [ascend c]}
  - {id: triton-ascend, title: Triton-Ascend, title_zh: Triton-Ascend, aliases: [triton]}
""",
    "targets": """\
terms:
  - {id: npu-2201, title: Architecture 2201, title_zh: 架构 2201, level: architecture, facts: {ub_bytes: 196608}}
  - {id: npu-3510, title: Architecture 3510, title_zh: 架构 3510, level: architecture}
  - {id: 910B3, title: Ascend 910B3, title_zh: 昇腾 910B3, level: sku, arch: npu-2201, aliases: [Ascend910B3]}
  - {id: atlas-a2, title: Atlas A2, title_zh: Atlas A2, level: product, resolves_to: [npu-2201]}
""",
    "stages": """\
terms:
  - {id: draft, title: First version, title_zh: 初版}
  - {id: evolve, title: Optimise, title_zh: 优化}
  - {id: debug, title: Debug, title_zh: 调试}
""",
    "bottlenecks": """\
terms:
  - {id: mte2-bound, title: MTE2 bound, title_zh: MTE2 受限, aliases: [waiting for mte2], aliases_zh: [等 MTE2]}
  - {id: vector-bound, title: Vector bound, title_zh: 向量受限, aliases: [vector bound]}
""",
    "operators": """\
terms:
  - {id: normalization, title: Normalization, title_zh: 归一化}
  - {id: layernorm, title: LayerNorm, title_zh: 层归一化, parent: normalization, aliases: [layer norm]}
  - {id: elementwise, title: Element-wise, title_zh: 逐元素}
""",
    "conditions": """\
terms:
  - id: dtype
    title: Data type
    title_zh: 数据类型
    rule: given
    values:
      - {id: float16, title: float16, title_zh: float16, aliases: [fp16]}
      - {id: float32, title: float32, title_zh: float32, aliases: [fp32]}
  - id: layout
    title: Layout
    title_zh: 数据排布
    rule: given
    values:
      - {id: ND, title: ND, title_zh: ND}
      - {id: NZ, title: NZ, title_zh: NZ}
  - id: tail
    title: Tail
    title_zh: 尾块
    rule: given
    values:
      - {id: present, title: with a tail, title_zh: 有尾块}
      - {id: absent, title: without a tail, title_zh: 无尾块}
""",
    "toolchain": """\
terms:
  - {id: cann, title: CANN toolkit, title_zh: CANN 软件包, examples: [8.2.RC1]}
""",
    "error_codes": """\
terms:
  - {id: "507035", title: Vector core exception, title_zh: 向量核异常, messages: [vector core exception]}
""",
    "glossary": """\
terms:
  - {id: double-buffer, title: double buffering, title_zh: 双缓冲, aliases: [double buffer], aliases_zh: [双缓存]}
  - {id: tile, title: tile, title_zh: 分块}
""",
}
"""A vocabulary that has one of everything; the shipped one is ten times larger and changes."""

_ENTRY = """\
---
type: Kernel Pattern
id: {id}
title: {title}
title_zh: {title_zh}
description: {title}, in one sentence.
description_zh: 一句话说明：{title_zh}。
kind: {kind}
dsl: [{dsl}]
targets: [npu-2201]
toolchain: {{cann: ">=8.0"}}
dtypes: [any]
operators: [{operators}]
stages: [any]
bottlenecks: [{bottlenecks}]
symptoms: ["{symptom}"]
symptoms_zh: ["{symptom_zh}"]
apis: [{apis}]
error_codes: [{codes}]
applies_when:
  - {{text: "the last tile is short", text_zh: "最后一块较短", match: {{tail: [present]}}}}
sources:
  - {{id: story, resource: "https://github.com/owner/repo/blob/0123456789abcdef0123456789abcdef01234567/docs/story.md", title: Story, license: MIT, accessed: "2026-11-30"}}
generated: {{by: "tests", at: "2026-11-30"}}
stale_after: "2999-12-31"
{more}---
## Summary
{summary}

## 摘要
{title_zh}：{symptom_zh}时使用。

## When
When {symptom}.

## Pattern
```cpp
constexpr int {variable} = 2;
```

## Why
It is invented for a test.[^story]

## Numbers
None are claimed.

## Pitfalls
- The last tile is short.

## Sources
[^story]: Story, first part.
"""


def entry_text(
    entry_id: str,
    *,
    title: str = "",
    title_zh: str = "测试用条目",
    kind: str = "tiling",
    dsl: str = "ascendc",
    operators: str = "elementwise",
    bottlenecks: str = "",
    symptom: str = "the loop is long",
    symptom_zh: str = "循环很长",
    apis: str = "",
    codes: str = "",
    summary: str = "Do what the title says.",
    more: str = "",
) -> str:
    """An invented entry in which nothing is wrong. `more`: further front-matter lines, each with its newline."""
    return _ENTRY.format(
        id=entry_id, title=title or f"Lesson {entry_id}", title_zh=title_zh, kind=kind, dsl=dsl, operators=operators,
        bottlenecks=bottlenecks, symptom=symptom, symptom_zh=symptom_zh, apis=apis, codes=codes, summary=summary, more=more,
        variable=entry_id.replace("-", "_"),
    )  # fmt: skip


ENTRIES = {
    "entries/pipelining/tiny-double-buffer.md": entry_text(
        "tiny-double-buffer",
        title="Give every queue two buffers",
        title_zh="每个队列两块缓冲",
        kind="pipelining",
        bottlenecks="mte2-bound",
        symptom="the vector pipe idles waiting for MTE2",
        symptom_zh="vector 一直在等 MTE2",
        apis="TQue, TPipe::InitBuffer",
        summary="With two buffers per queue the next copy runs while the vector unit computes.",
    ),
    "entries/tiling/tiny-rows-per-tile.md": entry_text(
        "tiny-rows-per-tile",
        title="Take as many rows per tile as the unified buffer holds",
        title_zh="按 UB 容量取每块行数",
        operators="layernorm",
        symptom="one row per loop iteration",
        symptom_zh="每次循环只处理一行",
        apis="DataCopyPad",
        summary="Divide the bytes that are left by the bytes of one row.",
    ),
    "entries/debugging/tiny-vector-exception.md": entry_text(
        "tiny-vector-exception",
        title="Look for a misaligned offset after a vector core exception",
        title_zh="向量核异常先查偏移对齐",
        kind="debugging",
        symptom="error 507035 at stream synchronisation",
        symptom_zh="流同步时报 507035",
        codes='"507035"',
        summary="An offset that is not a multiple of 32 bytes raises it.",
    ).replace("type: Kernel Pattern", "type: Playbook"),
    "entries/tiling/tiny-grid-size.md": entry_text(
        "tiny-grid-size",
        title="Launch as many programs as there are cores",
        title_zh="网格大小取物理核数",
        dsl="triton-ascend",
        bottlenecks="vector-bound",
        symptom="thousands of programs of a few microseconds each",
        symptom_zh="上千个程序，每个只有几微秒",
        apis="tl.program_id",
        summary="Loop inside the program over what is left.",
    ),
}
"""Path → text of the entries of a tiny book."""

FILES = {
    **ENTRIES,
    **{f"book/vocabulary/{stem}.yaml": text for stem, text in VOCABULARY.items()},
    "book/policy.yaml": "serve: founding\nkinds:\n  tiling: {approvals: 1, stale_days: 365, measured_fields: []}\n",
    "book/chapters/guide.md": "# Guide\n",
    "cakebook/data/roots.txt": "# sha256 of a root · book id · edition\n",
    ".gitattributes": "entries/** -text\nbook/** -text\n",
    ".gitignore": ".cakebook/\n",
}
"""Everything in a tiny book that its founding edition does not write."""


@dataclass(frozen=True)
class Ran:
    """What a command line printed, and its exit status."""

    status: int
    out: str
    err: str


@dataclass
class TinyBook:
    """A book in a temporary folder. `pins`: the roots that are believed, kept in `CAKEBOOK_TRUST_ROOT`."""

    root: Path
    pins: list[str]
    monkeypatch: pytest.MonkeyPatch
    entry_text: Callable[..., str] = field(default=entry_text, repr=False)

    def __post_init__(self) -> None:
        self.trust()

    def trust(self, *pins: str) -> None:
        """Believe `pins` beside the roots believed so far."""
        self.pins += pins
        self.monkeypatch.setenv("CAKEBOOK_TRUST_ROOT", ",".join(self.pins))

    @property
    def settings(self) -> Settings:
        return Settings.from_environment()

    @property
    def place(self) -> Place:
        return place(self.root, self.settings)

    @property
    def store(self) -> Store:
        return self.place.store

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file of the book, its folders too."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def found(self, reason: str = "for a test", *, trust: bool = True) -> founding.Edition:
        """Write a founding edition of what is there now, and believe its root."""
        edition = founding.update(self.root, reason, DATE)
        if trust:
            self.trust(edition.root)
        return edition

    def sync(self, *, revision: str | None = None, rebuild: bool = False, accept_rollback: bool = False) -> SyncReport:
        return sync(self.place, self.settings, revision=revision, rebuild=rebuild, accept_rollback=accept_rollback)

    @contextlib.contextmanager
    def generation(self) -> Iterator[Generation]:
        """The current generation, opened."""
        opened = self.store.open()
        try:
            yield opened
        finally:
            opened.close()

    def served(self) -> list[str]:
        """Ids in the current generation."""
        with self.generation() as opened:
            return opened.catalog.ids()

    def withheld(self) -> dict[str, str]:
        """Path → code of what the current generation withholds."""
        with self.generation() as opened:
            return {item.path: item.code for item in opened.catalog.withheld()}

    def open(self) -> Book:
        return Book.open(self.root)

    def hits(self, text: str, **facets: object) -> list[str]:
        """Ids that a search finds in the index as it is."""
        with self.open() as book:
            return [hit.id for hit in book.search(text, **facets).hits]

    def cli(self, *arguments: str) -> Ran:
        """Run a command line on this book, in this process."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run(app, [*arguments, "--book", str(self.root)])
        return Ran(status, out.getvalue(), err.getvalue())

    def git(self, *arguments: str) -> str:
        """Run git in the book's folder."""
        done = subprocess.run(["git", *arguments], cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, message: str = "change") -> str:
        """Commit everything; returns the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for prepared models."""
    return tmp_path_factory.mktemp("models")


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, models: Path) -> Path:
    """A home and a state folder of the test's own, and no setting from outside; returns the folder that holds both.

    Prepared models are shared by all tests.
    """
    outside = tmp_path_factory.mktemp("outside")
    for name in [n for n in os.environ if n.startswith(("CAKEBOOK_", "GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    settings = {
        "HOME": str(outside / "home"),
        "CAKEBOOK_STATE": str(outside / "state"),
        "CAKEBOOK_CACHE": str(models),
        "CAKEBOOK_EMBEDDER": "none",  # a test that is about meaning says so
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A Tester",
        "GIT_AUTHOR_EMAIL": "tester@example.org",
        "GIT_COMMITTER_NAME": "A Tester",
        "GIT_COMMITTER_EMAIL": "tester@example.org",
        "GIT_AUTHOR_DATE": "2026-11-30T12:00:00Z",
        "GIT_COMMITTER_DATE": "2026-11-30T12:00:00Z",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return outside


@pytest.fixture(scope="session")
def shipped_root() -> Path:
    """The repository that these tests belong to, with the book it ships. Read only."""
    return REPOSITORY


@pytest.fixture(scope="session")
def book_files() -> dict[str, str]:
    """Path → text of everything in a tiny book that its founding edition does not write."""
    return dict(FILES)


@pytest.fixture(scope="session")
def make_entry() -> Callable[..., str]:
    """`entry_text`: the text of an invented entry."""
    return entry_text


@pytest.fixture(scope="session")
def book_template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A tiny book with its first founding edition, not to be changed, and that edition's root."""
    root = tmp_path_factory.mktemp("template") / "book"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8", newline="\n")
    edition = founding.update(root, "the first edition", DATE)
    return root, edition.root


@pytest.fixture(scope="session")
def git_template(book_template: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template in a Git repository with two commits, the second of which adds nothing that is judged."""
    root = tmp_path_factory.mktemp("git-template") / "book"
    shutil.copytree(book_template[0], root)
    person = {f"GIT_{who}_{what}": "tester@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **person, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    commands = [
        ["init", "-q", "-b", "main", "--template="],
        ["add", "-A"],
        ["commit", "-q", "-m", "first"],
        ["commit", "-q", "--allow-empty", "-m", "second"],
    ]
    for command in commands:
        subprocess.run(["git", *command], cwd=root, env=env, check=True)
    return root


@pytest.fixture
def tiny_book(
    book_template: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: Path
) -> Iterator[TinyBook]:
    """A small complete book in a folder without Git: four served entries, not indexed yet."""
    shutil.copytree(book_template[0], tmp_path / "book")
    yield TinyBook(tmp_path / "book", [book_template[1]], monkeypatch)
    shipped_roots.cache_clear()


@pytest.fixture
def git_book(
    book_template: tuple[Path, str], git_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: Path
) -> Iterator[TinyBook]:
    """The same book as the whole of a Git repository on branch `main`, clean, with two commits."""
    shutil.copytree(git_template, tmp_path / "book", symlinks=True)
    yield TinyBook(tmp_path / "book", [book_template[1]], monkeypatch)
    shipped_roots.cache_clear()
