"""Checked against: Lagrangians in sympy, their matrices differentiated in 50 digits."""

import jax
import mpmath
import numpy as np
import pytest
import sympy
from lagrangians import Lagrangian, hermite, rod

import jaxvib as jv

X = sympy.symbols("x")


def translations(mass, stiffness, damping, first_mass):
    model = Lagrangian(2)
    (a, b), (u, v) = model.q, model.v
    return model.in_symbols(
        (first_mass * u**2 + mass * v**2) / 2,
        stiffness * (b - a) ** 2 / 2,
        damping * (v - u) ** 2 / 2,
    )


def hanging_or_standing(hanging):
    def matrices(mass, length, stiffness, damping, first_mass, inertia, gravity):
        model = Lagrangian(2)
        (x, phi), (u, w) = model.q, model.v
        kinetic, height, _ = rod((x, 0), phi, length, mass, model, hanging, gravity)
        kinetic += (inertia - mass * length**2 / 12) * w**2 / 2 + first_mass * u**2 / 2
        return model.in_symbols(
            kinetic, height + stiffness * phi**2 / 2, damping * w**2 / 2
        )

    return matrices


def rod_on_rod(mass, length, first_length, stiffness, damping, gravity):
    model = Lagrangian(3)
    (x, one, two), (_, v, w) = model.q, model.v
    end = (x + first_length * sympy.sin(one), -first_length * sympy.cos(one))
    kinetic, height, _ = rod(end, two, length, mass, model, gravity=gravity)
    return model.in_symbols(
        kinetic, height + stiffness * (two - one) ** 2 / 2, damping * (w - v) ** 2 / 2
    )


def link(stiffness, damping):
    model = Lagrangian(2)
    (a, b), (u, v) = model.q, model.v
    return model.in_symbols(0, stiffness * (b - a) ** 2 / 2, damping * (v - u) ** 2 / 2)


def point(**value):
    model = Lagrangian(1)
    (amount,) = value.values()
    return model.in_symbols(amount * model.v[0] ** 2 / 2, 0)


def over(length, weights, terms):
    total = sum(k * term**2 for k, term in zip(weights, terms, strict=True))
    return sympy.integrate(sympy.expand(total), (X, 0, length)) / 2


def beam(length, bending_stiffness, mass_per_length, material_damping):
    model = Lagrangian(4)
    bent = sympy.diff(hermite(*model.q, length, X), X, 2)
    potential = over(length, [bending_stiffness], [bent])
    kinetic = over(length, [mass_per_length], [hermite(*model.v, length, X)])
    swap = dict(zip(model.q, model.v, strict=True))
    return model.in_symbols(kinetic, potential, material_damping * potential.subs(swap))


def straight_frame(
    length, axial_stiffness, torsional_stiffness, b_1, b_2, mass_per_length,
    inertia_per_length,
):  # fmt: skip
    model = Lagrangian(12)

    def fields(q):
        u, twist = (q[i] * (1 - X / length) + q[i + 6] * X / length for i in (0, 3))
        v = hermite(q[1], q[5], q[7], q[11], length, X)
        return u, twist, v, hermite(q[2], -q[4], q[8], -q[10], length, X)

    u, twist, v, w = fields(model.q)
    strains = (sympy.diff(u, X), sympy.diff(twist, X), v.diff(X, 2), w.diff(X, 2))
    potential = over(length, (axial_stiffness, torsional_stiffness, b_1, b_2), strains)
    masses = (mass_per_length, inertia_per_length, mass_per_length, mass_per_length)
    return model.in_symbols(over(length, masses, fields(model.v)), potential)


def in_numbers(symbolic, names):
    """Return a function from values of the names to matrices, in mpmath's digits."""
    symbols = sympy.symbols(names)
    found = symbolic(**dict(zip(names, symbols, strict=True)))
    functions = [sympy.lambdify(symbols, matrix, "mpmath") for matrix in found]
    return lambda values: [function(*values) for function in functions]


