"""Building a generation from a book: read, judge, chunk what changed, verify, switch."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from cakebook.errors import (
    BadArgument,
    EngineUnavailable,
    IndexBusy,
    IndexCorrupt,
    IndexIncompatible,
    IndexMissing,
    NotABook,
)
from cakebook.gate import memory
from cakebook.gate.facts import Facts, gather
from cakebook.index.catalog import SCHEMA, CatalogWriter, WithheldEntry
from cakebook.index.chroma import RECORD, installed
from cakebook.index.chunks import chunk
from cakebook.index.embedders import DEFAULT, NONE, ModelInfo, is_embedder
from cakebook.index.embeddings import EmbeddingCache
from cakebook.index.generation import CATALOG, BuiltFrom, file_digest, store_errors
from cakebook.index.matrix import Before, MatrixPlan, Progress, compute, plan_matrix, write_matrix
from cakebook.index.place import Place, signature
from cakebook.index.ranking import ranking_digest
from cakebook.index.vectors import CHROMA_FROM, ENGINES, FILE, read_matrix
from cakebook.model.manifest import Manifest, canonical_json
from cakebook.model.review import Verdict
from cakebook.model.terms import Vocabulary
from cakebook.repo.entries import EntryFile, read_entry
from cakebook.repo.git import Repository
from cakebook.repo.layout import JUDGED, VOCABULARY, BookSource, FolderSource, entry_paths
from cakebook.repo.vocabulary import load_vocabulary
from cakebook.settings import Settings

LOCK_SECONDS = 30.0
DUPLICATE = "duplicate-id"


@dataclass(frozen=True)
class SyncReport:
    """What a sync did. `built` is False when the book had not changed; `embedded` passages were computed, not remembered."""

    generation: str
    built: bool
    entries: int
    withheld: tuple[WithheldEntry, ...]
    changed: int
    commit: str | None
    dirty: bool
    notes: tuple[str, ...] = ()
    vectors: int = 0
    embedded: int = 0


@dataclass
class _Plan:
    """What was read from the book before anything is written."""

    source: BookSource
    facts: Facts
    commit: str | None
    dirty: bool
    signature: str
    revision: str | None
    repository: Repository | None = None
    raw: dict[str, bytes] = field(default_factory=dict)

    def state(self, path: str, entry_id: str) -> str:
        """What becomes of a file depends on this: its bytes, and the facts about the id that it has."""
        return sha256(self.raw[path] + self.facts.key(entry_id).encode()).hexdigest()

    @cached_property
    def vocabulary_digest(self) -> str:
        """Digest of the vocabulary files."""
        digests = {p: sha256(self.source.read(p)).hexdigest() for p in self.source.paths(VOCABULARY)}
        return sha256(canonical_json(digests)).hexdigest()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary, validated."""
        return load_vocabulary(self.source)


def step(_name: str) -> None:
    """Called between the steps of a build; the crash tests kill the process here."""


