"""Checked against: hand-made matrices, scipy's sparse algebra, the messages themselves."""

import itertools

import jax
import numpy as np
import pytest

import jaxvib as jv
from tests.zoo import spring


def tower(storeys):
    names = ["ground", *(f"floor{i}" for i in range(1, storeys + 1))]
    return [
        spring(a, b, mass=2e4, stiffness=3e7, damping=1e5)
        for a, b in itertools.pairwise(names)
    ]


def test_modules_removed_give_back_the_old_matrices_bit_for_bit():
    system = jv.assemble(tower(5))
    extra = [
        jv.Spring("ground", "floor3", stiffness=0.1, damping=0.3),
        spring("floor5", "damper", mass=123.4, stiffness=1e4 / 3),
        spring("ground", "floor1", stiffness=1 / 7),
    ]
    larger = system.added(*extra)
    assert larger.names[-1] == "damper"
    assert larger.module_names()[-3:] == (
        "ground-floor3", "floor5-damper", "ground-floor1-2",
    )  # fmt: skip
    back = larger.removed("ground-floor1-2", "floor5-damper", "ground-floor3")
    for old, new in zip(system.matrices(), back.matrices(), strict=True):
        assert np.asarray(old).tobytes() == np.asarray(new).tobytes()
    with pytest.raises(ValueError, match="unknown module 'floor9'"):
        system.removed("floor9")


def test_sparse_and_dense_matrices_are_one():
    system = jv.assemble([*tower(4), jv.TranslationRotation("floor4", "rod", mass=1.0,
                                                            length=2.0)])  # fmt: skip
    for dense, sparse in zip(system.matrices(), system.sparse_matrices(), strict=True):
        np.testing.assert_array_equal(sparse.toarray(), dense)


def test_traced_parameters_give_the_same_matrices():
    modules = [*tower(3), jv.BeamModule("a", "b", length=2.0, bending_stiffness=3.0,
                                        mass_per_length=1.0)]  # fmt: skip
    modules.append(jv.Spring("floor1", "a.y", stiffness=5.0))
    system = jv.assemble(modules)
    traced = jax.jit(lambda s: s.matrices())(system)
    for eager, compiled in zip(system.matrices(), traced, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-15)
    weights, rows = jax.jit(lambda s: s.strain_rows())(system)
    np.testing.assert_allclose(
        rows.T @ (weights[:, None] * rows), system.stiffness, rtol=1e-13, atol=1e-6
    )


def test_every_entry_has_its_derivative_for_every_parameter():
    beam = jv.BeamModule("a", "b", length=2.0, bending_stiffness=3.0, mass_per_length=1.0)
    system = jv.assemble([beam, jv.PointMass("b.y", 2.0)])
    paths = [path for path in jv.parameters(system) if path.endswith(("length", "mass"))]
    assert len(paths) == 3
    step = 1e-6

    @jax.jit
    def matrices(values):
        return jv.replace(system, dict(zip(paths, values, strict=True))).matrices()

    values = np.array([2.0, 1.0, 2.0])
    slopes = jax.jit(jax.jacfwd(matrices))(values)
    for i, change in enumerate(step * np.eye(3)):
        ahead, behind = matrices(values + change), matrices(values - change)
        for slope, high, low in zip(slopes, ahead, behind, strict=True):
            difference = (high - low) / (2 * step)
            np.testing.assert_allclose(slope[..., i], difference, atol=1e-8)


REFUSED = {
    "an unknown body": (
        [spring("ground", "cart", mass=1.0), jv.Spring("crat", "ground", stiffness=1.0)],
        "module 'crat-ground' acts on 'crat', which has no mass in any module; did you "
        "mean 'cart'",
    ),
    "a freedom without mass": (
        [spring("ground", "a", mass=1.0), spring("a", "middle", stiffness=2.0)],
        "module 'a-middle' acts on 'middle', which has no mass in any module",
    ),
    "a rotation for a translation": (
        [
            jv.TranslationRotation("ground", "rod", mass=1.0, length=1.0),
            spring("rod", "bob", mass=1.0, stiffness=1.0),
        ],
        "module 'rod-bob' uses 'rod' as a translation; it is a rotation in module "
        "'ground-rod'",
    ),
    "a body for its freedom": (
        [
            jv.BeamModule("ground", "tip", length=1.0, bending_stiffness=1.0,
                          mass_per_length=1.0),
            spring("tip", "bob", mass=1.0, first_mass=1.0, stiffness=1.0),
        ],
        r"module 'tip-bob' acts on the body 'tip'; allowed: one of its degrees of freedom, "
        "tip.y, tip.angle",
    ),
    "a body joined to itself": (
        [jv.BeamModule("a", "a", length=1.0, bending_stiffness=1.0)],
        "module 'a-a' joins a body to itself",
    ),
    "the ground joined to itself": (
        [spring("ground", "ground.x", stiffness=1.0)],
        "module 'ground-ground.x' joins a body to itself",
    ),
    "a motion without mass": (
        [jv.TranslationRotation("cart", "rod", mass=1.0, length=1.0, inertia=0.0)],
        "modules 'cart-rod': the mass matrix is singular for a motion of 'cart', 'rod'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_topologies_are_refused_by_the_name_of_the_module(case):
    modules, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        jv.assemble(modules)


def test_a_frame_with_its_side_along_the_beam_is_refused():
    with pytest.raises(ValueError, match="lies along the beam"):
        jv.FrameModule("a", "b", along=[1.0, 0, 0], side=[2.0, 0, 0], axial_stiffness=1.0,
                       torsional_stiffness=1.0, bending_stiffness=[1.0, 1.0])  # fmt: skip
    with pytest.raises(ValueError, match="have shapes"):
        jv.FrameModule("a", "b", along=[1.0, 0], side=[0, 1.0, 0], axial_stiffness=1.0,
                       torsional_stiffness=1.0, bending_stiffness=[1.0, 1.0])  # fmt: skip


def test_directions_name_freedoms_and_leave_the_ground_out():
    system = jv.assemble(tower(3))
    np.testing.assert_array_equal(system.direction("floor2"), [0, 1, 0])
    both = system.direction({"floor3": 1.0, "floor1": -0.5, "ground": 7.0})
    np.testing.assert_array_equal(both, [-0.5, 0, 1])
    with pytest.raises(
        ValueError, match="degree of freedom 'flor2'; did you mean 'floor2'"
    ):
        system.direction("flor2")
    # A force there would move nothing, and say nothing.
    for held in ("ground", {"ground": 2.0, "ground.y": 1.0}):
        with pytest.raises(ValueError, match="is fixed; allowed: floor1"):
            system.direction(held)