def framed(names):
    """Return the frame's matrices, turned from its own axes into those of space."""
    own = ["length", "axial_stiffness", "torsional_stiffness", "b_1", "b_2",
           "mass_per_length", "inertia_per_length"]  # fmt: skip
    straight = in_numbers(straight_frame, own)

    def matrices(values):
        given = dict(zip(names, values, strict=True))
        along, side = ([given[f"{n}.{i}"] for i in range(3)] for n in ("along", "side"))
        length = mpmath.sqrt(mpmath.fdot(along, along))
        axis = [a / length for a in along]
        one = [s - mpmath.fdot(side, axis) * a for s, a in zip(side, axis, strict=True)]
        width = mpmath.sqrt(mpmath.fdot(one, one))
        one = [a / width for a in one]
        two = [axis[i - 2] * one[i - 1] - axis[i - 1] * one[i - 2] for i in range(3)]
        turn = mpmath.zeros(12)
        for block in range(4):
            for i, row in enumerate((axis, one, two)):
                for j in range(3):
                    turn[3 * block + i, 3 * block + j] = row[j]
        bending = {f"b_{i + 1}": given[f"bending_stiffness.{i}"] for i in (0, 1)}
        known = given | bending | {"length": length}
        return [turn.T * m * turn for m in straight([known[name] for name in own])]

    return matrices


ROD = {"mass": 1.3, "length": 0.8, "stiffness": 30.0, "damping": 0.2, "first_mass": 0.7,
       "inertia": 0.11, "gravity": 9.81}  # fmt: skip
MODULES = {
    "two translations": (
        jv.TranslationTranslation("a", "b", mass=2.0, stiffness=50.0, damping=0.3,
                                  first_mass=0.4),
        translations,
    ),
    "a hanging rod": (jv.TranslationRotation("a", "b", **ROD), hanging_or_standing(True)),
    "a standing rod": (
        jv.TranslationRotation("a", "b", **ROD, standing=True), hanging_or_standing(False)
    ),
    "a rod on a rod": (
        jv.RodOnRod("a", "b", "c", mass=0.7, length=0.5, first_length=0.8, stiffness=25.0,
                    damping=0.3),
        rod_on_rod,
    ),
    "a spring": (jv.Spring("a", "b", stiffness=7.0, damping=0.2), link),
    "an angular spring": (jv.AngularSpring("a", "b", stiffness=7.0, damping=0.2), link),
    "a mass": (jv.PointMass("a", 2.5), point),
    "an inertia": (jv.PointInertia("a", 0.4), point),
    "a beam": (
        jv.BeamModule("a", "b", length=1.7, bending_stiffness=12.0, mass_per_length=0.5,
                      material_damping=1e-3),
        beam,
    ),
    "a frame": (
        jv.FrameModule("a", "b", along=[1.0, -2.0, 0.7], side=[0.3, 0.4, 1.0],
                       axial_stiffness=90.0, torsional_stiffness=7.0,
                       bending_stiffness=[12.0, 5.0], mass_per_length=0.5,
                       inertia_per_length=0.04),
        None,
    ),
}  # fmt: skip


SLOW = {"a frame": pytest.mark.slow}  # 20 s of integrals in symbols


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW.get(name, ())) for name in MODULES]
)
def test_every_entry_has_its_derivative_for_every_parameter(name):
    module, symbolic = MODULES[name]
    known = {path: np.asarray(entry.value) for path, entry in jv.parameters(module).items()}
    names = [
        f"{path}.{i}" if value.ndim else path
        for path, value in known.items()
        for i in range(value.size)
    ]
    at = np.concatenate([value.reshape(-1) for value in known.values()])

    def matrices(values):
        parts = jv.replace(module, dict(zip(names, values, strict=True))).matrices()
        return parts.mass, parts.damping, parts.stiffness

    found = matrices(at)
    slopes = jax.jit(jax.jacfwd(matrices))(at)
    with mpmath.workdps(50):
        exact = in_numbers(symbolic, names) if symbolic else framed(names)
        expected = [np.array(m.tolist(), float) for m in exact(list(map(mpmath.mpf, at)))]
        scales = [np.abs(matrix).max() for matrix in expected]
        for mine, theirs, scale in zip(found, expected, scales, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-13 * scale)
        step = mpmath.mpf(10) ** -16
        for i in range(len(at)):
            sides = []
            for sign in (1, -1):
                values = list(map(mpmath.mpf, at))
                values[i] += sign * step
                sides.append(exact(values))
            for slope, ahead, behind, scale in zip(slopes, *sides, scales, strict=True):
                theirs = np.array(((ahead - behind) / (2 * step)).tolist(), float)
                near = 1e-13 * scale / abs(at[i])
                np.testing.assert_allclose(slope[..., i], theirs, rtol=1e-12, atol=near)
