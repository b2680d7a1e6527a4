"""The verdict: tables of every way an entry can stand, and the property that nothing is served that nobody vouches for."""

import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cakebook.gate.facts import gather
from cakebook.gate.verdict import FOUNDING_MEANS, verdict
from cakebook.model.query import TIERS
from cakebook.model.review import (
    Anchor,
    EntryBytes,
    Founding,
    Key,
    KindPolicy,
    Person,
    Policy,
    Reason,
    Role,
    Signed,
    Statement,
    TrustFacts,
)
from cakebook.repo.entries import digest
from cakebook.repo.layout import FolderSource

DATA = b"---\nid: a\n---\n"
LISTED = {"a": digest("a", DATA)}
MINE = LISTED["a"]
EVERYTHING = Role(role="reviewer", kinds=("all",), since=1)


def anchor(n=5, **values):
    return Anchor.model_validate({"schema": "s", "book": "book-1", "n": n, **values})


def founded(entries):
    return Founding(edition=3, date="d", reason="r", statement="s", entries=entries)


def facts_of(founding=None, serve="founding", people=(), statements=(), authors=None, approvals=1, fields=(), **chain):
    """The facts of a believed book."""
    kinds = {"tiling": KindPolicy(approvals=approvals, measured_fields=tuple(fields))}
    return TrustFacts(
        anchor=anchor(**chain),
        people={p.id: p for p in people},
        policy=Policy(serve=serve, kinds=kinds),
        founding=None if founding is None else founded(founding),
        statements=tuple(statements),
        authors=authors,
    )


def person(person_id, *roles, **values):
    return Person(id=person_id, emails=(f"{person_id}@x",), roles=roles or (EVERYTHING,), **values)


def key(**values):
    return Key(**{"public": "k", "namespaces": ("cakebook-review",), "since": 1, **values})


GOOD = key()


def said(decision, reviewer="ben", sha=None, key=GOOD, **values):
    """A statement with a good signature about `a`."""
    given = {
        "schema": "cakebook-statement-v1", "book": "book-1", "entry": "a", "digest": MINE, "kind": "tiling",
        "decision": decision, "reviewer": reviewer, "trust": 2, "at": "t", **values,
    }  # fmt: skip
    return Signed(sha or f"{decision}-{reviewer}", Statement.model_validate(given), key)


def judge_a(facts, status="", evidence=()):
    return verdict(EntryBytes("a", DATA, status, "tiling", tuple(evidence)), facts)


# Founding entries, and an entry's own word


@pytest.mark.parametrize(
    ("founding", "serve", "status", "tier", "lifecycle", "served", "codes"),
    [
        pytest.param({}, "founding", "", "draft", "active", False, ["not-admitted"], id="empty-list"),
        pytest.param({"b": MINE}, "founding", "", "draft", "active", False, ["not-admitted"], id="listed-under-another-id"),
        pytest.param(LISTED, "founding", "", "founding", "active", True, ["founding"], id="listed"),
        pytest.param({"a": digest("a", DATA + b"\n")}, "founding", "", "draft", "active", False, ["edited"], id="edited"),
        pytest.param({"a": digest("b", DATA)}, "founding", "", "draft", "active", False, ["edited"], id="digest-of-another-id"),
        pytest.param({"a": ""}, "founding", "", "draft", "active", False, ["edited"], id="no-digest"),
        pytest.param(LISTED, "founding", "draft", "draft", "active", False, ["founding", "status-draft"], id="status-draft"),
        pytest.param(
            LISTED, "founding", "deprecated", "founding", "deprecated", True, ["founding", "status-deprecated"],
            id="status-deprecated",
        ),
        pytest.param({}, "founding", "measured", "draft", "active", False, ["not-admitted"], id="status-cannot-raise"),
        pytest.param(LISTED, "founding", "reviewed", "founding", "active", True, ["founding"], id="status-of-no-effect"),
        pytest.param({}, "founding", "draft", "draft", "active", False, ["not-admitted"], id="a-draft-that-says-so"),
        pytest.param(LISTED, "reviewed", "", "founding", "active", False, ["founding", "below-policy"], id="policy-reviewed"),
        pytest.param(LISTED, "measured", "", "founding", "active", False, ["founding", "below-policy"], id="policy-measured"),
        pytest.param(LISTED, "draft", "", "founding", "active", True, ["founding"], id="policy-draft"),
        pytest.param({}, "draft", "", "draft", "active", False, ["not-admitted"], id="policy-draft-serves-no-draft"),
    ],
)  # fmt: skip
def test_founding_entries(founding, serve, status, tier, lifecycle, served, codes):
    judged = judge_a(facts_of(founding, serve), status)
    assert (judged.id, judged.digest) == ("a", MINE)
    assert (judged.tier, judged.lifecycle, judged.served) == (tier, lifecycle, served)
    assert [reason.code for reason in judged.reasons] == codes
    assert all(reason.text for reason in judged.reasons)


