"""What was said about an entry, and whether it counts."""

from __future__ import annotations

from dataclasses import dataclass

from cakebook.gate.facts import Facts
from cakebook.gate.ledger import judge_statement
from cakebook.model.review import Reason, Statement


@dataclass(frozen=True)
class Said:
    """A statement of the ledger. `sha`: sha256 of its file; `against`: why it does not count, empty if it does."""

    path: str
    sha: str
    statement: Statement | None
    against: str = ""


def history(facts: Facts, entry_id: str) -> list[Said]:
    """The statements about an entry, oldest first by their names."""
    found = []
    for filed in facts.statements(entry_id):
        judged = judge_statement(facts.source, filed, facts.people)
        if isinstance(judged, Reason):
            found.append(Said(filed.path, filed.sha, None, judged.text))
            continue
        s = judged.statement
        why = facts.objection(judged)
        found.append(Said(filed.path, filed.sha, s, why.text if why else ""))
    return found
