"""Checked against: closed forms of Johnson, Contact Mechanics (1985), and mpmath."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxvib.systems.contacts.contact import HertzContact, LinearContact, shape_factor

steel_on_steel = HertzContact(1.54e11)
lengths = st.floats(1e-12, 1e-1)  # m


@given(radii=st.tuples(lengths, lengths), modulus=st.floats(1e5, 1e12))
def test_two_spheres_have_the_textbook_stiffness(radii, modulus):
    curvature = 1 / radii[0] + 1 / radii[1]
    effective_modulus = modulus / (2 * (1 - 0.3**2))
    expected = 4 / 3 * effective_modulus / np.sqrt(curvature)  # (4.23)
    contact = HertzContact.from_materials((modulus,) * 2, (0.3, 0.3), curvature)
    np.testing.assert_allclose(contact.stiffness, expected, rtol=1e-14)


def test_the_papers_materials_give_the_papers_stiffness():
    steel, rubber = (2.1e11, 0.3), (2.21e7, 0.4)

    def stiffness(one, other):
        moduli, ratios = zip(one, other, strict=True)
        return float(HertzContact.from_materials(moduli, ratios, 1.0, 0.318).stiffness)

    assert stiffness(steel, steel) == pytest.approx(1.53696e11, rel=3e-6)
    assert stiffness(steel, rubber) == pytest.approx(3.504e7, rel=5e-5)


def test_two_spheres_pressed_together_feel_the_published_force():
    # VPCS SSNV104: R = 50 mm, E = 20000 MPa, nu = 0.3, approach 4 mm: 5.861e5 N
    contact = HertzContact.from_materials((2e10, 2e10), (0.3, 0.3), 2 / 0.05)
    assert float(contact.force(4e-3)) == pytest.approx(5.861e5, rel=1e-4)


@given(complement=st.floats(-220, -1e-6).map(np.exp))
def test_an_ellipse_has_the_shape_factor_of_its_elliptic_integrals(complement):
    with mpmath.workdps(120):
        kept = mpmath.mpf(complement)
        first, second = mpmath.ellipk(1 - kept), mpmath.ellipe(1 - kept)
        ratio = float((first - second) / (second / kept - first))
        expected = float(mpmath.sqrt(second / (kept * first**3)) / 2)
    assert shape_factor(ratio) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("slimness", [1e-14, 1e-11, 1e-8, 1e-5, 1e-3])
def test_nearly_round_contacts_pass_smoothly_into_round_ones(slimness):
    # from the series of both elliptic integrals in m
    expected = (1 + (slimness**2 + slimness**3) / 12) / np.pi
    assert shape_factor(1 - slimness) == pytest.approx(expected, rel=1e-12)


def test_a_round_contact_has_the_shape_factor_of_spheres():
    assert shape_factor(1.0) == pytest.approx(1 / np.pi, rel=1e-15)


@given(
    smaller=st.floats(1e-6, 1e6),
    ratio=st.floats(1e-6, 1.0),
    modulus=st.floats(1e5, 1e12),
)
def test_curvatures_and_materials_agree(smaller, ratio, modulus):
    larger = smaller / ratio
    made = HertzContact.from_curvatures((modulus, modulus), (0.3, 0.2), (smaller, larger))
    expected = HertzContact.from_materials(
        (modulus, modulus), (0.3, 0.2), smaller + larger, shape_factor(smaller / larger)
    )
    np.testing.assert_allclose(made.stiffness, expected.stiffness, rtol=1e-14)


@jax.jit
def force_slope_curvature_and_energy_slope(stiffness, z):
    contact = HertzContact(stiffness)
    slope = jax.jacfwd(contact.force)
    return contact.force(z), slope(z), jax.jacfwd(slope)(z), jax.grad(contact.energy)(z)


@jax.jit
def the_same_backwards(stiffness, z):
    contact = HertzContact(stiffness)
    slope = jax.grad(contact.force)
    return contact.force(z), slope(z), jax.grad(slope)(z), jax.jacrev(contact.energy)(z)


@given(stiffness=st.floats(1e3, 1e13), z=lengths)
def test_derivatives_are_the_closed_forms(stiffness, z):
    root = np.sqrt(z)
    force = stiffness * z * root
    expected = [force, 1.5 * stiffness * root, 0.75 * stiffness / root, force]
    actual = force_slope_curvature_and_energy_slope(stiffness, z)
    np.testing.assert_allclose(actual, expected, rtol=1e-14)
    np.testing.assert_allclose(the_same_backwards(stiffness, z), expected, rtol=1e-14)


@pytest.mark.parametrize("derivative_of", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_apart_every_derivative_is_zero(dtype, derivative_of):
    contact = jax.tree.map(lambda leaf: leaf.astype(dtype), steel_on_steel)

    @jax.jit
    @jax.vmap
    def derivatives(z):
        found = [contact.force]
        for _ in range(3):
            found.append(derivative_of(found[-1]))
        return [each(z) for each in found]

    gaps = np.array([0.0, 1e-300, 1e-9, 1.0, 1e30]).astype(dtype)
    np.testing.assert_array_equal(derivatives(-gaps), 0.0)


@pytest.mark.parametrize("derivative_of", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_just_after_onset_two_derivatives_are_finite_and_right(dtype, derivative_of):
    contact = jax.tree.map(lambda leaf: leaf.astype(dtype), HertzContact(2.0))
    slope = derivative_of(contact.force)
    curvature = derivative_of(slope)
    tiny = float(jnp.finfo(dtype).tiny)
    for z in (tiny, 1e6 * tiny, 1e-20, 1e-9):
        root = np.sqrt(z)
        at = jnp.asarray(z, dtype)
        tolerance = 8 * float(jnp.finfo(dtype).eps)
        assert slope(at).dtype == dtype
        assert float(slope(at)) == pytest.approx(3 * root, rel=tolerance)
        assert float(curvature(at)) == pytest.approx(1.5 / root, rel=tolerance)


def test_the_stiffness_column_is_exact_through_onset():
    def force(stiffness, z):
        return HertzContact(stiffness).force(z)

    column = jax.jit(jax.vmap(jax.grad(force), in_axes=(None, 0)))
    depths = np.array([-1.0, 0.0, 1e-9, 1e-3])
    expected = np.maximum(depths, 0) ** 1.5
    np.testing.assert_allclose(column(1e9, depths), expected, rtol=1e-14)


@given(stiffness=st.floats(1e3, 1e13), z=st.floats(-1.0, 1.0))
def test_a_linear_stop_has_the_force_and_energy_of_a_spring(stiffness, z):
    contact, depth = LinearContact(stiffness), max(z, 0.0)
    assert float(contact.force(z)) == stiffness * depth
    assert float(jax.grad(contact.energy)(z)) == pytest.approx(stiffness * depth)
    assert float(jax.grad(contact.force)(z)) == (stiffness if z > 0 else 0)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_an_ensemble_keeps_its_precision_and_equals_a_loop(dtype):
    contact = jax.tree.map(lambda leaf: leaf.astype(dtype), steel_on_steel)
    penetrations = jnp.asarray([-1.0, 0.0, 1e-9, 1.0], dtype)
    forces = jax.jit(jax.vmap(contact.force))(penetrations)
    assert forces.dtype == dtype
    np.testing.assert_array_equal(forces, [contact.force(z) for z in penetrations])


@pytest.mark.parametrize("stiffness", [0.0, -1.0, np.nan, np.inf])
def test_bad_stiffness_is_named(stiffness):
    with pytest.raises(ValueError, match=r"stiffness = .* N/m\^1.5"):
        HertzContact(stiffness)


@pytest.mark.parametrize("stiffness", ["1e3", None, 1 + 2j, True])
def test_a_stiffness_that_is_no_number_is_refused(stiffness):
    with pytest.raises(ValueError, match="stiffness = "):
        HertzContact(stiffness)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((-1.0, 2e11), (0.3, 0.3), 1.0), "youngs_moduli = -1 Pa"),
        (((2e11, 2e11), (0.3, 0.6), 1.0), r"poissons_ratios = 0.6 is not in \(-1, 0.5\]"),
        (((2e11, 2e11), (0.3, 0.3), 0.0), "curvature_sum = 0 1/m"),
        (((2e11, 2e11), (0.3, 0.3), 1.0, np.nan), "shape_factor = nan"),
    ],
)
def test_bad_materials_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        HertzContact.from_materials(*arguments)


@pytest.mark.parametrize(
    "curvatures", [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0), (np.nan, 1.0), (1.0, np.inf)]
)
def test_bad_curvatures_are_named(curvatures):
    with pytest.raises(ValueError, match=r"curvatures = .* 1/m"):
        HertzContact.from_curvatures((2e11, 2e11), (0.3, 0.3), curvatures)
