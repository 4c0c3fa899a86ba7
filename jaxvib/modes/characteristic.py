r"""The characteristic function of a beam with bodies: entire, scaled, differentiable.

Lengths are in units of the beam's length l, times in $l^2 \sqrt{k/b}$, masses in k l.
With $z = Z e^{\lambda t}$ and $u = V(x) e^{\lambda t}$ the unknowns are four waves of
the beam, the forces F of the m links and the motions Z of the n bodies; they fulfil
$M(\lambda)\,(c, F, Z) = 0$ with 4 rows for the ends, m for the links, n for the bodies.

$V = \sum_k c_k \phi_k + \sum_i F_i g(x - a_i)$. With $\beta = \sqrt{-i \lambda}$ on
$\mathrm{Im} \lambda \ge 0$ (other values are mirrored) $\mathrm{Re} \beta \ge
|\mathrm{Im} \beta|$, and with $\gamma = \pm i \beta$ so that $\mathrm{Re} \gamma \le 0$
no wave $e^{-\beta x}, e^{-\beta (1 - x)}, e^{\gamma x}, e^{\gamma (1 - x)}$ ever grows.
For $|\beta| < 2$, where these four coincide, the waves are Krylov's functions by their
Taylor series. $f = \det M / w$ with $w = -16 \beta^5 \gamma e^{\gamma - \beta}$ for the
waves and 1 for the series is one entire function, real on the real axis: $\det M$ has
no poles, since forces are unknowns of their own, and w is the waves' Wronskian.
"""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from ..systems.beam import BeamWithBodies, ElasticSupport
from .bare_beam import bare_end

_SERIES_BELOW = 2.0  # |beta| below which the waves are series
Numbers = Array | np.ndarray  # on the host nothing is to be compiled
_TERMS = 7  # of the series, enough for every digit


def mixing(function):
    """Let real parameters meet complex eigenvalues in a function, and vectors matrices.

    Here that is the rule, also where JAX is set to refuse mixed types and ranks.
    """

    @functools.wraps(function)
    def mixed(*arguments, **keywords):
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            return function(*arguments, **keywords)

    return mixed


class Dimensionless(eqx.Module):
    """A beam with bodies in the beam's own units; `time` is the unit of time, s."""

    conditions: tuple[Float[Numbers, "2 4"], Float[Numbers, "2 4"]]
    positions: Float[Numbers, " m"]
    link_stiffness: Float[Numbers, " m"]
    link_damping: Float[Numbers, " m"]
    link_inertance: Float[Numbers, " m"]
    link_map: Float[Numbers, "m n"]
    mass: Float[Numbers, "n n"]
    damping: Float[Numbers, "n n"]
    stiffness: Float[Numbers, "n n"]
    excess_stiffness: Float[Numbers, "n m"] | None
    excess_damping: Float[Numbers, "n m"] | None
    time: Float[Numbers, ""]
    length: Float[Numbers, ""]
    turns: tuple[bool, ...] = eqx.field(static=True)
    ends: tuple[str, str] = eqx.field(static=True)
    elastic: tuple[bool, bool] = eqx.field(static=True)

    @property
    def size(self) -> int:
        """The number of unknowns, 4 + m + n."""
        return 4 + sum(self.link_map.shape)


def dimensionless(system: BeamWithBodies) -> Dimensionless:
    """Return a beam with bodies in units of the beam's length, mass and stiffness."""
    beam = system.beam
    length, stiffness = beam.length, beam.bending_stiffness
    left, right = beam.ends
    time = length**2 * jnp.sqrt(beam.mass_per_length / stiffness)
    scales = (stiffness / length**3, stiffness / length)
    # a slope is a displacement over l, a moment a force times l
    lever = jnp.where(np.array(system.turns, bool), length, 1.0)
    link = lever**-2 * length**3 / stiffness
    body = length**3 / stiffness
    damping, stiff = system.link_damping, system.link_stiffness

    def excess(coupling, of_links, unit):
        if coupling is None:
            return None
        return (coupling - system.link_map.T * of_links) * unit / lever

    return Dimensionless(
        conditions=(
            left.conditions(scales, 1),
            right.conditions(scales, -1),
        ),
        positions=system.positions / length,
        link_stiffness=stiff * link,
        link_damping=damping * link / time,
        link_inertance=system.link_inertance * link / time**2,
        link_map=system.link_map * lever[:, None],
        mass=system.mass * body / time**2,
        damping=system.damping * body / time,
        stiffness=system.stiffness * body,
        excess_stiffness=excess(system.coupling_stiffness, stiff, body),
        excess_damping=excess(system.coupling_damping, damping, body / time),
        time=time,
        length=length,
        turns=system.turns,
        ends=(bare_end(left), bare_end(right)),
        elastic=(isinstance(left, ElasticSupport), isinstance(right, ElasticSupport)),
    )


