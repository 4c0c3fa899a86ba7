r"""A linear system with contacts in 2 x 2 blocks, and tables of its exact steps."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.types import Number
from ...systems.impact import EquationOfMotion, equation_of_motion
from ...systems.loads import harmonic_of
from ...systems.roles import is_damped, is_impulsive
from ...systems.system import System, state_shape
from ...systems.variation import variations_of
from ..linear_modes import InModes, forced_motion, modal_blocks
from ..tableau import dormand_prince_tableau

# Degrees of freedom up to which motions are integrated directly, which is faster then.
FEW = 8
# The tables of a step grow with the square of the number of contacts.
MOST_CONTACTS = 16
# Steps are a quarter of the period, halved this often at most.
LEVELS = 32
# A mode may decay by exp(-this) in a step, so that its inverse does not overflow.
MOST_DECAY = 60.0


class Turn(NamedTuple):
    r"""$e^{\Lambda t} - 1$ as the entries of 2 x 2 blocks (p, q), shape (n,) each.

    The 1 is omitted: its rounding error, the same in each of thousands of short steps,
    would add up.
    """

    pp: Array
    pq: Array
    qp: Array
    qq: Array

    def __call__(self, y):
        """Advance a vector (2n,), or columns (2n, m), by the time of the turn."""
        p, q = jnp.split(y, 2)
        wide = (...,) + (None,) * (y.ndim - 1)
        pp, pq, qp, qq = (part[wide] for part in self)
        return y + jnp.concatenate([pp * p + pq * q, qp * p + qq * q])


class Step(NamedTuple):
    r"""An explicit Runge-Kutta step of length h in $e^{-\Lambda t} y$, as matrices.

    With the forces F of c contacts at all S stages, penetrations are `gaps` y + loads -
    `echo` F, and the end is `turn`(y) - `push` F. The error estimate is `miss` F.
    Shapes: `gaps` (S, c, 2n), `echo` (S, c, S, c), `push` and `miss` (2n, S, c).
    """

    length: Array
    turn: Turn
    gaps: Array
    echo: Array
    push: Array
    miss: Array


class BlockForm(InModes):
    r"""A vibro-impact system with its linear part in 2 x 2 blocks.

    $$s = R y + s_p(t), \qquad \dot y = \Lambda y - \sum_c \beta_c F_c(\nu_c^T y + \dots),$$

    with $s_p$ the linear steady state under harmonic loads. A block of $\Lambda$ is
    $[[a, b], [-b, a]]$ for a pair of complex eigenvalues and diagonal for two real
    ones; p and q of block k are components k and n + k of y. The norm of y is about the
    square root of twice the energy. It implements the interface of any other system.

    **Fields:** `decay` (2n,) a, `angular` (n,) b, `steps`: tables of T/4, T/8, ... with a
    leading axis.
    """

    to_state: Float[Array, "state state"]
    to_blocks: Float[Array, "state state"]
    decay: Float[Array, " state"]
    angular: Float[Array, " n"]
    steps: Step

    def turn(self, time: Number) -> Turn:
        """Return the exact motion of all blocks over a time, s."""
        return _turn(self.decay, self.angular, time)

    def rates(self, rows: Float[Array, "rows state"]) -> Float[Array, "rows state"]:
        """Return the rows of the time derivatives of `rows`, without contacts."""
        p, q = jnp.split(rows, 2, axis=-1)
        a, d = jnp.split(self.decay[None], 2, axis=-1)
        b = self.angular[None]
        return jnp.concatenate([p * a - q * b, p * b + q * d], axis=-1)

    def gap_rows(self) -> Float[Array, "contacts state"]:
        """Return the rows for penetrations, without gaps and loads."""
        return _gap_rows(self.motion, self.to_state)

    def pushes(self) -> Float[Array, "state contacts"]:
        """Return the reduction of the rates of y per unit force of each contact."""
        return _pushes(self.motion, self.to_blocks)

    def full(self, y: Array, time: Number) -> Float[Array, " state"]:
        """Return the state of blocks y at a time."""
        return self.to_state @ y + self.carried(time) + self.rest()

    def blocks(self, state: Array, time: Number) -> Float[Array, " state"]:
        """Return the blocks of a state at a time."""
        return self.to_blocks @ (state - self.rest() - self.carried(time))


def block_form(system: System) -> BlockForm | None:
    """Return a large system with its linear part in blocks, or None.

    None for few degrees of freedom, many contacts, hard or damped ones, loads that are
    not harmonic or traced parameters; also where eigenvectors are nearly dependent
    (critically damped modes, rigid-body modes, an undamped resonance).
    """
    if state_shape(system)[0] <= 2 * FEW or not system.mechanical:
        return None
    linear = system.linear_part()
    leaves = jax.tree.leaves(eqx.filter(system, eqx.is_array))
    if linear is None or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
        return None
    hard = any(is_impulsive(c.law) or is_damped(c.law) for c in system.contacts)
    loads = [harmonic_of(load.law) for load in system.loads]
    laws = [wave for wave in loads if wave is not None]
    harmonic = len(laws) == len(system.loads) > 0
    others: Any = system.frictions or system.springs or variations_of(system)
    if hard or others or not harmonic or len(system.contacts) > MOST_CONTACTS:
        return None
    matrices = [np.asarray(matrix) for matrix in linear.matrices()]
    if not all(np.isfinite(m).all() for m in matrices):
        return None
    pushes = [np.asarray(load.push(matrices[0])) for load in system.loads]
    pushed = list(zip(pushes, laws, strict=True))
    try:
        split = modal_blocks(*matrices)
        forced = None if split is None else forced_motion(*matrices, pushed)
    except np.linalg.LinAlgError:  # eigenvectors equal to the last digit
        return None
    if split is None or forced is None:
        return None
    motion = equation_of_motion(
        [jnp.asarray(m) for m in matrices], system.contacts, system.loads
    )
    blocks = [jnp.asarray(part) for part in split]
    waves = [jnp.stack([getattr(law, k) for law in laws]) for k in ("frequency", "phase")]
    period = jnp.asarray(system.period())
    steps = _steps_of(motion, period, *blocks)
    return BlockForm(motion, period, jnp.asarray(forced), *waves, *blocks, steps)


@eqx.filter_jit
def _steps_of(motion, period, to_state, to_blocks, decay, angular) -> Step:
    """Return the tables of a system's steps."""
    lengths = period * jnp.asarray(0.25 * 0.5 ** np.arange(LEVELS))
    rows = _gap_rows(motion, to_state)
    pushes = _pushes(motion, to_blocks)
    return jax.lax.map(lambda h: step_of(decay, angular, rows, pushes, h), lengths)


