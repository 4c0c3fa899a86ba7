"""Checked against: `ensemble_split` called by hand, the closed form at gamma = 1."""

import numpy as np
import pytest
from click.testing import CliRunner

import jaxvib as jv
from jaxvib.cli import main
from jaxvib.studies import ready
from jaxvib.studies.config import load

FILE = ready.folder() / "beam_chain.toml"
SMALL = ["bodies=16", "analysis.chains=8", "analysis.points=5", "sweep.gamma=[1.0, 2.0]"]


@pytest.mark.slow
def test_a_small_study_runs_and_draws_its_report(tmp_path):
    directory = tmp_path / "out"
    sets = [word for each in SMALL for word in ("--set", each)]
    done = CliRunner().invoke(main, ["run", str(FILE), *sets, "--out", str(directory)])
    assert done.exit_code == 0, done.output
    results = jv.open_study(directory)
    chain = jv.BeamChain(16, 2.0)
    times = np.linspace(0.0, 64.0, 5)
    expected = jv.ensemble_split(chain, times, chains=8)
    for name in ("translational", "rotational", "predicted_rotational", "deflection"):
        np.testing.assert_allclose(
            results[name][1], getattr(expected, name), rtol=1e-9, atol=1e-9
        )
    settled = float(results["equilibrium_rotational"][0])
    assert settled == pytest.approx((3 - np.sqrt(6)) / 4, rel=1e-10)
    assert "long after 0.1376" in done.output
    page = (directory / "report.html").read_text()
    assert "Kinetic energy in translation and in rotation" in page
    assert "The first chain, moving" in page


def test_an_analysis_of_impacts_does_not_go_with_a_chain():
    with pytest.raises(
        ValueError, match=r'"periodic_orbit" does not go with .*"beam_chain"'
    ):
        load(FILE, ["analysis.kind=periodic_orbit"])


def test_ends_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="ends"):
        load(FILE, ["ends=loose"])
