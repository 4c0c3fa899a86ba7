"""Checked against: Lagrangians in sympy, derived without jaxvib from the kinematics."""

import itertools
from functools import partial

import numpy as np
import pytest
import sympy
from lagrangians import Lagrangian, hermite, rate, rod
from scipy.linalg import eigh

import jaxvib as jv
from tests.zoo import spring


def cart_with_rod(hanging):
    system = [
        spring("ground", "cart", mass=2.0, stiffness=100.0, damping=0.4),
        jv.TranslationRotation(
            "cart", "rod", mass=1.3, length=0.8, stiffness=30.0, standing=not hanging
        ),
    ]
    model = Lagrangian(2)
    x, phi = model.q
    kinetic, height, _ = rod((x, 0), phi, 0.8, 1.3, model, hanging)
    kinetic += 2 * rate(x, model) ** 2 / 2
    potential = 100 * x**2 / 2 + 30 * phi**2 / 2 + height
    return system, model.matrices(kinetic, potential, 0.4 * model.v[0] ** 2 / 2)


def cart_with_two_rods_on_each_other(hanging):
    system = [
        spring("ground", "cart", mass=2.0, stiffness=100.0),
        jv.TranslationRotation(
            "cart", "one", mass=1.3, length=0.8, stiffness=40.0, standing=not hanging
        ),
        jv.RodOnRod(
            "cart", "one", "two", mass=0.7, length=0.5, first_length=0.8, stiffness=25.0,
            damping=0.3, standing=not hanging,
        ),
    ]  # fmt: skip
    model = Lagrangian(3)
    x, one, two = model.q
    first = rod((x, 0), one, 0.8, 1.3, model, hanging)
    second = rod(first[2], two, 0.5, 0.7, model, hanging)
    kinetic = first[0] + second[0] + 2 * rate(x, model) ** 2 / 2
    springs = 100 * x**2 + 40 * one**2 + 25 * (two - one) ** 2
    dissipation = 0.3 * (model.v[2] - model.v[1]) ** 2 / 2
    return system, model.matrices(kinetic, springs / 2 + first[1] + second[1], dissipation)


def rod_on_the_ground():
    system = [jv.TranslationRotation("ground", "rod", mass=1.3, length=0.8, stiffness=2.0)]
    model = Lagrangian(1)
    kinetic, height, _ = rod((0, 0), model.q[0], 0.8, 1.3, model)
    return system, model.matrices(kinetic, height + model.q[0] ** 2)


def two_carts_with_a_rod_each():
    system = [
        spring("left", "right", stiffness=70.0, damping=1.1),
        spring("ground", "left", mass=1.5, stiffness=90.0),
        jv.TranslationRotation("left", "one", mass=0.5, length=0.4, first_mass=0.2),
        jv.TranslationRotation("right", "two", mass=0.6, length=0.9, first_mass=1.7),
        jv.AngularSpring("one", "two", stiffness=4.0, damping=0.2),
    ]
    model = Lagrangian(4)
    order = ("left", "right", "one", "two")
    left, right, one, two = model.q
    rods = [rod((left, 0), one, 0.4, 0.5, model), rod((right, 0), two, 0.9, 0.6, model)]
    v = dict(zip(order, model.v, strict=True))
    kinetic = rods[0][0] + rods[1][0] + 1.7 * (v["left"] ** 2 + v["right"] ** 2) / 2
    potential = 35 * (left - right) ** 2 + 45 * left**2 + 2 * (one - two) ** 2
    dissipation = 1.1 * (v["left"] - v["right"]) ** 2 + 0.2 * (v["one"] - v["two"]) ** 2
    potential += rods[0][1] + rods[1][1]
    return system, model.matrices(kinetic, potential, dissipation / 2)


