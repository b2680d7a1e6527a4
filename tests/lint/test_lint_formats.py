"""Findings as annotations of GitHub and as SARIF: what their readers insist on, whatever a file is called."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cakebook.lint import RULES, Finding, Severity, as_github, as_sarif
from cakebook.lint.examples import BASE, PATH
from cakebook.lint.formats import FORMATS, render

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
POSITIVE = {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def closed(required: dict, optional: dict | None = None) -> dict:
    properties = {**required, **(optional or {})}
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


def several(items: dict) -> dict:
    return {"type": "array", "items": items, "uniqueItems": True}


RULE = closed(
    {"id": {"pattern": "^CB[0-9]{3}$"}, "shortDescription": TEXT, "fullDescription": TEXT, "help": TEXT},
    {"name": {"type": "string"}, "defaultConfiguration": closed({"level": LEVEL})},
)
PLACE = closed(
    {
        "artifactLocation": closed({"uri": {"type": "string", "pattern": "^[A-Za-z0-9._~/%-]+$"}}),
        "region": closed({"startLine": POSITIVE, "startColumn": POSITIVE}),
    }
)
RESULT = closed(
    {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": TEXT,
        "locations": {"type": "array", "minItems": 1, "maxItems": 1, "items": closed({"physicalLocation": PLACE})},
    }
)
RUN = closed(
    {
        "tool": closed(
            {"driver": closed({"name": {"const": "cakebook"}, "version": {"type": "string"}, "rules": several(RULE)})}
        ),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": {"type": "array", "items": RESULT},
    }
)
SARIF = closed(
    {
        "$schema": {"type": "string"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "minItems": 1, "maxItems": 1, "items": RUN},
    }
)
"""What SARIF 2.1.0 requires of the properties that we write; no others are written."""

PLAIN = Finding("CB101", Severity.ERROR, "entries/a.md", 3, 4, "bad", "mend it")
ODD = Finding("CB115", Severity.WARNING, "entries/50% a:b,c\n行\x1b.md", 1, 2, "100%\r\n::error::x: y, z\u202e")


def sarif(findings, base="") -> dict:
    text = as_sarif(findings, base, "9.9")
    assert text.isascii()
    log = json.loads(text)
    jsonschema.validate(log, SARIF)
    return log["runs"][0]


def test_github_annotates_the_place():
    assert as_github([PLAIN]) == "::error file=entries/a.md,line=3,col=4,title=CB101::bad — mend it\n"
    assert as_github([PLAIN, PLAIN], "team/book").startswith("::error file=team/book/entries/a.md,line=3")
    assert as_github([]) == ""


def test_github_escapes_as_it_documents():
    assert as_github([ODD]) == (
        "::warning file=entries/50%25 a%3Ab%2Cc%0A行?.md,line=1,col=2,title=CB115::100%25%0D%0A::error::x: y, z?\n"
    )


@given(path=st.text(), message=st.text(), hint=st.text())
def test_github_is_one_printable_line_that_ends_where_it_should(path, message, hint):
    text = as_github([Finding("CB101", Severity.ERROR, path, 1, 1, message, hint)])
    assert text.count("\n") == 1 and text[:-1].isprintable()
    properties = text[2:].split("::")[0].removeprefix("error ").split(",")
    assert [p.split("=")[0] for p in properties] == ["file", "line", "col", "title"]
    assert ":" not in "".join(properties)


def test_sarif_of_nothing_is_a_run_without_results_and_rules():
    run = sarif([])
    assert run["results"] == [] and run["tool"]["driver"] == {"name": "cakebook", "version": "9.9", "rules": []}
    assert json.loads(as_sarif([]))["runs"][0]["tool"]["driver"] == {"name": "cakebook", "rules": []}


def test_sarif_holds_only_rules_that_occur_each_once(lint):
    found = lint({PATH: BASE.replace("kind: tiling", "kind: tilling\nzzz: 1\nyyy: 2")})
    run = sarif(found)
    rules = run["tool"]["driver"]["rules"]
    assert [r["id"] for r in rules] == sorted({f.rule for f in found}) and len(rules) < len(found)
    for finding, result in zip(found, run["results"], strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule
        assert result["level"] == finding.severity
        assert result["message"]["text"] == f"{finding.message} — {finding.hint}"
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == PATH
        assert place["region"] == {"startLine": finding.line, "startColumn": finding.column}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_sarif_tells_each_rule_as_the_registry_does(rule):
    told = sarif([Finding(rule.id, rule.severity, "a.md", 1, 1, "m")])["tool"]["driver"]["rules"][0]
    assert (told["shortDescription"]["text"], told["help"]["text"]) == (rule.what, rule.fix)
    assert told["fullDescription"]["text"] == f"{rule.what} {rule.why}"


def test_sarif_paths_are_relative_and_percent_encoded():
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in sarif([PLAIN, ODD], "b c")["results"]]
    assert uris == ["b%20c/entries/a.md", "b%20c/entries/50%25%20a%3Ab%2Cc%0A%E8%A1%8C%1B.md"]


@given(path=st.text(st.characters(codec=None), min_size=1), message=st.text(min_size=1))
def test_sarif_is_sound_whatever_a_file_is_called(path, message):
    assert sarif([Finding("CB101", Severity.ERROR, path, 1, 1, message)])


@pytest.mark.parametrize("form", FORMATS)
def test_every_form_takes_every_finding(lint, form):
    assert "CB102" in render(form, lint({PATH: "\x1b[2J"}), "", "9.9")
