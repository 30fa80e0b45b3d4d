"""Settings that no machine takes, of all machines: as a reader's address may hold them."""

import math

import pytest
from traitlets import TraitError

from tests.browser.test_machines import CASES
from tests.refusals.wrong_calls import assert_line_refused, table

MAKE = {name: case.make for name, case in CASES.items()}
MAKE |= {"nan": math.nan, "TraitError": TraitError}


@pytest.mark.parametrize("line", table("machines")["settings"])
def test_a_setting_that_does_not_fit_is_refused(line):
    assert_line_refused(line, MAKE)


@pytest.mark.parametrize(
    "name, switch", [("CollapseMachine", "sink"), ("HideAWord", "left"), ("ThreeColumns", "even")]
)
def test_a_switch_is_on_or_off(name, switch):
    with pytest.raises(TraitError, match=f"{switch}.* expected a boolean"):
        MAKE[name](**{switch: 2})