class Waves(eqx.Module):
    """The waves of a beam at one wave number: beta, gamma, and which basis is used."""

    beta: Complex[Array, ""]
    gamma: Complex[Array, ""]
    quartic: Complex[Array, ""]
    near_zero: Array

    def log_wronskian(self) -> Complex[Array, ""]:
        """Return log w, by which f differs from the determinant."""
        beta, gamma = self.beta, self.gamma
        waves = jnp.log(-16 * beta**4) + jnp.log(beta) + jnp.log(gamma) + gamma - beta
        return jnp.where(self.near_zero, 0.0, waves)

    def basis(self, x) -> list[Complex[Array, "*points 4"]]:
        """Return the four waves at points in [0, 1], and their first three derivatives."""
        exponents = jnp.stack([-self.beta, self.gamma])
        decays = jnp.exp(jnp.stack([x, 1 - x], axis=-1)[..., None, :] * exponents[:, None])
        decays = decays.reshape(*x.shape, 4)
        rates = jnp.stack([-self.beta, self.beta, self.gamma, -self.gamma])
        krylov = _krylov(self.quartic, x, range(4))
        derivatives = []
        for order in range(4):
            wrapped = [self.quartic * k for k in krylov[4 - order :]]
            series = jnp.stack(wrapped + krylov[: 4 - order], axis=-1)
            derivatives.append(jnp.where(self.near_zero, series, decays))
            decays = decays * rates
        return derivatives

    def green(self, distance, number: int) -> list[Complex[Array, "*points"]]:
        """Return g and its first derivatives, `number` in all, at distances x - a >= 0.

        g is the response to a unit force: its fourth derivative + lambda^2 g = delta.
        It is even; its odd derivatives change sign with x - a.
        """
        beta, gamma = self.beta, self.gamma
        first = -jnp.exp(-beta * distance) / (4 * beta**3)
        second = jnp.exp(gamma * distance) * (gamma / (4 * beta**4))
        krylov = _krylov(self.quartic, distance, range(4 - min(number, 4), 4))[::-1]
        krylov = krylov + [self.quartic * k for k in krylov[: number - 4]]
        derivatives = []
        for series in krylov[:number]:
            waves = first + second
            derivatives.append(jnp.where(self.near_zero, 0.5 * series, waves))
            first, second = -beta * first, gamma * second
        return derivatives


def waves_at(eigenvalue: Complex[Array, ""]) -> Waves:
    """Return the waves at a dimensionless eigenvalue with Im >= 0."""
    near_zero = jnp.abs(eigenvalue) < _SERIES_BELOW**2
    # both branches are evaluated: the one not taken gets a harmless value
    beta = jnp.sqrt(-1j * jnp.where(near_zero, 1j * _SERIES_BELOW**2, eigenvalue))
    gamma = jnp.where(beta.imag >= 0, 1j, -1j) * beta
    return Waves(beta, gamma, jnp.where(near_zero, -(eigenvalue**2), 0.0), near_zero)


def _krylov(quartic, x, indices) -> list[Complex[Array, "*points"]]:
    """Return Krylov functions, K_j(x) = sum_n beta^(4 n) x^(4 n + j) / (4 n + j)!."""
    step = quartic * x**4
    functions = []
    for j in indices:
        total = 1.0 / math.factorial(4 * (_TERMS - 1) + j)
        for n in reversed(range(_TERMS - 1)):
            total = 1.0 / math.factorial(4 * n + j) + step * total
        functions.append(total * x**j)
    return functions


def matrix(system: Dimensionless, eigenvalue: Complex[Array, ""]) -> Complex[Array, "N N"]:
    """Return M(lambda), size 4 + m + n, at a dimensionless lambda with Im >= 0."""
    links, bodies = system.link_map.shape
    at_ends, at_links = _waves_and_forces(waves_at(eigenvalue), system)
    ends = [
        sum(conditions[:, k, None] * derivative for k, derivative in enumerate(at_end))
        for conditions, at_end in zip(system.conditions, at_ends, strict=True)
    ]
    link = system.link_stiffness + eigenvalue * (
        system.link_damping + eigenvalue * system.link_inertance
    )
    body = system.stiffness + eigenvalue * (system.damping + eigenvalue * system.mass)
    balance = np.concatenate([np.zeros((links, 4)), np.eye(links)], axis=1)
    of_links = link[:, None] * at_links + balance
    of_bodies = jnp.concatenate([jnp.zeros((bodies, 4)), system.link_map.T], axis=1) + 0j
    # only what the coupling has beyond D^T diag(q): forces of stiff links then meet
    # the bodies without cancellation
    excess = None if system.excess_stiffness is None else system.excess_stiffness + 0j
    if system.excess_damping is not None:
        damping = eigenvalue * system.excess_damping
        excess = damping if excess is None else excess + damping
    if excess is not None:
        of_bodies = of_bodies - excess @ at_links
        body = body + excess @ system.link_map
    motions = jnp.concatenate(
        [jnp.zeros((4, bodies)), -link[:, None] * system.link_map, body]
    )
    forces = jnp.concatenate([*ends, of_links, of_bodies])
    return jnp.concatenate([forces, motions], axis=1)


