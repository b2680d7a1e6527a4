"""What a change of the trusted branch may do: one pure comparison of two states of a book, in the hook, in CI and by hand.

Only trees are compared, so it does not matter by which commits, merges or moves the new state came about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from cakebook.gate.facts import Facts
from cakebook.gate.ledger import judge_statement, read_statement
from cakebook.gate.trust import ROOT
from cakebook.model.review import Reason, Verdict
from cakebook.repo.entries import read_entry
from cakebook.repo.layout import LEDGER, TRUST, entry_paths

Authors = Callable[[str], frozenset[str] | None]
"""From the path of an entry to its authors as history shows them, None where there is no history."""


@dataclass(frozen=True)
class Refused:
    """One thing that must not be: where, which rule, what is wrong."""

    path: str
    code: str
    text: str


@dataclass(frozen=True)
class Checked:
    """What a change is refused for, and the verdict on every entry that it brings or edits."""

    refused: tuple[Refused, ...]
    verdicts: tuple[tuple[str, Verdict], ...] = ()


def check_change(before: Facts | None, after: Facts, changed: Collection[str], authors: Authors) -> Checked:
    """Compare two states. `before` is None for the first push; `changed`: paths whose bytes differ, gone ones too."""
    if after.trust.anchor is None:
        return Checked((Refused(TRUST, "no-anchor", after.trust.reason),))
    refused = [*_trust(before, after), *_kept(before, after, changed), *_statements(after, changed)]
    found: list[tuple[str, Verdict]] = []
    refused += _entries(before, after, changed, authors, found)
    return Checked(tuple(sorted({*refused}, key=lambda r: (r.path, r.code, r.text))), tuple(found))


def _trust(before: Facts | None, after: Facts) -> list[Refused]:
    trust = after.trust
    assert trust.anchor is not None
    refused = [Refused(path, "uncovered", "no admin has signed a trust version that covers it") for path in after.uncovered]
    if trust.broken:
        refused.append(Refused(TRUST, "trust-broken", trust.broken))
    if before is None or before.trust.anchor is None:
        return refused
    old = before.trust.anchor
    changed, begins = before.trust.root != trust.root, bool(trust.anchor.admins)
    if changed and (old.admins or (begins and trust.anchor.forked_from != before.trust.root)):
        return [Refused(ROOT, "other-root", "the root of a book with admins never changes")]
    if changed and not begins and trust.anchor.edition != (old.edition or 0) + 1:
        refused.append(Refused(ROOT, "edition", f"edition {trust.anchor.edition} does not follow edition {old.edition}"))
    if after.founding and not after.founding.reason.strip():
        refused.append(Refused(ROOT, "edition", "a founding edition needs a reason"))
    if old.admins:
        listed = before.founding.entries if before.founding else {}
        grown = sorted(i for i, d in (after.founding.entries if after.founding else {}).items() if listed.get(i) != d)
        refused += [
            Refused(ROOT, "founding-grew", f"{i}: once a book has an admin its founding list only shrinks") for i in grown
        ]
    return refused


def _kept(before: Facts | None, after: Facts, changed: Collection[str]) -> list[Refused]:
    """What lies under the ledger and the trust chain is never changed or removed, but for the root of a book without admins."""
    if before is None:
        return []
    old = {*before.source.paths(LEDGER), *before.source.paths(TRUST)}
    now = {*after.source.paths(LEDGER), *after.source.paths(TRUST)}
    free = {ROOT} if before.trust.anchor is None or not before.trust.anchor.admins else set()
    touched = sorted(path for path in changed if path in old and path not in free)
    return [
        Refused(
            p,
            "altered" if p in now else "removed",
            "nothing here is removed or changed; a branch that is behind merges the trusted one first",
        )
        for p in touched
    ]


def _statements(after: Facts, changed: Collection[str]) -> list[Refused]:
    """Statements that the change brings must be good ones; the entry that they are about may be somewhere else."""
    there = frozenset(after.source.paths(LEDGER))
    refused = []
    for path in sorted(there & {*changed}):
        if path.endswith(".sig") and path.removesuffix(".sig") in there:
            continue
        if not path.endswith(".yaml") or path.count("/") != LEDGER.count("/") + 2:
            refused.append(Refused(path, "not-a-statement", "the ledger holds statements and their signatures"))
            continue
        judged = judge_statement(after.source, read_statement(after.source, path, there), after.people)
        if isinstance(judged, Reason):
            refused.append(Refused(path, judged.code, judged.text))
        elif reason := after.objection(judged):
            refused.append(Refused(path, reason.code, reason.text))
    return refused


def _entries(
    before: Facts | None, after: Facts, changed: Collection[str], authors: Authors, found: list[tuple[str, Verdict]]
) -> list[Refused]:
    refused = [Refused(s.path, s.code, s.text) for s in after.source.skipped() if s.path in changed]
    paths = entry_paths(after.source)
    stems: dict[str, str] = {}
    for path in paths:
        other = stems.setdefault(_stem(path).casefold(), path)
        if other != path and {other, path} & {*changed}:
            refused.append(Refused(path, "id-collision", f"{other} has the same id, or one that differs only in case"))
    for path in sorted({*paths} & {*changed}):
        file = read_entry(path, after.source.read(path))
        if file.problems or file.entry is None:
            refused.append(Refused(path, "unreadable", file.problems[0].message))
        elif file.id != _stem(path):
            refused.append(Refused(path, "id-not-stem", f"its id is {file.id}; name the file after it"))
        else:
            judged = after.judge(file, authors(path))
            found.append((path, judged))
            if judged.tier == "draft":
                refused += [Refused(path, r.code, r.text) for r in judged.reasons if r.code != "approve"]
    if before is not None:
        gone = {*entry_paths(before.source)} & {*changed} - {*paths}
        left = {_stem(path) for path in paths} if gone else set()
        for path in sorted(path for path in gone if _stem(path) not in left):
            if before.judge(read_entry(path, before.source.read(path))).tier != "draft":
                refused.append(Refused(path, "removed", "an admitted entry is withdrawn or superseded, never removed"))
    return refused


def _stem(path: str) -> str:
    """The id that a file's name gives it."""
    return path.rpartition("/")[2].removesuffix(".md")