def step_of(
    decay: Array, angular: Array, rows: Array, pushes: Array, length: Array
) -> Step:
    """Return a step's matrices from the rows of gaps and the columns of forces."""
    steps = dormand_prince_tableau()
    times = jnp.asarray(steps.nodes) * length
    after = jax.vmap(lambda t: _turn(decay, angular, t))(times)
    # A mode that decays by more has no inverse; such long steps are not taken.
    kept = jnp.maximum(decay, -MOST_DECAY / length)
    before = jax.vmap(lambda t: _turn(kept, angular, -t))(times)
    columns = jax.vmap(lambda turn: turn(pushes))(before)  # (S, 2n, c)
    gaps = jax.vmap(lambda turn: _transposed(turn)(rows.T).T)(after)  # (S, c, 2n)
    stages, count, size = gaps.shape
    flat = columns.transpose(1, 0, 2).reshape(size, stages * count)
    echo = (gaps.reshape(stages * count, size) @ flat).reshape(stages, count, stages, count)
    weights = jnp.asarray(steps.coefficients) * length
    echo = echo * weights[:, None, :, None]
    last = Turn(*[part[-1] for part in after])
    ends = last(flat).reshape(size, stages, count)
    push = ends * (jnp.asarray(steps.coefficients[-1]) * length)[None, :, None]
    miss = ends * (jnp.asarray(steps.error) * length)[None, :, None]
    return Step(length, last, gaps, echo, push, miss)


def _turn(decay, angular, time) -> Turn:
    first, second = jnp.split(jnp.expm1(decay * time), 2)
    cosine, sine = jnp.cos(angular * time), jnp.sin(angular * time)
    less = -2 * jnp.sin(angular * time / 2) ** 2  # cosine - 1
    return Turn(
        first * cosine + less, (1 + first) * sine, -(1 + second) * sine,
        second * cosine + less,
    )  # fmt: skip


def _transposed(turn: Turn) -> Turn:
    return Turn(turn.pp, turn.qp, turn.pq, turn.qq)


def _gap_rows(motion: EquationOfMotion, to_state):
    half = to_state.shape[0] // 2
    if not motion.contacts:
        return jnp.zeros((0, 2 * half))
    return jnp.stack([contact.direction for contact in motion.contacts]) @ to_state[:half]


def _pushes(motion: EquationOfMotion, to_blocks):
    half = to_blocks.shape[0] // 2
    if not motion.contacts:
        return jnp.zeros((2 * half, 0))
    return to_blocks[:, half:] @ jnp.stack(motion.contact_responses, axis=1)
