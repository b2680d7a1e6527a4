"""Versions as toolchains print them: one table of real strings, and what bounds mean for pre-releases."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cakebook.text.versions import key, parse_specifier, satisfies

ORDERED = [
    "7.0.0",
    "8.0.RC1.alpha003",
    "8.0.RC1",
    "8.0.RC2.alpha002",
    "8.0.RC2",
    "8.0.0",
    "8.1.RC1.alpha001",
    "8.1.RC1.beta1",
    "8.1.RC1",
    "8.2.RC1.alpha002",
    "8.2.RC1.alpha003",
    "8.2.RC1",
    "8.2.RC2",
    "8.2.0",
    "8.3.RC1.alpha001",
    "8.3.RC1.B020",
    "8.3.RC1.B021",
    "8.3.RC1",
    "8.3.RC2",
    "8.5.0",
    "8.5.1",
    "8.10.0",
    "9.0.T500",
    "9.0.0.alpha001",
    "9.0.0-beta.1",
    "9.0.0-beta.2",
    "9.0.0",
    "9.1.0",
    "10.0.0",
]
"""CANN toolkit versions, oldest first."""

OTHERS = [
    ["2.1.0", "2.1.0.post3", "2.1.0.post10", "2.5.1", "2.6.0rc1", "2.6.0", "2.7.1rc1", "2.7.1", "2.7.1.post1", "2.7.1.post2"],
    ["3.2.0.dev20250801", "3.2.0rc1", "3.2.0rc4", "3.2.0", "3.2.0.post1", "3.10.0"],
    ["24.1.rc1", "24.1.rc2", "24.1.0", "24.1.0.3", "25.2.0"],
    ["1.0.0a1", "1.0.0b1", "1.0.0rc1", "1.0.0", "1.0.0.SP1"],
]
"""Of torch_npu, Triton-Ascend, the driver, and others; oldest first."""


@pytest.mark.parametrize("line", [ORDERED, *OTHERS], ids=["cann", "torch_npu", "triton-ascend", "driver", "others"])
def test_versions_are_ordered_as_they_were_released(line):
    keys = [key(text) for text in line]
    assert None not in keys
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("left", "right"),
    [("8.0", "8.0.0"), ("v8.5.0", "8.5"), ("9.0.0-beta.2", "9.0.0.beta2"), ("3.2.0rc4", "3.2.0-RC.4"), (" 8.5.1 ", "8.5.1")],
)
def test_spellings_of_one_version_are_equal(left, right):
    assert key(left) == key(right)


@pytest.mark.parametrize(
    "text",
    ["", "unknown", "latest", "8.5.x", "8..5", "master", "8.2.RC1.gamma3", "8.5 or later", "8,5", "²", "8.5.0 (build)", "-8", "8.5\n9", "1" * 5000, "8.RC" + "9" * 5000],
)  # fmt: skip
def test_what_cannot_be_read_is_unknown(text):
    assert key(text) is None
    assert satisfies(text, ">=8.0") is None


# Bounds


@pytest.mark.parametrize(
    ("version", "specifier", "holds"),
    [
        ("8.0.RC1", ">=8.0", True),  # a pre-release counts as its release where the bound has no pre-release part
        ("9.2.RC1", "<9.2", False),
        ("9.2.RC1", "<=9.2", True),
        ("9.2.RC1", ">9.2", False),
        ("8.2.RC1.alpha003", "==8.2", True),
        ("8.2.RC1.alpha003", "!=8.2", False),
        ("9.0.T500", ">=9.0,<9.2", True),
        ("9.0.0-beta.2", "<9.0", False),
        ("8.2.RC1.alpha003", ">=8.2.RC1", False),  # a bound with one is compared as it stands
        ("8.2.RC1", ">=8.2.RC1.alpha003", True),
        ("8.2.0", ">=8.2.RC1", True),
        ("8.2.RC2", "<8.2.RC2", False),
        ("8.3.RC1.B020", "<8.3.RC1", True),
        ("2.7.1.post1", ">2.7.1", True),  # a post-release is later than its release, not a pre-release of it
        ("2.7.1.post1", "==2.7.1", False),
        ("2.7.1.post1", "<2.7.2", True),
        ("8.10.0", ">=8.5", True),
        ("8.5.1", ">=8.0,<9.2", True),
        ("9.2.0", ">=8.0,<9.2", False),
        ("7.0.0", ">=8.0,<9.2", False),
        ("8.5.1", " >= 8.0 , < 9.2 ", True),
        ("8.5.1", "8.5.1", True),
        ("8.5.0", "8.5", True),
        ("8.5.1", "8.5", False),
    ],
)
def test_bounds(version, specifier, holds):
    assert satisfies(version, specifier) is holds


@pytest.mark.parametrize("specifier", ["", "any", "*", "  "])
@pytest.mark.parametrize("version", ["8.5.1", "unknown", ""])
def test_no_bound_admits_every_version(version, specifier):
    assert satisfies(version, specifier) is True


@pytest.mark.parametrize("specifier", ["unknown", ">=", "~=8.0", ">=8.0,", ">=8.x", "8.0 - 9.0", "===8.0", ">=8.0;<9", "=8.0"])
def test_a_specifier_that_cannot_be_read_is_unknown(specifier):
    assert parse_specifier(specifier) is None
    assert satisfies("8.5.1", specifier) is None


VERSION = st.sampled_from([*ORDERED, *itertools.chain(*OTHERS)]) | st.from_regex(
    r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}((rc|a|b|\.RC|-beta\.|\.post)[0-9]{0,3})?", fullmatch=True
)


@given(VERSION, VERSION)
def test_a_bound_and_its_opposite_are_never_both_true(version, bound):
    for operator, opposite in ((">=", "<"), ("<=", ">"), ("==", "!=")):
        assert satisfies(version, operator + bound) is not satisfies(version, opposite + bound)


@given(VERSION)
def test_every_version_is_within_itself(version):
    assert satisfies(version, f">={version},<={version},=={version}") is True


@given(
    st.text() | VERSION, st.text(st.characters() | st.sampled_from("<>=!,. ")) | st.text("<>=!,.0189abRCdevpost -", max_size=20)
)
def test_nothing_raises(version, specifier):
    assert satisfies(version, specifier) in (True, False, None)
