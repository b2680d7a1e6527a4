"""`Book`: the one facade that every front end calls."""

from __future__ import annotations

from cakebook.service.asking import Asking, Shown, Status
from cakebook.service.reviewing import Reviewing
from cakebook.service.working import Working

__all__ = ["Book", "Shown", "Status"]


class Book(Asking, Working, Reviewing):
    """A book: search it, make packs from it, look at its entries, work on them, decide about them.

    Open one with `Book.open`. Methods that read the index use the current generation, and notice when another one takes its
    place. Not safe for use from several threads at once; open one per thread.
    """
