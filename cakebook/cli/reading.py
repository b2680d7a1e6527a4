"""`search` and `show`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cakebook.cli import options as o
from cakebook.cli.output import ready, report_degraded, report_profile, write, write_json
from cakebook.model.query import Hit, SearchResult
from cakebook.retrieve.labels import say
from cakebook.service import Book

CAVEATS = 2
"""Caveats printed per hit; JSON holds all."""


def command(name: str) -> Any:
    """The command `name` of this module."""
    if name == "search":
        about = "Find entries that answer a question, in English or Chinese."
        text = ("text", "*", "the question, an error text or an API name")
        return o.reading_command(
            name, about, text, (*o.FACETS, o.STAGE, o.PROFILE, o.OP, o.LIMIT, o.MODE, o.EXPLAIN, *o.COMMON), search
        )
    about = "Print one entry with its provenance."
    return o.reading_command(name, about, ("id", "1", "the entry"), (o.LEVEL, o.WHY, *o.COMMON), show)


def search(given: Any) -> None:
    """`cakebook search`."""
    facets = o.facets(given, (*o.FACETS, o.STAGE))
    with Book.open(given.book) as book:
        ready(book, not given.no_sync)
        words = " ".join(given.text)
        result = book.search(
            words, limit=given.limit, lang=given.lang, explain=given.explain, mode=given.mode, profile=given.profile or (),
            op=given.op, **facets,
        )  # fmt: skip
        if given.json:
            write_json(result)
        else:
            report_degraded(result.degraded)
            report_profile(result.diagnosis, result.understood.lang)
            write(as_text(result))


def as_text(result: SearchResult) -> str:
    """A result as readable text: title, scope and tier, description, where it matched, caveats, provenance."""
    lang = result.understood.lang
    lines: list[str] = []
    for number, hit in enumerate(result.hits, 1):
        lines += [*_hit(number, hit, lang), ""]
    if not result.hits:
        lines += [say("none-withheld" if result.withheld else "none", lang), ""]
    for item in result.withheld:
        lines.append(f"{say('withheld', lang)}: {item.id} — {item.reason}")
    if result.missing_signals:
        lines.append(say("missing", lang, names=", ".join(result.missing_signals)))
    if any(hit.tier == "founding" for hit in result.hits):
        lines.append(say("founding", lang))
    return "\n".join(lines).rstrip()


def _hit(number: int, hit: Hit, lang: Any) -> list[str]:
    scope = " · ".join([", ".join(hit.dsl) or "?", ", ".join(hit.targets) or "?", hit.kind])
    lines = [f"{number}. {hit.title}", f"   {hit.description}"]
    if hit.snippet:
        lines.append(f"   {hit.section}: {hit.snippet}")
    caveats = [c.text for c in hit.caveats if c.code != "founding"]
    lines += [f"   ! {text}" for text in caveats[:CAVEATS]]
    if len(caveats) > CAVEATS:
        lines.append("   ! " + say("more-caveats", lang, n=len(caveats) - CAVEATS))
    lines.append(f"   [{hit.id}] {scope} · {hit.tier} · {hit.digest[7:19]} · {hit.score:.2f}")
    if hit.explain is not None:
        lines.append("   " + ", ".join(f"{k} {v:+.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in hit.explain.items()))
    return lines


def show(given: Any) -> None:
    """`cakebook show`."""
    with Book.open(given.book) as book:
        ready(book, not given.no_sync)
        shown = book.show(given.id, level=given.level, lang=given.lang)
        if given.json:
            write_json({**shown.card, "text": shown.text, "degraded": [asdict(n) for n in shown.degraded]})
            return
        report_degraded(shown.degraded)
        card = shown.card
        lines = [shown.text, ""]
        lines += [f"source [{s['id']}] {s['title']} — {s['resource']} ({s['license'] or '?'})" for s in card["sources"]]
        lines += [f"missing evidence: {m}" for m in card["missing_evidence"]]
        lines += [say("founding", "zh" if given.lang == "zh" else "en")] if card["tier"] == "founding" else []
        lines += [f"why: {n.code}: {n.text}" for n in shown.why] if given.why else []
        lines.append(
            f"[{card['id']}] {', '.join(card['dsl'])} · {', '.join(card['targets'])} · {card['tier']} · {card['digest']}"
        )
        write("\n".join(lines))
