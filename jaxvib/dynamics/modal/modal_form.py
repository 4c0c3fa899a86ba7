"""Modal form of a linear system with contacts."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.arrays import is_concrete, partition_arrays
from ...foundation.types import Number
from ...systems.base.law import is_impulsive, trait
from ...systems.base.system import Mechanical, System, state_shape
from ...systems.base_motion import pushes
from ...systems.impact import EquationOfMotion, equation_of_motion
from ...systems.loads import HarmonicLoad, as_load
from ...systems.variation import variations_of
from ..linear_modes import forced_motion, modal_blocks
from .axes import axes_of
from .collocation import Collocation, Eigenvalues, collocation
from .eigenmodes import Eigenmodes, eigenmodes
from .phases import Phases, phases_of

# Degrees of freedom up to which motions are integrated directly, which is faster then.
FEW = 8
# The tables of a step grow with the square of the number of axes of contacts.
MOST_AXES = 16
# A mode is rigid if it turns by less than this in a period, rad: its amplitudes, divided by
# its eigenvalues, have no bounds.
_RIGID = 1e-6
# Steps in contact are a quarter of the period, halved this often at most.
LEVELS = 32


class ModalForm(Mechanical):
    r"""A vibro-impact system in its complex modes.

    $$s = \mathrm{Re}(V a) + s_p(t), \qquad
      \dot a_k = \lambda_k a_k - \sum_c \beta_{kc} F_c(z_c, \dot z_c),$$

    with $s_p$ the linear steady state under the loads. Amplitudes are stored as y, their
    real parts followed by their imaginary parts. It implements the interface of any
    other system.

    **Fields:** `repeats`: the period, s; `forced` (2, waves, 2n): the parts of the
    steady state with cosine and sine of `frequency` t + `phase` (waves,); `gap_rows`: the
    displacement along each axis of the contacts per unit amplitude; `pushes`: $\beta$, the
    reduction of the rates per unit force along each axis; `steps`: tables of steps of
    T/4, T/8, ... in contact, with a leading axis; `phases`: modes with closed contacts,
    None if these are not linear.
    """

    motion: EquationOfMotion
    repeats: Float[Array, ""]
    forced: Float[Array, "2 waves state"]
    frequency: Float[Array, " waves"]
    phase: Float[Array, " waves"]
    modes: Eigenmodes
    gap_rows: Float[Array, "axes y"]
    pushes: Float[Array, "y axes"]
    steps: Collocation
    phases: Phases | None

    has_contacts = True
    in_memory = True

    def equation(self) -> EquationOfMotion:
        """Return the equation of motion, ready to be evaluated."""
        return self.motion

    def period(self) -> Float[Array, ""]:
        """Return the common period of the loads, s."""
        return self.repeats

    def rest(self) -> Float[Array, " state"]:
        """Return the state at rest, with unstrained springs."""
        return jnp.concatenate([self.motion.offset, jnp.zeros_like(self.motion.offset)])

    def carried(self, time: Number) -> Float[Array, " state"]:
        """Return the linear steady state, without offset."""
        angle = self.frequency * time + self.phase
        return jnp.tensordot(jnp.stack([jnp.cos(angle), jnp.sin(angle)]), self.forced, 2)

    def collocation(self, length: Number) -> Collocation:
        """Return the matrices of a step in contact of any length, s."""
        rows, pushes = self.gap_rows, self.pushes
        rates = follows_rates(self.motion)
        return collocation(self.modes.eigenvalues, rows, pushes, length, rates=rates)

    def full(self, y: Array, time: Number) -> Float[Array, " state"]:
        """Return the state with amplitudes y at a time."""
        return y @ self.modes.shapes + self.carried(time) + self.rest()

    def amplitudes(self, state: Array, time: Number) -> Float[Array, " y"]:
        """Return the amplitudes of a state at a time."""
        return self.modes.duals @ (state - self.rest() - self.carried(time))


def modal_form(system: System) -> ModalForm | None:
    """Return a large system in its modes, or None.

    None for few degrees of freedom, a drift, many contacts, hard ones or such with jumping
    forces, loads that are all constant or not sums of harmonics, or traced parameters;
    without loads for overdamped modes; also
    for rigid-body modes, where eigenvectors are nearly dependent (critically damped modes),
    and at a resonance with nearly no damping. The last few are kept, for repeated calls.
    """
    if state_shape(system)[0] <= 2 * FEW or not system.mechanical:
        return None
    if system.drift is not None:
        return None
    if not is_concrete(system):
        return None
    return _form_of(_Content(system))


class _Content:
    """A system that is equal to another one with the same numbers."""

    def __init__(self, system: System):
        self.system = system
        leaves, static = partition_arrays(system)
        arrays = [np.asarray(leaf) for leaf in jax.tree.leaves(leaves)]
        self._key = static, tuple((x.dtype.str, x.shape, x.tobytes()) for x in arrays)

    def __eq__(self, other):
        return isinstance(other, _Content) and self._key == other._key

    def __hash__(self):
        return hash(self._key)


@functools.lru_cache(maxsize=8)
def _form_of(content: _Content) -> ModalForm | None:
    system = content.system
    linear = system.linear_part()
    if linear is None:
        return None
    laws = [as_load(load.law) for load in system.loads]
    waves = [law.waves() if law is not None else None for law in laws]
    harmonic = all(wave is not None for wave in waves)
    # Without a period there is no length of the steps; that of free motions is a mode's.
    periodic = any(law is not None and law.repeats and not law.constant for law in laws)
    refused: Any = system.frictions or system.springs or variations_of(system)
    refused = refused or any(_refused(contact.law) for contact in system.contacts)
    axes = axes_of(system.contacts).owners
    free = not system.loads
    if refused or not harmonic or not (periodic or free) or axes.size > MOST_AXES:
        return None
    matrices = [np.asarray(matrix) for matrix in linear.matrices()]
    if not all(np.isfinite(m).all() for m in matrices):
        return None
    pushed = [
        (push, wave)
        for load in system.loads
        for push, law in pushes(load, matrices)
        for wave in law.waves() or ()
    ]
    try:
        split = modal_blocks(*matrices)
        slowest = 0.0 if split is None else float(split.angular.min())
        if free and not slowest > 0:
            return None
        # An absent load is one of no force, so that no array is empty.
        pushed = pushed or [(np.zeros(len(matrices[0])), HarmonicLoad(0.0, slowest / 2))]
        forced = None if split is None else forced_motion(*matrices, pushed)
    except np.linalg.LinAlgError:  # eigenvectors equal to the last digit
        return None
    if split is None or forced is None:
        return None
    motion = equation_of_motion(
        [jnp.asarray(m) for m in matrices], system.contacts, system.loads
    )
    modes = eigenmodes(split)
    period = jnp.asarray(2 * np.pi / slowest if free else system.period())
    slow, fast = np.split(split.decay, 2)
    # The product of two eigenvalues: a slow one of strong damping is not rigid.
    if np.min(np.abs(slow * fast + split.angular**2)) * period**2 < _RIGID**2:
        return None
    numbers = [
        jnp.asarray(np.array([getattr(wave, name) for _, wave in pushed], float))
        for name in ("frequency", "phase")
    ]
    coupled = _gap_rows(motion, modes), _pushes(motion, modes)
    rates = follows_rates(motion)
    steps = _tables(modes.eigenvalues, *coupled, period, rates)
    phases = phases_of(motion, matrices, pushed)
    waves = jnp.asarray(forced), *numbers
    return ModalForm(motion, period, *waves, modes, *coupled, steps, phases)


def follows_rates(motion: EquationOfMotion) -> bool:
    """Return whether contact forces depend on velocities."""
    return any(motion.damped_contacts()) or axes_of(motion.contacts).some_round


def _refused(law) -> bool:
    return is_impulsive(law) or trait(law, "jumps")


@functools.partial(jax.jit, static_argnums=4)
def _tables(eigenvalues: Eigenvalues, gap_rows, pushes, period, rates) -> Collocation:
    """Return the tables of a system's steps in contact."""
    lengths = period * jnp.asarray(0.25 * 0.5 ** np.arange(LEVELS))

    def table(length):
        return collocation(eigenvalues, gap_rows, pushes, length, rates=rates)

    return jax.lax.map(table, lengths)


def _gap_rows(motion: EquationOfMotion, modes: Eigenmodes) -> Array:
    half = modes.shapes.shape[1] // 2
    directions = [np.asarray(contact.rows) for contact in motion.contacts]
    shapes = np.asarray(modes.shapes)[:, :half]
    return jnp.asarray(np.concatenate([np.zeros((0, half)), *directions]) @ shapes.T)


def _pushes(motion: EquationOfMotion, modes: Eigenmodes) -> Array:
    half = modes.duals.shape[1] // 2
    responses = [np.reshape(c.response, (-1, half)) for c in motion.contacts]
    responses = np.concatenate([np.zeros((0, half)), *responses])
    return jnp.asarray(np.asarray(modes.duals)[:, half:] @ responses.T)
