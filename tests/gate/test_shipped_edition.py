"""The shipped book as it stands: every entry and governed file is what the last founding edition vouches for."""

from cakebook.gate import founding
from cakebook.gate.facts import gather
from cakebook.gate.trust import shipped_roots
from cakebook.repo.layout import FolderSource


def test_the_last_edition_covers_every_file(shipped_root):
    changes = founding.pending(shipped_root)
    assert changes.empty, (
        f"edition {changes.number} does not cover what is here: run `{founding.COMMAND}` "
        f"(added {changes.added}, changed {changes.changed}, removed {changes.removed}, files {changes.files})"
    )


def test_its_root_is_the_last_one_shipped(shipped_root):
    changes = founding.pending(shipped_root)
    newest = shipped_roots(shipped_root / "cakebook" / "data" / "roots.txt")[-1]
    assert (newest.digest, newest.book, newest.edition) == (changes.root, changes.book, changes.number), founding.COMMAND


def test_editions_count_up_from_one(shipped_root):
    editions = [root.edition for root in shipped_roots(shipped_root / "cakebook" / "data" / "roots.txt")]
    assert editions == sorted(editions) and editions[0] == 1
    assert set(editions) == set(range(1, editions[-1] + 1))


def test_it_is_believed_without_a_pin(shipped_root):
    facts = gather(FolderSource(shipped_root), frozenset())
    assert facts.trust.anchor is not None and facts.founding is not None, facts.trust.reason
    assert facts.uncovered == (), founding.COMMAND
