"""Checked against: counts and extremes of samples that are written down by hand."""

import numpy as np
import pytest

from jaxvib.ensemble import Reason, undecided
from jaxvib.reports.header import head
from jaxvib.studies.analyses.kinds import ANALYSES
from jaxvib.studies.run.study import load_text
from jaxvib.studies.store.finished_study import Run

CONFIG = """
[system]
kind = "two_body_impact"
[analysis]
kind = "periodic_orbit"
[sweep]
load.amplitude = [1.0, 2.0]
[output]
units = ["kN"]
"""

FIELDS = {
    "result": [0, 0, Reason.CHAOTIC, Reason.UNDECIDED_MOTION, Reason.TRANSIENT, 0,
               Reason.LONGER_PERIOD, Reason.STEP_LIMIT, Reason.UNDAMPED],
    "periods": [1, 2, -1, -1, -1, 1, 14, -1, -1],
    "contacts": [0, 3, -1, -1, -1, 1, -1, -1, -1],
    "contact_duration": [0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, np.nan, np.nan],
    "stable": [1, -1, -1, -1, -1, 1, -1, -1, -1],
    "largest_multiplier": [0.5, 1.0, np.nan, np.nan, np.nan, 0.25, np.nan, np.nan, np.nan],
    "max_contact_force": [0.0, 10.0, 301.0, 25.0, 7.0, 9.0, 200.0, np.nan, np.nan],
    "load.amplitude": np.arange(9.0),
}  # fmt: skip


@pytest.fixture(scope="module")
def lines():
    study = load_text(CONFIG)
    kind = ANALYSES["periodic_orbit"]
    return kind.summary(lambda name: np.asarray(FIELDS[name]), study)


def test_best_and_worst_are_of_all_samples_that_have_the_number(lines):
    assert lines[2] == "best       largest |multiplier| 0.25 at load.amplitude = 0.005 kN"
    # The largest force is a chaotic motion's.
    assert lines[3] == "worst      contact force 0.301 kN at load.amplitude = 0.002 kN"


def test_the_terminal_and_the_page_count_the_same_undecided(lines):
    count = int(undecided(FIELDS["result"], FIELDS["stable"]).sum())
    assert count == 4
    assert (
        " 4 undecided (1 |multiplier| within its error of 1, 1 exponent inconclusive"
        in lines[1]
    )
    assert f"<dt>undecided</dt><dd>{count}</dd>" in page_head()


def page_head():
    import xarray

    columns = {name: ("sample", np.asarray(values)) for name, values in FIELDS.items()}
    study = {"analysis": "periodic_orbit", "system": "", "coordinates": ["load.amplitude"],
             "title": "by hand"}  # fmt: skip
    return head([Run("by hand", xarray.Dataset(columns), None, study, {}, "")])


def test_the_undecided_are_no_failures_and_have_their_reasons(lines):
    assert "44.4%" not in lines[0]
    # With the standard error of 3 among 9, sqrt(1/3 2/3 / 9).
    assert "33.3% +- 15.7% undecided" in lines[0]
    text = page_head()
    assert "1 undecided: the transient was not over" in text
    assert "1 undecided: the largest multiplier is nearer to 1" in text
