"""What no machine is built of, and settings that none takes, as a reader's address may hold."""

# ruff: noqa: F401 (names that the table's calls use)

import math

import numpy as np
import pytest
from traitlets import TraitError

from attnbook import machines, recorded
from attnbook.machines.eye_test import Exhibit
from attnlab.rnn import seq2seq
from attnlab.tasks import Vocab
from attnlab.transformer import Transformer
from tests.browser.test_machines import CASES
from tests.refusals.wrong_calls import refused

MAKE = {name: case.make for name, case in CASES.items()}
MAKE |= {"nan": math.nan, "TraitError": TraitError}


CASE = {case.__name__.rpartition("test_")[2]: case for case in CASES.values()}


NAMES = vars(machines) | globals() | CASE

test_what_a_machine_is_not_built_of_is_refused = refused("machines", "building", names=NAMES)
test_a_setting_that_does_not_fit_is_refused = refused("machines", "settings", names=MAKE)


@pytest.mark.parametrize(
    "name, switch", [("CollapseMachine", "sink"), ("HideAWord", "left"), ("ThreeColumns", "even")]
)
def test_a_switch_is_on_or_off(name, switch):
    with pytest.raises(TraitError, match=f"{switch}.* expected a boolean"):
        MAKE[name](**{switch: 2})
