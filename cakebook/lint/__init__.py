"""Linting: a registry of rules about entries, each with its reasons, its fix and examples that are its tests."""

from cakebook.lint.formats import as_github, as_json, as_sarif, as_text
from cakebook.lint.registry import FAMILIES, RULES, Finding, Rule, Severity
from cakebook.lint.runner import explain, lint_book, reference
from cakebook.lint.scaffold import scaffold

__all__ = [
    "FAMILIES", "RULES", "Finding", "Rule", "Severity", "as_github", "as_json", "as_sarif", "as_text", "explain", "lint_book",
    "reference", "scaffold",
]  # fmt: skip
