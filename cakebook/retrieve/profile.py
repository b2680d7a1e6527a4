"""What a profile says: the rules of `vocabulary/bottlenecks.yaml` judged over the values of one operator.

Of the derived columns of those rules `core_time_spread` is computed from the blocks. `head_overhead_ratio` needs a second
profile, of an empty kernel, and `mte2_vec_overlap_ratio` a trace: they count only where they are given as `column=value`.

Order of the bottlenecks: first what changes the meaning of a share (imbalance, start-up), then pipes by the busy share that
the rule is about, then rates such as cache misses; of equals the one on which fewer sources disagree, then vocabulary order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from cakebook.errors import one_line
from cakebook.model.notes import Note
from cakebook.model.profile import Diagnosis, Finding
from cakebook.model.query import Lang
from cakebook.model.terms import Vocabulary
from cakebook.retrieve.expressions import evaluate, names
from cakebook.retrieve.labels import say
from cakebook.retrieve.profile_reading import Reading, read_profile
from cakebook.retrieve.profile_rows import CORES, canonical, is_known, is_metric, is_pipe_share
from cakebook.retrieve.request import bad_filter

FIRST = ("core_time_spread", "head_overhead_ratio")
"""Columns whose bottlenecks come before any pipe."""
OUTSIDE = 0.1
"""Share of Task Duration outside the core time that is worth a word."""
_TRAPS = frozenset(("profile-varies", "profile-not-on-core", "profile-shapes"))
_ONE_NAME = ("aic_cube_ratio", "aic_mac_ratio")
SHOWN = 2
"""Bottlenecks that the text shows with their rules; further ones are named."""


def diagnose(given: Sequence[str], op: str, vocabulary: Vocabulary, lang: Lang) -> Diagnosis:
    """The diagnosis of the operator `op` (empty: the one that took most time) from `--profile` items.

    Raises:
        NoSuchPath, BadArgument, BadProfile, NoSuchKernel: see `read_profile`.
        BadFilter: a `column=value` item names a column that nobody knows.
    """
    return conclude(read_profile(given, op), vocabulary, lang)


def conclude(read: Reading, vocabulary: Vocabulary, lang: Lang) -> Diagnosis:
    """The diagnosis of what was read. Pure.

    Raises:
        BadFilter: see `diagnose`.
    """
    ours = _rule_columns(vocabulary)
    for name, written in read.pairs.items():
        if name not in ours and not is_metric(name):
            raise bad_filter("profile", written, sorted(ours))
    values = dict(read.values)
    if read.spread is not None:
        values.setdefault("core_time_spread", read.spread)
    remarks = list(read.remarks)
    for to, name in (_ONE_NAME, _ONE_NAME[::-1]):
        if to not in values and name in values:
            values[to] = values[name]
            remarks.append(("profile-same-cube", {"to": to, "name": name}))
    findings, order = judge(values, vocabulary)
    said = list(dict.fromkeys(Note(code, one_line(say(code, lang, **facts))) for code, facts in remarks))
    traps = [note for note in said if note.code in _TRAPS]
    traps += [Note(code, say(code, lang, **facts)) for code, facts in _traps(read, values)]
    notes = [_verdict(order, values, lang), *(note for note in said if note.code not in _TRAPS)]
    unknown = (c for c in read.columns if c and not is_known(canonical(c)) and canonical(c) not in ours)
    return Diagnosis(
        source=tuple(one_line(s)[:300] for s in read.source),
        op=one_line(read.op),
        core=one_line(read.core),
        launches=read.launches,
        rows_used=read.rows,
        values={name: round(value, 6) for name, value in values.items()},
        findings=findings,
        bottlenecks=order,
        traps=tuple(traps),
        unknown_columns=tuple(dict.fromkeys(one_line(c)[:80] for c in unknown)),
        notes=tuple(notes),
    )


def judge(values: Mapping[str, float], vocabulary: Vocabulary) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """The rules of every bottleneck of which one holds, those that hold first; and the bottlenecks in order."""
    ranked: list[tuple[tuple[int, float, int], str, list[Finding]]] = []
    for bottleneck in vocabulary.ids("bottlenecks"):
        findings = []
        for rule in vocabulary.term("bottlenecks", bottleneck).get("rules", ()):
            when = rule["when"]
            try:
                known = {name: values[canonical(name)] for name in names(when) if canonical(name) in values}
                holds = evaluate(when, known)
            except ValueError:  # a rule that is no expression; the vocabulary's tests find it
                continue
            if holds is not None:
                shown = {name: round(known[name], 6) for name in sorted(known, key=when.find)}
                note, note_zh = rule.get("note", ""), rule.get("note_zh", "")
                findings.append(Finding(bottleneck, when, holds, shown, rule.get("source", ""), note, note_zh))
        holding = [f for f in findings if f.holds]
        if holding:
            findings.sort(key=lambda f: not f.holds)
            group, share = min(map(_weight, holding))
            ranked.append(((group, share, len(findings) - len(holding)), bottleneck, findings))
    ranked.sort(key=lambda item: item[0])
    return tuple(f for _, _, found in ranked for f in found), tuple(bottleneck for _, bottleneck, _ in ranked)


def _weight(finding: Finding) -> tuple[int, float]:
    """Where a finding belongs: its group, and within pipes the share that the rule is about, the first column it names."""
    subject = next(iter(finding.values), "")
    if canonical(subject) in FIRST:
        return 0, -finding.values[subject]
    return (1, -finding.values[subject]) if is_pipe_share(canonical(subject)) else (2, 0.0)


def _verdict(order: Sequence[str], values: Mapping[str, float], lang: Lang) -> Note:
    """One note on the rules as a whole."""
    shares = {name: value for name, value in values.items() if is_pipe_share(name)}
    if order:
        return Note("profile-order", say("profile-order", lang))
    if not shares:
        return Note("profile-undecided", say("profile-undecided", lang))
    name = max(shares, key=lambda n: shares[n])
    return Note("profile-none-holds", say("profile-none-holds", lang, name=name, value=_figure(shares[name])))


def _traps(read: Reading, values: Mapping[str, float]) -> list[tuple[str, dict[str, object]]]:
    """What these values are known to mislead about; what a rule says of its own column stands in the rule's note."""
    found: list[tuple[str, dict[str, object]]] = []
    ran = [core for core in CORES if any(n.startswith(f"{core}_") and is_pipe_share(n) for n in values)]
    for core in ran:
        total = sum(v for n, v in values.items() if n.startswith(core) and is_pipe_share(n) and n != _ONE_NAME[1])
        if total > 1:
            found.append(("profile-overlap", {"core": core, "total": _figure(total)}))
    if len(ran) == 2:
        found.append(("profile-mix", {}))
    current, rated = values.get("current_freq"), values.get("rated_freq")
    if current and rated and current < rated:
        found.append(("profile-frequency", {"current": _figure(current), "rated": _figure(rated)}))
    if values.get("aic_mte2_ratio", 0) >= OUTSIDE:
        found.append(("profile-mte2-waits", {}))
    if "cube_utilization" in values and "aic" in ran:
        found.append(("profile-cube-utilization", {"value": _figure(values["cube_utilization"])}))
    if values.get("aiv_vec_simt_vf_ratio") or any(row.block.rpartition(" ")[2].startswith("simt") for row in read.rows):
        found.append(("profile-simt", {}))
    if ran and read.rows and not any(row.core for row in read.rows):
        found.append(("profile-one-row", {}))
    task, core_time = values.get("task_duration"), max((values.get(f"{core}_time", 0.0) for core in CORES), default=0.0)
    if task and core_time and (task - core_time) / task > OUTSIDE:
        found.append(("profile-outside", {"share": f"{100 * (task - core_time) / task:.0f}"}))
    if not ran and any(is_pipe_share(name) for name in values):
        found.append(("profile-coupled", {}))
    small = [n for n in read.pairs if n.endswith(("_hit_rate", "_usage_rate", "_utilization")) and values[n] <= 1]
    if small:
        found.append(("profile-small-percent", {"names": ", ".join(small)}))
    return found