def sync(
    place: Place,
    settings: Settings,
    *,
    revision: str | None = None,
    rebuild: bool = False,
    embedder: str = "",
    accept_rollback: bool = False,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring the index up to date with the work tree, or with `revision`. Readers keep the generation they opened.

    `rebuild` starts from nothing instead of from the last generation; the result is the same. `embedder` makes the vectors
    from now on: the index remembers it, whereas what the settings name holds as long as they name it. `progress` is told how
    far embedding is. A book that is older than what this user has seen of it is refused unless `accept_rollback`; a revision
    that is asked for by name may be.

    Raises:
        RolledBack: see above; the served generation is as it was.
        IndexBusy: another process holds the builder's lock for longer than `LOCK_SECONDS`.
        StoreIO: writing failed; the served generation is as it was.
        EmbedderUnavailable, EngineUnavailable: the settings name a model or an engine that cannot be had.
        Unreadable, BookFileInvalid, AnchorInvalid, BadRevision, GitFailed, NotABook: the book cannot be read.
    """
    store = place.store
    with store_errors():
        store.folder.mkdir(parents=True, exist_ok=True)
        ignore = store.folder.parent / ".gitignore"
        if not ignore.exists() or not ignore.stat().st_size:
            ignore.write_text("*\n")
    lock = FileLock(store.folder / "build.lock")
    with store_errors():
        try:
            lock.acquire(timeout=LOCK_SECONDS)
        except Timeout:
            raise IndexBusy(
                f"another process has been building the index for {LOCK_SECONDS:.0f} seconds", hint="wait for it, or stop it"
            ) from None
        try:
            plan = _read(place, settings, revision)
            step("read")
            if revision is None and not accept_rollback:
                memory.check(settings, plan.facts)
            report = _sync(place, settings, plan, rebuild, embedder, progress)
            if revision is None:
                memory.remember(settings, plan.facts)
            return report
        finally:
            lock.release()


def _sync(place: Place, settings: Settings, plan: _Plan, rebuild: bool, embedder: str, progress: Progress | None) -> SyncReport:
    kept = embedder or _kept_embedder(place.store.built_from())
    asked = embedder or settings.embedder
    cache = EmbeddingCache(place.store.folder.parent / "cache" / "embeddings.sqlite")
    with contextlib.closing(cache), place.store.building() as folder:
        step("folder")
        previous = None if rebuild else _previous(place)
        catalog = folder / CATALOG
        if previous:
            shutil.copyfile(place.store.home(previous.generation) / CATALOG, catalog)
        writer = CatalogWriter(catalog, fresh=previous is None)
        step("catalog")
        try:
            before = _before(place, previous, writer)
            changed = _write_entries(writer, plan)
            step("entries")
            vectors = plan_matrix(asked or kept or DEFAULT, bool(asked), writer, before, cache, settings.cache_folder())
            manifest = _manifest(writer, plan, previous, vectors)
            ids = writer.passage_ids()
            wants_chroma = _wants_chroma(settings, vectors.rows)
            current = place.store.current()
            home = place.store.home(manifest.generation)
            unchanged = previous is not None and previous.generation == manifest.generation == current
            unchanged = unchanged and (home / RECORD).exists() == wants_chroma
            withheld = tuple(writer.withheld())
            if not unchanged:
                compute(vectors, writer, cache, progress)
                step("embedded")
        except BaseException:
            writer.abandon()
            raise
        writer.close()
        step("closed")
        built = BuiltFrom(manifest.generation, plan.signature, plan.revision, kept)
        notes = _notes(plan, vectors)
        if not unchanged:
            _write_vectors(folder, vectors, ids, wants_chroma)
            step("vectors")
            names = [CATALOG, *(name for name in (FILE, RECORD) if (folder / name).exists())]
            manifest = replace(manifest, files={name: file_digest(folder / name) for name in names})
            place.store.install(folder, manifest)
            step("installed")
            place.store.verify(manifest)
            place.store.switch(built)
            step("switched")
            place.store.prune({manifest.generation, current or ""})
            step("pruned")
        else:
            place.store.record(built)
    if settings.chroma_url and vectors.rows:
        notes += _upload(place, settings, manifest, ids, {current or ""})
    return SyncReport(
        manifest.generation, not unchanged, manifest.entries, withheld, changed, plan.commit, plan.dirty, notes,
        manifest.vectors, len(vectors.wanted),
    )  # fmt: skip


def _kept_embedder(built: BuiltFrom | None) -> str:
    """The embedder that a sync was last told to use, empty if none was."""
    return built.embedder if built and (built.embedder == NONE or is_embedder(built.embedder)) else ""


def _before(place: Place, previous: Manifest | None, writer: CatalogWriter) -> Before | None:
    """The vectors of the generation from which this one starts; to be asked before the catalog changes."""
    if previous is None or previous.embedder is None:
        return None
    model = ModelInfo(**previous.embedder)
    folder = place.store.home(previous.generation)
    digests = writer.passage_digests()
    return Before(model, digests, writer.passage_ids(), read_matrix(folder / FILE, len(digests), model.dim), folder)


def _wants_chroma(settings: Settings, rows: int) -> bool:
    """Whether the generation gets a Chroma folder beside the matrix."""
    if settings.engine not in ("", *ENGINES):
        raise BadArgument(f"CAKEBOOK_ENGINE `{settings.engine[:80]}` is not known", hint="one of: " + ", ".join(ENGINES))
    return bool(rows) and (settings.engine == "chroma" or (settings.engine != "scan" and rows >= CHROMA_FROM and installed()))


def _write_vectors(folder: Path, plan: MatrixPlan, ids: list[str], wants_chroma: bool) -> None:
    if plan.model is None:
        return
    matrix = write_matrix(folder / FILE, plan)
    if wants_chroma:
        from cakebook.index.chroma import build

        before = plan.before
        build(folder, ids, matrix, (before.folder, before.ids, before.matrix) if before else None)


def _upload(place: Place, settings: Settings, manifest: Manifest, ids: list[str], keep: set[str]) -> tuple[str, ...]:
    """Make the Chroma server hold the generation; that it does not answer is no reason to fail."""
    from cakebook.index.chroma import upload

    assert manifest.embedder is not None
    matrix = read_matrix(place.store.home(manifest.generation) / FILE, len(ids), manifest.embedder["dim"])
    try:
        upload(settings.chroma_url, manifest.book, manifest.generation, ids, matrix, keep)
    except EngineUnavailable as error:
        return (str(error),)
    return ()


def _read(place: Place, settings: Settings, revision: str | None) -> _Plan:
    repository = None if place.packaged else Repository.around(place.root)
    source: BookSource
    if revision is not None:
        if repository is None:
            raise NotABook(f"{place.root}: not in a Git repository, so it has no revisions", hint="leave out --rev")
        source = repository.at(revision, JUDGED)
        commit: str | None = source.commit
        dirty, sign = False, f"revision {commit}"
    else:
        sign, _ = signature(place.root, settings)  # before reading: a change meanwhile makes the index stale, not wrong
        source = FolderSource(place.root)
        commit = repository.head() if repository else None
        dirty = repository.differs(JUDGED) if repository else False
    facts = gather(source, settings.trust_roots)
    raw = {path: source.read(path) for path in entry_paths(source)}
    return _Plan(source, facts, commit, dirty, sign, commit if revision is not None else None, repository, raw)


def _previous(place: Place) -> Manifest | None:
    """The current generation if a new one can start as its copy."""
    current = place.store.current()
    if current is None:
        return None
    try:
        manifest = place.store.manifest(current)
        place.store.verify(manifest)
    except (IndexMissing, IndexIncompatible, IndexCorrupt):
        return None
    return manifest if manifest.code_schema == SCHEMA else None


def _write_entries(writer: CatalogWriter, plan: _Plan) -> int:
    """Write what is new, edited or differently judged, drop what is gone; returns how many paths were touched."""
    # A change of the vocabulary changes the labels in passages; one of the trust facts the verdicts, entry by entry.
    known = writer.known()
    same_words = writer.meta("words") == plan.vocabulary_digest
    same = {p: old for p, old in known.items() if same_words and p in plan.raw and old[2] != DUPLICATE}
    kept = {path: entry_id for path, (state, entry_id, _) in same.items() if plan.state(path, entry_id) == state}
    parsed = {path: read_entry(path, data) for path, data in plan.raw.items() if path not in kept}
    owners: dict[str, list[str]] = {}
    for path in plan.raw:
        owners.setdefault((kept.get(path) or parsed[path].id).casefold(), []).append(path)
    doubles: set[str] = set()
    for group in (sorted(paths) for paths in owners.values() if len(paths) > 1):
        for path in group:
            kept.pop(path, None)
            parsed.setdefault(path, read_entry(path, plan.raw[path]))
        # A file that nobody admitted must not take an admitted one out of service by borrowing its id.
        winner = next((path for path in group if plan.facts.judge(parsed[path]).served), None)
        doubles |= set(group) - {winner}
    for path in set(known) - set(kept):
        writer.remove(path)
    for path in sorted(parsed):
        _write_one(writer, plan, parsed[path], path in doubles)
    writer.set_meta("words", plan.vocabulary_digest)
    return len(parsed) + len(set(known) - set(plan.raw))


def _write_one(writer: CatalogWriter, plan: _Plan, file: EntryFile, double: bool) -> None:
    state = plan.state(file.path, file.id)

    def withhold(code: str, text: str) -> None:
        writer.withhold(WithheldEntry(file.id, file.path, code, text), state)

    if file.entry is None or file.problems:
        first = file.problems[0]
        return withhold("unreadable", f"{file.path}:{first.line}: {first.message}")
    if double:
        return withhold(DUPLICATE, "another file has the same id, or one that differs only in case")
    judged = plan.facts.judge(file)
    pending = not judged.served and plan.facts.spoken_of(file.id)
    if pending:
        # Which bytes stand in for these depends on history too: it is looked at anew every time.
        state = ""
        file, judged = next(_admitted_before(plan, file), (file, judged))
    if not judged.served or file.entry is None:
        why = next((r for r in judged.reasons if r.code == judged.lifecycle), judged.reasons[-1])
        return withhold(why.code, why.text)
    entry = file.entry if file.entry.id else file.entry.model_copy(update={"id": file.id})
    return writer.add(chunk(file, entry, judged, state, plan.vocabulary, plan.facts.policy, pending=pending))


def _admitted_before(plan: _Plan, file: EntryFile) -> Iterator[tuple[EntryFile, Verdict]]:
    """Earlier bytes of an entry that are admitted today, newest first: an edit that waits does not remove knowledge."""
    if plan.repository is None or plan.commit is None:
        return
    for data in plan.repository.versions(file.path, plan.commit):
        older = read_entry(file.path, data)
        judged = plan.facts.judge(older)
        if older.id == file.id and judged.served:
            yield older, judged


def _manifest(writer: CatalogWriter, plan: _Plan, previous: Manifest | None, vectors: MatrixPlan) -> Manifest:
    facts = plan.facts
    if previous is None or previous.vocabulary_digest != plan.vocabulary_digest or writer.meta("vocabulary") is None:
        writer.set_vocabulary(plan.vocabulary)
    writer.set_meta("uncovered", list(facts.uncovered))
    writer.set_meta("serve", facts.policy.serve)
    writer.set_meta("anchor_reason", facts.trust.reason)
    writer.set_meta("trust_broken", facts.trust.broken)
    writer.set_meta("no_vectors", vectors.problem)
    now = datetime.now(UTC)
    cards = writer.cards()
    stale = sorted(c["id"] for c in cards if c["stale_after"] and c["stale_after"][:10] < now.date().isoformat())
    writer.set_meta("stale", stale)
    withheld = writer.withheld()
    lines = [
        f"{c['id']} {c['digest']} {c['tier']} {c['lifecycle']} - {'update-pending' if c['pending'] else '-'} "
        f"{'stale' if c['id'] in stale else '-'}"
        for c in cards
    ]
    # What is not served is part of the answers of `show` and `status`.
    lines += [f"{w.id} withheld {w.path} {w.code} {w.reason}" for w in withheld]
    lines += [f"uncovered {path}" for path in facts.uncovered] + [f"anchor {facts.trust.reason}"]
    lines += [f"broken {facts.trust.broken}"] if facts.trust.broken else []
    lines += [f"vectors {vectors.problem}"] if vectors.problem else []
    manifest = Manifest(
        schema=SCHEMA,
        generation="",
        book=facts.trust.book,
        commit=plan.commit,
        dirty=plan.dirty,
        trust_n=facts.trust.anchor.n if facts.trust.anchor else None,
        edition=facts.founding.edition if facts.founding else None,
        policy_digest=sha256(facts.policy.model_dump_json().encode()).hexdigest(),
        vocabulary_digest=plan.vocabulary_digest,
        ranking_digest=ranking_digest(),
        code_schema=SCHEMA,
        embedder=asdict(vectors.model) if vectors.model else None,
        content=sha256("\n".join(sorted(lines)).encode()).hexdigest(),
        entries=len(cards),
        vectors=vectors.rows,
        withheld=len(withheld),
        built_at=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        files={},
    )
    return replace(manifest, generation=manifest.identity())


def _notes(plan: _Plan, vectors: MatrixPlan) -> tuple[str, ...]:
    notes = [f"no vectors: {vectors.problem}"] if vectors.problem else []
    if plan.facts.trust.anchor is None:
        notes.append(plan.facts.trust.reason)
    if plan.facts.trust.broken:
        notes.append(plan.facts.trust.broken)
    if plan.facts.uncovered:
        notes.append("not covered by the trust anchor: " + ", ".join(plan.facts.uncovered))
    skipped = plan.source.skipped()
    notes += [f"{s.path}: {s.text}" for s in skipped]
    return tuple(notes)
