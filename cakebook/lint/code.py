"""Rules CB601 to CB605: code blocks, parsed by tree-sitter where they are C++ or Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from cakebook.lint.edits import line_at
from cakebook.lint.examples import CHECK, GOOD, edit
from cakebook.lint.registry import Hit, rule
from cakebook.lint.subject import Subject
from cakebook.text.markdown import Fence
from cakebook.text.patch import Edit

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SPELT = {"c++": "cpp", "cxx": "cpp", "cc": "cpp", "hpp": "cpp", "h": "cpp", "py": "python", "python3": "python"}
"""Other spellings of the languages that are parsed, by which a fence would escape the parser."""
_QUALIFIER = re.compile(
    r"\b__(?:mix|launch_bounds|schedmode|simt_vf)__\s*\([^()]*\)|\b__(?!attribute__|asm__|func__)[a-z][a-z0-9_]*__\b"
)
_LAUNCH = re.compile(r"<<<[^;{}]{0,200}?>>>")
_TILING = re.compile(r"\bBEGIN_TILING_DATA_DEF\s*\([^()]{0,200}\)")
_DEPENDENT = re.compile(r"(?<=[.>])template\s+(?=[A-Za-z_])")
_CORE = re.compile(r"(?<=\bif )ASC(?:END)?_IS_AI[CV](?:_[A-Z]+)*\b")
_OPENING = re.compile(r"[^`~]*(?:`{3,}|~{3,})[ \t]*")
_WRAPPERS = (("", ""), ("void f() {", "\n}"), ("struct S {", "\n};"))


@rule(
    "CB601",
    "fence-language",
    "code",
    needs="text",
    what="A code block names no language, or names C++ or Python in another way than `cpp` and `python`.",
    why="Only what names its language can be parsed, highlighted and given to a generator as code.",
    fix="Write ```` ```cpp ```` or ```` ```python ````; `text` or `bash` for what is neither. Indented code becomes a fence.",
    bad=(
        edit("```cpp\n", "```\n"),
        edit("```cpp\n", "```C++\n"),
        edit("```cpp\nuint64_t rows = (usable - fixed) / perRow;\n```", "Text:\n\n    uint64_t rows = 0;"),
    ),
    good=(edit("```cpp\nuint64_t rows = (usable - fixed) / perRow;\n```", "```text\nrows = …\n```"),),
    auto="Writes `cpp` or `python` for another spelling of it, and in lower case what is in capitals. A language that is not "
    "named stays so, and so does a block that might be a check.",
    mended=((edit("```cpp\n", "```C++\n"), GOOD), (edit("```cpp\n", "``` HPP\n"), edit("```cpp\n", "``` cpp\n"))),
)
def fence_language(s: Subject) -> Iterator[Hit]:
    for fence in s.document.fences:
        if not fence.language:
            yield Hit("code block without a language", fence.line, hint="write ```cpp, ```python or ```text")
        elif right := SPELT.get(fence.language.casefold(), fence.language.casefold() if fence.language.isupper() else ""):
            message = f"language `{fence.language[:40]}` is written `{right}` here"
            fix = () if fence.section == "Check" or "check" in fence.info.casefold() else _spell(s, fence, right)
            yield Hit(message, fence.line, hint=f"write ```{right}", fix=fix)
    for line in s.body.indented:
        yield Hit("indented code block", line, hint="use a fence that names its language")


def _spell(s: Subject, fence: Fence, right: str) -> tuple[Edit, ...]:
    start, line = line_at(s.file.text, fence.line)
    opening = _OPENING.match(line)
    if not opening or not line.startswith(fence.language, opening.end()):
        return ()
    at = start + opening.end()
    return (Edit(at, at + len(fence.language), right),)


@rule(
    "CB602",
    "cpp-syntax",
    "code",
    needs="text",
    what="A `cpp` block does not parse as C++: statements, declarations or members.",
    why="A generator copies patterns literally; `...` in code, or a brace too few, costs its user a compile.",
    fix="Write code that is complete as far as it goes; say what is left out in a comment. Ascend qualifiers are understood.",
    bad=(
        edit("uint64_t rows = (usable - fixed) / perRow;", "uint64_t rows = (usable - fixed / perRow;"),
        edit("uint64_t rows = (usable - fixed) / perRow;", "for (int i = 0; ...) { Copy(i); }"),
    ),
    good=(
        edit(
            "uint64_t rows = (usable - fixed) / perRow;",
            'extern "C" __global__ __aicore__ void demo(GM_ADDR x) {\n  __gm__ half *p = (__gm__ half *)x;\n  Run(p);\n}',
        ),
        edit("uint64_t rows = (usable - fixed) / perRow;", "__aicore__ inline void Init(__ubuf__ uint8_t *buf) { Set(buf); }"),
        edit("uint64_t rows = (usable - fixed) / perRow;", "demo<<<blocks, nullptr, ctx->GetStream()>>>(x, y);"),
        edit("uint64_t rows = (usable - fixed) / perRow;", "if ASCEND_IS_AIV {\n  op.template Run(x);\n}"),
        edit("uint64_t rows = (usable - fixed) / perRow;", "public:\n  int rows = 0;\nprivate:\n  TQue<VECIN, 2> in;"),
    ),
)
def cpp_syntax(s: Subject) -> Iterator[Hit]:
    yield from _unparsed(s, "cpp", "C++", "no `...` in place of code")


@rule(
    "CB603",
    "python-syntax",
    "code",
    needs="text",
    what="A `python` block does not parse as Python.",
    why="A generator copies patterns literally, and a check that does not parse checks nothing.",
    fix="Correct the line that the finding names; a body that is left out is `...` alone or `pass`.",
    bad=(edit("USABLE, FIXED, PER_ROW =", "USABLE, FIXED, PER_ROW ="[:-1] + "= ="), edit("assert (USABLE", "assert ((USABLE")),
)
def python_syntax(s: Subject) -> Iterator[Hit]:
    yield from _unparsed(s, "python", "Python", "correct the line")


@rule(
    "CB604",
    "check-info",
    "code",
    needs="text",
    what="A block under `## Check` is not marked `python check`, or a block elsewhere nearly is.",
    why="Only blocks marked exactly so are run; a check that never runs looks like one that passed.",
    fix="Open the block with ```` ```python check ```` and keep it under `## Check`.",
    bad=(
        edit("```python check", "```python"),
        edit("```python check", "```python  Check"),
        edit("```python check", "```check"),
        edit("```cpp\n", "```python check\n"),
    ),
)
def check_info(s: Subject) -> Iterator[Hit]:
    for fence in s.document.fences:
        exact, here = fence.info == "python check", fence.section == "Check"
        if here and not exact:
            yield Hit("block under `## Check` is not a check", fence.line, hint="open it with ```python check")
        elif not here and "check" in fence.info.casefold().split():
            yield Hit("a check stands outside `## Check`", fence.line, hint="move it under `## Check`")


@rule(
    "CB605",
    "check-asserts",
    "code",
    needs="text",
    what="A check holds no `assert`, or `## Check` holds no check.",
    why="A check must be able to fail.",
    fix="Put the claim into upper-case constants and assert the arithmetic that follows from it.",
    bad=(
        edit("assert (USABLE - FIXED) // PER_ROW == 2", "# assert\nprint((USABLE - FIXED) // PER_ROW)"),
        edit(CHECK, "See above.\n"),
    ),
)
def check_asserts(s: Subject) -> Iterator[Hit]:
    for fence in s.document.checks:
        if not _has_assert(fence.code):
            yield Hit("check without an assert", fence.line, hint="assert the arithmetic of the claim")
    section = s.document.section("Check")
    if section and not any(f.section == "Check" for f in s.document.fences):
        yield Hit("`## Check` holds no code", section.heading.line, hint="write a ```python check block or remove the heading")


def plain_cpp(code: str) -> str:
    """Ascend C as plain C++, each character in its place: without qualifiers, launch arguments and core macros."""
    for pattern in (_QUALIFIER, _LAUNCH, _TILING, _DEPENDENT):
        code = pattern.sub(_blank, code)
    return _CORE.sub(lambda m: "(1)".ljust(len(m.group())), code)  # the macro brings its own brackets


def _blank(match: re.Match[str]) -> str:
    """As many blanks as there were bytes; line ends stay, so that places stay."""
    return "".join(c if c == "\n" else " " for c in match.group())


@cache
def _parser(language: str) -> Parser:
    from tree_sitter import Language, Parser

    return Parser(Language(import_module(f"tree_sitter_{language}").language()))


def _unparsed(s: Subject, language: str, name: str, hint: str) -> Iterator[Hit]:
    """A hit for each fence of a language that does not parse, at its first error."""
    for fence in s.document.fences:
        if fence.language != language:
            continue
        if place := _error(language, plain_cpp(fence.code) if language == "cpp" else fence.code):
            row, column, what = place
            yield Hit(f"{name} does not parse: {what}", fence.line + 1 + row, column + 1, hint)


def _error(language: str, code: str) -> tuple[int, int, str] | None:
    """Row, column and kind of the first syntax error, None if the code parses as a whole, as statements or as members."""
    first: tuple[int, int, str] | None = None
    for before, after in _WRAPPERS if language == "cpp" else _WRAPPERS[:1]:
        root = _parser(language).parse((before + code + after).encode()).root_node
        if not root.has_error:
            return None
        first = first or _first_error(root)
    return first


def _first_error(root: Node) -> tuple[int, int, str]:
    """The first error in the order of the text, found without recursion."""
    node = root
    while not (node.is_error or node.is_missing):
        child = next((c for c in node.children if c.has_error or c.is_missing), None)
        if child is None:
            break
        node = child
    what = f"missing `{node.type}`" if node.is_missing else "syntax error"
    return node.start_point.row, node.start_point.column, what


def _has_assert(code: str) -> bool:
    if "assert" not in code:
        return False
    waiting = [_parser("python").parse(code.encode()).root_node]
    while waiting:
        node = waiting.pop()
        if node.type == "assert_statement":
            return True
        waiting.extend(node.children)
    return False