def in_a_line(diagnosis: Diagnosis, lang: Lang, vocabulary: Vocabulary) -> str:
    """What a pack says of it: the bottlenecks, and the figures that speak for the first."""
    d = diagnosis
    names = ", ".join(vocabulary.label("bottlenecks", b, lang) for b in d.bottlenecks[:SHOWN]) or say("profile-none", lang)
    figures = {n: v for f in d.findings if d.bottlenecks[:1] == (f.bottleneck,) for n, v in f.values.items()} or d.values
    shown = ", ".join(f"{n} {_figure(v)}" for n, v in list(figures.items())[:4])
    op = one_line(d.op)[:80] or say("profile-unnamed", lang)
    return say("profile-line", lang, op=op, bottlenecks=names, figures=shown or "-")


def as_text(diagnosis: Diagnosis, lang: Lang, vocabulary: Vocabulary | None = None) -> list[str]:
    """The diagnosis as lines for a terminal; with a vocabulary bottlenecks have their titles."""
    d, lines = diagnosis, []
    if d.rows_used or d.launches:
        core = f" ({d.core})" if d.core else ""
        lines.append(say("profile-of", lang, op=d.op or say("profile-unnamed", lang), core=core, n=d.launches))
        lines.append(f"  {say('profile-rows', lang)}: {_rows(d, lang)}")
    else:
        lines.append(say("profile-values", lang, items=", ".join(d.source)))
    times = [f"{n} {_figure(d.values[n])}" for n in _TIMES if n in d.values]
    if times:
        lines.append(f"  {say('profile-times', lang)}: {', '.join(times)}")
    for core in (*CORES, "core"):
        shares = [(n.removeprefix(f"{core}_").removesuffix("_ratio"), v) for n, v in d.values.items() if _core_of(n) == core]
        if shares:
            listed = ", ".join(
                f"{n} {_figure(v)}" for n, v in sorted(shares, key=lambda item: -item[1]) if (core, n) != ("aic", "mac")
            )
            lines.append(f"  {say('profile-shares', lang, core=core)}: {listed}")
    for i, bottleneck in enumerate(d.bottlenecks[:SHOWN], 1):
        title = vocabulary.label("bottlenecks", bottleneck, lang) if vocabulary else bottleneck
        lines.append(f"{i}. {title}" + (f" [{bottleneck}]" if vocabulary else ""))
        for finding in d.findings:
            if finding.bottleneck == bottleneck:
                lines += _lines_of(finding, lang)
    if len(d.bottlenecks) > SHOWN:
        lines.append(say("profile-further", lang, names=", ".join(d.bottlenecks[SHOWN:])))
    lines += [f"{say('profile-trap', lang)}: {trap.text}" for trap in d.traps]
    lines += [f"{say('profile-note', lang)}: {note.text}" for note in d.notes]
    if d.unknown_columns:
        shown = ", ".join(d.unknown_columns[:8]) + (", …" if len(d.unknown_columns) > 8 else "")
        lines.append(say("profile-unknown", lang, names=shown))
    return lines


