"""Running the rules over a book, and saying what they found.

Whatever the bytes of an entry, the answer is findings, never a traceback: what cannot be read further is reported by the
reader, and rules only run on files that were read as far as they need.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from itertools import islice

from cakebook.errors import NoSuchPath, NoSuchRule, Unreadable, one_line

# importing a family registers its rules
from cakebook.lint import code, evidence, format, language, provenance, reading, relations, safety, sections, terms
from cakebook.lint.registry import FAMILIES, RULES, Finding, Hit, Rule
from cakebook.lint.subject import BookView, Subject, nearest
from cakebook.model.terms import Vocabulary
from cakebook.repo.entries import EntryFile, read_entry
from cakebook.repo.layout import ENTRIES, BookSource, entry_paths
from cakebook.text.frontmatter import FrontMatter, Problem

__all__ = ["Finding", "as_json", "as_text", "explain", "lint_book", "reference"]

MODULES = (reading, format, sections, terms, provenance, relations, language, code, safety, evidence)
MAX_PER_RULE = 50
"""Findings of one rule in one file; more are counted in the last one."""


def lint_book(
    source: BookSource, vocabulary: Vocabulary, founding: Collection[str], paths: Sequence[str] | None = None
) -> list[Finding]:
    """Findings in a book's entries, by path, line, column and rule.

    Args:
        founding: ids on the founding list, for which completeness is an error.
        paths: entries or folders to report on, None for all. Relations see the whole book in any case, and entries that
            are not named here count as settled: of two that do not go together, the named one is reported.

    Raises:
        NoSuchPath: `paths` names something that is not in the book.
    """
    files = [_read(source, path) for path in entry_paths(source)]
    files += [
        _unread(s.path, "CB708", s.text, "put the file itself there") for s in source.skipped() if _is_below(s.path, ENTRIES)
    ]
    focus = None if paths is None else _focus(files, paths)
    every_path = frozenset((*source.paths(ENTRIES), *(f.path for f in files)))
    book = BookView(files, vocabulary, frozenset(founding), focus, every_path)
    found = (finding for file in files if focus is None or file.path in focus for finding in _lint_file(Subject(file, book)))
    return sorted(found, key=lambda f: (f.path, f.line, f.column, f.rule, f.message))


def _focus(files: Sequence[EntryFile], paths: Sequence[str]) -> frozenset[str]:
    focus: set[str] = set()
    for path in paths:
        wanted = path.rstrip("/")
        below = [f.path for f in files if _is_below(f.path, wanted)]
        if not below:
            like = nearest(wanted, (f.path for f in files))
            raise NoSuchPath(f"{path}: no entry there", hint=f"did you mean {like}?" if like else "entries are below entries/")
        focus.update(below)
    return frozenset(focus)


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top + "/")


def _read(source: BookSource, path: str) -> EntryFile:
    try:
        return read_entry(path, source.read(path))
    except Unreadable as error:
        return _unread(path, "CB101", error.message, error.hint)


def _unread(path: str, rule: str, message: str, hint: str) -> EntryFile:
    return EntryFile(path, b"", "", FrontMatter(), None, (Problem(rule, message, hint=hint),))


def _lint_file(subject: Subject) -> Iterator[Finding]:
    file = subject.file
    founding = file.id in subject.book.founding
    blank_lines: set[int] = set()
    results: list[tuple[Rule, list[Hit]]] = []
    for rule in RULES.values():
        if rule.check is None:
            hits = [Hit(p.message, p.line, p.column, p.hint) for p in file.problems if p.rule == rule.id]
        elif _runs(rule, file):
            hits = list(islice(rule.check(subject), 10 * MAX_PER_RULE))
        else:
            continue
        if rule.name == "unfilled-blank":
            blank_lines = {hit.line for hit in hits}
        results.append((rule, hits))
    for rule, hits in results:
        if rule.name != "unfilled-blank" and rule.family != "safety":
            hits = [h for h in hits if h.line not in blank_lines]  # what a blank leads to goes when it is filled
        for n, hit in enumerate(hits[:MAX_PER_RULE], 1):
            more = f" (and {len(hits) - n} more)" if n == MAX_PER_RULE < len(hits) else ""
            severity = rule.severity_for(founding)
            yield Finding(rule.id, severity, file.path, hit.line, hit.column, one_line(hit.message) + more, one_line(hit.hint))


def _runs(rule: Rule, file: EntryFile) -> bool:
    """Whether the file was read as far as the rule needs."""
    if rule.needs == "entry":
        return file.entry is not None
    if rule.needs == "front":
        return not file.front.problems and bool(file.front.values)
    return bool(file.text)


def as_text(findings: Sequence[Finding]) -> str:
    """One line for each finding: `file:line:column: CB101 error: message — hint`, safe to print on a terminal."""
    lines = (
        f"{f.path}:{f.line}:{f.column}: {f.rule} {f.severity}: {f.message}" + (f" — {f.hint}" if f.hint else "")
        for f in findings
    )
    return "".join(one_line(line) + "\n" for line in lines)


def as_json(findings: Sequence[Finding]) -> str:
    """A JSON list of the findings; pure ASCII, so that any path survives any encoding."""
    return json.dumps([asdict(f) for f in findings], indent=2)


def explain(rule_id: str) -> str:
    """What a rule is about, why, and how to mend it. `rule_id` may be its name.

    Raises:
        NoSuchRule: there is no such rule.
    """
    wanted = rule_id.strip()
    rule = RULES.get(wanted.upper()) or next((r for r in RULES.values() if r.name == wanted.casefold()), None)
    if rule is None:
        like = nearest(wanted, (*RULES, *(r.name for r in RULES.values())))
        raise NoSuchRule(f"no lint rule `{wanted[:60]}`", hint=f"did you mean {like}?" if like else "see book/chapters/lint.md")
    return f"{rule.id} {rule.name} ({rule.severity_text})\n\nWhat: {rule.what}\nWhy: {rule.why}\nFix: {rule.fix}\n"


def reference() -> str:
    """The chapter on lint: every rule, as `explain` tells it."""
    rules = sorted(RULES.values(), key=lambda r: r.id)
    parts = [_INTRO.format(count=len(rules))]
    for family, (hundreds, asks) in FAMILIES.items():
        parts.append(f"## CB{hundreds}xx {family}\n\n{asks}\n")
        parts += [
            f"### {r.id} {r.name}\n\nSeverity: {r.severity_text}.\n\n{r.what}\n\n**Why.** {r.why}\n\n**How to fix.** {r.fix}\n"
            for r in rules
            if r.family == family
        ]
    return "\n".join(parts)


_INTRO = """\
# Lint rules

Written by `scripts/lint-reference` from the rules themselves; do not edit.

`cakebook lint` holds every entry against {count} rules. An error keeps an entry out; a warning tells author and reviewer
something. Rules about completeness (language, scope, sections, evidence fields) are errors for an entry on the founding
list and warnings for any other, since a proposal of six things is welcome. No rule asks for an edit of an admitted entry
because another was added: of two entries that do not go together, the newer one is reported.
"""
