"""What the pydantic models have in common."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

UNKNOWN: Final = "unknown"
Unknown = Literal["unknown"]


class Model(BaseModel):
    """Immutable; refuses keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OpenModel(BaseModel):
    """Immutable; keeps keys it does not know, as OKF asks of every consumer."""

    model_config = ConfigDict(frozen=True, extra="allow")


def _as_list(value: Any) -> Any:
    """A single term may be written without brackets; `unknown` and an empty value mean that nothing is declared."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)):
        return tuple(v for v in value if v not in ("", UNKNOWN))
    return value


TermList = Annotated[tuple[str, ...], BeforeValidator(_as_list)]
"""Vocabulary terms: `[any]` holds for every value, empty means not known, anything else is the declared scope."""