_TIMES = ("task_duration", "aic_time", "aiv_time", "block_dim", "mix_block_dim", "core_time_spread", "head_overhead_ratio")


def _rows(d: Diagnosis, lang: Lang) -> str:
    """The rows used; the tables that repeat a block are only named."""
    parts, cores, also = [], set(), []
    for row in d.rows_used:
        if not row.core:
            parts.append(say("profile-only" if row.of == 1 else "profile-row", lang, file=row.file, line=row.line, of=row.of))
        elif row.core not in cores:
            cores.add(row.core)
            parts.append(say("profile-block", lang, file=row.file, line=row.line, block=row.block, of=row.of, core=row.core))
        elif row.file not in also:
            also.append(row.file)
    if also:
        parts.append(say("profile-also", lang, files=", ".join(also)))
    return one_line("; ".join(parts))


def _lines_of(finding: Finding, lang: Lang) -> list[str]:
    given = ", ".join(f"{name} {_figure(value)}" for name, value in finding.values.items())
    verdict = say("profile-holds" if finding.holds else "profile-fails", lang)
    note = (finding.note_zh or finding.note) if lang == "zh" else (finding.note or finding.note_zh)
    return [
        f"   {verdict}: {finding.rule} ({given})",
        f"     {say('profile-source', lang)}: {finding.source}{' — ' if note else ''}{note}",
    ]


def _core_of(name: str) -> str:
    """The core type of a busy share, `core` where cube and vector are one; empty for other columns."""
    if not is_pipe_share(name):
        return ""
    return name[:3] if name.startswith(CORES) else "core"


def _figure(value: float) -> str:
    """A number as a reader wants it: four digits, no more than three after the point."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3f}".rstrip("0").rstrip(".")


def _rule_columns(vocabulary: Vocabulary) -> frozenset[str]:
    """Canonical names of the columns that bottlenecks list or that their rules use."""
    key = "profile-columns"
    if key not in vocabulary.memo:
        found: set[str] = set()
        for term_id in vocabulary.ids("bottlenecks"):
            term = vocabulary.term("bottlenecks", term_id)
            found.update(map(canonical, term.get("columns", ())))
            for rule in term.get("rules", ()):
                with suppress(ValueError):
                    found.update(map(canonical, names(rule["when"])))
        vocabulary.memo[key] = frozenset(found)
    columns: frozenset[str] = vocabulary.memo[key]
    return columns
