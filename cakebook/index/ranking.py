"""The ranking weights: data beside the code, digested into every manifest."""

from __future__ import annotations

import json
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

RANKING_FILE = Path(__file__).parent.parent / "data" / "ranking.json"


@cache
def ranking() -> dict[str, Any]:
    """The weights as `cakebook/data/ranking.json` holds them."""
    data: dict[str, Any] = json.loads(RANKING_FILE.read_bytes())
    return data


@cache
def ranking_digest() -> str:
    """sha256 of the file's bytes, in hex."""
    return sha256(RANKING_FILE.read_bytes()).hexdigest()
