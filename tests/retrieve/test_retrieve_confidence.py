"""Questions on and off the subject, by which the confidence was set: a change of weights must not undo it.

The lists were written together with the weights, so this guards against regressions; it does not measure quality.
"""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


def questions(name: str) -> list[str]:
    return (DATA / name).read_text("utf-8").splitlines()


@pytest.mark.parametrize(("name", "answered"), [("on_topic.txt", True), ("off_topic.txt", False)])
@pytest.mark.parametrize(("mode", "share"), [("lexical", 12), ("hybrid", 20)])
def test_few_questions_are_taken_for_the_other_sort(shipped_vectors, name, answered, mode, share):
    """At most one in twelve by words alone, one in twenty by meaning too."""
    asked = questions(name)
    wrong = [q for q in asked if bool(shipped_vectors.search(q, mode=mode).hits) is not answered]
    assert len(asked) > 80 and len(wrong) <= len(asked) / share, wrong
