"""Vocabulary and policy files: what is wrong is named by file, line and column, with a hint."""

import pytest

from cakebook.errors import BookFileInvalid
from cakebook.model.review import Policy
from cakebook.repo.layout import FolderSource, MemorySource
from cakebook.repo.vocabulary import load_policy, load_vocabulary

GOOD = "terms:\n  - {id: a, title: A, title_zh: 甲}\n"


def load(**files: str):
    return load_vocabulary(MemorySource({f"book/vocabulary/{stem}.yaml": text.encode() for stem, text in files.items()}))


def test_a_whole_vocabulary_is_read(tiny_book):
    vocabulary = load_vocabulary(FolderSource(tiny_book.root))
    assert vocabulary.ids("dsls") == ("ascendc", "triton-ascend")
    assert vocabulary.resolve("targets", "ascend910b3") == "910B3"
    assert vocabulary.architecture("910B3") == "npu-2201"
    assert vocabulary.operator_line("layernorm") == ("layernorm", "normalization")
    assert vocabulary.facet_values("tail") == ("present", "absent")
    assert vocabulary.role("debugging") == "diagnosis"


def test_the_shipped_vocabulary_is_read(shipped_root):
    vocabulary = load_vocabulary(FolderSource(shipped_root))
    assert all(vocabulary.ids(stem) for stem in vocabulary.files)


def test_a_missing_file_is_an_empty_one():
    assert all(ids == {} for ids in load().files.values())
    assert load(dsls=GOOD).ids("dsls") == ("a",)
    assert load(dsls="terms: []\n").ids("dsls") == ()


@pytest.mark.parametrize(
    ("stem", "text", "line", "column", "words"),
    [
        ("dsls", "terms:\n  - id: a\n    title: Part 1: x\n", 3, 18, "not YAML"),
        ("dsls", "- a\n", 1, 1, "must be a mapping"),
        ("dsls", "", 1, 1, "empty"),
        ("dsls", GOOD + "terms: []\n", 3, 1, "`terms` stands twice"),
        ("dsls", "terms:\n  - &x {id: a}\n", 2, 5, "anchors"),
        ("dsls", "terms:\n  - {id: a, title: A}\n", 2, 5, "title_zh: Field required"),
        ("dsls", "terms:\n  - {id: a, title: A, title_zh: B, colour: red}\n", 2, 44, "colour: Extra inputs"),
        ("dsls", GOOD + "  - b\n", 3, 5, "valid dictionary"),
        ("dsls", GOOD + "  - [b]\n", 3, 5, "valid dictionary"),
        ("dsls", GOOD + "  - {id: b, title: [B], title_zh: 乙}\n", 3, 20, "title: Input should be a valid string"),
        ("targets", "terms:\n  - {id: a, title: A, title_zh: 甲, level: chip}\n", 2, 43, "level: Input should be"),
        ("targets", "terms:\n  - id: a\n    title: A\n    title_zh: 甲\n    level: sku\n    facts: {ub: many}\n", 6, 17, "facts.ub"),
        ("bottlenecks", "terms:\n  - id: a\n    title: A\n    title_zh: 甲\n    rules: [{when: x}]\n", 5, 13, "rules.0.source"),
        ("conditions", "terms:\n  - id: a\n    title: A\n    title_zh: 甲\n    values: [{id: b}]\n", 5, 14, "values.0.title"),
        ("dsls", GOOD + "  - {id: A, title: B, title_zh: 乙}\n", 3, 10, "id A stands twice (as a)"),
        ("dsls", "terms: text\n", 1, 8, "terms"),
        ("dsls", "terms: {a: b}\n", 1, 8, "terms"),
        ("dsls", "term:\n  - {id: a, title: A, title_zh: 甲}\n", 1, 1, "terms"),
        ("targets", "terms:\n  - id: a\n    title: A\n    title_zh: 甲\n    level: sku\n    arch: b\n", 6, 11, "a: arch names b"),
        (
            "targets",
            "terms:\n  - id: a\n    title: A\n    title_zh: 甲\n    level: product\n    resolves_to: [a, b]\n",
            6, 18, "a: resolves_to names b",
        ),
        ("operators", "terms:\n  - {id: a, title: A, title_zh: 甲, parent: b}\n", 2, 44, "a: parent names b"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_file_line_and_column(stem, text, line, column, words):
    with pytest.raises(BookFileInvalid) as raised:
        load(**{stem: text})
    error = raised.value
    assert error.message.startswith(f"book/vocabulary/{stem}.yaml:{line}:{column}: "), error.message
    assert words in error.message
    assert error.hint and error.exit == 4


def test_bytes_that_are_no_text_are_named():
    with pytest.raises(BookFileInvalid, match=r"book/vocabulary/dsls\.yaml:2:1: not UTF-8"):
        load_vocabulary(MemorySource({"book/vocabulary/dsls.yaml": b"terms:\n\xff"}))


# The policy


def test_no_policy_is_the_default_one():
    assert load_policy(MemorySource({})) == Policy()


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("serve: everything\n", 1, 8, "serve"),
        ("serve: founding\nserved: x\n", 2, 9, "served: Extra inputs"),
        ("kinds:\n  tiling: {approvals: two}\n", 2, 23, "kinds.tiling.approvals"),
        ("serve: reviewed\nserve: founding\n", 2, 1, "stands twice"),
    ],
)
def test_a_wrong_policy_is_named_and_never_a_default(text, line, column, words):
    with pytest.raises(BookFileInvalid) as raised:
        load_policy(MemorySource({"book/policy.yaml": text.encode()}))
    assert raised.value.message.startswith(f"book/policy.yaml:{line}:{column}: ") and words in raised.value.message
