"""Checked against: the same bodies in absolute displacements, driven through springs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv

Y, W, PHASE = 0.02, 5.0, 0.4
STIFFNESS, DAMPING = 300.0, 2.0
TIMES = np.linspace(0.0, 3.0, 7)


def tower():
    return jv.assemble(
        [
            jv.TranslationTranslation(
                "ground", "first", mass=3.0, stiffness=STIFFNESS, damping=DAMPING
            ),
            jv.TranslationTranslation(
                "first", "roof", mass=2.0, stiffness=200.0, damping=1.5
            ),
        ]
    )


BOTH = tower().direction({"first": 1.0, "roof": 1.0})
LAWS = {
    "displacement": jv.HarmonicLoad(Y, W, PHASE),
    "velocity": jv.HarmonicLoad(-Y * W, W, PHASE - np.pi / 2),
    "acceleration": jv.FourierLoad(
        W, [-Y * W**2 * np.cos(PHASE)], [Y * W**2 * np.sin(PHASE)]
    ),
}


def shaken(given, law=None):
    base = jv.BaseMotion(BOTH, LAWS[given] if law is None else law, given, name="quake")
    return jv.ImpactSystem(tower(), (), (base,))


def absolute(start):
    """Return the motion of the bodies pulled by c y' + k y at the first of them."""
    at = tower().direction("first")
    pull = jv.HarmonicLoad(STIFFNESS * Y, W, PHASE)
    drag = jv.HarmonicLoad(-DAMPING * Y * W, W, PHASE - np.pi / 2)
    loads = tuple(jv.AppliedLoad(at, law) for law in (pull, drag))
    return jv.propagate(jv.ImpactSystem(tower(), (), loads), start, TIMES)


@pytest.mark.parametrize(
    "given",
    [
        "displacement",
        "velocity",
        pytest.param("acceleration", marks=pytest.mark.slow),  # 3 s to compile
    ],
)
def test_a_shaken_support_is_a_load_on_relative_displacements(given):
    there = np.outer([Y * np.cos(PHASE), -Y * W * np.sin(PHASE)], [1.0, 1.0]).ravel()
    start = np.array([0.01, -0.02, 0.3, 0.1])
    relative = jv.propagate(shaken(given), start - there, TIMES)
    found = jv.systems.absolute_states(shaken(given), TIMES, relative)
    np.testing.assert_allclose(found, absolute(start), rtol=0, atol=1e-12)


def test_the_numbers_of_a_base_motion_have_its_unit_and_can_be_replaced():
    declared = jv.systems.parameters(shaken("displacement"))
    assert declared["loads.quake.motion.amplitude"].unit == "m"
    assert declared["loads.quake.motion.frequency"].unit == "rad/s"
    record = jv.RecordLoad([0.0, 1.0], [0.0, 1.0])
    other = jv.systems.parameters(shaken("acceleration", record))
    assert other["loads.quake.motion.values"].unit == "m/s^2"

    def push(amplitude):
        changed = jv.replace(
            shaken("displacement"), {"loads.quake.motion.amplitude": amplitude}
        )
        return changed.equation().vector_field(0.0, jnp.zeros(4))[2:]

    expected = np.full(2, W**2 * np.cos(PHASE))
    np.testing.assert_allclose(jax.jit(jax.jacfwd(push))(Y), expected, rtol=1e-13)


def test_systems_without_accelerations_or_displacements_are_refused():
    record = jv.RecordLoad([0.0, 1.0], [0.0, 1.0])
    with pytest.raises(ValueError, match="RecordLoad has no derivative that"):
        shaken("displacement", record)
    with pytest.raises(ValueError, match="did you mean 'acceleration'"):
        jv.BaseMotion(BOTH, record, "accelleration")
    pushed = jv.FourierLoad(4.0, [0.1], [0.2], mean=0.3)
    with pytest.raises(ValueError, match=r"mean = 0.3 of a FourierLoad has no periodic"):
        jv.systems.absolute_states(shaken("acceleration", pushed), TIMES, np.zeros((7, 4)))
    with pytest.raises(ValueError, match="RecordLoad has no integral that"):
        jv.systems.absolute_states(shaken("acceleration", record), TIMES, np.zeros((7, 4)))
    with pytest.raises(ValueError, match="have no BaseMotion"):
        jv.systems.absolute_states(jv.ImpactSystem(tower()), TIMES, np.zeros((7, 4)))


@pytest.mark.parametrize("push", [5.0, 6.0, 20.0])
def test_a_block_slides_on_a_shaken_table_as_newmark_has_it(push):
    # Newmark, Géotechnique 15 (1965) 139: pushed for a time, it slides until it stops.
    mass, held, lasts = 2.0, 3.0, 0.4
    table = jv.BaseMotion([1.0], jv.PulseLoad("rectangle", push, 0.1, lasts))
    block = jv.ImpactSystem(
        jv.LinearSystem(mass * jnp.eye(1), 0 * jnp.eye(1), 0 * jnp.eye(1)),
        loads=(table,),
        frictions=(jv.CoulombFriction([1.0], mass * held),),
    )
    speed = (push - held) * lasts
    slid = speed * lasts / 2 + speed**2 / (2 * held)
    end = jv.flow(block, [0.0, 0.0], 0.0, 8.0)
    np.testing.assert_allclose(end, [-slid, 0.0], rtol=1e-12, atol=0)
    assert end[1] == 0.0  # it sticks to the table