def star_with_several_springs_on_one_pair():
    system = [
        jv.PointMass("hub", 3.0),
        *(spring("hub", f"leaf{i}", mass=1.0, stiffness=50.0) for i in range(3)),
        jv.Spring("hub", "leaf0", stiffness=20.0, damping=0.1),
        jv.Spring("leaf0", "hub", stiffness=5.0),
        jv.Spring("ground", "hub", stiffness=10.0),
    ]
    model = Lagrangian(4)
    hub, *leaves = model.q
    kinetic = (3 * model.v[0] ** 2 + sum(v**2 for v in model.v[1:])) / 2
    stretch = sum(50 * (leaf - hub) ** 2 for leaf in leaves)
    potential = (stretch + 25 * (leaves[0] - hub) ** 2 + 10 * hub**2) / 2
    dissipation = 0.1 * (model.v[1] - model.v[0]) ** 2 / 2
    return system, model.matrices(kinetic, potential, dissipation)


def shaft_with_discs():
    system = [
        jv.PointInertia("engine", 4.0),
        jv.PointInertia("flywheel", 9.0),
        jv.PointInertia("screw", 2.0),
        jv.AngularSpring("engine", "flywheel", stiffness=1e4, damping=3.0),
        jv.AngularSpring("flywheel", "screw", stiffness=2e3),
    ]
    model = Lagrangian(3)
    a, b, c = model.q
    kinetic = sum(j * v**2 for j, v in zip((4, 9, 2), model.v, strict=True)) / 2
    potential = (10**4 * (b - a) ** 2 + 2000 * (c - b) ** 2) / 2
    dissipation = 3 * (model.v[1] - model.v[0]) ** 2 / 2
    return system, model.matrices(kinetic, potential, dissipation)


def beam_between_bodies(first):
    length, stiffness, mass = sympy.Rational(7, 10), 12, sympy.Rational(5, 10)
    system = [
        jv.BeamModule(first, "tip", length=0.7, bending_stiffness=12.0,
                      mass_per_length=0.5, material_damping=1e-3),
        jv.PointMass("tip.y", 0.3),
        jv.PointInertia("tip.angle", 0.02),
    ]  # fmt: skip
    grounded = first == "ground"
    model = Lagrangian(2 if grounded else 4)
    x = sympy.symbols("x")
    fixed = (0, 0) if grounded else ()
    shape = hermite(*fixed, *model.q, length, x)
    speed = hermite(*fixed, *model.v, length, x)
    kinetic = mass * sympy.integrate(sympy.expand(speed**2), (x, 0, length)) / 2
    kinetic += (0.3 * model.v[-2] ** 2 + 0.02 * model.v[-1] ** 2) / 2
    bent = sympy.expand(sympy.diff(shape, x, 2) ** 2)
    potential = stiffness * sympy.integrate(bent, (x, 0, length)) / 2
    swap = dict(zip(model.q, model.v, strict=True))
    return system, model.matrices(kinetic, potential, potential.subs(swap) / 1000)


def frame_in_space(along, side):
    # local axes from the first to the second body, turned by numpy afterwards
    length, e_a, g_j, b_1, b_2, mass, spin = 1.5, 90.0, 7.0, 12.0, 5.0, 0.5, 0.04
    axis = np.array(along) / np.linalg.norm(along)
    one = np.array(side) - axis * np.dot(side, axis)
    one /= np.linalg.norm(one)
    axes = np.stack([axis, one, np.cross(axis, one)])
    system = [
        jv.FrameModule("a", "b", along=axis * length, side=side, axial_stiffness=e_a,
                       torsional_stiffness=g_j, bending_stiffness=[b_1, b_2],
                       mass_per_length=mass, inertia_per_length=spin),
    ]  # fmt: skip
    model = Lagrangian(12)
    x = sympy.symbols("x")
    exact = sympy.Rational(3, 2)

    def fields(q):
        u = q[0] * (1 - x / exact) + q[6] * x / exact
        twist = q[3] * (1 - x / exact) + q[9] * x / exact
        v = hermite(q[1], q[5], q[7], q[11], exact, x)
        w = hermite(q[2], -q[4], q[8], -q[10], exact, x)
        return u, twist, v, w

    def integral(weights, terms):
        total = sum(k * term**2 for k, term in zip(weights, terms, strict=True))
        return sympy.integrate(sympy.expand(total), (x, 0, exact)) / 2

    u, twist, v, w = fields(model.q)
    strains = (sympy.diff(u, x), sympy.diff(twist, x), v.diff(x, 2), w.diff(x, 2))
    potential = integral((e_a, g_j, b_1, b_2), strains)
    kinetic = integral((mass, spin, mass, mass), fields(model.v))
    turn = np.kron(np.eye(4), axes)
    found = [turn.T @ m @ turn for m in model.matrices(kinetic, potential)]
    return system, found


