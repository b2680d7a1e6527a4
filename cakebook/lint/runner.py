"""Running the rules over a book, and saying what they found.

Whatever the bytes of an entry, the answer is findings, never a traceback: what cannot be read further is reported by the
reader, and rules only run on files that were read as far as they need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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

__all__ = ["Finding", "explain", "lint_book", "lint_file", "lint_view", "read_book", "reference"]

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
    return lint_view(read_book(source, vocabulary, founding, paths))


def read_book(
    source: BookSource, vocabulary: Vocabulary, founding: Collection[str], paths: Sequence[str] | None = None
) -> BookView:
    """The entries that `lint_book` looks at."""
    files = [_read(source, path) for path in entry_paths(source)]
    files += [
        _unread(s.path, "CB708", s.text, "put the file itself there") for s in source.skipped() if _is_below(s.path, ENTRIES)
    ]
    focus = None if paths is None else _focus(files, paths)
    every_path = frozenset((*source.paths(ENTRIES), *(f.path for f in files)))
    return BookView(files, vocabulary, frozenset(founding), focus, every_path)


def lint_view(book: BookView) -> list[Finding]:
    """Findings in the entries of the focus, by path, line, column and rule."""
    focus = book.focus
    found = (lint_file(file, book) for file in book.files if focus is None or file.path in focus)
    return sorted((finding for findings in found for finding in findings), key=_place)


def lint_file(file: EntryFile, book: BookView) -> list[Finding]:
    """Findings in one of the book's entries, by line, column and rule."""
    return sorted(_lint(Subject(file, book)), key=_place)


def _place(finding: Finding) -> tuple[str, int, int, str, str]:
    return finding.path, finding.line, finding.column, finding.rule, finding.message


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


def _lint(subject: Subject) -> Iterator[Finding]:
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
            hits = [h for h in hits if h.line not in blank_lines or h.fix]  # what a blank leads to goes when it is filled
        for n, hit in enumerate(hits[:MAX_PER_RULE], 1):
            more = f" (and {len(hits) - n} more)" if n == MAX_PER_RULE < len(hits) else ""
            message, hint = one_line(hit.message) + more, one_line(hit.hint)
            fix = hit.fix if file.entry else ()  # a file that cannot be read as an entry is left alone
            yield Finding(rule.id, rule.severity_for(founding), file.path, hit.line, hit.column, message, hint, fix)


def _runs(rule: Rule, file: EntryFile) -> bool:
    """Whether the file was read as far as the rule needs."""
    if rule.needs == "entry":
        return file.entry is not None
    if rule.needs == "front":
        return not file.front.problems and bool(file.front.values)
    return bool(file.text)


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
    mark, auto = ("; fixable", f"--fix: {rule.auto}\n") if rule.auto else ("", "")
    return f"{rule.id} {rule.name} ({rule.severity_text}{mark})\n\nWhat: {rule.what}\nWhy: {rule.why}\nFix: {rule.fix}\n{auto}"


def reference() -> str:
    """The chapter on lint: every rule, as `explain` tells it."""
    rules = sorted(RULES.values(), key=lambda r: r.id)
    parts = [_INTRO.format(count=len(rules), fixable=sum(bool(r.auto) for r in rules))]
    for family, (hundreds, asks) in FAMILIES.items():
        parts.append(f"## CB{hundreds}xx {family}\n\n{asks}\n")
        parts += [_told(rule) for rule in rules if rule.family == family]
    return "\n".join(parts)


def _told(rule: Rule) -> str:
    mark, auto = ("; fixable", f"\n**With `--fix`.** {rule.auto}\n") if rule.auto else ("", "")
    return (
        f"### {rule.id} {rule.name}\n\nSeverity: {rule.severity_text}{mark}.\n\n{rule.what}\n\n"
        f"**Why.** {rule.why}\n\n**How to fix.** {rule.fix}\n{auto}"
    )


_INTRO = """\
# Lint rules

Written by `scripts/lint-reference` from the rules themselves; do not edit.

`cakebook lint` holds every entry against {count} rules. An error keeps an entry out; a warning tells author and reviewer
something. Rules about completeness (language, scope, sections, evidence fields) are errors for an entry on the founding
list and warnings for any other, since a proposal of six things is welcome. No rule asks for an edit of an admitted entry
because another was added: of two entries that do not go together, the newer one is reported.

`cakebook lint --fix` mends what {fixable} rules marked as fixable report, where there is one way to mend it and it says
nothing that the entry did not say. It patches the places in question and leaves every other byte as it is, never touches a
file that cannot be read as an entry nor one behind a symbolic link, says on stderr what it mended, lints again and reports
what is left. An entry that the founding list or an approval vouches for is vouched for in its very bytes: it is mended only
if its file is named on the command line, and is a draft until it is vouched for again.
"""
