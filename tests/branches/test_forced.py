"""Checked against: reference values of forced oscillators, a linear one's response."""

import jax
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.ensemble import Reason
from jaxvib.orbits import regimes
from tests import zoo

TAU = 2 * np.pi


oscillator = zoo.duffing()
neuron = zoo.fitzhugh_nagumo()
prey = zoo.predator_prey()


def branch(system, guess, path, bounds, **options):
    orbit = jv.periodic_orbit(system, np.array(guess))
    assert int(orbit.result) == 0
    settings = jv.branches.ContinuationSettings(**options)
    return jv.continue_orbit(system, orbit, path, bounds, settings=settings)


@pytest.fixture(scope="module")
def resonance():
    return branch(oscillator, [0.0, 0.0], "w", (0.9, 1.3))


def test_without_its_cubic_spring_it_is_the_linear_oscillator():
    line = jv.replace(oscillator, {"k": 0.0})
    orbit = jv.periodic_orbit(line, np.array([1.0, 1.0]))
    response = 0.015 / (1 - 1 + 0.04j)
    np.testing.assert_allclose(orbit.state, [response.real, -response.imag], atol=1e-9)
    # Between two steps it is the highest point of a quintic.
    np.testing.assert_allclose(orbit.amplitude, abs(response), rtol=1e-7)
    matrix = np.array([[0.0, 1.0], [-1.0, -0.04]])
    multipliers = np.exp(np.linalg.eigvals(matrix) * TAU)
    np.testing.assert_allclose(
        np.sort_complex(orbit.floquet_multipliers), np.sort_complex(multipliers), atol=1e-9
    )


def test_the_duffing_oscillator_folds_at_the_reference_values(resonance):
    assert [point.kind for point in resonance.bifurcations] == ["fold", "fold"]
    found = [float(point.parameter) for point in resonance.bifurcations]
    np.testing.assert_allclose(found, [1.0492623992, 1.0439137088], rtol=0, atol=1e-10)
    assert [Reason(code) for code in resonance.ends] == [Reason.PARAMETER_BOUND] * 2
    assert "fold at 1.0492623" in repr(resonance)


def test_points_corrected_together_are_the_linear_response():
    line = jv.replace(oscillator, {"k": 0.0})
    most, step = 203, 1e-3
    found = branch(line, [0.0, 0.0], "w", (0.9, 1.3), largest_step=step, most_points=most)
    assert len(found.parameter) == most
    assert {Reason(code) for code in found.ends} == {Reason.POINT_LIMIT}
    w = np.asarray(found.parameter)
    assert np.all(np.diff(w) > 0)
    assert np.diff(w).max() < step
    response = 0.015 / (1 - w**2 + 0.04j * w)
    expected = np.stack([response.real, -w * response.imag], axis=-1)
    np.testing.assert_allclose(found.states, expected, atol=1e-8)


@pytest.mark.slow
def test_a_branch_s_bifurcation_is_a_start_for_its_derivatives(resonance):
    first = resonance.bifurcations[0]

    def fold(force):
        system = jv.replace(oscillator, {"f": force})
        return jv.bifurcation_point(system, first, "fold", "w").parameter

    value, slope = jax.jit(lambda f: (fold(f), jax.jacfwd(fold)(f)))(0.015)
    assert float(value) == pytest.approx(1.0492623992, abs=1e-10)
    places = [float(jax.jit(fold)(0.015 + k * 1e-5)) for k in (-2, -1, 1, 2)]
    difference = np.dot([1, -8, 8, -1], places) / 12e-5
    assert float(slope) == pytest.approx(difference, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "guess", "path", "bounds", "kind", "expected"),
    [
        # AUTO-07p's demo ffn prints six digits.
        (neuron, [1.26, -0.59], "a", (0.0, 1.5), "neimark_sacker", (0.422945, 4e-7)),
        (jv.replace(neuron, {"a": 0.0, "amp": 5.0}), [0.2, 0.0], "amp", (3.0, 8.0),
         "neimark_sacker", (4.52337, 5e-6)),
        (prey, [0.42, 0.23], "eps", (0.0, 0.8), "period_doubling", (0.3930911888, 1e-10)),
        (prey, [0.42, 0.23], "b0", (0.3, 0.8), "neimark_sacker", (0.3356174258, 1e-10)),
    ],
)  # fmt: skip
def test_bifurcations_are_where_known(system, guess, path, bounds, kind, expected):
    found = branch(system, guess, path, bounds).bifurcations
    assert [point.kind for point in found] == [kind]
    value, printed = expected
    assert float(found[0].parameter) == pytest.approx(value, abs=printed)


@pytest.mark.slow
@pytest.mark.parametrize("segments", [3, 5, 16])
def test_segments_change_neither_orbits_nor_multipliers(resonance, segments):
    cut = branch(oscillator, [0.0, 0.0], "w", (0.9, 1.3), segments=segments)
    np.testing.assert_allclose(
        [float(p.parameter) for p in cut.bifurcations],
        [float(p.parameter) for p in resonance.bifurcations],
        rtol=1e-9,
    )
    for end in (0, -1):
        np.testing.assert_allclose(cut.states[end], resonance.states[end], atol=1e-9)
        np.testing.assert_allclose(
            cut.floquet_multipliers[end], resonance.floquet_multipliers[end], atol=1e-9
        )


@pytest.mark.slow
def test_many_branches_are_the_single_ones():
    forces = np.array([0.012, 0.015, 0.02])
    samples = {"f": forces, "w": np.full(3, 1.0)}
    orbits = regimes(oscillator, samples)
    assert np.asarray(orbits.result).tolist() == [0, 0, 0]
    many = jv.branches.continue_orbits(oscillator, samples, orbits, "w", (0.9, 1.3))
    assert len({len(one.parameter) for one in many}) > 1
    for force, one in zip(forces, many, strict=True):
        alone = branch(jv.replace(oscillator, {"f": force}), [0.0, 0.0], "w", (0.9, 1.3))
        assert len(alone.parameter) == len(one.parameter)
        np.testing.assert_allclose(one.parameter, alone.parameter, rtol=1e-10)
        np.testing.assert_allclose(one.states, alone.states, atol=1e-10)
        assert [p.kind for p in one.bifurcations] == [p.kind for p in alone.bifurcations]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": {"w.x": 1.0}}, "name 'w.x' has a dot"),
        ({"parameters": {"w": np.nan}}, "w = nan is not in"),
        ({"parameters": {"w": {"a": [1.0, np.nan]}}}, r"w\.a\.1 = nan is not in"),
        ({"period": 0.0}, "period = 0 is not in"),
        ({"dimension": 3}, r"field has shape \(2,\); allowed: \(3,\)"),
    ],
)
def test_bad_fields_are_named(changes, message):
    usual = {"parameters": {"w": 1.0}, "period": 1.0, "dimension": 2}
    with pytest.raises(ValueError, match=message):
        jv.forced_system(lambda t, x, p: [x[1], -x[0]], **(usual | changes))


def test_missing_contacts_and_unknown_parameters_are_named():
    with pytest.raises(ValueError, match="no contacts"):
        jv.bifurcation_point(oscillator, np.zeros(2), "grazing", "w")
    with pytest.raises(ValueError, match="did you mean 'amp'"):
        jv.replace(neuron, {"amb": 1.0})