def row_of_masses(names, masses, links, dampers=None):
    """Return bodies on a line, `links` from pairs of names to stiffnesses."""
    dampers = dampers or {}
    system = [jv.PointMass(name, mass) for name, mass in zip(names, masses, strict=True)]
    system += [
        jv.Spring(a, b, stiffness=k, damping=dampers.get((a, b), 0.0))
        for (a, b), k in links.items()
    ]
    model = Lagrangian(len(names))
    x = {"ground": 0} | dict(zip(names, model.q, strict=True))
    v = {"ground": 0} | dict(zip(names, model.v, strict=True))
    kinetic = sum(m * v[n] ** 2 for n, m in zip(names, masses, strict=True)) / 2
    potential = sum(k * (x[b] - x[a]) ** 2 for (a, b), k in links.items()) / 2
    power = sum(d * (v[b] - v[a]) ** 2 for (a, b), d in dampers.items()) / 2
    return system, model.matrices(kinetic, potential, power)


def the_paper_s_example():
    links = {("ground", "one"): 2, ("one", "two"): 3, ("two", "three"): 5,
             ("one", "three"): 7, ("ground", "three"): 11}  # fmt: skip
    return row_of_masses(("one", "two", "three"), (1, 2, 3), links)


def eight_masses_between_walls():
    names = [str(i) for i in range(1, 9)]
    pairs = list(itertools.pairwise(["ground", *names, "ground"]))
    return row_of_masses(
        names, [10] * 8, dict.fromkeys(pairs, 10**5), dict.fromkeys(pairs, 50)
    )


def a_free_row():
    names = [str(i) for i in range(5)]
    links = dict.fromkeys(itertools.pairwise(names), 40)
    return row_of_masses(names, [1, 2, 3, 2, 1], links)


def a_ring():
    names = [str(i) for i in range(6)]
    return row_of_masses(
        names, [2] * 6, dict.fromkeys(itertools.pairwise([*names, names[0]]), 30)
    )


def a_rod_that_stands_and_one_that_hangs_on_one_cart():
    system = [
        spring("ground", "cart", mass=2.0, stiffness=100.0),
        jv.TranslationRotation("cart", "up", mass=0.8, length=0.5, stiffness=9.0,
                               standing=True),
        jv.TranslationRotation("cart", "down", mass=1.1, length=0.7, damping=0.2),
    ]  # fmt: skip
    model = Lagrangian(3)
    x, up, down = model.q
    rods = rod((x, 0), up, 0.5, 0.8, model, False), rod((x, 0), down, 0.7, 1.1, model)
    kinetic = rods[0][0] + rods[1][0] + model.v[0] ** 2
    potential = rods[0][1] + rods[1][1] + 50 * x**2 + 9 * up**2 / 2
    return system, model.matrices(kinetic, potential, 0.2 * model.v[2] ** 2 / 2)


def a_rod_of_another_inertia():
    inertia = 0.3
    system = [
        spring("ground", "cart", mass=2.0, stiffness=100.0),
        jv.TranslationRotation("cart", "rod", mass=1.3, length=0.8, inertia=inertia,
                               gravity=1.62),
    ]  # fmt: skip
    model = Lagrangian(2)
    x, phi = model.q
    kinetic, height, _ = rod((x, 0), phi, 0.8, 1.3, model, gravity=1.62)
    kinetic += (inertia - 1.3 * 0.8**2 / 12) * model.v[1] ** 2 / 2 + model.v[0] ** 2
    return system, model.matrices(kinetic, height + 50 * x**2)


