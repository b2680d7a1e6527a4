"""A team's chain of trust on a real repository with real keys: who counts, and who does not."""


def test_the_plain_flow(team):
    assert team.verdict("tiny-grid-size").tier == "founding"
    team.propose("dan")
    assert team.codes() == ["not-admitted"]
    team.decide("approve", "new-lesson", "ben")
    judged = team.verdict()
    assert (judged.tier, judged.served) == ("reviewed", True)
    team.book.sync()
    assert "new-lesson" in team.book.served()
