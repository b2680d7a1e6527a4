"""How findings are told: for people, for programs, as annotations of GitHub, as SARIF. Each is a pure function.

`base` is where the book lies below the folder that paths shall be relative to, such as the repository: empty if it is that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from cakebook.errors import one_line
from cakebook.lint.registry import RULES, Finding

SARIF_VERSION = "2.1.0"
SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_text(findings: Sequence[Finding], base: str = "") -> str:
    """One line for each finding: `file:line:column: CB101 error: message — hint`, safe to print on a terminal."""
    lines = (f"{_path(f, base)}:{f.line}:{f.column}: {f.rule} {f.severity}: {_message(f)}" for f in findings)
    return "".join(one_line(line) + "\n" for line in lines)


def as_json(findings: Sequence[Finding], base: str = "") -> str:
    """A JSON list of the findings; pure ASCII, so that any path survives any encoding."""
    return json.dumps([{**asdict(f), "path": _path(f, base)} for f in findings], indent=2)


def as_github(findings: Sequence[Finding], base: str = "") -> str:
    """One workflow command for each finding, from which GitHub makes an annotation of the file."""
    return "".join(
        f"::{f.severity} file={_property(_path(f, base))},line={f.line},col={f.column},title={_property(f.rule)}"
        f"::{_data(_message(f))}\n"
        for f in findings
    )


def as_sarif(findings: Sequence[Finding], base: str = "", version: str = "") -> str:
    """A SARIF log of one run of this `version`, with the rules that occur in it; pure ASCII."""
    occur = sorted({f.rule for f in findings})
    tool = {"name": "cakebook"} | ({"version": version} if version else {})
    driver = {**tool, "rules": [_sarif_rule(rule_id) for rule_id in occur]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(f, occur.index(f.rule), base) for f in findings],
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": SARIF_VERSION, "runs": [run]}, indent=2)


_WITHOUT_VERSION: dict[str, Callable[[Sequence[Finding], str], str]] = {
    "text": as_text,
    "json": as_json,
    "github": as_github,
}
FORMATS = (*_WITHOUT_VERSION, "sarif")
"""Names on the command line."""
OF_THE_REPOSITORY = frozenset({"github", "sarif"})
"""Formats whose readers look for paths in the repository, wherever in it the book lies."""


def render(form: str, findings: Sequence[Finding], base: str, version: str) -> str:
    """The findings in one of `FORMATS`."""
    return as_sarif(findings, base, version) if form == "sarif" else _WITHOUT_VERSION[form](findings, base)


def _sarif_rule(rule_id: str) -> dict[str, Any]:
    rule = RULES[rule_id]
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.what},
        "fullDescription": {"text": f"{rule.what} {rule.why}"},
        "help": {"text": rule.fix},
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _sarif_result(finding: Finding, index: int, base: str) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote(_path(finding, base), errors="surrogatepass")},
        "region": {"startLine": finding.line, "startColumn": finding.column},
    }
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": str(finding.severity),
        "message": {"text": _message(finding)},
        "locations": [{"physicalLocation": place}],
    }


def _path(finding: Finding, base: str) -> str:
    return f"{base}/{finding.path}" if base else finding.path


def _message(finding: Finding) -> str:
    return finding.message + (f" — {finding.hint}" if finding.hint else "")


def _data(text: str) -> str:
    """`text` as GitHub documents the escaping of a command's message; what else a terminal would act on becomes `?`."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return "".join(c if c.isprintable() else "?" for c in escaped)


def _property(text: str) -> str:
    """The same for a command's property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