def a_tower_with_a_pendulum():
    names = ["ground", "first", "second", "roof"]
    system = [
        spring(a, b, mass=2.0, stiffness=300.0, damping=0.4)
        for a, b in itertools.pairwise(names)
    ]
    system.append(jv.TranslationRotation("roof", "rod", mass=0.2, length=0.6))
    model = Lagrangian(4)
    first, second, roof, phi = model.q
    kinetic, height, _ = rod((roof, 0), phi, 0.6, 0.2, model)
    v = model.v
    kinetic += v[0] ** 2 + v[1] ** 2 + v[2] ** 2
    potential = 150 * (first**2 + (second - first) ** 2 + (roof - second) ** 2)
    power = 0.2 * (v[0] ** 2 + (v[1] - v[0]) ** 2 + (v[2] - v[1]) ** 2)
    return system, model.matrices(kinetic, potential + height, power)


def a_branched_shaft():
    inertias = {"motor": 0.4, "gear": 0.1, "fan": 1.2, "pump": 0.6}
    links = {("motor", "gear"): 900, ("gear", "fan"): 400, ("gear", "pump"): 300,
             ("ground", "pump"): 50}  # fmt: skip
    system = [jv.PointInertia(name, value) for name, value in inertias.items()]
    system += [
        jv.AngularSpring(a, b, stiffness=k, damping=0.01 * k) for (a, b), k in links.items()
    ]
    model = Lagrangian(4)
    phi = {"ground": 0} | dict(zip(inertias, model.q, strict=True))
    w = {"ground": 0} | dict(zip(inertias, model.v, strict=True))
    kinetic = sum(value * w[name] ** 2 for name, value in inertias.items()) / 2
    potential = sum(k * (phi[b] - phi[a]) ** 2 for (a, b), k in links.items()) / 2
    power = sum(0.01 * k * (w[b] - w[a]) ** 2 for (a, b), k in links.items()) / 2
    return system, model.matrices(kinetic, potential, power)


def bent(ends, length, stiffness):
    x = sympy.symbols("x")
    curvature = sympy.diff(hermite(*ends, length, x), x, 2)
    return stiffness * sympy.integrate(sympy.expand(curvature**2), (x, 0, length)) / 2


def a_chain_of_bodies_and_beams(ends):
    masses, inertias = (1.0, 2.0, 1.5), (0.2, 0.3, 0.1)
    stiffness, length = 3.0, sympy.Rational(7, 10)
    chain = jv.BeamChain(
        3, 1.0, ends, length=0.7, bending_stiffness=stiffness,
        mass_factors=np.array(masses), inertia_factors=np.array(inertias) / (0.49 / 6),
    )  # fmt: skip
    model = Lagrangian(6)
    places = [model.q[i : i + 2] for i in (0, 2, 4)]
    if ends == "clamped":
        places = [(0, 0), *places, (0, 0)]
    elif ends == "periodic":
        places.append(places[0])
    potential = sum(bent((*a, *b), length, 3) for a, b in itertools.pairwise(places))
    values = [value for pair in zip(masses, inertias, strict=True) for value in pair]
    kinetic = sum(m * v**2 for m, v in zip(values, model.v, strict=True)) / 2
    return list(chain.assembled().modules), model.matrices(kinetic, potential)


def a_cart_on_a_beam():
    length = sympy.Rational(12, 10)
    system = [
        jv.BeamModule("ground", "tip", length=1.2, bending_stiffness=8.0),
        jv.PointMass("tip.y", 0.5),
        jv.PointInertia("tip.angle", 0.04),
        jv.Spring("tip.y", "cart", stiffness=60.0, damping=0.3),
        jv.PointMass("cart", 0.7),
    ]
    model = Lagrangian(3)
    y, angle, cart = model.q
    v = model.v
    potential = bent((0, 0, y, angle), length, 8) + 30 * (cart - y) ** 2
    kinetic = (0.5 * v[0] ** 2 + 0.04 * v[1] ** 2 + 0.7 * v[2] ** 2) / 2
    return system, model.matrices(kinetic, potential, 0.15 * (v[2] - v[0]) ** 2)


