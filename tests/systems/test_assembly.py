"""Checked against: the matrices of Pavlov et al., the printed frequencies of DESIGN 7."""

import itertools

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh

import jaxvib as jv
from tests.zoo import spring

positive = st.floats(1e-3, 1e6)


def frequencies(system):
    return np.sqrt(eigh(system.stiffness, system.mass, eigvals_only=True))


@settings(max_examples=20)
@given(k=st.tuples(*[positive] * 5), m=st.tuples(*[positive] * 3), order=st.permutations(
    range(5)))  # fmt: skip
def test_three_bodies_and_five_springs_give_the_matrix_of_the_paper(k, m, order):
    k01, k12, k23, k13, k03 = k
    modules = [
        spring("ground", "one", mass=m[0], stiffness=k01, damping=2 * k01),
        spring("one", "two", mass=m[1], stiffness=k12, damping=2 * k12),
        spring("two", "three", mass=m[2], stiffness=k23, damping=2 * k23),
        spring("one", "three", stiffness=k13, damping=2 * k13),
        spring("ground", "three", stiffness=k03, damping=2 * k03),
    ]
    expected = np.array(
        [
            [k01 + k12 + k13, -k12, -k13],
            [-k12, k12 + k23, -k23],
            [-k13, -k23, k03 + k13 + k23],
        ]
    )
    system = jv.assemble([modules[i] for i in order])
    place = [system.names.index(name) for name in ("one", "two", "three")]
    near = {"rtol": 1e-14, "atol": 0}
    in_order = np.ix_(place, place)
    np.testing.assert_allclose(np.asarray(system.stiffness)[in_order], expected, **near)
    np.testing.assert_allclose(np.asarray(system.damping)[in_order], 2 * expected, **near)
    np.testing.assert_allclose(np.asarray(system.mass)[in_order], np.diag(m), **near)


def test_cart_and_hanging_rod_have_the_printed_frequencies():
    system = jv.assemble(
        [
            spring("ground", "cart", mass=2.0, stiffness=100.0),
            jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8, stiffness=3.0,
                                   gravity=9.81),
        ]
    )  # fmt: skip
    assert system.names == ("cart", "rod")
    np.testing.assert_allclose(
        frequencies(system), [4.68230877, 8.11143816], rtol=0, atol=5e-9
    )


@pytest.mark.parametrize(("standing", "sign"), [(False, 1), (True, -1)])
@pytest.mark.parametrize(("inertia", "own"), [(None, 1.2 * 0.5**2 / 12), (0.04, 0.04)])
def test_a_rod_adds_the_entries_of_the_paper(standing, sign, inertia, own):
    m_i, m_j, length, k, g, d = 0.7, 1.2, 0.5, 6.0, 9.81, 0.3
    rod = jv.TranslationRotation(
        "cart", "rod", mass=m_j, length=length, stiffness=k, damping=d, first_mass=m_i,
        inertia=inertia, gravity=g, standing=standing,
    )  # fmt: skip
    parts = rod.matrices()
    arm = m_j * length / 2
    expected = [[m_i + m_j, arm], [arm, own + m_j * length**2 / 4]]
    np.testing.assert_allclose(parts.mass, expected, rtol=1e-15)
    turning = k + sign * m_j * g * length / 2
    np.testing.assert_allclose(parts.stiffness, np.diag([0, turning]), rtol=1e-15)
    np.testing.assert_allclose(parts.damping, np.diag([0, d]), rtol=1e-15)


def test_a_hanging_rod_has_the_energies_of_its_mass_centre():
    # T and V of a point mass distribution, independent of the module's entries
    m, length, x_dot, phi, phi_dot, g = 1.3, 0.9, 0.4, 1e-4, 0.7, 9.81
    rod = jv.TranslationRotation("cart", "rod", mass=m, length=length, gravity=g)
    along = (np.arange(20000) + 0.5) / 20000 * length
    kinetic = 0.5 * m * np.mean((x_dot + along * phi_dot) ** 2)
    potential = m * g * np.mean(along) * (1 - np.cos(phi))
    parts = rod.matrices()
    rate, place = np.array([x_dot, phi_dot]), np.array([0.0, phi])
    assert float(rate @ parts.mass @ rate) / 2 == pytest.approx(kinetic, rel=1e-8)
    assert float(place @ parts.stiffness @ place) / 2 == pytest.approx(potential, rel=1e-7)


