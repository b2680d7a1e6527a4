"""Search: candidates from every channel, filtered, ranked, and held back when the text is about something else."""

from __future__ import annotations

import time
from collections import Counter

from cakebook.index.catalog import Catalog, Section
from cakebook.index.ranking import ranking
from cakebook.model.notes import Note
from cakebook.model.query import Facets, Hit, Lang, SearchRequest, SearchResult, Understood, Withheld
from cakebook.retrieve.labels import in_lang, say
from cakebook.retrieve.rank import Candidate, Ranker
from cakebook.retrieve.understand import Reading, understand
from cakebook.retrieve.view import View, sense

SNIPPET = 180
"""Characters of a snippet."""
NOTE_ORDER = (
    "deprecated", "avoid-when", "conditions-not-met", "review-due", "update-pending", "only-sku", "not-verified", "avoid-if",
    "condition", "founding",
)  # fmt: skip
"""Caveats, gravest first."""


def search(view: View, request: SearchRequest) -> SearchResult:
    """Answer `request` from one generation. Raises what `view.sense` raises."""
    started = time.perf_counter()
    reading = understand(request.text, view.catalog, None if request.lang == "auto" else request.lang)
    how = sense(view, request.text, request.mode, reading.query_class == "identifier")
    view = how.view
    ranker = Ranker(view, request.facets, reading, how.nearest)
    candidates, confidence = gather(ranker, view, request.text, request.limit)
    shown = relevant(candidates, request.text)[: request.limit]
    hits = tuple(_hit(view, ranker, c, reading, request.explain) for c in shown)
    return SearchResult(
        query=request.text,
        understood=understood(reading, request.facets, view.catalog),
        hits=hits,
        withheld=near(candidates, shown),
        confidence=confidence,
        missing_signals=missing_signals(shown, request.facets, reading),
        generation=view.manifest.generation,
        commit=view.manifest.commit,
        dirty=view.manifest.dirty,
        degraded=how.degraded(reading.lang),
        took_ms=round((time.perf_counter() - started) * 1000, 1),
        mode=how.mode,
    )


def gather(ranker: Ranker, view: View, text: str, limit: int) -> tuple[list[Candidate], float]:
    """Candidates, best first, withheld ones included; empty when the text is too far from all of them.

    A text names its candidates; without one every entry is a candidate. The lexical channel is asked for more as long as
    filters leave fewer than `limit`.
    """
    size = view.catalog.size()
    if not text.strip():
        return ranker.candidates({}, view.catalog.rows()), 1.0
    wanted = max(int(ranking()["candidates"]), 4 * limit)
    while True:
        channels = ranker.channels(wanted)
        named = [ranker.declaring(wanted), *channels.values()]
        candidates = ranker.candidates(channels, sorted({row for rows in named for row in rows}), prune=True)
        passing = sum(c.scope.withheld is None for c in candidates)
        more = wanted < size and any(len(rows) >= wanted for rows in named)
        if passing >= limit or not more or ranker.pruned:  # whatever comes now would be too far behind
            break
        wanted *= 4
    confidence = ranker.confidence(candidates[0] if candidates else None)
    if confidence < ranker.sure:
        return [c for c in candidates if c.exact], confidence
    return candidates, confidence


def relevant(candidates: list[Candidate], text: str) -> list[Candidate]:
    """Candidates that pass the filters, without the long tail of those that share a word or two with the text."""
    passing = [c for c in candidates if c.scope.withheld is None]
    if not text.strip():
        return passing
    floor = ranking()["relative_floor"] * max((c.merit for c in passing), default=0.0)
    return [c for c in passing if c.exact or c.merit >= floor]


def near(candidates: list[Candidate], shown: list[Candidate]) -> tuple[Withheld, ...]:
    """The nearest three that a filter kept back, if they come near what is shown."""
    floor = ranking()["withheld_near"] * max((c.merit for c in shown), default=0.0)
    found = [c.scope.withheld for c in candidates if c.scope.withheld is not None and c.merit >= floor]
    return tuple(found[:3])


