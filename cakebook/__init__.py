"""CAKE Book: reviewed knowledge for accelerator-kernel optimisation, and retrieval from it.

    from cakebook import Book

    with Book.open() as book:
        result = book.search("vector pipe idles waiting for MTE2", target="910B3")

Everything public is named here; what is not may change in any release. Names load when they are first used, so that
importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cakebook.errors import CakeBookError
    from cakebook.model.pack import Pack
    from cakebook.model.query import SearchResult
    from cakebook.service import Book

__all__ = ["Book", "CakeBookError", "Pack", "SearchResult", "__version__"]
__version__ = "0.1.0"

_HOMES = {
    "Book": "cakebook.service",
    "CakeBookError": "cakebook.errors",
    "Pack": "cakebook.model.pack",
    "SearchResult": "cakebook.model.query",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