def test_what_is_served_says_what_its_tier_means():
    judged = judge_a(facts_of(LISTED))
    assert judged.reasons[0].text == f"founding edition 3: {FOUNDING_MEANS}"
    assert "not approved by an independent person" in FOUNDING_MEANS


@pytest.mark.parametrize("serve", TIERS)
def test_without_an_anchor_nothing_is_served_and_the_reason_is_the_anchors(serve):
    facts = TrustFacts(policy=Policy(serve=serve), founding=founded(LISTED), anchor_reason="upgrade cakebook")
    judged = judge_a(facts)
    assert not judged.served and judged.tier == "draft"
    assert [(r.code, r.text) for r in judged.reasons] == [("no-anchor", "upgrade cakebook")]


# Approvals


def test_an_approval_admits_and_says_who():
    judged = judge_a(facts_of(people=[person("ben")], statements=[said("approve", reason="read it")]))
    assert (judged.tier, judged.served, judged.independence) == ("reviewed", True, "recorded")
    assert judged.reasons == (Reason("approve", "approve by ben: read it", "ben", "t"),)


@pytest.mark.parametrize(
    ("people", "statement", "chain", "code"),
    [
        ([], said("approve"), {}, "unknown-reviewer"),
        ([person("ben")], said("approve", book="other-1"), {}, "other-book"),
        ([person("ben")], said("approve", entry="b"), {}, "other-entry"),
        ([person("ben")], said("approve", trust=6), {}, "trust-ahead"),
        ([person("ben", kind="agent", operator="ada"), person("ada")], said("approve"), {}, "agent"),
        ([person("ben")], said("approve", key=key(namespaces=("cakebook-admin",))), {}, "key-not-active"),
        ([person("ben")], said("approve", key=key(since=3)), {}, "key-not-active"),
        ([person("ben")], said("approve", key=key(until=4)), {}, "key-ended"),
        ([person("ben", state="retired")], said("approve"), {}, "retired"),
        ([person("ben", state="revoked")], said("approve"), {}, "revoked"),
        ([person("ben", state="revoked")], said("approve"), {"honoured": {"ada": ["approve-ben"]}}, "revoked"),
        ([person("ben", Role(role="admin", since=1))], said("approve"), {}, "no-role"),
        ([person("ben", Role(role="reviewer", kinds=("memory",), since=1))], said("approve"), {}, "no-role"),
        ([person("ben", Role(role="reviewer", kinds=("all",), since=3))], said("approve"), {}, "no-role"),
        ([person("ben", Role(role="reviewer", kinds=("all",), since=1, until=3))], said("approve"), {}, "no-role"),
        ([person("ben")], said("approve", authors=["ben"]), {}, "author"),
        ([person("ben")], said("approve", authors=["BEN@x"]), {}, "author"),
        ([person("ben"), person("bot", kind="agent", operator="ben")], said("approve", authors=["bot@x"]), {}, "author"),
    ],
)
def test_an_approval_that_does_not_count_says_why(people, statement, chain, code):
    judged = judge_a(facts_of(people=people, statements=[statement], **chain))
    assert not judged.served and judged.tier == "draft"
    assert code in [reason.code for reason in judged.reasons] or code == "other-entry"


