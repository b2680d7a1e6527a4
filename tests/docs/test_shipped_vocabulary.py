"""The shipped vocabulary holds together: references, expressions, aliases, size."""

from __future__ import annotations

from pathlib import Path

import pytest

from cakebook.model.terms import Vocabulary
from cakebook.repo.layout import FolderSource
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.retrieve.conditions import variables
from cakebook.retrieve.expressions import checked, names

ROOT = Path(__file__).resolve().parents[2]
REQUEST_VARIABLES = frozenset(
    "dtype dtype_bytes rank last_dim rows elements m n k layout target_arch sku vector_cores cube_cores ub_bytes "
    "ub_usable_bytes l1_bytes l0a_bytes l0b_bytes l0c_bytes l2_bytes input_bytes operator_mix".split()
)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return load_vocabulary(FolderSource(ROOT))


def test_every_file_has_terms(vocabulary: Vocabulary) -> None:
    assert all(vocabulary.files.values())
    assert set(vocabulary.ids("kinds")) == set(
        "tiling pipelining memory compute dsl-idiom precision debugging hardware kernel-recipe methodology".split()
    )
    assert set(vocabulary.ids("dsls")) == set(
        "ascendc catlass cannbot-dsl triton-ascend tilelang-ascend pypto aclnn any".split()
    )
    assert vocabulary.ids("stages") == ("route", "draft", "lower", "evolve", "debug", "review")
    assert len(vocabulary.ids("glossary")) >= 80


def test_chips_resolve_as_people_name_them(vocabulary: Vocabulary) -> None:
    for name, expected in {"910B3": ("910B3",), "910b": ("npu-2201",), "950PR": ("950PR",), "310P": ("npu-2002",)}.items():
        term = vocabulary.resolve("targets", name)
        assert term is not None and vocabulary.expand_target(term) == expected
    for sku, architecture in {"910B1": "npu-2201", "910_9392": "npu-2201", "950DT": "npu-3510", "310B4": "npu-3002"}.items():
        assert vocabulary.architecture(sku) == architecture


def test_condition_rules_compile_and_use_known_variables(vocabulary: Vocabulary) -> None:
    for facet, term in vocabulary.files["conditions"].items():
        assert ("cases" in term) != (term.get("rule") == "given"), facet
        values = {v["id"] for v in term["values"]}
        for case in term.get("cases", ()):
            assert case["value"] in values, facet
            assert names(case["when"]) <= REQUEST_VARIABLES, (facet, case)


def test_profiler_rules_compile_and_name_their_source(vocabulary: Vocabulary) -> None:
    for bottleneck, term in vocabulary.files["bottlenecks"].items():
        for rule in term.get("rules", ()):
            checked(rule["when"])
            assert rule["source"].startswith("https://"), bottleneck


def test_facts_of_targets_are_variables_of_the_rules(vocabulary: Vocabulary) -> None:
    facts = {name for term in vocabulary.files["targets"].values() for name in term.get("facts", {})}
    assert {"ub_usable_bytes", "vector_cores", "cube_cores"} <= facts
    from cakebook.model.query import Facets

    values = variables(Facets(shapes=((4096, 8192),)), vocabulary, "910B3", "float16")
    assert values["ub_usable_bytes"] == 192 * 1024 - 256 - 8 * 1024
    assert (values["rows"], values["last_dim"], values["input_bytes"]) == (4096, 8192, 4096 * 8192 * 2)


@pytest.mark.parametrize(
    "file", ["kinds", "dsls", "targets", "stages", "bottlenecks", "operators", "toolchain", "error_codes", "glossary"]
)
def test_no_alias_stands_for_two_terms(vocabulary: Vocabulary, file: str) -> None:
    owner: dict[str, str] = {}
    for term_id, term in vocabulary.files[file].items():
        for alias in {a.casefold() for a in (*term.get("aliases", ()), *term.get("aliases_zh", ()))}:
            assert owner.setdefault(alias, term_id) == term_id, alias


def test_labels_in_both_languages(vocabulary: Vocabulary) -> None:
    for file, terms in vocabulary.files.items():
        for term_id, term in terms.items():
            assert term["title"] and term["title_zh"], (file, term_id)
