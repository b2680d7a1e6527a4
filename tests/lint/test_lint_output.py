"""How findings are told, for whom a rule is severe, and who answers for two entries that do not go together."""

import json

import pytest

from cakebook.errors import NoSuchPath, Unreadable
from cakebook.lint import Finding, Severity, as_json, as_text, lint_book
from cakebook.lint.examples import BASE, PATH, edit, other
from cakebook.lint.runner import MAX_PER_RULE
from cakebook.repo.layout import MemorySource

EVIL = Finding("CB101", Severity.ERROR, "entries/a\nb\x1b[2J\udc80.md", 1, 2, "x\u202ey", "do\tthis")


def test_text_is_one_printable_line_for_each_finding():
    text = as_text([EVIL, EVIL])
    assert text.count("\n") == 2 and text.endswith("\n")
    assert all(line.isprintable() for line in text.splitlines())
    assert text.splitlines()[0] == "entries/a b?[2J?.md:1:2: CB101 error: x?y — do this"
    assert as_text([]) == ""
    text.encode()


def test_text_without_a_hint_ends_with_the_message():
    assert as_text([Finding("CB101", Severity.WARNING, "a.md", 3, 4, "bad")]) == "a.md:3:4: CB101 warning: bad\n"


def test_json_holds_every_field_and_survives_any_encoding():
    text = as_json([EVIL])
    assert text.isascii()
    assert json.loads(text) == [
        {
            "rule": "CB101", "severity": "error", "path": EVIL.path, "line": 1, "column": 2, "message": "x\u202ey",
            "hint": "do\tthis", "fix": [],
        }
    ]  # fmt: skip
    assert json.loads(as_json([])) == []


def test_findings_are_sorted_by_place(lint):
    found = lint({PATH: BASE.replace("kind: tiling", "kind: t\nzzz: 1"), **other("demo-a", "kind: tiling", "kind: t")})
    assert found == sorted(found, key=lambda f: (f.path, f.line, f.column, f.rule))
    assert len({f.path for f in found}) == 2


def test_completeness_is_an_error_on_the_founding_list_and_a_warning_elsewhere(lint):
    files = edit("title_zh: 由 UB 预算反推每个 tile 的行数\n", "").files()
    assert [f.severity for f in lint(files)] == [Severity.WARNING]
    assert [f.severity for f in lint(files, founding=["demo-rows-per-tile"])] == [Severity.ERROR]
    assert [f.severity for f in lint(files, founding=["another"])] == [Severity.WARNING]


def test_many_findings_of_one_rule_are_counted(lint):
    found = lint({PATH: BASE.replace("Budget UB", "x<b>\n" * 120)})
    html = [f for f in found if f.rule == "CB704"]
    assert len(html) == MAX_PER_RULE and html[-1].message.endswith(f"(and {120 - MAX_PER_RULE} more)")


def test_a_file_that_cannot_be_read_is_a_finding(vocabulary):
    class Broken(MemorySource):
        def read(self, path: str) -> bytes:
            raise Unreadable(f"{path}: permission denied", hint="check the permissions")

    found = lint_book(Broken({PATH: b""}), vocabulary, [])
    assert [(f.rule, f.hint) for f in found] == [("CB101", "check the permissions")]


def test_paths_limit_what_is_reported_but_relations_see_the_book(lint):
    two = other("demo-two", "kind: tiling", "kind: tilling", "related: []", "related: [gone]")
    files = {**edit("related: []", "related: [demo-two]").files(), **two}
    assert lint(files, paths=[PATH]) == []
    assert {f.rule for f in lint(files, paths=["entries/tiling/demo-two.md"])} >= {"CB201", "CB401"}
    assert lint(files, paths=["entries"]) == lint(files, paths=["entries/tiling/"]) == lint(files)
    assert lint(files, paths=[]) == []


def test_a_path_that_is_not_there_is_refused_with_the_nearest(lint):
    with pytest.raises(NoSuchPath) as error:
        lint({PATH: BASE}, paths=["entries/tiling/demo-row-per-tile.md"])
    assert PATH in error.value.hint
    with pytest.raises(NoSuchPath):
        lint({}, paths=["entries/tiling"])


def mutual(relation: str) -> dict[str, bytes]:
    """The base entry and `demo-z`, each naming the other."""
    back = f"{relation}: [demo-rows-per-tile]"
    if relation == "supersedes":
        return {
            **edit("related: []", "supersedes: [demo-z]").files(),
            **other("demo-z", "related: []", back),
        }
    return {**edit(f"{relation}: []", f"{relation}: [demo-z]").files(), **other("demo-z", f"{relation}: []", back)}


Z = "entries/tiling/demo-z.md"


@pytest.mark.parametrize(("relation", "rule"), [("related", "CB405"), ("requires", "CB403"), ("supersedes", "CB404")])
def test_the_entry_that_is_not_settled_answers(lint, relation, rule):
    files = mutual(relation)

    def who(**more) -> list[str]:
        return [f.path for f in lint(files, **more) if f.rule == rule]

    assert who(founding=["demo-z"]) == [PATH]
    assert who(founding=["demo-rows-per-tile"]) == [Z]
    assert who(paths=[PATH]) == [PATH]
    assert who(paths=[Z]) == [Z]
    assert who() == ([Z] if relation == "related" else [PATH, Z])
    assert who(founding=["demo-z", "demo-rows-per-tile"]) == who()


def test_adding_an_entry_never_adds_a_finding_to_a_founding_one(lint):
    """Whatever a newcomer writes, the founding entry beside it keeps its findings."""
    newcomers = [
        other("demo-z", "related: []", "related: [demo-rows-per-tile]"),
        other("demo-z", "requires: []", "requires: [demo-rows-per-tile]"),
        other("demo-z", "related: []", "supersedes: [demo-rows-per-tile]"),
        other("demo-z", "related: []", "conflicts_with: [demo-rows-per-tile]"),
        {"entries/tiling/a.md": b"\xff"},
    ]
    for relation in ("related: [demo-z]", "related: []\nconflicts_with: [demo-z]", "related: []\nsupersedes: [demo-z]"):
        files = edit("related: []", relation).files()
        for newcomer in newcomers:
            before = [f for f in lint(files, founding=["demo-rows-per-tile"]) if f.rule != "CB401"]
            after = lint({**files, **newcomer}, founding=["demo-rows-per-tile"])
            assert [f for f in after if f.path == PATH and f.rule != "CB401"] == before


def test_a_longer_circle_is_told_in_order(lint):
    files = {
        **other("demo-a", "requires: []", "requires: [demo-b]"),
        **other("demo-b", "requires: []", "requires: [demo-c, demo-d]"),
        **other("demo-c", "requires: []", "requires: [demo-a]"),
        **other("demo-d"),
    }
    found = [f for f in lint(files) if f.rule == "CB403"]
    assert [f.path[-4] for f in found] == ["a", "b", "c"]
    assert found[0].message.endswith("demo-a → demo-b → demo-c → demo-a")