@pytest.mark.parametrize(
    ("who", "given"),
    [
        (person("ben", state="retired"), key()),
        (person("ben", state="revoked"), key()),
        (person("ben"), key(until=3)),
        (person("ben", Role(role="reviewer", kinds=("all",), since=1, until=3), state="retired"), key(until=3)),
    ],
)
def test_what_is_honoured_counts_whoever_left(who, given):
    statement = said("approve", key=given)
    assert judge_a(facts_of(people=[who], statements=[statement], honoured={"ben": ["approve-ben"]})).served
    assert not judge_a(facts_of(people=[who], statements=[statement])).served


def test_an_approval_of_other_bytes_is_none():
    judged = judge_a(facts_of(people=[person("ben")], statements=[said("approve", digest=digest("a", b"old"))]))
    assert not judged.served and [r.code for r in judged.reasons] == ["edited"]


def test_authors_whom_history_shows_are_compared_and_must_be_on_record():
    people = [person("ben"), person("dan")]
    recorded = said("approve", authors=["dan"])
    assert judge_a(facts_of(people=people, statements=[recorded], authors=frozenset({"dan@x"}))).independence == "computed"
    for shown, code in ((frozenset({"ben@x", "dan"}), "author"), (frozenset({"dan", "stranger@y"}), "authors-incomplete")):
        judged = judge_a(facts_of(people=people, statements=[recorded], authors=shown))
        assert not judged.served and code in [r.code for r in judged.reasons]
    more = said("approve", authors=["dan", "stranger@y", "another@z"])
    assert judge_a(facts_of(people=people, statements=[more], authors=frozenset({"dan@x"}))).served


def test_as_many_people_must_approve_as_the_policy_asks():
    people = [person("ben"), person("cora")]
    one = [said("approve"), said("approve", sha="again", previous=["approve-ben"])]
    judged = judge_a(facts_of(people=people, statements=one, approvals=2))
    assert not judged.served and judged.reasons[-1].text == "1 of 2 approvals"
    assert judge_a(facts_of(people=people, statements=[*one, said("approve", "cora")], approvals=2)).served


@pytest.mark.parametrize("against", ["request-changes", "decline"])
def test_the_last_word_of_each_reviewer_counts_and_one_against_holds_an_entry_back(against):
    people = [person("ben"), person("cora")]
    yes, no = said("approve"), said(against, "cora", reason="wrong")
    assert not judge_a(facts_of(people=people, statements=[yes, no])).served
    again = said("approve", "cora", previous=[no.sha])
    assert judge_a(facts_of(people=people, statements=[yes, no, again])).served
    parallel = said("approve", "cora")
    assert not judge_a(facts_of(people=people, statements=[yes, no, parallel])).served


def test_measured_needs_a_review_and_all_the_evidence_that_the_policy_names():
    approved = {"people": [person("ben")], "statements": [said("approve")], "fields": ["cann", "runs"]}
    assert judge_a(facts_of(**approved), evidence=[frozenset({"cann"}), frozenset({"runs"})]).tier == "reviewed"
    assert judge_a(facts_of(**approved), evidence=[frozenset({"cann", "runs", "spread"})]).tier == "measured"
    assert judge_a(facts_of(fields=["cann"]), evidence=[frozenset({"cann"})]).tier == "draft"


# Lifecycle


@pytest.mark.parametrize(
    ("statements", "lifecycle", "served"),
    [
        ([said("deprecate")], "deprecated", True),
        ([said("withdraw")], "withdrawn", False),
        ([said("supersede", successor="b")], "superseded", False),
        ([said("withdraw", digest="sha256:other")], "withdrawn", False),  # it is about the id
        ([said("withdraw"), said("reinstate", previous=["withdraw-ben"])], "active", True),
        ([said("withdraw"), said("reinstate")], "withdrawn", False),  # neither saw the other
        ([said("withdraw"), said("approve", previous=["withdraw-ben"])], "withdrawn", False),
        ([said("withdraw"), said("approve", sha="x", previous=["withdraw-ben"]), said("reinstate", previous=["x"])], "active", True),
        ([said("deprecate"), said("supersede", "cora", successor="b")], "superseded", False),
        ([said("withdraw", "nobody")], "active", True),
        ([said("withdraw"), said("reinstate", previous=["withdraw-ben"], authors=["ben"])], "withdrawn", False),
        ([said("withdraw", authors=["ben"])], "withdrawn", False),  # an author may take back, not put back
    ],
)  # fmt: skip
def test_decisions_about_an_id(statements, lifecycle, served):
    judged = judge_a(facts_of(LISTED, people=[person("ben"), person("cora")], statements=statements))
    assert (judged.lifecycle, judged.served) == (lifecycle, served)
    assert judged.successor == ("b" if lifecycle == "superseded" else None)
    if not served:
        assert lifecycle in [reason.code for reason in judged.reasons]


