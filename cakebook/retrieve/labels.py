"""The sentences that answers are made of, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

from cakebook.model.query import Lang

SENTENCES: dict[str, tuple[str, str]] = {
    "tier": ("tier {tier} is below the one asked for", "可信级别 {tier} 低于所要求的级别"),
    "scope": ("written for {name} {declared}, not {asked}", "适用于 {name} {declared}，不适用于 {asked}"),
    "not-verified": ("not verified for {name} {asked}", "未在 {name} {asked} 上核实"),
    "only-sku": ("only {sku}", "仅限 {sku}"),
    "avoid": ("seems to be a case to avoid: {text}", "看起来属于不宜使用的情形：{text}"),
    "avoid-if": ("avoid if {text}", "以下情形不宜使用：{text}"),
    "condition": ("applies when {text}", "适用条件：{text}"),
    "not-met": ("conditions not met", "适用条件不满足"),
    "review-due": ("past its review date {date}", "已过复核日期 {date}"),
    "conflict": ("contradicts {id}", "与 {id} 相矛盾"),
    "superseded": ("superseded by {id}", "已被 {id} 取代"),
    "founding": (
        "founding: source-checked by the project, not approved by an independent person, nothing run on hardware by us",
        "founding：由本项目对照来源复核，未经独立人员批准，我们没有在硬件上运行过",
    ),
    "stale": ("the index is older than the book: run `cakebook sync`", "索引早于书的内容：请运行 `cakebook sync`"),
    "edited": (
        "withheld, edited since founding edition {edition}: {ids}",
        "以下条目在第 {edition} 版 founding 之后被改动，暂不提供：{ids}",
    ),
    "no-anchor": ("nothing is served: {reason}", "没有可提供的条目：{reason}"),
    "uncovered": ("the trust anchor does not cover: {files}", "信任锚未覆盖：{files}"),
    "unrecognised": ("not known here, so nothing was left out for: {names}", "这里不认识，未据此排除任何内容：{names}"),
    "none": ("No reviewed entry answers this.", "没有经过审核的条目能回答这个问题。"),
    "none-fits": ("Nothing passes the filters and fits the budget.", "没有条目能通过筛选条件并放进预算。"),
    "none-withheld": ("No reviewed entry passes the filters.", "没有经过审核的条目能通过筛选条件。"),
    "missing": ("It would help to know: {names}", "补充以下信息会更准确：{names}"),
    "withheld": ("Withheld", "未列出"),
    "more-caveats": ("and {n} more", "另有 {n} 条"),
    "why": ("why", "依据"),
}
"""Name → (English, Chinese)."""


def in_lang(record: Mapping[str, str], name: str, lang: Lang) -> str:
    """The field `name` of a card or of a case, in `lang`, else in the other language."""
    mine, other = (f"{name}_zh", name) if lang == "zh" else (name, f"{name}_zh")
    return record[mine] or record[other]


def say(name: str, lang: Lang, /, **values: object) -> str:
    """The sentence `name` in `lang`."""
    return SENTENCES[name][lang == "zh"].format(**values)