def _waves_and_forces(waves: Waves, system: Dimensionless):
    """Return what waves and unit link forces give at the ends and at the links.

    Four derivatives, V to V''', of shape (4 + m,) at each end, and what each link
    holds, (m, 4 + m).
    """
    positions, turns = system.positions, np.array(system.turns, bool)
    at_ends = [waves.basis(jnp.asarray(x)) for x in (0.0, 1.0)]
    if not len(turns):
        return at_ends, jnp.zeros((0, 4))
    apart = positions[:, None] - positions
    # a load at an end acts just inside it, so the left end is on its left
    for end, (distance, side) in enumerate([(positions, -1.0), (1 - positions, 1.0)]):
        by_force = waves.green(distance, 4 + any(turns))
        for order in range(4):
            column = side**order * by_force[order]
            if any(turns):
                moment = -(side ** (order + 1)) * by_force[order + 1]
                column = jnp.where(turns, moment, column)
            at_ends[end][order] = jnp.concatenate([at_ends[end][order], column])
    values, slopes = waves.basis(positions)[:2]
    between = waves.green(jnp.abs(apart), 3 if any(turns) else 1)
    if not any(turns):
        return at_ends, jnp.concatenate([values, between[0]], axis=1)
    side = jnp.where(apart < 0, -1.0, 1.0)
    rows, columns = turns[:, None], turns[None, :]
    # a moment is a dipole of forces: minus the derivative with respect to its place
    slope = jnp.where(rows, side * between[1], -side * between[1])
    both = jnp.where(rows & columns, -between[2], between[0])
    at_links = jnp.where(rows, slopes, values)
    return at_ends, jnp.concatenate(
        [at_links, jnp.where(rows ^ columns, slope, both)], axis=1
    )


def equilibrated(m: Complex[Array, "N N"]):
    """Return m with rows and columns scaled to maxima of 1, and both scales."""
    magnitude = jax.lax.stop_gradient(jnp.abs(m.real) + jnp.abs(m.imag))
    rows = _inverse(jnp.max(magnitude, axis=1, keepdims=True))
    columns = _inverse(jnp.max(magnitude * rows, axis=0, keepdims=True))
    return m * rows * columns, rows[:, 0], columns[0]


def _inverse(size):
    """Return 1 / size, and 1 for a row or column of zeros."""
    return jnp.where(size > 0, 1.0 / jnp.where(size > 0, size, 1.0), 1.0)


class Probe(eqx.Module):
    """What is known of the characteristic function at one eigenvalue.

    arg f, f'/f, the equilibrated M and its derivative in lambda, and M's column scales.
    """

    phase: Numbers
    rate: Numbers
    matrix: Numbers
    slope: Numbers
    columns: Numbers


def probe(system: Dimensionless, eigenvalue: Complex[Array, ""]) -> Probe:
    """Return what is known of the characteristic function at any eigenvalue.

    Values below the real axis are mirrored; `matrix` and `slope` are those above it.
    """
    mirrored = eigenvalue.imag < 0
    upper = jnp.where(mirrored, jnp.conj(eigenvalue), eigenvalue)
    one = jnp.ones_like(upper)
    plain, change = jax.jvp(lambda s: matrix(system, s), (upper,), (one,))
    scaled, rows, columns = equilibrated(plain)
    change = change * rows[:, None] * columns
    log_wronskian, rate = jax.jvp(lambda s: waves_at(s).log_wronskian(), (upper,), (one,))
    factors, _, permutation = jax.lax.linalg.lu(scaled)
    solved = jax.lax.linalg.triangular_solve(
        factors, change[permutation], left_side=True, lower=True, unit_diagonal=True
    )
    solved = jax.lax.linalg.triangular_solve(factors, solved, left_side=True, lower=False)
    swaps = _odd(permutation)
    phase = jnp.sum(jnp.angle(jnp.diagonal(factors))) + jnp.pi * swaps - log_wronskian.imag
    rate = jnp.trace(solved) - rate
    phase = jnp.where(mirrored, -phase, phase)
    rate = jnp.where(mirrored, jnp.conj(rate), rate)
    return Probe(phase, rate, scaled, change, columns)


def phase_and_rate(system: Dimensionless, eigenvalue: Complex[Array, ""]):
    """Return arg f and f'/f at any dimensionless eigenvalue."""
    found = probe(system, eigenvalue)
    return found.phase, found.rate


def _odd(permutation):
    """Return 1 for an odd permutation and 0 for an even one."""
    i, j = np.triu_indices(permutation.shape[0], 1)
    return jnp.sum(permutation[i] > permutation[j]) % 2
