"""Checked against: `ensemble_split` called by hand, the closed form at gamma = 1."""

import numpy as np
import pytest
from click.testing import CliRunner

import jaxvib as jv
from jaxvib.cli import main
from jaxvib.studies.run import builtin_studies
from jaxvib.studies.run.execute import build
from jaxvib.studies.run.study import load

FILE = builtin_studies.folder() / "beam_chain.toml"
PACKET = builtin_studies.folder() / "wave_packet.toml"
STOPPED = builtin_studies.folder() / "chain_with_stop.toml"
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
    expected = jv.dynamics.ensemble_split(chain, times, chains=8)
    for name in ("translational", "rotational", "predicted_rotational"):
        np.testing.assert_allclose(
            results[name][1], getattr(expected, name), rtol=1e-9, atol=1e-9
        )
    settled = float(results["equilibrium_rotational"][0])
    assert settled == pytest.approx((3 - np.sqrt(6)) / 4, rel=1e-10)
    assert "in equilibrium 0.1376" in done.output
    page = (directory / "report.html").read_text()
    assert "Kinetic energy in translation and in rotation" in page
    assert "Animation of the chain" in page


@pytest.mark.slow
def test_a_packet_on_a_chain_with_defects_runs_and_is_stored(tmp_path):
    directory = tmp_path / "out"
    sets = ["bodies=24", "analysis.body=8", "analysis.width=2.0", "analysis.points=9",
            "analysis.duration=20.0",
            "defects=[{body = 20, mass = 6.0}, {beam = 4, stiffness = 0.5}]"]  # fmt: skip
    words = [word for each in sets for word in ("--set", each)]
    done = CliRunner().invoke(main, ["run", str(PACKET), *words, "--out", str(directory)])
    assert done.exit_code == 0, done.output
    masses, stiffnesses = np.ones(24), np.ones(23)
    masses[20], stiffnesses[4] = 6.0, 0.5
    chain = jv.BeamChain(
        24, 1.0, "free", mass_factors=masses, stiffness_factors=stiffnesses
    )
    start = jv.dynamics.wave_packet(jv.BeamChain(24, 1.0, "free"), 8.0, 2.0, 1.0)
    times = np.linspace(0.0, 20.0, 9)
    expected = jv.dynamics.chain_motion(chain, start, times)
    results = jv.open_study(directory)
    np.testing.assert_allclose(results["rotational"][0], expected.rotational, atol=1e-12)
    np.testing.assert_allclose(
        results["statistics.mean.potential"][0], expected.statistics.mean.potential
    )
    fields = jv.dynamics.chain_fields(chain, start, times, 481)
    stored = jv.open_study(directory, "motion")
    np.testing.assert_allclose(stored["density"][0], fields.density, atol=1e-12)
    np.testing.assert_allclose(stored["shears"][0], fields.shears, atol=1e-12)
    resumed = CliRunner().invoke(
        main, ["run", str(directory / "config.toml"), "--out", str(directory), "--resume"]
    )
    assert resumed.exit_code == 0, resumed.output


@pytest.mark.slow
def test_a_chain_with_a_stop_is_stepped_and_stored(tmp_path):
    directory = tmp_path / "out"
    sets = ["bodies=24", "analysis.body=8", "analysis.width=2.0", "analysis.points=9",
            "analysis.duration=12.0", "analysis.step=0.02", "analysis.ground.stiffness=0.1",
            "analysis.stops=[{body = 10, gap = 0.05, stiffness = 30.0}]"]  # fmt: skip
    words = [word for each in sets for word in ("--set", each)]
    done = CliRunner().invoke(main, ["run", str(STOPPED), *words, "--out", str(directory)])
    assert done.exit_code == 0, done.output
    chain = jv.BeamChain(24, 1.0, "free")
    start = jv.dynamics.wave_packet(chain, 8.0, 2.0, 1.0)
    stop = jv.dynamics.Stop(10, 0.05, jv.HertzContact(30.0))
    forces = (jv.dynamics.CubicGround(0.1, 0.001), stop)
    states = [start]
    for _ in range(8):
        states.append(jv.dynamics.step_chain(chain, states[-1], 1.5, 75, forces=forces))
    outside = [sum(f.energy(state[:2]) for f in forces) for state in states]
    results = jv.open_study(directory)
    energies = chain.energies(np.stack(states))
    np.testing.assert_allclose(results["rotational"][0], energies.rotational, atol=1e-10)
    potential = energies.potential + np.stack(outside)
    np.testing.assert_allclose(results["potential"][0], potential, atol=1e-10)
    assert max(float(stop.energy(state[:2])) for state in states) > 0
    assert "Energy in space and time" in (directory / "report.html").read_text()


@pytest.mark.parametrize(
    ("stop", "message"),
    [
        ("{body = 3, gap = 0.1}", "stiffness is missing"),
        ("{body = 3, gap = 0.1, stiffness = -1.0}", "stiffness = -1.0 is out of range"),
        ("{body = -1, gap = 0.1, stiffness = 1.0}", "body = -1 is out of range"),
    ],
)
def test_an_invalid_stop_is_refused(stop, message):
    with pytest.raises(ValueError, match=message):
        load(STOPPED, [f"analysis.stops=[{stop}]"])


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("{body = 3}", "nothing is given for a body; allowed: inertia and mass"),
        ("{body = 3, stiffness = 2.0}", "stiffness is given for a body"),
        ("{mass = 2.0}", "either a body or a beam"),
        ("{body = 3, mass = -2.0}", "defects"),
    ],
)
def test_an_invalid_defect_is_refused(defect, message):
    with pytest.raises(ValueError, match=message):
        load(PACKET, [f"defects=[{defect}]"])


def test_places_beyond_the_chain_are_refused():
    with pytest.raises(ValueError, match="defects: body = 256 is not in the chain"):
        build(load(PACKET, ["defects=[{body = 256, mass = 2.0}]"]))
    with pytest.raises(ValueError, match="body = 300 is not in"):
        build(load(PACKET, ["analysis.start=kick", "analysis.body=300"]))
    with pytest.raises(ValueError, match="stops: body = 300 is not in the chain"):
        build(load(PACKET, ["analysis.stops=[{body = 300, gap = 0.1, stiffness = 1.0}]"]))


def test_an_analysis_of_impacts_does_not_go_with_a_chain():
    with pytest.raises(
        ValueError, match=r'"periodic_orbit" does not support .*"beam_chain"'
    ):
        load(FILE, ["analysis.kind=periodic_orbit"])


def test_ends_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="ends"):
        load(FILE, ["ends=loose"])
