"""Every failure that a user can meet, in one tree.

    CakeBookError
    ├── Refusal                 exit 1 / HTTP 409
    │   ├── NotShippedBook      CB-E101
    │   ├── AlreadyExists       CB-E102
    │   ├── HasAdmins           CB-E103
    │   ├── NotAuthorised       CB-E104
    │   ├── GateRefuses         CB-E105
    │   ├── RolledBack          CB-E106
    │   └── CannotSign          CB-E107
    ├── UsageError              exit 2 / HTTP 422
    │   ├── BadArgument         CB-E201
    │   ├── BadFilter           CB-E202
    │   ├── BudgetTooSmall      CB-E203
    │   ├── EmptyRequest        CB-E204
    │   ├── TooLarge            CB-E205  (HTTP 413)
    │   ├── NoSuchEntry         CB-E206  (HTTP 404)
    │   ├── TierBelowPolicy     CB-E207
    │   ├── NoSuchRule          CB-E208  (HTTP 404)
    │   ├── NoSuchPath          CB-E209  (HTTP 404)
    │   ├── BadProfile          CB-E210
    │   └── NoSuchKernel        CB-E211  (HTTP 404)
    ├── StoreError              exit 3 / HTTP 503
    │   ├── IndexMissing        CB-E301
    │   ├── IndexIncompatible   CB-E302
    │   ├── IndexBusy           CB-E303
    │   ├── IndexCorrupt        CB-E304
    │   ├── StoreIO             CB-E305
    │   ├── EmbedderUnavailable CB-E306
    │   └── EngineUnavailable   CB-E307
    ├── BookError               exit 4 / HTTP 500
    │   ├── NotABook            CB-E401
    │   ├── Unreadable          CB-E402
    │   ├── BadRevision         CB-E403
    │   ├── AnchorInvalid       CB-E404
    │   ├── BookFileInvalid     CB-E405
    │   └── GitFailed           CB-E406
    └── Bug                     exit 70 / HTTP 500
                                CB-E901

The code, exit status and HTTP status of a class are fixed; the message says what happened to whom, the hint what to do
next. Front ends translate mechanically and never invent an error of their own. `book/chapters/reference.md` lists the
same codes; a test compares them.
"""

from __future__ import annotations

from typing import Any, ClassVar


class CakeBookError(Exception):
    """Base of all anticipated failures. Never raised itself.

    Attributes:
        code: stable identifier, `CB-E` and three digits.
        message: one line: what, where, which value.
        hint: one line: the next step, or the command that mends it.
        details: machine-readable particulars (JSON values only).
    """

    code: ClassVar[str] = ""
    exit: ClassVar[int] = 70
    http: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = one_line(message)
        self.hint = one_line(hint)
        self.details: dict[str, Any] = details

    def __str__(self) -> str:
        return f"{self.code} {self.message}" + (f" ({self.hint})" if self.hint else "")

    def __reduce__(self) -> tuple[Any, ...]:  # exceptions with keyword arguments do not pickle by themselves
        return _rebuild, (type(self), self.message, self.hint, self.details)

    def to_dict(self) -> dict[str, Any]:
        """The Error shape: `{error: {code, message, hint, details}}`."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint, "details": self.details}}


def _rebuild(cls: type[CakeBookError], message: str, hint: str, details: dict[str, Any]) -> CakeBookError:
    return cls(message, hint=hint, **details)


def one_line(text: str) -> str:
    """`text` on one line, printable whatever it contained: control characters and lone surrogates become `?`."""
    flat = " ".join(text.split())
    return "".join(c if c.isprintable() else "?" for c in flat)


class Refusal(CakeBookError):
    """The request was understood and may not be carried out."""

    exit, http = 1, 409


class NotShippedBook(Refusal):
    """A command that only the shipped book may run."""

    code = "CB-E101"


class AlreadyExists(Refusal):
    """A file would have been overwritten."""

    code = "CB-E102"


class HasAdmins(Refusal):
    """A founding edition cannot grow once the book has an admin."""

    code = "CB-E103"


class NotAuthorised(Refusal):
    """Whoever signs may not decide this."""

    code = "CB-E104"


class GateRefuses(Refusal):
    """The gate does not let a change pass; `details["refused"]` lists why."""

    code = "CB-E105"


class RolledBack(Refusal):
    """The book is older than what this user has seen of it, or has lost a statement."""

    code = "CB-E106"


class CannotSign(Refusal):
    """No key could be found or used."""

    code = "CB-E107"


class UsageError(CakeBookError):
    """The request itself is wrong."""

    exit, http = 2, 422


class BadArgument(UsageError):
    """An option's value has the wrong form."""

    code = "CB-E201"


class BadFilter(UsageError):
    """A filter names a term that the vocabulary does not have."""

    code = "CB-E202"


class BudgetTooSmall(UsageError):
    """The token budget cannot hold even an empty pack."""

    code = "CB-E203"


class EmptyRequest(UsageError):
    """Neither text nor any facet was given."""

    code = "CB-E204"


class TooLarge(UsageError):
    """The query, error text or task is longer than the limit."""

    code, http = "CB-E205", 413


class NoSuchEntry(UsageError):
    """No entry has this id."""

    code, http = "CB-E206", 404


class TierBelowPolicy(UsageError):
    """A tier below the one that the book's policy serves was asked for."""

    code = "CB-E207"


class NoSuchRule(UsageError):
    """No lint rule has this id."""

    code, http = "CB-E208", 404


class NoSuchPath(UsageError):
    """A path on the command line does not exist."""

    code, http = "CB-E209", 404


class BadProfile(UsageError):
    """A profile holds nothing that can be read: no known CSV, no known column, no row, or not text."""

    code = "CB-E210"


class NoSuchKernel(UsageError):
    """No operator of the profile has this name."""

    code, http = "CB-E211", 404


class StoreError(CakeBookError):
    """The index cannot be used."""

    exit, http = 3, 503


class IndexMissing(StoreError):
    """No generation has been built, or its folder is gone."""

    code = "CB-E301"


class IndexIncompatible(StoreError):
    """The generation was built by another schema or from another book."""

    code = "CB-E302"


class IndexBusy(StoreError):
    """Another process is building."""

    code = "CB-E303"


class IndexCorrupt(StoreError):
    """A file of the generation does not match its digest or cannot be read."""

    code = "CB-E304"


class StoreIO(StoreError):
    """Writing the index failed: no space, no permission, I/O error."""

    code = "CB-E305"


class EmbedderUnavailable(StoreError):
    """An embedding model is not installed, not the one that was pinned, or does not give usable vectors."""

    code = "CB-E306"


class EngineUnavailable(StoreError):
    """Chroma is not installed, its server does not answer, or its folder cannot be read."""

    code = "CB-E307"


class BookError(CakeBookError):
    """The repository or its trust anchor cannot be used."""

    exit, http = 4, 500


class NotABook(BookError):
    """The folder holds neither `entries/` nor `book/`."""

    code = "CB-E401"


class Unreadable(BookError):
    """A file of the book cannot be read."""

    code = "CB-E402"


class BadRevision(BookError):
    """The revision does not name a commit of this repository."""

    code = "CB-E403"


class AnchorInvalid(BookError):
    """The chain of trust versions is broken or rolled back."""

    code = "CB-E404"


class BookFileInvalid(BookError):
    """A policy, vocabulary, founding or people file has the wrong form."""

    code = "CB-E405"


class GitFailed(BookError):
    """Git refused or is not installed."""

    code = "CB-E406"


class Bug(CakeBookError):
    """Something that should not happen; the only error that is ours."""

    code = "CB-E901"
