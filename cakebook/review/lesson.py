"""A draft entry from a lesson of a few lines: what the lesson says, nothing else, and a list of what it does not say.

The draft lints without errors. What lint insists on and a lesson need not say is filled so that it claims least, and asked
for: a section reads `Not stated.`; the DSL is the one that the text names, `any` if it names none or several; the kind is
the one that the text names, else `debugging` for an error code, else `methodology`. Figures stay as they were written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from hashlib import sha256

from cakebook.errors import BadArgument
from cakebook.lint import Finding, Severity, lint_book
from cakebook.lint.format import TITLE_MAX
from cakebook.lint.provenance import pinned, web_address
from cakebook.model.terms import Vocabulary
from cakebook.repo.layout import RESERVED, MemorySource
from cakebook.retrieve.aliases import AliasFinder
from cakebook.review import facets
from cakebook.review.asking import Ask, asks, missing_items, not_given
from cakebook.review.reading import Lesson, read_lessons
from cakebook.review.writing import ANY, Parts, write
from cakebook.text import tokens

ID_MAX = 60
"""Characters of a draft's id; an id may have more, but nobody likes to type them."""
_REFERENCE = re.compile(r"(?<![\w./-])([A-Za-z0-9][A-Za-z0-9-]{0,38})/([A-Za-z0-9._-]{1,100})#(\d{1,9})(?!\d)")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`|\\^{}，。；）]+|pkg:[a-z]+/[^\s@?#,;]+@[^\s@?#,;]+")
_TRAILING = ".,;:!?)]}'\""
_SUBJECT = (
    "title title_zh problem change when why observed before after hardware shapes dtype baseline timing_method pitfalls "
    "operators source"
).split()
"""The fields whose words suggest facets; what a lesson says is missing suggests nothing."""
_TAKEN = frozenset(name.removesuffix(".md") for name in RESERVED)


@dataclass(frozen=True)
class Draft:
    """A draft entry and what its reviewer will ask.

    `path`: where it belongs in a book; `text`: the whole file; `asks`: short sentences, most important first; `suggested`:
    facet → terms that the text names and that are not in the front matter, because the lesson does not state them as such.
    """

    id: str
    path: str
    text: str
    asks: tuple[str, ...]
    suggested: dict[str, tuple[str, ...]]


def draft_from_lesson(
    name: str,
    data: bytes,
    vocabulary: Vocabulary,
    *,
    accessed: date,
    by: str = "",
    taken: Collection[str] = (),
    kind: str = "",
    dsl: str = "",
    apis: Collection[str] = (),
) -> Draft:
    """The draft from a file that holds one lesson; see `drafts_from_lessons`.

    Raises:
        BadArgument: also if it holds several.
    """
    drafts = drafts_from_lessons(name, data, vocabulary, accessed=accessed, by=by, taken=taken, kind=kind, dsl=dsl, apis=apis)
    if len(drafts) > 1:
        raise BadArgument(f"{name}: holds {len(drafts)} lessons", hint="give one, or draft them all")
    return drafts[0]


def drafts_from_lessons(
    name: str,
    data: bytes,
    vocabulary: Vocabulary,
    *,
    accessed: date,
    by: str = "",
    taken: Collection[str] = (),
    kind: str = "",
    dsl: str = "",
    apis: Collection[str] = (),
) -> tuple[Draft, ...]:
    """Drafts from a file of lessons, in its order; its forms are described in `reading`.

    Args:
        name: of the file, for its suffix and for messages.
        accessed: the day on which the sources were read; it is written as that of the draft too.
        by: who or what wrote the lesson; `unknown` if empty.
        taken: ids that a draft may not have.
        kind, dsl: terms that overrule what the lesson says.
        apis: names that the book's entries use, to be recognised in the text.

    Raises:
        TooLarge, BadArgument: see `read_lessons`; also a kind or DSL that the vocabulary does not have, a lesson without a
            source that a reader could open, and one whose draft would not pass lint.
    """
    drafts: list[Draft] = []
    used = {i.casefold() for i in taken} | _TAKEN
    for number, lesson in enumerate(read_lessons(name, data), 1):
        place = name if number == 1 else f"{name} (lesson {number})"
        draft = _draft(place, lesson, vocabulary, accessed, by, used, kind, dsl, apis)
        used.add(draft.id)
        drafts.append(draft)
    return tuple(drafts)


def _draft(
    place: str, lesson: Lesson, vocabulary: Vocabulary, accessed: date, by: str, used: Collection[str], kind: str, dsl: str,
    apis: Collection[str],
) -> Draft:  # fmt: skip
    text = "\n".join(lesson.get(field) for field in _SUBJECT)
    named = facets.suggested(text, vocabulary, apis)
    declared = {facet: facets.stated(facet, lesson.get(field), vocabulary) for facet, field in facets.FIELDS.items()}
    if lesson.get("targets"):
        declared["targets"] = facets.stated("targets", lesson.get("targets"), vocabulary)
    if dsl:
        declared["dsl"] = (dsl,)
    sources = _sources(place, lesson.get("source"))
    dsls = declared["dsl"] or (named["dsl"] if len(named.get("dsl", ())) == 1 else (ANY,))
    unstated = [field for field in ("change", "when") if not lesson.get(field)]
    if not (lesson.get("observed") or lesson.get("before") or lesson.get("after")):
        unstated.append("observed")
    suggested = {f: rest for f, terms in named.items() if (rest := tuple(t for t in terms if t not in declared[f]))}
    seen: list[Ask] = list(_seen(lesson, declared, suggested))
    if not declared["dsl"]:
        why = "as its text does" if dsls != (ANY,) else "since its text names none or several"
        seen.append(("dsl", f"Which DSL is it for? The draft says {dsls[0]}, {why}."))
    chosen = kind or _kind(lesson, text, vocabulary)
    if not kind and vocabulary.resolve("kinds", lesson.get("kind")) != chosen:
        seen.append(("kind", f"Of which kind is it? The draft is filed under {chosen}."))
    if lesson.removed:
        seen.append(("removed", f"Is the text whole? {lesson.removed} characters that cannot be shown were taken out."))
    other = "English" if tokens.has_cjk(lesson.get("title")) else "Chinese"
    seen.append(("language", f"Can somebody add the {other} title, description and summary?"))
    entry_id = _id(lesson.get("title"), dsls, named, used)
    parts = Parts(
        id=entry_id,
        title=_title(lesson.get("title")),
        kind=chosen,
        dsls=dsls,
        dsl_stated=bool(declared["dsl"]),
        facets={facet: terms for facet, terms in declared.items() if facet != "dsl"},
        sources=sources,
        by=by,
        accessed=accessed,
        notes=tuple(_unread(lesson, declared, vocabulary)),
        missing=tuple(missing_items(lesson)),
        not_given=tuple(not_given(lesson, unstated)),
    )
    path = f"entries/{chosen}/{entry_id}.md"
    # The DSL has its own question already.
    asked = asks(lesson, unstated, seen, {f: terms for f, terms in suggested.items() if f != "dsl" or declared["dsl"]})
    return Draft(entry_id, path, _written(place, path, lesson, parts, vocabulary), asked, suggested)


def _written(place: str, path: str, lesson: Lesson, parts: Parts, vocabulary: Vocabulary) -> str:
    """The file. Code that does not parse as the language it names keeps its text and loses the name."""
    text = write(lesson, parts, vocabulary)
    errors = _errors(path, text, vocabulary)
    if any(finding.rule.startswith("CB6") for finding in errors):
        text = write(lesson, parts, vocabulary, plain=True)
        errors = _errors(path, text, vocabulary)
    if errors:
        first = errors[0]
        raise BadArgument(f"{place}: its draft would not pass lint: {first.rule} {first.message}", hint=first.hint)
    return text


def _errors(path: str, text: str, vocabulary: Vocabulary) -> list[Finding]:
    findings = lint_book(MemorySource({path: text.encode()}), vocabulary, ())
    return [finding for finding in findings if finding.severity is Severity.ERROR]


def _seen(lesson: Lesson, declared: dict[str, tuple[str, ...]], suggested: dict[str, tuple[str, ...]]) -> Iterator[Ask]:
    """What strikes somebody who reads the lesson with the vocabulary at hand."""
    for facet, field in facets.FIELDS.items():
        if lesson.get(field) and not declared[facet] and facet not in ("dsl", *suggested):
            said = " ".join(lesson.get(field).split())[:80]
            yield "scope", f"Which terms of the vocabulary are its {facet}? It says: {said}."
    if declared["targets"] and not lesson.get("targets") and declared["targets"] != (ANY,):
        yield "scope", f"Does it hold on other chips than {', '.join(declared['targets'])}, where it was seen?"
    state = lesson.get("state").casefold()
    if "open" in state or "未合" in state:
        yield "state", "Is the change in by now? It was open when the lesson was written."


def _unread(lesson: Lesson, declared: dict[str, tuple[str, ...]], vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """Fields that did not become front matter, whole as they are, and stand nowhere else in the draft."""
    if " ".join(lesson.get("title").split()) != _title(lesson.get("title")):
        yield "title", lesson.get("title")
    if lesson.get("title_zh") and (tokens.has_cjk(lesson.get("title")) or len(lesson.get("title_zh")) > TITLE_MAX):
        yield "title_zh", lesson.get("title_zh")
    if lesson.get("kind") and not vocabulary.resolve("kinds", lesson.get("kind")):
        yield "kind", lesson.get("kind")
    for facet, field in (*facets.FIELDS.items(), ("targets", "targets")):
        if lesson.get(field) and field not in ("hardware", "dtype") and not declared[facet]:
            yield field, lesson.get(field)


def _sources(place: str, text: str) -> tuple[str, ...]:
    """The addresses that the source names, in order; at most eight."""
    found: dict[int, str] = {m.start(): m.group().rstrip(_TRAILING) for m in _ADDRESS.finditer(text)}
    inside = [range(at, at + len(address)) for at, address in found.items()]
    for match in _REFERENCE.finditer(text):
        if not any(match.start() in span for span in inside):
            # Whether 12 of `owner/repo#12` is an issue or a pull request the lesson does not say. GitHub leads from the
            # address of an issue to the pull request of that number, so this one is right for both.
            found[match.start()] = "https://github.com/{}/{}/issues/{}".format(*match.groups())
    addresses = list(dict.fromkeys(found[at] for at in sorted(found)))
    if not addresses:
        hint = "name one that a reader can open: a https address, or owner/repo#number"
        raise BadArgument(f"{place}: {'no source' if not text else f'no source in `{text[:60]}`'}", hint=hint)
    for address in addresses:
        parts = web_address(address)
        if parts is None and not address.startswith("pkg:"):
            raise BadArgument(f"{place}: source is not an https address: {address[:80]}", hint="write https://…")
        if parts and pinned(parts) is False:
            hint = "open the file, press `y`, and copy the address with the 40-digit commit"
            raise BadArgument(f"{place}: source is not pinned to a commit: {address[:80]}", hint=hint)
    return tuple(addresses[:8])


