"""The fixtures of a team's book."""

from teams import keys, team

__all__ = ["keys", "team"]
