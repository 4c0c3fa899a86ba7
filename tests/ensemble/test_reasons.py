"""Checked against: the meaning of the codes in DESIGN 3: 0 is success, all have texts."""

import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import undecided


@pytest.mark.parametrize("code", list(jv.Reason))
def test_every_code_has_a_text_of_its_own(code):
    text = jv.reason(np.asarray(code.value, np.int32))
    assert text
    assert [jv.reason(other) for other in jv.Reason].count(text) == 1


def test_success_is_zero_and_no_failure():
    assert jv.Reason.SUCCESS == 0
    assert jv.reason(0) == "success"
    assert not jv.Reason.SUCCESS.failed


@pytest.mark.parametrize("name", ["QUASI_PERIODIC", "CHAOTIC", "LONGER_PERIOD"])
def test_classed_motions_are_results(name):
    assert not jv.Reason[name].failed
    assert not jv.Reason[name].undecided


@pytest.mark.parametrize(
    "name", ["NOT_CONVERGED", "UNDECIDED_MOTION", "TRANSIENT", "UNDAMPED"]
)
def test_the_undecided_are_no_failures(name):
    assert jv.Reason[name].undecided
    assert not jv.Reason[name].failed


def test_a_verdict_that_is_open_is_undecided_where_there_is_an_orbit():
    codes = [0, 0, jv.Reason.CHAOTIC, jv.Reason.TRANSIENT]
    assert undecided(codes, [1, -1, -1, -1]).tolist() == [False, True, False, True]
    assert undecided(codes).tolist() == [False, False, False, True]


@pytest.mark.parametrize("name", ["STEP_LIMIT", "DIVERGED", "SINGULAR", "BAD_PARAMETER"])
def test_lost_samples_are_failures(name):
    assert jv.Reason[name].failed


def test_an_unknown_code_is_refused():
    with pytest.raises(ValueError, match="999 is not a valid Reason"):
        jv.reason(999)
