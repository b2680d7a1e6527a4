"""The vocabulary as retrieval uses it: plain data with look-ups, quick to load from an index.

Built by `repo.vocabulary` from validated files, stored as JSON in each generation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Term = dict[str, Any]
"""One term of a vocabulary file: `id`, `title`, `title_zh`, `aliases`, `aliases_zh` and the file's own keys."""


@dataclass
class Vocabulary:
    """`files`: file stem → id → term, in file order."""

    files: dict[str, dict[str, Term]]
    _folded: dict[str, dict[str, str]] = field(default_factory=dict, repr=False, compare=False)
    memo: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """What others derive from the terms, kept as long as they are; each key belongs to the function that sets it."""

    def ids(self, file: str) -> tuple[str, ...]:
        """The ids of a file, in its order."""
        return tuple(self.files.get(file, {}))

    def term(self, file: str, term_id: str) -> Term:
        """The term, or an empty one for an id that the file does not have."""
        return self.files.get(file, {}).get(term_id, {})

    def label(self, file: str, term_id: str, lang: str) -> str:
        """The term's title in `lang` (`en` or `zh`), else its id."""
        term = self.term(file, term_id)
        return str(term.get("title_zh" if lang == "zh" else "title") or term_id)

    def texts(self) -> Iterator[str]:
        """Every label and alias, condition values included."""
        for terms in self.files.values():
            for term in terms.values():
                for item in (term, *term.get("values", ())):
                    yield from (
                        item["id"],
                        item["title"],
                        item["title_zh"],
                        *item.get("aliases", ()),
                        *item.get("aliases_zh", ()),
                    )

    def resolve(self, file: str, text: str) -> str | None:
        """The id that `text` names, by id, title or alias, without case; None if nothing does."""
        if file not in self._folded:
            table: dict[str, str] = {}
            for term_id, term in self.files.get(file, {}).items():
                names = [term.get("title", ""), term.get("title_zh", "")]
                for name in (*names, *term.get("aliases", ()), *term.get("aliases_zh", ())):
                    table.setdefault(name.casefold(), term_id)
            for term_id in self.files.get(file, {}):  # an id always means itself
                table[term_id.casefold()] = term_id
            self._folded[file] = table
        return self._folded[file].get(text.strip().casefold())

    def architecture(self, target: str) -> str:
        """The architecture of a SKU; an architecture is its own."""
        return str(self.term("targets", target).get("arch") or target)

    def expand_target(self, target: str) -> tuple[str, ...]:
        """A product stands for the architectures or SKUs that it resolves to; others for themselves."""
        term = self.term("targets", target)
        return tuple(term.get("resolves_to", ())) if term.get("level") == "product" else (target,)

    def operator_line(self, operator: str) -> tuple[str, ...]:
        """The operator and its families, nearest first."""
        line = [operator]
        while (parent := self.term("operators", line[-1]).get("parent")) and parent not in line:
            line.append(parent)
        return tuple(line)

    def role(self, kind: str) -> str:
        """The part that a kind plays in a pack; a kind that is not known explains something."""
        return str(self.term("kinds", kind).get("role") or "diagnosis")

    def facet_values(self, facet: str) -> tuple[str, ...]:
        """The values of a condition facet."""
        return tuple(v["id"] for v in self.term("conditions", facet).get("values", ()))
