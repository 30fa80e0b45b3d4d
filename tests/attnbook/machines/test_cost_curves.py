"""The curves of measured cost: what they keep, what they refuse, and their files' sizes."""

import pytest

from attnbook.machines import CostCurves
from attnbook.machines.cost_curves import COLOURS, MOST_FORMS
from attnbook.pages.notebook import VIEW_MIME

MEASURES = {
    "time": {"whole": {256: 1.0, 512: 4.0}, "tiled": {256: 1.5, 1024: 6.0}},
    "memory": {"tiled": {512: 3.0}},
}
UNITS = {"time": "times", "memory": "MiB"}


def make(text: str = "time", **settings) -> CostCurves:
    memory = {text: {256: 2.0, 512: 8.0}, "tiled": {512: 3.0, 1024: 6.5}}
    measures = {
        "time": {text: {256: 1.0, 512: 4.0}, "tiled": {256: 1.5, 1024: 6.0}},
        "memory": memory,
    }
    exponents = {"memory": {"tiled": 1.1}}
    given = {"units": {"time": "times", "memory": "MiB"}, "exponents": exponents, "title": "Cost"}
    return CostCurves(measures, **given | settings)


SETTINGS = [{"length": 256}, {"length": 512, "measure": 1}, {"length": 512}]


def curves(**settings) -> CostCurves:
    return CostCurves(MEASURES, units=UNITS, **settings)


def test_every_number_is_kept_in_its_place_and_no_other_is_made():
    shown = curves()
    assert shown.lengths == [256, 512, 1024]
    assert shown.forms == ["whole", "tiled"]
    assert shown.values == [
        [[1.0, 4.0, None], [1.5, None, 6.0]],
        [[None, None, None], [None, 3.0, None]],
    ]
    assert shown.number("time", "whole", 512) == 4.0
    assert shown.number("time", "whole", 1024) is None
    assert shown.number("time", "whole", 77) is None
    assert shown.number("memory", "whole", 512) is None


def test_exponents_stand_beside_their_forms():
    shown = curves(exponents={"time": {"tiled": 1.1}})
    assert shown.exponents == [[None, 1.1], [None, None]]


def test_it_begins_at_the_longest_length_and_the_settings_stay_within_what_was_measured():
    shown = curves()
    assert (shown.length, shown.measure) == (1024, 0)
    shown.length, shown.measure = 256, 1
    with pytest.raises(ValueError, match=r"length: expected one of .*\[256, 512, 1024\], got 300"):
        shown.length = 300
    with pytest.raises(ValueError, match="measure: expected 0 to 1, got 2"):
        shown.measure = 2
    assert (shown.length, shown.measure) == (256, 1)


def test_the_bundle_has_the_view_a_picture_and_words_without_measured_numbers():
    data, metadata = curves(title="Cost")._repr_mimebundle_()
    assert set(data) == {VIEW_MIME, "image/png", "text/plain"}
    assert (
        data["text/plain"]
        == metadata["image/png"]["alt"]
        == (
            "Cost. Lines of time against length, on logarithmic axes, for whole, tiled; 3 lengths "
            "measured, from 256 to 1,024."
        )
    )
    assert data["image/png"] == curves(title="Cost")._repr_mimebundle_()[0]["image/png"]
    assert len(data["image/png"]) < 120_000


def test_the_picture_draws_the_points_that_were_measured():
    (ax,) = curves().figure().axes
    drawn = {line.get_label(): line.get_xydata().tolist() for line in ax.lines[:2]}
    assert drawn == {"whole": [[256, 1], [512, 4]], "tiled": [[256, 1.5], [1024, 6]]}
    (ax,) = curves(measure=1).figure().axes
    assert [len(line.get_xdata()) for line in ax.lines[:2]] == [0, 1]


def test_page_and_picture_share_their_colours():
    style = CostCurves._css
    assert len(COLOURS) == MOST_FORMS
    for place, colour in enumerate(COLOURS):
        assert f".curves-form-{place}{{--curves-hue:{colour}}}" in style


ONE = {"whole": {256: 1.0}}
WRONG = [
    ([], TypeError, "measures: expected a mapping"),
    ({}, TypeError, "measures: expected a mapping"),
    ({"time": [1]}, TypeError, r"measures\['time'\]: expected a mapping"),
    ({"time": {"whole": 3}}, TypeError, r"measures\['time'\]\['whole'\]: expected a mapping"),
    ({"time": {}}, ValueError, "measures: expected 1 to 6 forms, got 0"),
    ({"time": {str(n): {1: 1.0} for n in range(7)}}, ValueError, "1 to 6 forms, got 7"),
    ({"time": {"whole": {0: 1.0}}}, ValueError, "a length of .*: expected an int of at least 1"),
    ({"time": {"whole": {2.5: 1.0}}}, TypeError, "a length of .*: expected an int"),
    ({"time": {"whole": {256: 0.0}}}, ValueError, r"\[256\]: expected a number greater than 0"),
    ({"time": {"whole": {256: float("nan")}}}, ValueError, r"\[256\]: expected a finite number"),
    ({"time": {"whole": {256: "fast"}}}, TypeError, r"\[256\]: expected a number"),
    ({"time": {3: {256: 1.0}}}, TypeError, r"measures\[0\]: expected a string"),
    ({"pace": ONE}, TypeError, r"units\[0\]: expected a string, got NoneType"),
]


@pytest.mark.parametrize("measures, error, message", WRONG)
def test_a_wrong_call_is_told_what_was_expected(measures, error, message):
    with pytest.raises(error, match=message):
        CostCurves(measures, units={"time": "times"})
