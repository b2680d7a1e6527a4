"""Whatever the bytes, linting ends with findings, in reasonable time, and never with a traceback."""

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cakebook.lint import RULES, as_json, as_text
from cakebook.lint.examples import BASE, PATH
from cakebook.model.entry import Entry

relaxed = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])

MARKS = """[ ] ( ` ``` ~~~ # --- [^a] [^a]: <b <!-- &#x202e; $ | \\ * &x {{ } : http://[ javascript: FILL-IN( assert :: 𝒳 行"""
SPACED = ["> ", "- ", "## Why\n", "\n", "\r", "\t", ": ", "!!int 1"]
UNSEEN = ["\u202e", "\u200b", "\ufeff", "\U000e0041", "\x85", "\u2028"]
nasty = st.sampled_from([*MARKS.split(), *SPACED, *UNSEEN])
text = st.lists(nasty | st.text(max_size=8), max_size=40).map("".join)
scalar = st.text(max_size=12) | st.integers() | st.booleans() | st.none() | st.sampled_from(["any", "unknown", "tiling"])
words = st.text(max_size=6)
value = st.recursive(scalar, lambda v: st.lists(v, max_size=3) | st.dictionaries(words, v, max_size=3), max_leaves=8)
field = st.sampled_from(sorted(Entry.model_fields))


def check(lint, data: bytes) -> None:
    found = lint({PATH: data})
    lines = data.count(b"\n") + data.count(b"\r") + 2
    for f in found:
        assert f.rule in RULES and 1 <= f.line <= lines and f.column >= 1 and f.message.isprintable() and f.hint.isprintable()
    assert as_text(found).count("\n") == len(found)
    assert as_json(found)


@relaxed
@given(data=st.binary(max_size=400))
def test_random_bytes(lint, data):
    check(lint, data)


@relaxed
@given(data=st.binary(max_size=200))
def test_random_bytes_as_front_matter_and_as_body(lint, data):
    check(lint, b"---\n" + data + b"\n---\n" + data)
    check(lint, BASE.encode().replace(b"Budget UB", data))


@relaxed
@given(values=st.dictionaries(field | words, value, max_size=8), after=text)
def test_random_front_matter(lint, values, after):
    dumped = yaml.safe_dump(values, allow_unicode=True, default_flow_style=None)
    check(lint, f"---\n{dumped}---\n{after}".encode())


@relaxed
@given(at=st.integers(0, len(BASE)), cut=st.integers(0, 60), put=text)
def test_the_base_entry_damaged_anywhere(lint, at, cut, put):
    check(lint, (BASE[:at] + put + BASE[at + cut :]).encode("utf-8", "replace"))


@relaxed
@given(body=text, language=st.sampled_from(["cpp", "python", "python check", "text"]))
def test_random_code(lint, body, language):
    check(lint, BASE.replace("## Pitfalls\n", f"## Pitfalls\n```{language}\n{body}\n```\n").encode("utf-8", "replace"))


FRONT = BASE[: BASE.index("## Summary")]
HUGE = {
    "10 MB line": ("x" * 10_000_000, {"CB107"}),
    "10 MB of front matter": ("---\ntitle: " + "x" * 10_000_000, {"CB107"}),
    "65 kB of front matter": ("---\ntitle: " + "x" * 65_536 + "\n---\n", {"CB107"}),
    "20,000 open brackets": ("---\ntitle: " + "[" * 20_000 + "\n---\n", {"CB107"}),
    "500 open brackets": ("---\ntitle: " + "[" * 500 + "\n---\n", {"CB107"}),
    "20,000 open brackets in the body": (FRONT + "[" * 20_000, set()),
    "3,000-deep block quotes": (FRONT + "> " * 3_000 + "x", set()),
    "3,000-deep lists": (FRONT + "- " * 3_000 + "x", set()),
    "a key twice, 5,000 times": ("---\n" + "a: 1\n" * 5_000 + "---\n", {"CB105"}),
    "200,000 override characters": (FRONT + "\u202e" * 60_000, {"CB701"}),
    "20,000 headings": (FRONT + "## Why\n" * 20_000, {"CB124"}),
    "20,000 open footnotes": (FRONT + "[^a" * 20_000, set()),
    "20,000 footnote definitions": (FRONT + "[^a]: x\n" * 20_000, set()),
    "20,000 nested footnote definitions": (FRONT + "[^a]:" * 20_000, set()),
    "20,000 open tags": (FRONT + "<a " * 20_000, set()),
    "20,000 emphases": (FRONT + "**a_" * 20_000, set()),
    "20,000 braces of C++": (FRONT + "```cpp\n" + "{" * 20_000 + "\n```\n", {"CB602"}),
    "20,000 brackets of Python": (FRONT + "```python\n" + "(" * 20_000 + "\n```\n", {"CB603"}),
    "20,000 asserts": (FRONT + "## Check\n```python check\n" + "assert 1\n" * 20_000 + "```\n", set()),
    "an order with endless blanks": (FRONT + "ignore" + " \n" * 50_000, set()),
    "20,000 ignores": (FRONT + "ignore all " * 20_000, set()),
}


@pytest.mark.parametrize(("data", "rules"), HUGE.values(), ids=HUGE)
def test_hostile_sizes_end_soon(lint, data, rules):
    found = lint({PATH: data})
    assert {f.rule for f in found} >= rules
    assert len(found) < 500
