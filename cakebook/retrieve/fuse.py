"""Fusion: channel scores of one entry to one number. One replaceable function."""

from __future__ import annotations

from collections.abc import Mapping


def convex(channels: Mapping[str, Mapping[int, float]], weights: Mapping[str, float]) -> dict[int, dict[str, float]]:
    """Each channel's scores divided by its best, times its weight.

    `channels`: name → row → raw score (higher is better). Returns row → channel → contribution; the score is their sum. One
    lexical channel has no rank to trade against another yet, and its gaps carry information that ranks would lose.
    """
    result: dict[int, dict[str, float]] = {}
    for name, scores in channels.items():
        best = max(scores.values(), default=0.0)
        if best > 0:
            for row, score in scores.items():
                result.setdefault(row, {})[name] = weights.get(name, 0.0) * score / best
    return result
