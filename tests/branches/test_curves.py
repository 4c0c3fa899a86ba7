"""Checked against: closed forms of cusp, torus, linear grazing, and Mathieu functions.

The resonance 1:2 of predator and prey is found on two curves, which must agree.
"""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import jaxvib as jv
from jaxvib.ensemble import Reason
from tests import zoo
from tests.systems_table import SOFT

TAU = 2 * np.pi


def cusp(t, x, p):
    return [p["h"] + p["r"] * x[0] - x[0] ** 3]


def mathieu(t, x, p):
    return [x[1], -(p["a"] - 2 * p["q"] * jnp.cos(2 * t)) * x[0]]


def growing(t, x, p):
    return [x[1], -p["c"] * x[1] - p["w"] ** 2 * x[0] - x[0] ** 2 * x[1]]


def first_bifurcation(system, guess, path, bounds, **options):
    """Return the first bifurcation of the branch of an orbit."""
    orbit = jv.periodic_orbit(system, np.array(guess))
    settings = jv.branches.ContinuationSettings(**options)
    branch = jv.continue_orbit(system, orbit, path, bounds, settings=settings)
    return branch.bifurcations[0]


@pytest.fixture(scope="module")
def folds():
    """Return x' = h + r x - x^3 and a fold of its states of rest."""
    values = {"h": 0.0, "r": 1.0}
    system = jv.forced_system(cusp, parameters=values, period=1.0, dimension=1)
    return system, first_bifurcation(system, [1.0], "h", (-1.0, 1.0))


@pytest.mark.slow  # compiles a curve's corrector, 8 s
def test_a_curve_of_folds_goes_round_its_cusp(folds):
    system, fold = folds
    curve = jv.branches.continue_bifurcation(
        system, fold, {"h": (-1.0, 1.0), "r": (-1.0, 2.0)}
    )
    h, r = np.asarray(curve.parameters).T
    assert np.abs(h) == pytest.approx(2 * (np.maximum(r, 0) / 3) ** 1.5, abs=1e-12)
    assert (h.min(), h.max()) == (-1.0, 1.0)
    assert list(np.asarray(curve.ends)) == [Reason.PARAMETER_BOUND] * 2
    assert [point.kind for point in curve.codimension_two] == ["cusp"]
    assert curve.codimension_two[0].parameters == pytest.approx([0.0, 0.0], abs=1e-10)
    assert np.asarray(curve.floquet_multipliers) == pytest.approx(1.0, abs=1e-8)
    assert "cusp at" in repr(curve)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "bounds", "words"),
    [
        ("fold", {"h": (-1, 1)}, "and of one other"),
        ("fold", {"h": (-1, 1), "q": (0, 1)}, "q"),
        ("fold", {"h": (-1, 1), "r": (2, 3)}, "do not enclose h = 1|do not enclose r = 1"),
        ("branch_point", {"h": (-1, 1), "r": (0, 3)}, "kind = 'branch_point'; allowed"),
    ],
)
def test_points_without_a_curve_are_refused(folds, kind, bounds, words):
    system, fold = folds
    point = jv.bifurcation_point(system, fold, "fold", "h")
    object.__setattr__(point, "kind", kind)
    with pytest.raises(ValueError, match=words):
        jv.branches.continue_bifurcation(system, point, bounds)


@pytest.mark.slow
def test_the_tongue_of_mathieu():
    values = {"a": 0.5, "q": 0.4}
    system = jv.forced_system(mathieu, parameters=values, period=np.pi, dimension=2)
    point = first_bifurcation(system, [0.0, 0.0], "a", (0.3, 1.2), largest_step=0.05)
    curve = jv.branches.continue_bifurcation(
        system, point, {"a": (-1.0, 3.0), "q": (0.1, 3.0)}
    )
    a, q = np.asarray(curve.parameters).T
    assert len(a) > 10
    assert a == pytest.approx(scipy.special.mathieu_b(1, q), abs=1e-11)
    assert curve.codimension_two == ()


@pytest.mark.slow
def test_resonances_on_a_curve_of_tori():
    # At c = 0 the pair of the state of rest is exp(+-i w).
    values = {"c": 0.1, "w": 1.8}
    system = jv.forced_system(growing, parameters=values, period=1.0, dimension=2)
    point = first_bifurcation(system, [0.0, 0.0], "c", (-0.3, 0.3), largest_step=0.05)
    curve = jv.branches.continue_bifurcation(
        system, point, {"c": (-1.0, 3.0), "w": (1.0, 3.0)}
    )
    assert np.asarray(curve.parameters)[:, 0] == pytest.approx(0.0, abs=1e-12)
    found = {point.kind: point.parameters[1] for point in curve.codimension_two}
    expected = {"resonance 1:4": np.pi / 2, "resonance 1:3": TAU / 3}
    assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.slow
def test_curves_of_tori_and_of_flips_end_in_one_resonance():
    system, bounds = zoo.predator_prey(), {"b0": (0.1, 1.2), "eps": (0.0, 1.0)}
    torus = first_bifurcation(system, [0.42, 0.23], "b0", (0.3, 0.8))
    flip = first_bifurcation(system, [0.42, 0.23], "eps", (0.0, 0.8))
    tori = jv.branches.continue_bifurcation(system, torus, bounds)
    flips = jv.branches.continue_bifurcation(system, flip, bounds)
    assert list(np.asarray(tori.ends)) == [Reason.PARAMETER_BOUND, Reason.STRONG_RESONANCE]
    # Without seasons the tori begin at Hopf's bifurcation, b0 = 1/3.
    assert np.asarray(tori.parameters)[0] == pytest.approx([1 / 3, 0.0], abs=1e-10)
    [corner] = [point for point in flips.codimension_two if "1:2" in point.kind]
    assert np.asarray(tori.parameters)[-1] == pytest.approx(
        corner.parameters[::-1], abs=1e-8
    )


