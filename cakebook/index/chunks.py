"""What an entry becomes in the index: a card for filters and labels, tokens for search, sections for packs."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from cakebook.index.passages import Passage, passages
from cakebook.index.postings import FIELDS
from cakebook.model.entry import Condition, Entry
from cakebook.model.evidence import EvidenceItem, Functional, Timed, Timing
from cakebook.model.review import Policy, Verdict
from cakebook.model.terms import Vocabulary
from cakebook.repo.entries import EntryFile
from cakebook.text import tokens


@dataclass(frozen=True)
class Chunks:
    """One admitted entry, ready to be written.

    `card`: JSON of everything that filters and answers need. `fields`: column → tokens joined by spaces. `sections`:
    (title, Markdown, prose, search tokens of the prose). `passages`: what is embedded. `names`: (kind, name) for exact
    look-up: id, api and code in lower case, and facet for operators and bottlenecks.
    """

    id: str
    path: str
    digest: str
    state: str
    card: str
    fields: dict[str, str]
    sections: tuple[tuple[str, str, str, str], ...]
    passages: tuple[Passage, ...]
    names: tuple[tuple[str, str], ...]


def chunk(
    file: EntryFile,
    entry: Entry,
    verdict: Verdict,
    state: str,
    vocabulary: Vocabulary,
    policy: Policy,
    *,
    pending: bool = False,
) -> Chunks:
    """The chunks of an entry that the gate admits; `pending`: newer bytes of it wait for that."""
    sections = tuple((s.title, s.source, s.prose, " ".join(tokens.words(s.prose))) for s in file.document.sections)
    bodies = {title: source for title, source, _, _ in reversed(sections)}
    card = {**_card(entry, verdict, bodies), "pending": pending, "stale_after": _stale_after(entry, policy)}
    conditions = [*entry.applies_when, *entry.avoid_when]
    fields = {
        "ids": [entry.id, *entry.apis, *entry.error_codes],
        "titles": [entry.title, entry.title_zh],
        "symptoms": [*entry.symptoms, *entry.symptoms_zh],
        "descriptions": [entry.description, entry.description_zh, bodies.get("Summary", ""), bodies.get("摘要", "")],
        "conditions": [text for c in conditions for text in (c.text, c.text_zh)],
        "sections": [source for title, source, _, _ in sections if title not in ("Summary", "摘要", "Check", "Sources")],
    }
    return Chunks(
        id=entry.id,
        path=file.path,
        digest=verdict.digest,
        state=state,
        card=json.dumps(card, ensure_ascii=False, sort_keys=True),
        fields={name: " ".join(w for text in fields[name] for w in tokens.words(text)) for name in FIELDS},
        sections=sections,
        passages=passages(file, entry, vocabulary),
        names=tuple(_names(entry)),
    )


def _stale_after(entry: Entry, policy: Policy) -> str:
    """The day from which an entry is to be looked at again: what it says itself, or as long after it was written as the policy
    lets an entry of its kind stand, whichever comes first; empty if neither is known."""
    days = policy.kinds[entry.kind].stale_days if entry.kind in policy.kinds else 0
    written = entry.generated.at[:10] if entry.generated else ""
    found = [entry.stale_after[:10]] if entry.stale_after[:4].isdigit() else []
    with contextlib.suppress(ValueError, OverflowError):
        if days:
            found.append((date.fromisoformat(written) + timedelta(days=days)).isoformat())
    return min(found, default="")


def _card(entry: Entry, verdict: Verdict, bodies: dict[str, str]) -> dict[str, Any]:
    plain = (
        "id", "title", "title_zh", "description", "description_zh", "kind", "dsl", "targets", "toolchain", "dtypes",
        "operators", "stages", "bottlenecks", "apis", "error_codes", "requires", "related", "conflicts_with", "supersedes",
        "variant_of",
    )  # fmt: skip
    return {
        **{name: getattr(entry, name) for name in plain},
        "digest": verdict.digest,
        "tier": verdict.tier,
        "lifecycle": verdict.lifecycle,
        "why": [{"code": r.code, "text": r.text} for r in verdict.reasons],
        "summary": bodies.get("Summary", ""),
        "summary_zh": bodies.get("摘要", ""),
        "applies_when": [_condition(c) for c in entry.applies_when],
        "avoid_when": [_condition(c) for c in entry.avoid_when],
        "sources": [{"id": s.id, "resource": s.resource, "title": s.title, "license": s.license} for s in entry.sources],
        "figures": [figure for item in entry.evidence for figure in _figures(item)],
        "missing_evidence": [f"{item.id}: {', '.join(item.missing())}" for item in entry.evidence if item.missing()],
    }


def _figures(item: EvidenceItem) -> list[str]:
    """A line per measured row: what, from, to, with the metric, the method and the chip."""
    if isinstance(item, Functional):
        return []
    method = item.timing.method if isinstance(item.timing, Timing) else "unknown"
    unit = item.unit if isinstance(item, Timed) and item.unit != "unknown" else ""
    chip = re.split(r"[;,(]", item.hardware)[0].strip()
    about = f"{item.metric}, {method}, {chip}"
    return [
        " ".join(f"{row.before} → {row.after} {unit}".split()) + f" ({about})"
        for row in item.rows
        if "unknown" not in (row.before, row.after)
    ]


def _condition(condition: Condition) -> dict[str, Any]:
    return {"text": condition.text, "text_zh": condition.text_zh, "match": condition.match}


def _names(entry: Entry) -> list[tuple[str, str]]:
    names = [("id", entry.id.casefold())]
    for api in entry.apis:
        names.append(("api", api.casefold()))
        last = api.replace("::", ".").rsplit(".", 1)[-1]
        if last != api and tokens.is_identifier(last):  # `InitBuffer` finds `TPipe::InitBuffer`; `load` is only a word
            names.append(("api", last.casefold()))
    names += [("code", code.casefold()) for code in entry.error_codes]
    names += [("facet", term) for term in (*entry.operators, *entry.bottlenecks)]
    return list(dict.fromkeys(names))
