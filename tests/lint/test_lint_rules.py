"""Every rule's examples are its tests; the registry has no gap; the chapter says what the registry says."""

import itertools
from pathlib import Path

import pytest

from cakebook.errors import NoSuchRule
from cakebook.lint import FAMILIES, RULES, Rule, Severity, as_text, explain, lint_book, reference
from cakebook.lint.examples import BASE, GOOD, PATH, Example
from cakebook.lint.registry import register, reported, rule
from cakebook.model.review import Founding
from cakebook.repo.layout import FOUNDING, FolderSource, MemorySource
from cakebook.repo.vocabulary import load_model, load_vocabulary

ROOT = Path(__file__).parent.parent.parent
BAD = [pytest.param(r, e, id=f"{r.id}-{r.name}-{n}") for r in RULES.values() for n, e in enumerate(r.bad, 1)]
FINE = [pytest.param(r, e, id=f"{r.id}-{r.name}-{n}") for r in RULES.values() for n, e in enumerate(r.good)]


def rules_found(lint, example: Example) -> set[str]:
    files = example.files()
    if example.link:
        return {f.rule for f in lint({p: d for p, d in files.items() if p != example.path}, links=[example.path])}
    return {f.rule for f in lint(files) if f.path == example.path}


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_a_bad_example_yields_its_rule(lint, rule: Rule, example: Example):
    assert rule.id in rules_found(lint, example)


@pytest.mark.parametrize(("rule", "example"), FINE)
def test_a_good_example_does_not(lint, rule: Rule, example: Example):
    assert rule.id not in rules_found(lint, example)


def test_the_base_entry_yields_nothing_even_as_a_founding_entry(lint):
    assert lint(GOOD.files(), founding=["demo-rows-per-tile"]) == []


def test_the_base_entry_yields_nothing_with_the_vocabulary_of_this_book():
    vocabulary = load_vocabulary(FolderSource(ROOT))
    if not vocabulary.ids("kinds"):
        pytest.skip("the book has no vocabulary yet")
    assert lint_book(MemorySource({PATH: BASE.encode()}), vocabulary, ["demo-rows-per-tile"]) == []


def test_the_entries_of_this_book_have_no_error():
    source = FolderSource(ROOT)
    founding = load_model(source, FOUNDING, Founding).entries if source.paths(FOUNDING) else {}
    found = lint_book(source, load_vocabulary(source), list(founding))
    assert [f for f in found if f.severity is Severity.ERROR] == [], as_text(found)


def test_ids_have_no_gap_within_a_family_and_names_are_unique():
    for family, (hundreds, _) in FAMILIES.items():
        numbers = sorted(int(r.id[2:]) for r in RULES.values() if r.family == family)
        assert numbers == list(range(100 * hundreds + 1, 100 * hundreds + 1 + len(numbers))), family
    assert len({r.name for r in RULES.values()}) == len(RULES)


def test_rules_are_registered_in_the_order_of_their_ids():
    by_family = [list(group) for _, group in itertools.groupby(RULES, key=lambda i: i[2])]
    assert all(group == sorted(group) for group in by_family)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_says_what_why_and_how_to_fix(rule: Rule):
    for text in (rule.what, rule.why, rule.fix):
        assert text[0].isupper() or text[0] == "`"
        assert text.endswith(".")
    assert rule.bad
    assert rule.name == rule.name.lower() and " " not in rule.name
    assert rule.severity is Severity.WARNING or not rule.completeness


@pytest.mark.parametrize(
    ("rule_id", "name", "family"),
    [("CB101", "new-name", "format"), ("CB199", "bad-id", "format"), ("CB299", "new-name", "format"), ("CB1x9", "n", "format")],
)
def test_a_rule_that_is_taken_or_of_another_family_is_refused(rule_id, name, family):
    with pytest.raises(ValueError, match="lint rule"):
        reported(rule_id, name, family, what="A.", why="B.", fix="C.", bad=())
    with pytest.raises(ValueError, match="lint rule"):
        rule(rule_id, name, family, what="A.", why="B.", fix="C.", bad=())(lambda s: [])


def test_register_keeps_the_table_as_it_was_when_it_refuses():
    before = dict(RULES)
    with pytest.raises(ValueError, match="twice"):
        register(RULES["CB101"])
    assert before == RULES


def test_the_chapter_is_what_the_registry_says():
    chapter = (ROOT / "book/chapters/lint.md").read_text(encoding="utf-8")
    assert chapter == reference(), "run scripts/lint-reference"


def test_the_chapter_has_a_heading_for_every_rule():
    lines = reference().splitlines()
    assert [line for line in lines if line.startswith("### ")] == [f"### {r.id} {r.name}" for _, r in sorted(RULES.items())]


def test_explain_knows_ids_and_names_in_any_case():
    assert explain("cb303") == explain("CB303") == explain("git-unpinned")
    assert explain("CB303").startswith("CB303 git-unpinned (error)\n\nWhat: ")
    assert "error on the founding list, else warning" in explain("second-language")


@pytest.mark.parametrize(("wrong", "near"), [("CB30", "CB30"), ("git-unpined", "git-unpinned"), ("CB111a", "CB111")])
def test_explain_names_the_nearest_rule(wrong, near):
    with pytest.raises(NoSuchRule) as error:
        explain(wrong)
    assert near in error.value.hint


def test_explain_of_nonsense_points_to_the_chapter():
    with pytest.raises(NoSuchRule) as error:
        explain("\x1b[31m" + "x" * 5000)
    assert "lint.md" in error.value.hint and error.value.message.isprintable()


def test_an_example_whose_edit_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="stands 0 times"):
        Example((("not there", ""),)).files()