@pytest.mark.slow
def test_the_curve_of_grazing_is_that_of_the_linear_response():
    contact, load = jv.HertzContact(SOFT), jv.HarmonicLoad(180.0, 5.8)
    system = jv.two_body_impact(contact=contact, load=load)
    orbit = jv.periodic_orbit(system, system.rest())
    point = jv.bifurcation_point(system, orbit, "grazing", "load.amplitude")
    bounds = {"load.amplitude": (20.0, 1000.0), "load.frequency": (4.0, 9.0)}
    curve = jv.branches.continue_bifurcation(system, point, bounds)
    mass, damping, stiffness = (np.asarray(m) for m in system.matrices())

    def closing(w):
        dynamic = stiffness - w**2 * mass + 1j * w * damping
        response = np.linalg.solve(dynamic, [1.0, 0.0])
        return 0.05 / abs(response[0] - response[1])

    amplitude, frequency = np.asarray(curve.parameters).T
    assert amplitude == pytest.approx([closing(w) for w in frequency], rel=1e-9)
    assert list(amplitude[[0, -1]]) == [1000.0, 1000.0]
    assert frequency.min() < 4.1
    assert frequency.max() > 8.8


@pytest.mark.slow  # compiles a curve of its own, 8 s
def test_the_grazing_of_a_harvester_is_that_of_its_complex_amplitude():
    # States of elements follow the velocities: c v' + v / R = k x' of the circuit.
    mass, damping, stiffness, gap = 0.02, 0.15, 2800.0, 4e-4
    capacitance, resistance, coupling = 5e-8, 5e4, 5e-3
    circuit = jv.PiezoelectricCircuit(capacitance, resistance, coupling)
    push = jv.AppliedLoad([1.0], jv.HarmonicLoad(0.1, 400.0), "push")
    system = jv.ImpactSystem(
        jv.LinearSystem([[mass]], [[damping]], [[stiffness]]),
        (jv.Contact([1.0], gap, jv.LinearContact(3e4)),),
        (push,),
        elements=(jv.StateElement([1.0], circuit),),
    )
    load, frequency = "loads.push.law.amplitude", "loads.push.law.frequency"
    point = jv.bifurcation_point(system, jv.periodic_orbit(system), "grazing", load)
    bounds = {load: (0.03, 0.42), frequency: (380.0, 420.0)}
    curve = jv.branches.continue_bifurcation(system, point, bounds)
    loads, w = np.asarray(curve.parameters).T
    back = coupling * 1j * w / (capacitance * 1j * w + 1 / resistance)
    expected = abs(stiffness - mass * w**2 + 1j * w * damping + coupling * back) * gap
    np.testing.assert_allclose(loads, expected, rtol=1e-10)
    assert [w[0], w[-1]] == [380.0, 420.0]


def peak_of(loads, phase):
    """Return the highest value of P cos t + A cos(2t + phase), loads = [P, A]."""
    times = np.linspace(-0.5, 0.5, 2001)

    def derivatives(t):
        one, two = loads[0] * np.exp(1j * t), loads[1] * np.exp(1j * (2 * t + phase))
        return [(one + 2**k * two) * 1j**k for k in range(3)]

    best = times[np.argmax(derivatives(times)[0].real)]
    for _ in range(8):
        best -= derivatives(best)[1].real / derivatives(best)[2].real
    return derivatives(best)[0].real


@pytest.mark.slow  # compiles two curves of its own
@pytest.mark.parametrize(
    ("ratio", "phase", "second", "bounds"),
    [
        (0.1, np.pi, "amplitude", (0.0, 1.0)),  # a peak divides beyond P = 4 A
        (0.334, np.pi - 0.2, "phase", (np.pi - 0.3, np.pi + 0.3)),  # of two, one is higher
    ],
)
def test_a_curve_of_grazing_ends_where_its_motion_touches_elsewhere(
    ratio, phase, second, bounds
):
    w = 0.23
    units = np.array([1 - w**2, 1 - 4 * w**2])  # of a load, by that of the displacement
    laws = [
        jv.HarmonicLoad(units[0], w),
        jv.HarmonicLoad(ratio * units[1], 2 * w, phase),
    ]
    system = jv.ImpactSystem(
        jv.LinearSystem([[1.0]], [[0.0]], [[1.0]]),
        [jv.Contact([1.0], 1.0, jv.RestitutionContact(0.5))],
        [jv.AppliedLoad([1.0], law) for law in laws],
    )
    paths = "loads.0.law.amplitude", f"loads.1.law.{second}"
    turned = np.exp(1j * phase)
    start = [1 + ratio * turned.real, -2 * w * ratio * turned.imag]
    orbit = jv.periodic_orbit(system, start)
    point = jv.bifurcation_point(system, orbit, "grazing", paths[0])
    curve = jv.branches.continue_bifurcation(
        system, point, {paths[0]: (0.5, 3.0), paths[1]: bounds}
    )
    places = np.asarray(curve.parameters)
    for p, value in places:
        forces = np.array([p, value if second == "amplitude" else ratio * units[1]]) / units
        angle = value if second == "phase" else phase
        assert peak_of(forces, angle) == pytest.approx(1.0, abs=1e-8)
    assert bounds[0] == pytest.approx(places[:, 1].min())
    last = units[1] / 3 if second == "amplitude" else np.pi
    assert last - 1e-2 < places[:, 1].max() < last + 1e-6