SYSTEMS = {
    "the paper's example": the_paper_s_example,
    "eight masses between walls": eight_masses_between_walls,
    "a free row": a_free_row,
    "a ring": a_ring,
    "rods up and down": a_rod_that_stands_and_one_that_hangs_on_one_cart,
    "a rod of another inertia": a_rod_of_another_inertia,
    "a tower with a pendulum": a_tower_with_a_pendulum,
    "a branched shaft": a_branched_shaft,
    "a free chain of beams": partial(a_chain_of_bodies_and_beams, "free"),
    "a clamped chain of beams": partial(a_chain_of_bodies_and_beams, "clamped"),
    "a ring of beams": partial(a_chain_of_bodies_and_beams, "periodic"),
    "a cart on a beam": a_cart_on_a_beam,
    "a hanging rod on a cart": partial(cart_with_rod, True),
    "a standing rod on a cart": partial(cart_with_rod, False),
    "two hanging rods": partial(cart_with_two_rods_on_each_other, True),
    "two standing rods": partial(cart_with_two_rods_on_each_other, False),
    "a rod on the ground": rod_on_the_ground,
    "two carts with a rod each": two_carts_with_a_rod_each,
    "a star": star_with_several_springs_on_one_pair,
    "a shaft with discs": shaft_with_discs,
    "a beam on the ground": partial(beam_between_bodies, "ground"),
    "a beam between bodies": partial(beam_between_bodies, "root"),
    "a frame along x": partial(frame_in_space, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
    "a frame in space": partial(frame_in_space, [1.0, -2.0, 0.7], [0.3, 0.4, 1.0]),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_matrices_and_frequencies_are_those_of_the_lagrangian(name):
    modules, (mass, damping, stiffness) = SYSTEMS[name]()
    system = jv.assemble(modules)
    for found, expected in zip(system.matrices(), (mass, damping, stiffness), strict=True):
        scale = max(np.abs(expected).max(), 1e-300)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14 * scale)
    strains = system.strain_rows()
    if strains is not None:
        weights, rows = map(np.asarray, strains)
        rebuilt = rows.T @ (weights[:, None] * rows)
        scale = np.abs(stiffness).max()
        np.testing.assert_allclose(rebuilt, stiffness, rtol=0, atol=1e-13 * scale)
    squares = eigh(stiffness, mass, eigvals_only=True)
    frequencies = np.asarray(jv.natural_frequencies(system))
    np.testing.assert_allclose(frequencies**2, squares, rtol=0, atol=1e-12 * squares[-1])


def test_an_angled_frame_sags_as_bending_and_torsion_have_it():
    # out-of-plane load at the tip of an L: F (l1^3/3b + l2^3/3b + l2^2 l1/GJ)
    values = {"axial_stiffness": 1e5, "torsional_stiffness": 6.0,
              "bending_stiffness": [9.0, 9.0], "mass_per_length": 0.1,
              "inertia_per_length": 0.01}  # fmt: skip
    up = [0.0, 0.0, 1.0]
    system = jv.assemble(
        [
            jv.FrameModule("ground", "knee", along=[2.0, 0.0, 0.0], side=up, **values),
            jv.FrameModule("knee", "tip", along=[0.0, 1.5, 0.0], side=up, **values),
        ]
    )
    sag = jv.frequency_response(system, [0.0], force="tip.z", at="tip.z")[0].real
    expected = 2.0**3 / 27 + 1.5**3 / 27 + 1.5**2 * 2.0 / 6
    assert float(sag) == pytest.approx(expected, rel=1e-12)
