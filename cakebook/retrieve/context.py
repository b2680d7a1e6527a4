"""Packs: what a generator needs next, within its token budget, cited and quoted as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cakebook.errors import BadFilter, BudgetTooSmall
from cakebook.index.ranking import ranking
from cakebook.model.pack import STAGES, ContextRequest, DslEntries, Pack
from cakebook.model.profile import Diagnosis
from cakebook.model.query import Facets, Lang, Withheld
from cakebook.retrieve.code import apis_in, weight_of_apis
from cakebook.retrieve.labels import say
from cakebook.retrieve.packer import Choice, Packer
from cakebook.retrieve.rank import Candidate, Ranker
from cakebook.retrieve.receipt import canonical_request, pack_id
from cakebook.retrieve.render import FORMS
from cakebook.retrieve.search import gather, missing_signals, near
from cakebook.retrieve.understand import Reading, understand
from cakebook.retrieve.view import Sense, View, sense
from cakebook.text import tokenizers, tokens

MIN_BUDGET = 256
"""Tokens below which not even one summary fits beside the frame."""
FRAME_SHARE = 0.5
"""Part of the budget that the lines before the items may take."""
SHOWN_APIS = 12
"""APIs of the code that are named in the text."""
Receipt = Callable[[str], tuple[str, ...]]
"""Pack id → the entries of that pack, none if it is not known."""


@dataclass(frozen=True)
class Given:
    """What came beside the request: what a profile showed, a line that says so, and the memory of earlier packs."""

    diagnosis: Diagnosis | None = None
    profile_line: str = ""
    receipt: Receipt = lambda _: ()


def context(view: View, request: ContextRequest, given: Given | None = None) -> Pack:
    """Build one pack.

    Raises:
        BudgetTooSmall: the budget is below `MIN_BUDGET`.
        BadFilter: the stage, the pass or the format is not known.
        BadArgument, NoSuchPath: the tokenizer cannot be used.
        StoreError: mode `hybrid` was asked for and cannot be had.
    """
    return contexts(view, request, given, [request.pack])[0]


def contexts(view: View, request: ContextRequest, given: Given | None, wanted: list[int]) -> list[Pack]:
    """Build several of the `request.packs` packs of one request, those numbered in `wanted`; raises as `context` does."""
    given = given or Given()
    stage = _stage(request)
    if request.budget_tokens < MIN_BUDGET:
        raise BudgetTooSmall(
            f"a budget of {request.budget_tokens} tokens holds nothing", hint=f"at least {MIN_BUDGET}", minimum=MIN_BUDGET
        )
    if request.format not in FORMS:
        raise BadFilter(f"no format `{request.format[:80]}`", hint="one of: " + ", ".join(FORMS), valid=list(FORMS))
    counter = tokenizers.counter(request.tokenizer)
    request = replace(request, stage=stage, tokenizer=counter.name)
    text = "\n".join(t for t in (request.error_text, request.task) if t.strip())
    reading = understand(text, view.catalog, None if request.lang == "auto" else request.lang)
    how = sense(view, text, request.mode, reading.query_class == "identifier")
    ranker = Ranker(how.view, _with_stage(request.facets, stage), reading, how.nearest)
    unrecognised = _bring_more(ranker, request, reading.lang)
    candidates = _candidates(ranker, how.view, request, text)
    left_out, unknown = _left_out(request, how.view, given.receipt)
    mine = [c for c in candidates if c.card["id"] not in left_out]
    dsls = _shortlist(ranker, mine) if stage == "route" else ()
    head = _head(ranker, given, dsls, reading.lang)
    packer = Packer(how.view, ranker, stage, reading.lang, FORMS[request.format], counter.count, left_out)
    choices = packer.choices(mine)
    request = replace(request, lang=reading.lang)
    made = _Making(how, request, reading, packer, choices, mine, head, dsls, counter.count)
    said = tuple(
        Withheld(c.card["id"], left_out[c.card["id"]], say(left_out[c.card["id"]], reading.lang))
        for c in candidates
        if c.card["id"] in left_out
    )
    return [made.pack(number, (*unrecognised, *unknown), said, given.diagnosis) for number in wanted]


@dataclass(frozen=True)
class _Making:
    """Everything that the packs of one request share."""

    how: Sense
    request: ContextRequest
    reading: Reading
    packer: Packer
    choices: list[Choice]
    candidates: list[Candidate]
    head: tuple[str, ...]
    dsls: tuple[DslEntries, ...]
    count: Callable[[str], int]

    def pack(self, number: int, unrecognised: tuple[str, ...], said: tuple[Withheld, ...], diagnosis: Diagnosis | None) -> Pack:
        """The pack of that number."""
        view, request, lang = self.how.view, replace(self.request, pack=number), self.reading.lang
        form, generation = self.packer.form, view.manifest.generation
        head, last = self.head, say("exhausted", lang) + "\n" if request.packs > 1 else ""
        frame = self.count(form.frame(lang, generation, head) + form.end() + last) + 2
        if frame > request.budget_tokens * FRAME_SHARE:  # what was found out must not push out what helps
            head = ()
            frame = self.count(form.frame(lang, generation, head) + form.end() + last) + 2
        room = request.budget_tokens - frame
        while True:
            chosen, exhausted = self.packer.fill(self.choices, room, number, request.packs)
            items = tuple(self.packer.item(c) for c in chosen)
            levels = [(c.id, c.candidate.card["digest"], c.level or "") for c in chosen]
            identity = pack_id(canonical_request(request), generation, self.how.embedder, self.how.engine, levels)
            nothing = say("none-fits" if self.candidates else "none", lang)
            text = form.render(items, lang, generation, head, identity, nothing)
            if exhausted and items:
                text += last
            spent = self.count(text)
            # The tokens of a text are not always the sum of those of its parts.
            if spent <= request.budget_tokens or not items:
                break
            room -= spent - request.budget_tokens
        dropped = self.packer.dropped + near(self.candidates, [c.candidate for c in chosen])
        return Pack(
            pack_id=identity,
            request=canonical_request(request),
            generation=generation,
            commit=view.manifest.commit,
            embedder=self.how.embedder,
            engine=self.how.engine,
            deterministic="machine" if self.how.embedder else "everywhere",
            items=items,
            tokens=spent,
            budget_tokens=request.budget_tokens,
            tokenizer=request.tokenizer,
            withheld=(*dropped[: max(3, len(self.packer.dropped))], *said),
            missing_signals=missing_signals([c.candidate for c in chosen], request.facets, self.reading),
            unrecognised=unrecognised,
            exhausted=exhausted,
            text=text,
            degraded=self.how.degraded(lang),
            diagnosis=diagnosis,
            dsls=self.dsls,
        )


def _stage(request: ContextRequest) -> str:
    stage = request.stage or ("debug" if request.error_text else "review" if request.code else "draft")
    if stage not in STAGES:
        raise BadFilter(f"no packs for stage `{stage[:80]}`", hint=f"one of: {', '.join(STAGES)}", valid=list(STAGES))
    passes = ranking()["packs"]["passes"]
    if request.pass_ and request.pass_ not in passes:
        raise BadFilter(f"no pass `{request.pass_[:80]}`", hint=f"one of: {', '.join(passes)}", valid=list(passes))
    return stage


def _with_stage(facets: Facets, stage: str) -> Facets:
    return facets if stage in facets.stages else replace(facets, stages=(*facets.stages, stage))


def _bring_more(ranker: Ranker, request: ContextRequest, lang: Lang) -> tuple[str, ...]:
    """Channels beside the text: the APIs of the code, and what a lowering pass is about. Returns what was not understood."""
    catalog = ranker.catalog
    if request.pass_:
        about = ranking()["packs"]["passes"][request.pass_]
        words = dict.fromkeys(tokens.query_words(about["text"]))
        found = catalog.match(list(words), catalog.size())
        best = max(found.values(), default=1.0)
        kinds = {row: about["kinds"].get(card["kind"], 0.0) for row, card in catalog.cards(catalog.rows()).items()}
        ranker.more["pass"] = {row: found.get(row, 0.0) / best + kind for row, kind in kinds.items()}
    if not request.code.strip():
        return ()
    ranker.apis = apis_in(request.code, catalog)
    ranker.more["code"] = weight_of_apis(ranker.apis, catalog)
    return () if ranker.apis else (say("code-none", lang),)


def _candidates(ranker: Ranker, view: View, request: ContextRequest, text: str) -> list[Candidate]:
    """Facets alone rank everything; a text or code names its candidates, and facets beside it add the rest.

    A text about something else leaves what operator, bottleneck and code say; a DSL alone is no subject.
    """
    f = request.facets
    if not text.strip():
        subject = f.operators or f.bottlenecks or f.kinds or request.pass_ or request.stage == "route"
        if request.code.strip() and not subject:
            return ranker.candidates({}, sorted(ranker.apis))
        return gather(ranker, view, "", 0)[0]
    from_text, _ = gather(ranker, view, text, 8)
    if not (f.operators or f.bottlenecks or ranker.apis or (f.dsls and from_text)):
        return from_text
    rows = sorted({*view.catalog.rows()})
    channels = ranker.channels(len(rows)) if from_text else {}
    return ranker.candidates(channels, rows)


def _left_out(request: ContextRequest, view: View, receipt: Receipt) -> tuple[dict[str, str], tuple[str, ...]]:
    """Ids that are not repeated → `applied` or `tried`; and the names that mean nothing here.

    A name is an id, a title, the id of a pack, or words that all stand in an entry's title, id or group.
    """
    catalog = view.catalog
    left_out: dict[str, str] = {}
    unknown: list[str] = []
    cards = catalog.cards(catalog.rows()).values() if request.applied or request.tried else ()
    subjects = {card["id"]: _subject_words(card) for card in cards}
    for why, names in (("applied", request.applied), ("tried", request.tried)):
        for name in names:
            folded = name.strip().casefold()
            found = [c["id"] for c in cards if folded in {c["id"], c["title"].casefold(), c["title_zh"].casefold()}]
            found = found or [entry_id for entry_id in receipt(folded) if entry_id in subjects]
            words = {*tokens.query_words(name)}
            found = found or [entry_id for entry_id, held in subjects.items() if words and words <= held]
            left_out |= dict.fromkeys(found, why)
            if not found:
                unknown.append(name)
    return left_out, tuple(unknown)


def _subject_words(card: Mapping[str, Any]) -> frozenset[str]:
    names = (card["title"], card["title_zh"], card["id"].replace("-", " "), (card["variant_of"] or "").replace("-", " "))
    return frozenset(word for name in names for word in tokens.words(name))


def _head(ranker: Ranker, given: Given, dsls: tuple[DslEntries, ...], lang: Lang) -> tuple[str, ...]:
    """Lines before the items: what the profile, the code and the book say about the request."""
    lines = [given.profile_line] if given.profile_line else []
    if dsls:
        lines.append(say("shortlist", lang, dsls="; ".join(f"{d.dsl} ×{d.entries} [{d.best}]" for d in dsls)))
    if ranker.apis:
        names = sorted({api for apis in ranker.apis.values() for api in apis})
        more = f" … +{len(names) - SHOWN_APIS}" if len(names) > SHOWN_APIS else ""
        lines.append(say("code-line", lang, apis=", ".join(names[:SHOWN_APIS]) + more))
    return tuple(lines)


def _shortlist(ranker: Ranker, candidates: list[Candidate]) -> tuple[DslEntries, ...]:
    """DSLs by how many applicable entries speak of the operators asked for, the most first, each with its best entry."""
    asked = {o for name in (*ranker.facets.operators, *ranker.reading.operators) for o in ranker.lines[name]}
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        if candidate.scope.withheld is None and (not asked or asked & {*candidate.card["operators"]}):
            for dsl in candidate.card["dsl"]:
                if dsl != "any":
                    found.setdefault(dsl, []).append(candidate)
    return tuple(
        DslEntries(dsl, len(mine), min(mine, key=lambda c: c.order).card["id"])
        for dsl, mine in sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    )
