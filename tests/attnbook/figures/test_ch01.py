"""The figures of chapter 01 show what the results files hold."""

from attnbook.figures import ch01


def test_letters_of_both_orders_are_the_recorded_ones(draw):
    for ax, case in zip(draw(ch01.survivors), ("reverse", "copy"), strict=True):
        assert ax.images[0].get_array().tolist() == [ch01.read(case, "alone")]


def test_right_letters_and_a_longer_trained_reader_have_a_row_each(draw):
    rows = [ax.images[0].get_array().tolist() for ax in draw(ch01.thread_kept)]
    told = ("reverse", "given"), ("reverse", "later given"), ("both", "later given")
    assert rows == [[ch01.read(*row)] for row in (("reverse", "alone"), *told)]
