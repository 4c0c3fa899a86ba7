"""Checked against: the paths and usual values of DESIGN 1.1 and 3, written out here."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.systems.parameters import unknown_key

usual = {
    "main.mass": (1000.0, "kg"),
    "main.frequency": (6.283, "rad/s"),
    "main.damping_ratio": (0.036, ""),
    "attached.mass": (100.0, "kg"),
    "attached.frequency": (5.646, "rad/s"),
    "attached.damping_ratio": (0.036, ""),
    "gap": (0.05, "m"),
    "contact.stiffness": (1.53696e11, "N/m^1.5"),
    "load.amplitude": (500.0, "N"),
    "load.frequency": (5.8, "rad/s"),
    "load.phase": (0.0, "rad"),
}
system = jv.two_body_impact()


def test_the_two_body_system_has_the_usual_values_on_its_paths():
    found = jv.parameters(system)
    assert set(found) == set(usual)
    for path, (value, unit) in usual.items():
        assert found[path].unit == unit
        assert float(found[path].value) == pytest.approx(value, rel=3e-6)
        assert found[path].description


def test_any_path_can_be_replaced_and_nothing_else_changes():
    for path in usual:
        old = jv.parameters(system)
        new = jv.parameters(jv.replace(system, {path: 0.75}))
        changed = {p for p in usual if float(new[p].value) != float(old[p].value)}
        assert changed == {path}
        assert float(new[path].value) == 0.75


def test_several_paths_are_replaced_at_once():
    values = {"load.amplitude": 400, "attached.mass": np.float64(120.0), "gap": 0}
    found = jv.parameters(jv.replace(system, values))
    assert [float(found[path].value) for path in values] == [400.0, 120.0, 0.0]
    assert all(found[path].value.dtype == jnp.float64 for path in values)


def test_replacing_passes_through_jit_vmap_and_derivatives():
    def stiffness(mass, frequency):
        changed = jv.replace(system, {"main.mass": mass, "main.frequency": frequency})
        return changed.main.mass * changed.main.frequency**2

    masses, frequencies = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    many = jax.jit(jax.vmap(stiffness))(masses, frequencies)
    np.testing.assert_array_equal(many, masses * frequencies**2)
    slopes = jax.grad(stiffness, argnums=(0, 1))(2.0, 5.0)
    np.testing.assert_allclose(slopes, [25.0, 20.0], rtol=1e-15)


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("load.amplitud", "load.amplitude"),
        ("atached.mass", "attached.mass"),
        ("attached.damping", "attached.damping_ratio"),
        ("load.freqency", "load.frequency"),
        ("contact.stifness", "contact.stiffness"),
    ],
)
def test_an_unknown_path_names_the_nearest(path, near):
    with pytest.raises(
        ValueError, match=f"unknown parameter '{path}'; did you mean '{near}'"
    ):
        jv.replace(system, {path: 1.0})


def test_an_unknown_path_without_a_similar_one_lists_the_known_paths():
    assert unknown_key("thing", "zzz", {"b", "a"}) == "unknown thing 'zzz'; known: a, b"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("load.frequency", 0.0, r"load.frequency = 0 rad/s is not in \(0, inf\)"),
        ("main.mass", -1.0, r"main.mass = -1 kg is not in \(0, inf\)"),
        ("gap", -1e-9, r"gap = -1e-09 m is not in \[0, inf\)"),
        ("gap", np.nan, "gap = nan m"),
        ("attached.damping_ratio", np.inf, r"attached.damping_ratio = inf is not in"),
        ("load.amplitude", "500", "load.amplitude = '500' is not a number"),
        ("load.amplitude", True, "load.amplitude = True is not a number"),
        ("load.amplitude", 1j, "load.amplitude = 1j is not real"),
        ("load.amplitude", [1.0, 2.0], r"load.amplitude has shape \(2,\); allowed: \(\)"),
    ],
)
def test_a_bad_value_is_named_by_its_path(path, value, message):
    with pytest.raises(ValueError, match=message):
        jv.replace(system, {path: value})


def test_elements_of_a_tuple_are_named_by_their_bodies_or_position():
    springs = [
        jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0),
        jv.TranslationTranslation("cart", "trolley", mass=1.0, stiffness=50.0),
    ]
    found = jv.parameters(jv.assemble(springs))
    assert float(found["modules.ground-cart.stiffness"].value) == 100.0
    assert float(found["modules.cart-trolley.mass"].value) == 1.0


def test_two_modules_between_the_same_bodies_keep_separate_paths():
    springs = [
        jv.TranslationTranslation("ground", "cart", mass=2.0, stiffness=100.0),
        jv.TranslationTranslation("ground", "cart", stiffness=50.0),
    ]
    assembled = jv.assemble(springs)
    found = [p for p in jv.parameters(assembled) if p.endswith("stiffness")]
    assert len(found) == 2
    doubled = jv.replace(assembled, {found[1]: 70.0})
    np.testing.assert_allclose(doubled.stiffness, [[170.0]])


def test_whole_numbers_lists_and_float32_are_taken_as_they_are():
    matrices = jv.LinearSystem(
        np.eye(2, dtype=int), [[0.0, 0.0], [0.0, 0.0]], [[2, -1], [-1, 2]]
    )
    assert {m.dtype for m in matrices.matrices()} == {jnp.dtype("float64")}
    single = jv.HarmonicLoad(np.float32(1.5), jnp.float32(2.0), 0.0)
    assert single.amplitude.dtype == single.frequency.dtype == jnp.float32


def test_a_traced_number_becomes_an_array_as_strong_as_any_other():
    def weak(value):
        return jv.replace(system, {"gap": value}).gap.weak_type

    assert not weak(0.1)
    assert not jax.eval_shape(lambda v: jv.replace(system, {"gap": v}).gap, 0.1).weak_type


def test_lists_with_traced_numbers_are_arrays():
    def frequency(stiffness):  # sqrt((k + 1)/m)
        built = jv.LinearSystem([[2.0]], [[0.1]], [[stiffness]])
        changed = jv.replace(built, {"stiffness": [[stiffness + 1.0]]})
        return jnp.sqrt(changed.stiffness[0, 0] / changed.mass[0, 0])

    for differentiate in (jax.jacfwd, jax.grad):
        np.testing.assert_allclose(jax.jit(differentiate(frequency))(7.0), 0.125)


def test_positions_on_a_beam_are_lists_with_traced_numbers():
    beam = jv.Beam(1.0, 2.0, 3.0)

    def first_position(position):
        carried = jv.oscillators_on_beam(beam, [position, 0.7], [1.0, 2.0], [3.0, 4.0])
        lumped = jv.lumped_masses_on_beam(beam, [position, 0.9], [1.0, 2.0], [0.1, 0.2])
        bodies = jv.BeamWithBodies(
            beam, [position], [5.0], link_map=[[1.0]], mass=[[position]]
        )
        return carried.positions[0] + 2.0 * lumped.positions[2] + 4.0 * bodies.positions[0]

    assert float(jax.grad(first_position)(0.5)) == 7.0


def test_entries_of_arrays_are_replaced_by_their_position():
    beam = jv.Beam(1.0, 2.0, 3.0)
    system = jv.oscillators_on_beam(beam, [0.2, 0.7], [1.0, 2.0], [3.0, 4.0])
    values = {"positions.1": 0.5, "mass.0.0": 7.0, "mass.1.0": -1.0, "beam.length": 4.0}
    new = jax.jit(lambda numbers: jv.replace(system, numbers))(values)
    np.testing.assert_array_equal(new.positions, [0.2, 0.5])
    np.testing.assert_array_equal(new.mass, [[7.0, 0.0], [-1.0, 2.0]])
    assert float(new.beam.length) == 4.0
    with pytest.raises(ValueError, match=r"positions\.1 = -1 m is not in"):
        jv.replace(system, {"positions.1": -1.0})
    for path in ("positions.2", "mass.0", "positions.x", "beam.length.0"):
        with pytest.raises(ValueError, match=path):
            jv.replace(system, {path: 0.1})


def test_replace_refuses_values_that_constructors_refuse():
    linear = jv.LinearSystem(np.eye(2), np.zeros((2, 2)), np.eye(2))
    for path, value in (("mass.0.0", -1.0), ("mass.0.1", 0.5), ("mass", np.ones((2, 2)))):
        with pytest.raises(ValueError, match="mass is not a symmetric positive definite"):
            jv.replace(linear, {path: value})
    stop = jv.Contact([1.0, 0.0], 0.1, jv.LinearContact(1.0), "stop")
    held = jv.ImpactSystem(linear, (stop,))
    with pytest.raises(ValueError, match="direction of a contact = 0"):
        jv.replace(held, {"contacts.stop.direction": [0.0, 0.0]})
    with pytest.raises(ValueError, match="direction of a contact = 0"):
        jv.Contact([0.0, 0.0], 0.1, jv.LinearContact(1.0))
    with pytest.raises(ValueError, match="mass is not a symmetric positive definite"):
        jv.replace(held, {"linear.mass.1.1": 0.0})
    cart = jv.assemble([jv.TranslationTranslation("ground", "cart", mass=1.0)])
    with pytest.raises(ValueError, match="acts on 'cart', which has no mass in any module"):
        jv.replace(cart, {"modules.ground-cart.mass": 0.0})
    carried = jv.oscillators_on_beam(jv.Beam(1.0, 2.0, 3.0), [0.7], [1.0], [3.0])
    with pytest.raises(ValueError, match=r"positions = 0.7 m is not in \[0, 0.5\]"):
        jv.replace(carried, {"beam.length": 0.5})
    both = jv.replace(carried, {"beam.length": 0.5, "positions.0": 0.4})
    assert float(both.beam.length) == 0.5


def test_traced_values_are_replaced_unseen():
    linear = jv.LinearSystem(np.eye(2), np.zeros((2, 2)), np.eye(2))
    changed = jax.jit(lambda value: jv.replace(linear, {"mass.0.0": value}).mass)(-1.0)
    assert float(changed[0, 0]) == -1.0


def test_loads_and_contacts_on_angles_alone_are_in_newton_metres_and_radians():
    tower = jv.assemble(
        [
            jv.TranslationTranslation(
                "ground", "cart", mass=2.0, stiffness=50.0, damping=1.0
            ),
            jv.TranslationRotation("cart", "rod", mass=1.0, length=0.8, stiffness=3.0),
        ]
    )
    at = {name: tower.direction(name) for name in ("cart", "rod")}
    both = tower.direction({"cart": 1.0, "rod": 0.4})
    system = jv.ImpactSystem(
        tower,
        [
            jv.Contact(at["rod"], 0.1, jv.HuntCrossleyContact(5.0, 0.2), "rod"),
            jv.Contact(both, 0.1, jv.HertzContact(5.0), "edge"),
            jv.Contact(0.4 * at["rod"], 0.1, jv.LinearContact(5.0), "arm"),
        ],
        [
            jv.AppliedLoad(at["rod"], jv.HarmonicLoad(1.0, 2.0), "torque"),
            jv.AppliedLoad(at["cart"], jv.HarmonicLoad(1.0, 2.0), "push"),
        ],
        [jv.CoulombFriction(at["rod"], 0.1, name="hinge")],
        [jv.NonlinearSpring(at["rod"], jv.PiecewiseLinearLaw([1.0, 2.0], [0.1]), "coil")],
    )
    units = {path: entry.unit for path, entry in jv.parameters(system).items()}
    expected = {
        "contacts.rod.gap": "rad", "contacts.rod.law.stiffness": "N m/rad^n",
        "contacts.rod.law.damping": "s/rad", "contacts.edge.gap": "m",
        "contacts.edge.law.stiffness": "N/m^1.5", "contacts.arm.gap": "m",
        "loads.torque.law.amplitude": "N m",
        "loads.push.law.amplitude": "N", "frictions.hinge.force": "N m",
        "frictions.hinge.speed": "rad/s", "springs.coil.law.stiffness": "N m/rad",
        "springs.coil.law.breaks": "rad",
    }  # fmt: skip
    assert {path: units[path] for path in expected} == expected
    driven = jv.ImpactSystem(tower, (), system.loads[:1])
    assert "amplitude 1 N m, frequency 2 rad/s" in repr(driven)
    with pytest.raises(ValueError, match=r"law.stiffness = -1 N m/rad\^n"):
        jv.replace(system, {"contacts.rod.law.stiffness": -1.0})
