"""Checked against: differences of fourth order of the measures, closed forms by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.design import (
    Limit,
    Packet,
    Problem,
    RandomSplit,
    beam_measure,
    bifurcation_measure,
    branch_maximum_measure,
    change_measure,
    contact_impulse,
    energy_share_measure,
    natural_frequency_measure,
    orbit_measure,
    over,
    packet_measure,
    parameter_measure,
    peaks_measure,
    placement_measure,
    response_measure,
    stable_range_measure,
    white_noise_measure,
)
from jaxvib.design.searches.evaluation import Evaluator
from jaxvib.studies.analyses.measure_options import KEYS
from tests import zoo

soft = jv.two_body_impact(contact=jv.HertzContact(3.504e7))
SPRING = {"attached.frequency": (4.0, 8.0), "attached.damping_ratio": (0.005, 0.3, "log")}
tower = jv.assemble(
    [
        jv.TranslationTranslation(
            "ground", "floor", mass=2.0, stiffness=300.0, damping=2.0
        ),
        jv.TranslationTranslation("floor", "roof", mass=1.0, stiffness=120.0, damping=1.0),
    ]
)
STOREYS = {
    "modules.floor-roof.stiffness": (50.0, 300.0),
    "modules.ground-floor.mass": (1, 4),
}
beam = jv.oscillators_on_beam(
    jv.Beam(1.0, 0.675, 36.45831), [0.95, 0.5], [0.02, 0.02], [12.5, 500.0], [0.1, 0.5]
)
LINKS = {"positions.1": (0.2, 0.9), "link_stiffness.0": (1.0, 100.0, "log")}
chain = jv.BeamChain(
    24, 1.0, "free", mass_factors=np.where(np.arange(24) == 12, 2.0, 1.0),
    stiffness_factors=np.ones(23),
)  # fmt: skip
DEFECT = {"mass_factors.12": (1.0, 5.0), "stiffness_factors.12": (0.2, 5.0, "log")}
packet = Packet(5.0, 2.0, 1.0, 12.0, 12)
NOISE, PEAKS = ("roof", "floor"), ("floor", "floor", 1.0, 30.0, 2)

QUICK = {
    "response": (tower, STOREYS, response_measure("roof", "floor", [3.0, 9.0])),
    "peaks": (tower, STOREYS, peaks_measure(*PEAKS)),
    "white noise": (tower, STOREYS, white_noise_measure(*NOISE)),
    "natural frequency": (tower, STOREYS, natural_frequency_measure((0, 1))),
    "damping": (beam, LINKS, beam_measure("damping_ratio", (0, 1, 2))),
    **{
        field: (beam, LINKS, beam_measure(field, (0, 1, 2)))
        for field in ("decay", "frequency", "modulus", "gap")
    },
    "placement": (beam, LINKS, placement_measure((-0.5 + 20j, -2.0 + 150j), 4)),
    "packet": (chain, DEFECT, packet_measure("reflected", packet)),
    "transmitted": (chain, DEFECT, packet_measure("transmitted", packet)),
    "translational": (
        chain,
        DEFECT,
        energy_share_measure("translational", RandomSplit(5.0)),
    ),
    "potential": (chain, DEFECT, energy_share_measure("potential", RandomSplit(5.0))),
    "shares": (chain, DEFECT, energy_share_measure("rotational", RandomSplit(5.0))),
    "sum": (tower, STOREYS, parameter_measure(*STOREYS)),
    "change": (soft, SPRING, change_measure(soft, {"attached.frequency": (4.0, 8.0)})),
}
flip = bifurcation_measure("period_doubling", "load.frequency", (5.8, 6.5))
touch = bifurcation_measure("grazing", "load.amplitude", (100.0, 500.0))
fold = bifurcation_measure("fold", "w", (0.95, 1.2))
torus = bifurcation_measure("neimark_sacker", "a", (0.2, 1.2))
resonance = branch_maximum_measure("amplitude", "w", (0.95, 1.2))
stable = stable_range_measure("width", "load.frequency", (5.8, 6.5))
band = {"load.frequency": [5.5, 5.8]}


oscillator = zoo.duffing(w=1.06)
neuron = zoo.fitzhugh_nagumo()
FORCED = {"f": (0.012, 0.02), "c": (0.03, 0.05)}
SLOW = {
    "amplitude": (soft, SPRING, orbit_measure("amplitude", 0, rtol=1e-12)),
    "force": (soft, SPRING, orbit_measure("max_contact_force", rtol=1e-12)),
    "state": (soft, SPRING, orbit_measure("state", 2, rtol=1e-12)),
    "multiplier": (soft, SPRING, orbit_measure("largest_multiplier", rtol=1e-12)),
    "margin": (soft, SPRING, orbit_measure("stability_margin", rtol=1e-12)),
    "impulse": (soft, SPRING, contact_impulse()),
    "band": (soft, SPRING, over(orbit_measure("amplitude", 1, rtol=1e-12), band)),
    "flip": (jv.replace(soft, {"load.frequency": 6.0}), SPRING, flip),
    "grazing": (soft, SPRING, touch),
    "stable": (jv.replace(soft, {"load.frequency": 6.0}), SPRING, stable),
    "fold": (oscillator, FORCED, fold),
    "resonance": (oscillator, FORCED, resonance),
    "torus": (neuron, {"amp": (0.05, 0.2)}, torus),
}


# Measures of one analysis: evaluated together, by one program.
GROUPS = {
    "beam": ("damping", "decay", "frequency", "modulus", "gap"),
    "packet": ("packet", "transmitted"),
    "shares": ("shares", "translational", "potential"),
    "orbit": ("amplitude", "force", "state", "multiplier", "margin"),
}
LONG = ("beam", "placement", "shares", "natural frequency", "peaks", "packet")


def grouped(cases):
    """Return the systems, bounds and measures of cases, those of a group together."""
    found = {}
    for name, (system, bounds, measure) in cases.items():
        group = next((key for key, names in GROUPS.items() if name in names), name)
        found.setdefault(group, (system, bounds, []))[-1].append(measure)
    return found


def check_slopes(system, bounds, measures, step):
    first, *others = measures
    limits = {str(i): Limit(each, at_least=0.0) for i, each in enumerate(others)}
    problem = Problem(system, bounds, first, combine="sum", constraints=limits)
    evaluator = Evaluator(problem, problem.normalised)
    found = evaluator(problem.normalised)
    assert not found.code
    assert len(problem.form.analyses) == 1
    for place in range(len(bounds)):
        moved = []
        for steps in (-2, -1, 1, 2):
            shares = problem.normalised.copy()
            shares[place] += steps * step
            # with slopes too, so that no second program is compiled
            moved.append(evaluator(shares))
        values = [[np.asarray(x) for x in (each.numbers, *each.limits)] for each in moved]
        for slopes, ends in zip(
            (found.slopes, *found.limit_slopes), zip(*values, strict=True), strict=True
        ):
            difference = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * step)
            size = np.abs(slopes).max(initial=1e-12)
            np.testing.assert_allclose(
                slopes[:, place], difference, rtol=1e-6, atol=1e-6 * size
            )


def test_every_measure_of_the_catalogue_is_among_these():
    kinds = {
        "periodic_orbit": {"amplitude", "force", "state", "multiplier", "margin"},
        "contact_impulse": {"impulse"},
        "bifurcation": {"flip", "grazing", "fold", "torus"},
        "stable_range": {"stable"},
        "branch_maximum": {"resonance"},
        "response": {"response"},
        "response_peaks": {"peaks"},
        "white_noise": {"white noise"},
        "natural_frequency": {"natural frequency"},
        "beam_eigenvalues": {"damping", "decay", "frequency", "modulus", "gap"},
        "placement": {"placement"},
        "packet": {"packet", "transmitted"},
        "energy_share": {"shares", "translational", "potential"},
        "parameter": {"sum"},
        "change": {"change"},
    }
    assert set(kinds) == set(KEYS)
    assert set.union(*kinds.values()) | {"band"} == {*QUICK, *SLOW}


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in grouped(QUICK)],
)
def test_derivatives_are_those_of_differences(name):
    check_slopes(*grouped(QUICK)[name], step=1e-3 if name != "peaks" else 3e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", grouped(SLOW))
def test_derivatives_through_motions_are_those_of_differences(name):
    check_slopes(*grouped(SLOW)[name], step=5e-4)


@pytest.mark.slow
def test_the_impulse_turns_the_attached_body_round():
    # over a period nothing of the attached body's momentum changes: the contact gives
    # what its spring takes, k times the mean of its stretch
    orbit = jv.periodic_orbit(soft)
    times = np.linspace(0.0, float(orbit.period), 20_001)
    states = np.asarray(jv.simulate(soft, orbit.state, times).states)
    stretch = states[:, 1] - states[:, 0] - 0.05
    expected = 100.0 * 5.646**2 * np.trapezoid(stretch, times)
    problem = Problem(soft, SPRING, contact_impulse())
    found = Evaluator(problem, problem.normalised)(problem.normalised)
    assert float(found.numbers[0]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_peaks_of_one_freedom_are_the_closed_form():
    system = jv.two_body_impact(
        main_mass=1.0, main_frequency=2.0, main_damping_ratio=0.1, attached_mass=1e-9,
        attached_frequency=50.0,
    )  # fmt: skip
    measure = peaks_measure("main", "main", 0.5, 4.0, 2)
    found = measure.analysis.function(system)
    expected = 1 / (4 * 2 * 0.1 * np.sqrt(1 - 0.01))
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-8)


def test_modes_beyond_a_range_do_not_count():
    values = jnp.array([-1 + 10j, -1 + 100j, -1 + 1000j])
    read = beam_measure("damping_ratio", (0, 1, 2), below=500.0).read
    np.testing.assert_allclose(read(values)[:2], 1 / np.sqrt([101.0, 10001.0]))
    assert float(read(values)[2]) == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: beam_measure("dampin", (0,)), "field = 'dampin'"),
        (lambda: beam_measure("gap", (0, 1), below=1.0), "below requires field"),
        (lambda: packet_measure("lost", packet), "share = 'lost'"),
        (lambda: energy_share_measure("lost", RandomSplit(1.0)), "kind = 'lost'"),
        (lambda: orbit_measure("amplitud"), "did you mean 'amplitude'"),
        (
            lambda: bifurcation_measure("flip", "load.amplitude", (1.0, 2.0)),
            "unknown kind of bifurcation 'flip'",
        ),
        (lambda: over(flip, {"gap": [0.1], "load.phase": [0.0, 1.0]}), "lengths"),
        (lambda: Problem(chain, {"mass_factors": (0, 1)}, flip), "is an array"),
        (lambda: Problem(chain, {"mass_factors.24": (0, 1)}, flip), "is an array|unknown"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_unit_of_a_progress_is_unknown_without_its_coordinate():
    assert orbit_measure("progress").unit == ""
    assert orbit_measure("amplitude").unit == "m"


def test_noise_on_an_undamped_system_has_no_variance():
    """Closed form of one mass: pi / (c k), for c > 0 alone."""
    at = ("cart", "cart")

    def cart(damping):
        module = jv.TranslationTranslation(
            "ground", "cart", mass=2.0, stiffness=300.0, damping=damping
        )
        return white_noise_measure(*at).analysis.function(jv.assemble([module]))

    assert np.isclose(cart(1.5), np.pi / (1.5 * 300.0), rtol=1e-12)
    assert np.isnan(cart(0.0))
