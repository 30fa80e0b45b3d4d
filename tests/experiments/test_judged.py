"""A hundred translations judged blind: the file holds every verdict."""

from attnbook import recorded
from experiments import judged


def test_the_file_counts_the_verdicts_that_are_kept():
    written, known = recorded.results("judged"), judged.verdicts()
    every = {}
    for row in written["rows"]:
        assert len({one["source"] for one in row["translations"]}) == row["sentences"] == 100
        for one in row["translations"]:
            every[one["source"], one["said"]] = one["verdicts"]
        for judge, number in enumerate(row["taken"]):
            found = [one["verdicts"][judge] for one in row["translations"]]
            assert number == sum(verdict == ["kept", "right"] for verdict in found)
            assert row["meaning"][judge]["kept"] >= number
            assert sum(row["french"][judge].values()) == 100
    assert every == known
    assert written["translations"] == len(known)


def test_every_verdict_is_a_grade_of_each_question_by_two_judges():
    for found in judged.verdicts().values():
        assert len(found) == 2
        assert all(m in judged.MEANING and f in judged.FRENCH for m, f in found)
