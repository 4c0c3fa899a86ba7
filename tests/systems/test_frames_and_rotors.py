"""Checked against: the spatial frame, cantilevers, arms by hand, Genta's overhung disc."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import jaxvib as jv

EA, EJ, MASS, LENGTH = 2e6, 3e3, 1.7, 1.3


def plane(first, second, along, **more):
    return jv.PlaneFrameModule(
        first, second, along=along, axial_stiffness=EA, bending_stiffness=EJ,
        mass_per_length=MASS, **more,
    )  # fmt: skip


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.5])
def test_in_its_plane_it_is_the_frame_of_space(angle):
    along = LENGTH * np.array([np.cos(angle), np.sin(angle)])
    mine = plane("a", "b", along).matrices()
    space = jv.FrameModule(
        "a", "b", along=[*along, 0.0], side=[0.0, 0.0, 1.0], axial_stiffness=EA,
        torsional_stiffness=1.0, bending_stiffness=[7.0, EJ], mass_per_length=MASS,
    ).matrices()  # fmt: skip
    kept = np.ix_([0, 1, 5, 6, 7, 11], [0, 1, 5, 6, 7, 11])
    for name in ("mass", "stiffness"):
        expected = np.asarray(getattr(space, name))[kept]
        size = np.max(np.abs(expected))
        np.testing.assert_allclose(getattr(mine, name), expected, atol=1e-14 * size)


def test_a_cantilever_at_any_angle_has_its_closed_frequencies():
    count, angle = 12, 1.1
    step = LENGTH / count * np.array([np.cos(angle), np.sin(angle)])
    names = ["ground", *(f"n{i}" for i in range(count))]
    pairs = itertools.pairwise(names)
    system = jv.assemble([plane(a, b, step) for a, b in pairs])
    found = np.asarray(jv.natural_frequencies(system))
    bending = np.array([1.8751040687, 4.6940911330]) / LENGTH
    expected = bending**2 * np.sqrt(EJ / MASS)
    np.testing.assert_allclose(found[:2], expected, rtol=2e-5)
    axial = np.pi / (2 * LENGTH) * np.sqrt(EA / MASS)
    assert np.min(np.abs(found / axial - 1)) < 1e-3


def test_an_arm_is_a_body_that_is_moved():
    arm, along = np.array([0.3, -0.2]), np.array([0.8, 0.5])
    armed = plane("a", "b", along, second_arm=arm).matrices()
    bare = plane("a", "b", along).matrices()
    moved = np.eye(6)
    moved[3, 5], moved[4, 5] = -arm[1], arm[0]
    for name in ("mass", "stiffness"):
        expected = moved.T @ np.asarray(getattr(bare, name)) @ moved
        np.testing.assert_allclose(getattr(armed, name), expected, rtol=1e-9, atol=1e-6)
    # A turn of the body about its own place, and the same turn of the other: no strain.
    turn = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    turn[3], turn[4] = -(along - arm)[1], (along - arm)[0]
    strain = np.asarray(armed.stiffness) @ turn
    np.testing.assert_allclose(strain, 0.0, atol=1e-9 * EA)


def test_a_fixed_freedom_is_one_without_its_row_and_column():
    modules = [plane("ground", "tip", [LENGTH, 0.0])]
    free, held = jv.assemble(modules), jv.assemble(modules, fixed=["tip.x"])
    assert held.names == ("tip.y", "tip.angle")
    for name in ("mass", "damping", "stiffness"):
        whole = np.asarray(getattr(free, name))[1:, 1:]
        np.testing.assert_array_equal(getattr(held, name), whole)
    # Propped: clamped and hinged.
    propped = jv.assemble(modules, fixed=["tip.x", "tip.y"])
    spring = 4 * EJ / LENGTH
    np.testing.assert_allclose(propped.stiffness, [[spring]], rtol=1e-12)
    assert propped.added(jv.PointInertia("tip.angle", 1.0)).fixed == ("tip.x", "tip.y")
    with pytest.raises(ValueError, match=r"'tip.z'; did you mean 'tip"):
        jv.assemble(modules, fixed=["tip.z"])
    with pytest.raises(ValueError, match="fixed lists every degree of freedom"):
        jv.assemble(modules, fixed=["tip.x", "tip.y", "tip.angle"])


def rotor(spin, polar=0.06):
    """Return an overhung disc on a massless shaft, bending in x-z and in y-z."""
    stiff = {"torsional_stiffness": 1e9, "axial_stiffness": 1e9,
             "bending_stiffness": [EJ, EJ]}  # fmt: skip
    shaft = jv.FrameModule("ground", "disc", along=[0.0, 0.0, LENGTH],
                           side=[1.0, 0.0, 0.0], **stiff)  # fmt: skip
    disc = jv.SpinningDisc("disc", mass=5.0, diametral_inertia=0.03,
                           polar_inertia=polar, spin=spin)  # fmt: skip
    held = [jv.PointMass("disc.z", 1.0), jv.PointInertia("disc.angle_z", 1.0)]
    return jv.assemble([shaft, disc, *held], fixed=["disc.z", "disc.angle_z"])


@pytest.mark.parametrize("spin", [0.0, 80.0, 400.0])
def test_an_overhung_disc_whirls_as_the_closed_form_says(spin):
    # In r = x + i y, the tilt as b = angle_y - i angle_x: two equations with the spin.
    k11, k12, k22 = 12 * EJ / LENGTH**3, 6 * EJ / LENGTH**2, 4 * EJ / LENGTH
    whirls = np.roots([
        5.0 * 0.03, -5.0 * 0.06 * spin, -(5.0 * k22 + 0.03 * k11), 0.06 * spin * k11,
        k11 * k22 - k12**2,
    ])  # fmt: skip
    found = np.asarray(jv.modes.damped_modes(rotor(spin)).values)
    found = found[np.isfinite(found)]
    np.testing.assert_allclose(np.real(found), 0.0, atol=1e-7 * np.max(np.abs(found)))
    expected = np.sort(np.abs(whirls.real))
    np.testing.assert_allclose(np.sort(found.imag), expected, rtol=1e-8)


def test_the_spin_does_no_work_and_has_a_slope():
    damping = np.asarray(rotor(80.0).damping)
    np.testing.assert_array_equal(damping, -damping.T)
    module = rotor(80.0).modules[1].matrices()
    assert module.damping[2, 3] == -module.damping[3, 2] == 80.0 * 0.06

    def entry(spin):
        return jv.replace(rotor(80.0), {"modules.disc.spin": spin}).damping[2, 3]

    slope = jax.jacfwd(entry)(jnp.asarray(80.0))
    assert abs(float(slope)) == pytest.approx(0.06, rel=1e-14)


def test_natural_frequencies_of_a_spinning_rotor_are_refused():
    still = np.asarray(jv.natural_frequencies(rotor(0.0)))
    k11, k12, k22 = 12 * EJ / LENGTH**3, 6 * EJ / LENGTH**2, 4 * EJ / LENGTH
    squares = scipy.linalg.eigh(
        [[k11, k12], [k12, k22]], np.diag([5.0, 0.03]), eigvals_only=True
    )
    np.testing.assert_allclose(still, np.repeat(np.sqrt(squares), 2), rtol=1e-8)
    for verb in (jv.natural_frequencies, jv.natural_modes, jv.modes.lowest_frequencies):
        with pytest.raises(
            ValueError, match=r"damping has a gyroscopic part.*damped_modes"
        ):
            verb(rotor(80.0), *([2] if verb is jv.modes.lowest_frequencies else []))

    def frequencies(spin):
        return jv.natural_frequencies(jv.replace(rotor(80.0), {"modules.disc.spin": spin}))

    found = jax.jit(jax.vmap(frequencies))(jnp.asarray([0.0, 80.0]))
    np.testing.assert_allclose(found[0], still, rtol=1e-12)
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: plane("a", "b", [0.0, 0.0]), "along = 0 m"),
        (lambda: plane("a", "b", [1.0, 0.0, 0.0]), "along, first_arm, second_arm"),
        (lambda: jv.SpinningDisc("a", mass=1.0, diametral_inertia=0.0, polar_inertia=1.0),
         "diametral_inertia = 0"),
    ],
)  # fmt: skip
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_frame_of_symmetric_matrices_is_positive():
    system = jv.assemble([plane("ground", "a", [1.0, 0.2]), plane("a", "b", [0.0, 1.0])])
    assert scipy.linalg.eigvalsh(system.mass)[0] > 0
    assert scipy.linalg.eigvalsh(system.stiffness)[0] > 0
