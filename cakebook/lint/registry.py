"""What a lint rule is, and the one table of all of them.

One function is one rule. What it says about itself (what, why, how to fix, examples) is data, because the same words
serve `cakebook lint --explain`, the chapter `book/chapters/lint.md` and the tests, which run every example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from cakebook.lint.examples import GOOD, Example
from cakebook.text.patch import Edit

if TYPE_CHECKING:
    from cakebook.lint.subject import Subject

FAMILIES: dict[str, tuple[int, str]] = {
    "format": (1, "Whether the file can be read as an entry at all, and has the parts of one."),
    "vocabulary": (2, "Whether its terms are those that retrieval filters and ranks by."),
    "provenance": (3, "Whether a reader can check where each claim comes from."),
    "relations": (4, "Whether it stands in a sound relation to the other entries."),
    "language": (5, "Whether it can be found and read in English and in Chinese."),
    "code": (6, "Whether its code blocks are what they say."),
    "safety": (7, "Whether it shows everything that it holds, to people and to agents."),
    "evidence": (8, "Whether an observation says enough to be repeated."),
}
"""Family → (hundreds of its ids, what it asks)."""

Needs = Literal["text", "front", "entry"]
"""How far a file must have been read for a rule to run: decoded; front matter parsed; front matter of the right form."""


class Severity(StrEnum):
    """An error keeps an entry out; a warning tells author and reviewer something."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Hit:
    """What a rule function yields: something wrong at a place. Lines and columns count from 1.

    `fix`: edits of the decoded text after which it is gone, where there is one way to mend it that says nothing new.
    """

    message: str
    line: int = 1
    column: int = 1
    hint: str = ""
    fix: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A hit, with the rule and the file that it is about."""

    rule: str
    severity: Severity
    path: str
    line: int
    column: int
    message: str
    hint: str = ""
    fix: tuple[Edit, ...] = ()


Check = Callable[["Subject"], Iterable[Hit]]


@dataclass(frozen=True)
class Rule:
    """A rule. `check` is None where reading the file already reports it.

    `completeness`: the rule asks for something that a proposal may still lack, so it is an error only for an entry on
    the founding list and a warning for any other. `bad` and `good` are its tests. `auto`: what `cakebook lint --fix` does
    about it, empty if nothing; `mended`: pairs of an example and what becomes of it, its tests too.
    """

    id: str
    name: str
    family: str
    severity: Severity
    completeness: bool
    needs: Needs
    what: str
    why: str
    fix: str
    bad: tuple[Example, ...]
    good: tuple[Example, ...]
    check: Check | None = None
    auto: str = ""
    mended: tuple[tuple[Example, Example], ...] = ()

    def severity_for(self, founding: bool) -> Severity:
        """How severe a finding is for an entry that is, or is not, on the founding list."""
        return Severity.ERROR if self.completeness and founding else self.severity

    @property
    def severity_text(self) -> str:
        """The severity in words."""
        return "error on the founding list, else warning" if self.completeness else str(self.severity)


RULES: dict[str, Rule] = {}
"""Every rule by id. Filled when the family modules are imported; `runner` imports them all."""


def register(rule: Rule) -> None:
    """Add a rule to the table.

    Raises:
        ValueError: its id or name is taken, or the id is not one of its family.
    """
    hundreds = FAMILIES[rule.family][0]
    if rule.id in RULES or any(rule.name == other.name for other in RULES.values()):
        raise ValueError(f"lint rule {rule.id} {rule.name} is registered twice")
    if not (len(rule.id) == 5 and rule.id.startswith(f"CB{hundreds}") and rule.id[3:].isdecimal()):
        raise ValueError(f"lint rule {rule.id} is not of the family {rule.family}, CB{hundreds}xx")
    if bool(rule.auto) != bool(rule.mended):
        raise ValueError(f"lint rule {rule.id}: what is mended is said and shown, or neither")
    RULES[rule.id] = rule


def rule(
    rule_id: str,
    name: str,
    family: str,
    *,
    what: str,
    why: str,
    fix: str,
    bad: tuple[Example, ...],
    good: tuple[Example, ...] = (),
    severity: Severity = Severity.ERROR,
    completeness: bool = False,
    needs: Needs = "entry",
    auto: str = "",
    mended: tuple[tuple[Example, Example], ...] = (),
) -> Callable[[Check], Check]:
    """Make the decorated function the check of a new rule. The base entry is a good example of every rule."""

    def decorate(check: Check) -> Check:
        level = Severity.WARNING if completeness else severity
        examples = bad, (GOOD, *good)
        register(Rule(rule_id, name, family, level, completeness, needs, what, why, fix, *examples, check, auto, mended))
        return check

    return decorate


def reported(rule_id: str, name: str, family: str, *, what: str, why: str, fix: str, bad: tuple[Example, ...]) -> None:
    """Register a rule whose findings come from reading the file, where a `Problem` names its id."""
    register(Rule(rule_id, name, family, Severity.ERROR, False, "text", what, why, fix, bad, (GOOD,)))
