"""Checked against: the meaning of the codes in DESIGN 3: 0 is success, all have texts."""

import numpy as np
import pytest

import jaxvib as jv


@pytest.mark.parametrize("code", list(jv.Reason))
def test_every_code_has_a_text_of_its_own(code):
    text = jv.reason(np.asarray(code.value, np.int32))
    assert text
    assert [jv.reason(other) for other in jv.Reason].count(text) == 1


def test_success_is_zero_and_no_failure():
    assert jv.Reason.SUCCESS == 0
    assert jv.reason(0) == "success"
    assert not jv.Reason.SUCCESS.failed


@pytest.mark.parametrize("name", ["QUASI_PERIODIC", "CHAOTIC"])
def test_classed_motions_are_results(name):
    assert not jv.Reason[name].failed


@pytest.mark.parametrize("name", ["STEP_LIMIT", "DIVERGED", "SINGULAR", "BAD_PARAMETER"])
def test_lost_samples_are_failures(name):
    assert jv.Reason[name].failed


def test_an_unknown_code_is_refused():
    with pytest.raises(ValueError, match="999 is not a valid Reason"):
        jv.reason(999)
