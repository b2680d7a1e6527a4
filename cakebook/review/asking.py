"""What a reviewer will ask about a lesson, most important first: what it says that it lacks, and what it is seen to lack."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from cakebook.review.reading import Lesson

_ASKS = {
    "dsl": "Which DSL is it for?",
    "change": "What is to be done?",
    "when": "When does it apply?",
    "observed": "What was observed?",
    "hardware": "On which chip was it seen?",
    "cann_version": "With which CANN version?",
    "shapes": "For which shapes?",
    "dtype": "For which data types?",
    "timing_method": "How was the time taken?",
    "baseline": "What was it compared with?",
    "tolerance": "Within which tolerance was the result correct?",
    "spread": "How many repeats, and which spread?",
    "driver": "With which driver version?",
    "avoid": "When must it not be used?",
}
"""What is asked if nothing is said about it, most important first."""
_TOPICS = {
    "dsl": r"\bdsl\b|语言",
    "observed": r"measured|absolute time|numbers|after value|before value|performance|\bspeed|实测|性能|数字",
    "hardware": r"hardware|\bchip\b|\bsku\b|硬件|芯片|型号",
    "cann_version": r"\bcann\b|toolkit version",
    "shapes": r"\bshapes?\b|形状",
    "dtype": r"\bdtypes?\b|data types?|数据类型",
    "timing_method": r"timing|how (?:it|the time) was|计时|测量方法",
    "baseline": r"baseline|基线|对照",
    "tolerance": r"toleran|correctness|accuracy|误差|容差|正确性",
    "spread": r"spread|varian|repeats?|deviation|波动|方差|重复",
    "driver": r"driver|驱动",
}
_LATER = ("other", "confirm", "kind", "scope", "state", "removed", "language")
_RANK = {topic: rank for rank, topic in enumerate((*_ASKS, *_LATER))}
MAX_ASK = 200
"""Characters of one ask."""

Ask = tuple[str, str]
"""Topic, which ranks it, and the sentence."""


def missing_items(lesson: Lesson) -> list[str]:
    """What the lesson itself says is missing, each on one line."""
    lines = re.split(r"[\n;；]", lesson.get("what_is_missing"))
    items = (" ".join(re.sub(r"^\s*[-*+]\s+", "", line).split()).rstrip(".。") for line in lines)
    return list(dict.fromkeys(item for item in items if item))


def not_given(lesson: Lesson, unstated: Iterable[str]) -> list[str]:
    """The topics about which the lesson says nothing, neither in a field nor among what it says is missing."""
    said = {topic for item in missing_items(lesson) for topic in topics(item)}
    empty = [t for t in _ASKS if t not in ("dsl", "change", "when", "observed") and not lesson.get(t)]
    if lesson.get("runs"):
        empty = [t for t in empty if t != "spread"]
    return [t for t in _ASKS if (t in empty or t in set(unstated)) and t not in said]


def topics(text: str) -> list[str]:
    """What a few words are about, most important first."""
    return [topic for topic, words in _TOPICS.items() if re.search(words, text, re.IGNORECASE)]


def asks(
    lesson: Lesson, unstated: Iterable[str], more: Iterable[Ask], suggested: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Every ask once, in the order of `_ASKS`, then what is to be confirmed and completed.

    Args:
        unstated: those of the six things of a proposal that the lesson does not state.
        more: what the one who drafts has seen.
        suggested: facets to confirm.
    """
    found = [*_own(lesson), *((t, _ASKS[t]) for t in not_given(lesson, unstated)), *more]
    found += [("confirm", _short(f"Are these its {facet}: {', '.join(terms)}?")) for facet, terms in suggested.items()]
    ranked = sorted(found, key=lambda ask: _RANK[ask[0]])
    return tuple(dict.fromkeys(text for _, text in ranked))


def _own(lesson: Lesson) -> Iterator[Ask]:
    for item in missing_items(lesson):
        about = topics(item)
        yield (about[0] if about else "other"), _short(f"Open point: {item}.")


def _short(text: str) -> str:
    return text if len(text) <= MAX_ASK else text[: MAX_ASK - 1].rstrip() + "…"
