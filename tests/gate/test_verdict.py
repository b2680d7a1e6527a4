"""The verdict: a table of every way an entry can stand, and the property that nothing unlisted is ever served."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cakebook.gate.facts import gather
from cakebook.gate.verdict import FOUNDING_MEANS, verdict
from cakebook.model.query import TIERS
from cakebook.model.review import EntryBytes, TrustFacts
from cakebook.repo.entries import digest
from cakebook.repo.layout import FolderSource

DATA = b"---\nid: a\n---\n"
LISTED = {"a": digest("a", DATA)}


@pytest.mark.parametrize(
    ("founding", "serve", "status", "tier", "lifecycle", "served", "codes"),
    [
        pytest.param(None, "founding", "", "draft", "active", False, ["no-anchor"], id="no-anchor"),
        pytest.param({}, "founding", "", "draft", "active", False, ["not-admitted"], id="empty-list"),
        pytest.param({"b": LISTED["a"]}, "founding", "", "draft", "active", False, ["not-admitted"], id="listed-under-another-id"),
        pytest.param(LISTED, "founding", "", "founding", "active", True, ["founding"], id="listed"),
        pytest.param({"a": digest("a", DATA + b"\n")}, "founding", "", "draft", "active", False, ["edited"], id="edited"),
        pytest.param({"a": digest("b", DATA)}, "founding", "", "draft", "active", False, ["edited"], id="digest-of-another-id"),
        pytest.param({"a": ""}, "founding", "", "draft", "active", False, ["edited"], id="no-digest"),
        pytest.param(LISTED, "founding", "draft", "draft", "active", False, ["founding", "status-draft"], id="status-draft"),
        pytest.param(
            LISTED, "founding", "deprecated", "founding", "deprecated", False, ["founding", "status-deprecated"],
            id="status-deprecated",
        ),
        pytest.param(None, "founding", "measured", "draft", "active", False, ["no-anchor"], id="status-cannot-raise"),
        pytest.param(LISTED, "founding", "reviewed", "founding", "active", True, ["founding"], id="status-of-no-effect"),
        pytest.param({}, "founding", "draft", "draft", "active", False, ["not-admitted"], id="a-draft-that-says-so"),
        pytest.param(LISTED, "reviewed", "", "founding", "active", False, ["founding", "below-policy"], id="policy-reviewed"),
        pytest.param(LISTED, "measured", "", "founding", "active", False, ["founding", "below-policy"], id="policy-measured"),
        pytest.param(LISTED, "draft", "", "founding", "active", True, ["founding"], id="policy-draft"),
        pytest.param({}, "draft", "", "draft", "active", False, ["not-admitted"], id="policy-draft-serves-no-draft"),
        pytest.param(None, "draft", "", "draft", "active", False, ["no-anchor"], id="policy-draft-without-anchor"),
    ],
)  # fmt: skip
def test_verdicts(founding, serve, status, tier, lifecycle, served, codes):
    facts = TrustFacts(serve=serve, founding=founding, edition=3, anchor_reason="there is no anchor")
    judged = verdict(EntryBytes("a", DATA, status), facts)
    assert (judged.id, judged.digest) == ("a", digest("a", DATA))
    assert (judged.tier, judged.lifecycle, judged.served) == (tier, lifecycle, served)
    assert [reason.code for reason in judged.reasons] == codes
    assert all(reason.text for reason in judged.reasons)


def test_what_is_served_says_what_its_tier_means():
    judged = verdict(EntryBytes("a", DATA), TrustFacts(serve="founding", founding=LISTED, edition=3))
    assert judged.reasons[0].text == f"founding edition 3: {FOUNDING_MEANS}"
    assert "not approved by an independent person" in FOUNDING_MEANS


def test_without_an_anchor_the_reason_is_the_anchors():
    judged = verdict(EntryBytes("a", DATA), TrustFacts(serve="founding", founding=None, anchor_reason="upgrade cakebook"))
    assert judged.reasons[0].text == "upgrade cakebook"


IDS = st.sampled_from(["a", "b", "A", "a-b", "é"])
BYTES = st.sampled_from([DATA, DATA + b"\n", b"", b"---\r\nid: a\r\n---\r\n", b"\xff"])
DIGESTS = st.builds(digest, IDS, BYTES) | st.sampled_from(["", "sha256:", "any", "*"])


@given(
    entry=st.builds(
        EntryBytes, IDS, BYTES, st.sampled_from(["", "draft", "deprecated", "founding", "reviewed", "measured", "active"])
    ),
    facts=st.builds(
        TrustFacts,
        serve=st.sampled_from(TIERS),
        founding=st.none() | st.dictionaries(IDS, DIGESTS),
        edition=st.none() | st.integers(1, 9),
        anchor_reason=st.text(max_size=5),
    ),
)
def test_nothing_is_served_that_is_not_listed_with_exactly_these_bytes(entry, facts):
    before = copy.deepcopy((entry, facts))
    judged = verdict(entry, facts)
    assert (entry, facts) == before, "a verdict changes nothing"
    assert judged == verdict(*before), "a verdict depends on nothing else"
    assert judged.reasons
    if judged.served:
        assert facts.founding is not None
        assert facts.founding[entry.id] == digest(entry.id, entry.data)
        assert entry.status not in ("draft", "deprecated")
        assert judged.tier == "founding" and facts.serve in ("draft", "founding")
    plain = verdict(EntryBytes(entry.id, entry.data), facts)
    assert TIERS.index(judged.tier) <= TIERS.index(plain.tier), "a status can only lower"
    assert plain.served or not judged.served


# From a book on the disk


def judge(book, path: str, status: str = ""):
    facts = gather(FolderSource(book.root), book.settings.trust_roots)
    data = (book.root / path).read_bytes()
    entry_id = path.rsplit("/", 1)[-1].removesuffix(".md")
    return verdict(EntryBytes(entry_id, data, status), facts.about(entry_id))


def test_an_entry_of_the_book_is_served_until_one_byte_changes(tiny_book):
    path = "entries/tiling/tiny-grid-size.md"
    assert judge(tiny_book, path).served
    data = (tiny_book.root / path).read_bytes()
    for changed in (data + b"\n", data.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + data, data[:-1]):
        tiny_book.write(path, changed)
        judged = judge(tiny_book, path)
        assert not judged.served and judged.reasons[0].code == "edited"
        assert "edition 1" in judged.reasons[0].text
    tiny_book.write(path, data)
    assert judge(tiny_book, path).served


def test_a_folder_of_another_name_does_not_matter(tiny_book):
    (tiny_book.root / "entries/tiling/tiny-grid-size.md").rename(tiny_book.root / "entries/tiny-grid-size.md")
    assert judge(tiny_book, "entries/tiny-grid-size.md").served