# Whatever the facts

IDS = st.sampled_from(["a", "b", "A", "a-b", "é"])
BYTES = st.sampled_from([DATA, DATA + b"\n", b"", b"---\r\nid: a\r\n---\r\n", b"\xff"])
DIGESTS = st.builds(digest, IDS, BYTES) | st.sampled_from(["", "sha256:", "any", "*"])
DECISIONS = ("approve", "request-changes", "decline", "deprecate", "supersede", "withdraw", "reinstate")
SHAS = st.sampled_from(["s1", "s2", "s3", "s4"])
STATEMENTS = st.lists(
    st.builds(
        said,
        st.sampled_from(DECISIONS),
        st.sampled_from(["ben", "cora", "bot", "nobody"]),
        SHAS,
        st.builds(key, since=st.integers(1, 3), until=st.none() | st.integers(1, 3)),
        digest=DIGESTS | st.just(MINE),
        book=st.sampled_from(["book-1", "book-2"]),
        authors=st.lists(st.sampled_from(["ben", "cora@x", "bot", "dan"]), max_size=2),
        trust=st.integers(1, 6),
        previous=st.lists(SHAS, max_size=2),
    ),
    max_size=4,
    unique_by=lambda signed: signed.sha,
)


@given(
    entry=st.builds(
        EntryBytes,
        IDS,
        BYTES,
        st.sampled_from(["", "draft", "deprecated", "founding", "reviewed", "measured"]),
        st.just("tiling"),
    ),
    facts=st.builds(
        facts_of,
        founding=st.none() | st.dictionaries(IDS, DIGESTS),
        serve=st.sampled_from(TIERS),
        people=st.just([person("ben"), person("cora"), person("bot", kind="agent", operator="ben")]),
        statements=STATEMENTS,
        authors=st.none() | st.frozensets(st.sampled_from(["ben@x", "dan"])),
        honoured=st.just({}) | st.just({"ben": ["s1", "s2"]}),
    ),
)
def test_nothing_is_served_that_nobody_vouches_for_in_exactly_these_bytes(entry, facts):
    before = copy.deepcopy((entry, facts))
    judged = verdict(entry, facts)
    assert (entry, facts) == before, "a verdict changes nothing"
    assert judged == verdict(*before), "a verdict depends on nothing else"
    assert judged.reasons
    mine = digest(entry.id, entry.data)
    approved = [s.statement for s in facts.statements if s.statement.decision == "approve" and s.statement.digest == mine]
    if judged.served:
        listed = facts.founding is not None and facts.founding.entries.get(entry.id) == mine
        assert listed or any(
            s.book == "book-1" and s.reviewer in ("ben", "cora") and s.reviewer not in s.authors for s in approved
        )
        assert entry.status != "draft" and judged.lifecycle in ("active", "deprecated")
        assert judged.tier != "founding" or facts.policy.serve in ("draft", "founding")
    plain = verdict(replace(entry, status=""), facts)
    assert TIERS.index(judged.tier) <= TIERS.index(plain.tier), "a status can only lower"
    assert plain.served or not judged.served


@given(STATEMENTS)
def test_the_order_of_the_files_does_not_matter(statements):
    people = [person("ben"), person("cora")]
    one, two = (judge_a(facts_of(LISTED, people=people, statements=s)) for s in (statements, statements[::-1]))
    assert (one.tier, one.lifecycle, one.served, one.successor) == (two.tier, two.lifecycle, two.served, two.successor)


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