def test_the_two_body_system_is_the_overlay_ground_main_attached():
    mass, damping, stiffness = jv.two_body_impact().matrices()
    k_m, k_a = 1000 * 6.283**2, 100 * 5.646**2
    d_m, d_a = 2 * 0.036 * 1000 * 6.283, 2 * 0.036 * 100 * 5.646
    np.testing.assert_allclose(mass, np.diag([1000.0, 100.0]), rtol=1e-15)
    np.testing.assert_allclose(stiffness, [[k_m + k_a, -k_a], [-k_a, k_a]], rtol=1e-15)
    np.testing.assert_allclose(damping, [[d_m + d_a, -d_a], [-d_a, d_a]], rtol=1e-15)


def test_a_chain_between_walls_has_the_published_frequencies():
    # VPCS SDLD02: 8 masses of 10 kg, 9 springs of 1e5 N/m; closed form 2 w sin(.)
    names = ["ground", *(f"mass{i}" for i in range(1, 9))]
    modules = [spring(a, b, mass=10.0, stiffness=1e5) for a, b in itertools.pairwise(names)]
    modules.append(spring("mass8", "ground", stiffness=1e5))
    hertz = frequencies(jv.assemble(modules)) / (2 * np.pi)
    closed = 100 / np.pi * np.sin(np.arange(1, 9) * np.pi / 18)
    np.testing.assert_allclose(hertz, closed, rtol=1e-12)
    np.testing.assert_allclose(hertz[[0, 1, 7]], [5.5274, 10.8868, 31.3474], atol=5e-5)


def test_every_entry_can_be_mapped_and_differentiated():
    system = jv.assemble(
        [
            spring("ground", "cart", mass=2.0, stiffness=100.0, damping=1.0),
            jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8, inertia=0.05),
        ]
    )
    path = "modules.cart-rod.length"

    def mass(length):
        return jv.replace(system, {path: length}).mass

    lengths = np.array([0.5, 0.8, 1.1])
    many = jax.jit(jax.vmap(mass))(lengths)
    np.testing.assert_allclose(many, [mass(length) for length in lengths], rtol=1e-15)
    # d(m l/2)/dl = m/2 and d(J_C + m l^2/4)/dl = m l/2
    np.testing.assert_allclose(jax.jacfwd(mass)(0.8), [[0, 0.5], [0.5, 0.4]], rtol=1e-15)
    np.testing.assert_allclose(jax.jacrev(mass)(0.8), [[0, 0.5], [0.5, 0.4]], rtol=1e-15)


def test_the_inertia_of_a_rod_is_a_parameter_like_any_other():
    rod = jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8, inertia=0.05)
    system = jv.assemble([spring("ground", "cart", mass=2.0), rod])
    assert float(jv.parameters(system)["modules.cart-rod.inertia"].value) == 0.05
    heavier = jv.replace(system, {"modules.cart-rod.inertia": 0.15})
    assert float(heavier.mass[1, 1] - system.mass[1, 1]) == pytest.approx(0.1)


@pytest.mark.parametrize("inertia", [-1.0, np.nan, "0.1"])
def test_a_bad_inertia_is_named(inertia):
    with pytest.raises(ValueError, match="inertia = "):
        jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8, inertia=inertia)


@pytest.mark.parametrize(
    ("field", "value"),
    [("mass", -1.0), ("stiffness", np.nan), ("damping", -0.1), ("first_mass", np.inf)],
)
def test_bad_values_of_a_spring_are_named_with_their_module(field, value):
    with pytest.raises(ValueError, match=f"module 'ground-cart': {field} = "):
        spring("ground", "cart", **{field: value})


def test_a_negative_mass_is_refused_by_the_name_of_its_module():
    with pytest.raises(ValueError, match=r"module 'cart\.x': mass = -1 kg is not in"):
        jv.PointMass("cart.x", -1.0)
    with pytest.raises(ValueError, match=r"module 'a-b': bending_stiffness = -2 N m\^2"):
        jv.FrameModule("a", "b", along=[1.0, 0, 0], side=[0, 1.0, 0], axial_stiffness=1.0,
                       torsional_stiffness=1.0, bending_stiffness=[1.0, -2.0])  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"), [("length", 0.0), ("mass", 0.0), ("gravity", -1)]
)
def test_bad_values_of_a_rod_are_named(field, value):
    values = {"mass": 1.0, "length": 1.0, field: value}
    with pytest.raises(ValueError, match=f"module 'cart-rod': {field} = "):
        jv.TranslationRotation("cart", "rod", **values)


def test_a_body_joined_to_itself_and_an_empty_assembly_are_refused():
    with pytest.raises(ValueError, match="'cart-cart' joins a body to itself"):
        jv.assemble([spring("cart", "cart", mass=1.0)])
    with pytest.raises(ValueError, match="modules = "):
        jv.assemble([])