def missing_signals(shown: list[Candidate], facets: Facets, reading: Reading) -> tuple[str, ...]:
    """At most five facets that would decide more, those that concern most of the shown entries first."""
    counts: Counter[str] = Counter()
    for candidate in shown:
        counts.update(dict.fromkeys(candidate.scope.open, 1))
        if not facets.targets and not reading.targets and "any" not in candidate.card["targets"]:
            counts["target"] += 1
        if not facets.dsls and not reading.dsls and "any" not in candidate.card["dsl"]:
            counts["dsl"] += 1
    first = {"target": 0, "dsl": 1}
    ordered = sorted(counts, key=lambda name: (-counts[name], first.get(name, 2), name))
    return tuple(ordered[:5])


def understood(reading: Reading, facets: Facets, catalog: Catalog) -> Understood:
    """What the caller set and what was recognised, together."""

    def both(ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*ours, *theirs]))

    targets = tuple(t for name in facets.targets for t in catalog.vocabulary.expand_target(name))
    return Understood(
        targets=both(targets, reading.targets),
        dsls=both(facets.dsls, reading.dsls),
        operators=both(facets.operators, reading.operators),
        apis=reading.apis,
        error_codes=reading.error_codes,
        bottlenecks=both(facets.bottlenecks, reading.bottlenecks),
        stages=both(facets.stages, reading.stages),
        conditions={**reading.conditions, **facets.when},
        toolchain={**reading.toolchain, **facets.toolchain},
        lang=reading.lang,
    )


def notes_of(candidate: Candidate, stale: frozenset[str], lang: Lang) -> tuple[Note, ...]:
    """Caveats of an entry as shown, gravest first."""
    notes = [Note(code, say(name, lang, **values)) for code, name, values in candidate.scope.caveats]
    if candidate.card["id"] in stale:
        notes.insert(0, Note("review-due", say("review-due", lang, date=candidate.card["stale_after"][:10])))
    if candidate.card["tier"] == "founding":
        notes.append(Note("founding", say("founding", lang)))
    if candidate.card["lifecycle"] == "deprecated":
        notes.append(Note("deprecated", say("deprecated", lang)))
    if candidate.card["pending"]:
        notes.append(Note("update-pending", say("update-pending", lang)))
    return tuple(sorted(notes, key=lambda n: NOTE_ORDER.index(n.code)))


def _hit(view: View, ranker: Ranker, candidate: Candidate, reading: Reading, explain: bool) -> Hit:
    card = candidate.card
    section, snippet = _snippet(view.catalog, candidate, reading)
    return Hit(
        id=card["id"],
        digest=card["digest"],
        title=in_lang(card, "title", reading.lang),
        description=in_lang(card, "description", reading.lang),
        kind=card["kind"],
        dsl=tuple(card["dsl"]),
        targets=tuple(card["targets"]),
        tier=card["tier"],
        lifecycle=card["lifecycle"],
        score=candidate.score,
        section=section,
        snippet=snippet,
        caveats=notes_of(candidate, view.stale, reading.lang),
        missing_evidence=tuple(card["missing_evidence"]),
        uri=f"cakebook://entry/{card['id']}",
        explain={**{k: round(v, 4) for k, v in candidate.terms.items()}, "exact_names": candidate.exact} if explain else None,
    )


def _snippet(catalog: Catalog, candidate: Candidate, reading: Reading) -> tuple[str, str]:
    """The section with most of the question's words, and the sentence of it that has most of them.

    If none shares a word with the question, it is the section whose meaning came nearest.
    """
    wanted = set(reading.words)
    foreign = "Summary" if reading.lang == "zh" else "摘要"
    best: tuple[str, Section | None, int] = ("", None, 0)
    for section in catalog.sections(candidate.row):
        if section.title in ("Sources", "Check", "Pattern", foreign):
            continue
        if candidate.near is not None and section.title == candidate.near.part and not best[2]:
            best = (section.title, section, 0)
        matched = len(section.words & wanted)
        if matched > best[2]:
            best = (section.title, section, matched)
    title, where, _ = best
    if where is None or not where.sentences:
        return "", ""
    chosen, _ = max(where.sentences, key=lambda s: len(s[1] & wanted))  # the first of equals
    return title, chosen if len(chosen) <= SNIPPET else chosen[:SNIPPET].rsplit(" ", 1)[0] + " …"