def _kind(lesson: Lesson, text: str, vocabulary: Vocabulary) -> str:
    """The kind that the lesson states or names, else the one that claims least."""
    kinds = vocabulary.ids("kinds")
    stated = vocabulary.resolve("kinds", lesson.get("kind")) if lesson.get("kind") else None
    if stated:
        return stated
    finder = AliasFinder(text, vocabulary)
    named = finder.find("kinds")
    if named:
        return named[0]
    likely = [*(["debugging"] if finder.messages() or finder.find("error_codes") else []), "methodology", *kinds]
    return next((kind for kind in likely if kind in kinds), "")


def _title(title: str) -> str:
    """The title on one line, cut at a word if it is too long; the whole of it then stands in the notes."""
    line = " ".join(title.split())
    if len(line) <= TITLE_MAX:
        return line
    cut = line[: TITLE_MAX - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip() + "…"


def _id(title: str, dsls: tuple[str, ...], named: dict[str, tuple[str, ...]], used: Collection[str]) -> str:
    """An id that is not used, from the words of the title; if it has next to none, from what the lesson is about."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", title) if not unicodedata.combining(c))
    words = re.findall(r"[a-z0-9]+", plain.lower())
    if not words or (len(words) < 2 and tokens.has_cjk(title)):
        about = [*dsls[:1], *named.get("operators", ())[:2], *named.get("apis", ())[:2]]
        words = re.findall(r"[a-z0-9]+", " ".join(about).lower())
        tail = sha256(title.encode()).hexdigest()[:6]
        base = _joined(words, ID_MAX - 7)
        base = f"{base}-{tail}" if base else f"lesson-{tail}"
    else:
        base = _joined(words, ID_MAX)
    found, number = base, 1
    while found in used:
        number += 1
        end = f"-{number}"
        found = base[: ID_MAX - len(end)].rstrip("-") + end
    return found


def _joined(words: list[str], limit: int) -> str:
    """As many of the words as fit, joined by hyphens."""
    joined = ""
    for word in words:
        longer = f"{joined}-{word}" if joined else word[:limit]
        if len(longer) > limit:
            break
        joined = longer
    return joined
