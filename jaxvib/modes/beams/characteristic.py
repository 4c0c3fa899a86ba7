r"""The characteristic function of a beam with bodies: entire, scaled, differentiable.

Lengths are in units of the beam's length l, times in $l^2 \sqrt{k/b}$, masses in k l.
With $z = Z e^{\lambda t}$ and $u = V(x) e^{\lambda t}$ the unknowns are the
coefficients of four waves of the beam, the forces F of the m links and the motions Z of
the n bodies; they satisfy $M(\lambda)\,(c, F, Z) = 0$ with 4 rows for the ends, m for
the links and n for the bodies.

$V = \sum_k c_k \phi_k + \sum_i F_i g(x - a_i)$. With $\beta = \sqrt{-i \lambda}$ on
$\mathrm{Im} \lambda \ge 0$ (other values are mirrored) $\mathrm{Re} \beta \ge
|\mathrm{Im} \beta|$, and with $\gamma = \pm i \beta$ so that $\mathrm{Re} \gamma \le 0$
none of the waves $e^{-\beta x}, e^{-\beta (1 - x)}, e^{\gamma x}, e^{\gamma (1 - x)}$
grows. For $|\beta| < 2$, where these four nearly coincide, the waves are Krylov
functions by their Taylor series. $f = \det M / w$ with $w = -16 \beta^5 \gamma
e^{\gamma - \beta}$ for the waves and 1 for the series is one entire function, real on
the real axis: $\det M$ has no poles, since forces are separate unknowns, and w is the
Wronskian of the waves.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from ...foundation.arrays import is_concrete
from ...foundation.environment import require_float64
from ...systems.structures.beam import BeamWithBodies, ElasticSupport
from .bare_beam import bare_end

# |beta| below which the waves are series: above it, cancellation in sinh - sin etc.
# costs less than a digit.
_SERIES_BELOW = 2.0
Numbers = Array | np.ndarray  # NumPy on the host avoids compilation
_TERMS = 7  # of the series in beta^4: the next one is 2^28 / 28! = 9e-22 of the first


def mixing(function: Callable) -> Callable:
    """Allow mixed types (real, complex) and ranks in a function.

    Needed if JAX is configured to reject type and rank promotion.
    """

    @functools.wraps(function)
    def mixed(*arguments, **keywords):
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            return function(*arguments, **keywords)

    return mixed


class Dimensionless(eqx.Module):
    """A beam with bodies in dimensionless form; `time` is the unit of time, s."""

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
    """Return a beam with bodies in units of the beam's length, mass and stiffness.

    Concrete values stay NumPy arrays, so that a new size needs no compilation.
    """
    require_float64()
    traced = not is_concrete(system)
    system, xp = (system, jnp) if traced else (jax.tree.map(np.asarray, system), np)
    beam = system.beam
    length, stiffness = beam.length, beam.bending_stiffness
    left, right = beam.ends
    time = length**2 * xp.sqrt(beam.mass_per_length / stiffness)
    scales = (stiffness / length**3, stiffness / length)
    # units: slope = displacement / l, moment = force * l
    lever = xp.where(np.array(system.turns, bool), length, 1.0)
    link = lever**-2 * length**3 / stiffness
    body = length**3 / stiffness
    damping, stiff = system.link_damping, system.link_stiffness

    def excess(coupling, of_links, unit):
        if coupling is None:
            return None
        return (coupling - system.link_map.T * of_links) * unit / lever

    return Dimensionless(
        conditions=(
            xp.asarray(left.conditions(scales, 1)),
            xp.asarray(right.conditions(scales, -1)),
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
        time=xp.asarray(time),
        length=length,
        turns=system.turns,
        ends=(bare_end(left), bare_end(right)),
        elastic=(isinstance(left, ElasticSupport), isinstance(right, ElasticSupport)),
    )


class Reach(eqx.Module):
    """Two waves and the four Krylov functions at some distances d.

    `first` is e^{-beta d}, `second` e^{gamma d}; `krylov` has K_0 to K_3 at d.
    """

    first: Complex[Array, "*distances"]
    second: Complex[Array, "*distances"]
    krylov: tuple[Complex[Array, "*distances"], ...]

    def at(self, index: int | slice) -> "Reach":
        """Return the values at some of the distances."""
        return jax.tree.map(lambda whole: whole[index], self)


class Waves(eqx.Module):
    """The waves of a beam at one eigenvalue: beta, gamma, and the basis in use."""

    beta: Complex[Array, ""]
    gamma: Complex[Array, ""]
    quartic: Complex[Array, ""]
    near_zero: Array

    def log_wronskian(self) -> Complex[Array, ""]:
        """Return log w, with f = det M / w."""
        beta, gamma = self.beta, self.gamma
        waves = jnp.log(-16 * beta**4) + jnp.log(beta) + jnp.log(gamma) + gamma - beta
        return jnp.where(self.near_zero, 0.0, waves)

    def reach(self, distance: Float[Numbers, "*distances"]) -> Reach:
        r"""Return the waves and Krylov functions at distances d.

        $K_j(d) = \sum_n \beta^{4 n} d^{4 n + j} / (4 n + j)!$ with seven terms.
        """
        powers = [jnp.ones_like(self.quartic)]
        for _ in range(_TERMS - 1):
            powers.append(powers[-1] * self.quartic)
        # real and independent of the eigenvalue
        terms = [
            [distance ** (4 * n + j) * (1 / math.factorial(4 * n + j))
             for n in range(_TERMS)] for j in range(4)
        ]  # fmt: skip

        def half(_, given):
            rate, pair = given
            krylov = [
                jax.lax.complex(
                    sum(p.real * each[n] for n, p in enumerate(powers)),
                    sum(p.imag * each[n] for n, p in enumerate(powers)),
                )
                for each in pair
            ]
            return None, (jnp.exp(rate * distance), *krylov)

        # a scan prevents XLA from fusing this into its many consumers, which would
        # recompute sines and cosines for each matrix entry
        stacked = jnp.stack([jnp.stack(each) for each in terms])
        given = (
            jnp.stack([-self.beta, self.gamma]),
            stacked.reshape(2, 2, *stacked.shape[1:]),
        )
        _, (waves, even, odd) = jax.lax.scan(half, None, given)
        return Reach(waves[0], waves[1], (even[0], odd[0], even[1], odd[1]))

    def basis(self, near: Reach, far: Reach) -> list[Complex[Array, "*points 4"]]:
        """Return the four waves at points, and their first three derivatives.

        **Arguments:** the reach of x and of 1 - x.
        """
        waves = jnp.stack([near.first, far.first, near.second, far.second], axis=-1)
        derivatives = []
        for order in range(4):
            series = jnp.stack(self._slopes(near.krylov, order), axis=-1)
            derivatives.append(jnp.where(self.near_zero, series, waves))
            waves = waves * self.rates()
        return derivatives

    def green(self, over: Reach, number: int) -> list[Complex[Array, "*points"]]:
        """Return g and its first `number` - 1 derivatives at distances x - a >= 0.

        g is the response to a unit force: g'''' + lambda^2 g = delta. It is even; its
        odd derivatives change sign with x - a.
        """
        first, second = self._falling(over)
        derivatives = []
        for order in range(number):
            series = 0.5 * self._slopes(over.krylov, order)[3]
            derivatives.append(jnp.where(self.near_zero, series, first + second))
            first, second = -self.beta * first, self.gamma * second
        return derivatives

    def at_end(
        self,
        conditions: Numbers,
        side: int,
        near: Reach,
        far: Reach,
        over: Reach,
        turns: np.ndarray,
    ) -> Array:
        """Return the matrix rows of an end's conditions, for waves and link forces.

        **Arguments:** `conditions` (2, 4) on V to V'''; `side`: -1 at the left end, 1 at
        the right one; the reach of x, of 1 - x and of the distances to the links;
        `turns`: which links give moments. **Returns:** (2, 4 + m).
        """
        rates = self.rates()
        # a derivative multiplies a wave by its rate, so conditions are polynomials
        weights: Any = sum(conditions[:, k, None] * rates**k for k in range(4))
        waves = jnp.stack([near.first, far.first, near.second, far.second])
        first, second = self._falling(over)
        own = (0, 2) if side > 0 else (1, 3)
        if any(turns):
            first, second = (
                jnp.where(turns, -rates[i] * each, each)
                for i, each in zip(own, (first, second), strict=True)
            )
        forces = weights[:, own[0], None] * first + weights[:, own[1], None] * second
        series = []
        for k in range(4):
            of_forces = side**k * 0.5 * self._slopes(over.krylov, k)[3]
            if any(turns):
                of_moments = -(side ** (k + 1)) * 0.5 * self._slopes(over.krylov, k + 1)[3]
                of_forces = jnp.where(turns, of_moments, of_forces)
            of_waves = jnp.stack(self._slopes(near.krylov, k))
            each = jnp.concatenate([of_waves, of_forces])
            series.append(conditions[:, k, None] * each)
        falling = jnp.concatenate([weights * waves, forces], axis=1)
        return jnp.where(self.near_zero, sum(series), falling)

    def rates(self) -> Complex[Array, " 4"]:
        """Return the factor by which differentiation multiplies each wave."""
        return jnp.stack([-self.beta, self.beta, self.gamma, -self.gamma])

    def _falling(self, over: Reach):
        """Return the two wave parts of g, for |beta| above the series' range."""
        first = over.first * (-1 / (4 * self.beta**3))
        return first, over.second * (self.gamma / (4 * self.beta**4))

    def _slopes(self, krylov, order: int):
        """Return the derivatives of K_0 to K_3 of the given order."""
        return [
            krylov[j - order] if j >= order else self.quartic * krylov[j - order]
            for j in range(4)
        ]


def waves_at(eigenvalue: Complex[Array, ""]) -> Waves:
    """Return the waves at a dimensionless eigenvalue with Im >= 0."""
    near_zero = jnp.abs(eigenvalue) < _SERIES_BELOW**2
    # both branches are evaluated: the unused one gets a harmless value
    beta = jnp.sqrt(-1j * jnp.where(near_zero, 1j * _SERIES_BELOW**2, eigenvalue))
    gamma = jnp.where(beta.imag >= 0, 1j, -1j) * beta
    return Waves(beta, gamma, jnp.where(near_zero, -(eigenvalue**2), 0.0), near_zero)


def matrix(system: Dimensionless, eigenvalue: Complex[Array, ""]) -> Complex[Array, "N N"]:
    """Return M(lambda), size 4 + m + n, at a dimensionless lambda with Im >= 0."""
    links, bodies = system.link_map.shape
    ends, at_links = _waves_and_forces(waves_at(eigenvalue), system)
    link = system.link_stiffness + eigenvalue * (
        system.link_damping + eigenvalue * system.link_inertance
    )
    body = system.stiffness + eigenvalue * (system.damping + eigenvalue * system.mass)
    balance = np.concatenate([np.zeros((links, 4)), np.eye(links)], axis=1)
    of_links = link[:, None] * at_links + balance
    of_bodies = jnp.concatenate([jnp.zeros((bodies, 4)), system.link_map.T], axis=1) + 0j
    # only the coupling in excess of D^T diag(q), which avoids cancellation of the
    # forces of stiff links
    excess = None if system.excess_stiffness is None else system.excess_stiffness + 0j
    if system.excess_damping is not None:
        damping = eigenvalue * system.excess_damping
        excess = damping if excess is None else excess + damping
    if excess is not None:
        # it acts on the link's stretch; for a stiff link the stretch is expressed as
        # force over stiffness, a row operation that leaves the determinant unchanged
        stiff = jnp.abs(link) > 1
        by_force = jnp.where(stiff, excess / jnp.where(stiff, link, 1.0), 0.0)
        by_stretch = jnp.where(stiff, 0.0, excess)
        of_bodies = of_bodies + by_force @ balance - by_stretch @ at_links
        body = body + by_stretch @ system.link_map
    motions = jnp.concatenate(
        [jnp.zeros((4, bodies)), -link[:, None] * system.link_map, body]
    )
    forces = jnp.concatenate([*ends, of_links, of_bodies])
    return jnp.concatenate([forces, motions], axis=1)


def _waves_and_forces(waves: Waves, system: Dimensionless):
    """Return the contributions of waves and unit link forces at the ends and links.

    The conditions of each end, (2, 4 + m), and the beam's motion at the links, (m, 4 +
    m).
    """
    positions, turns = system.positions, np.array(system.turns, bool)
    links = len(turns)
    i, j = np.triu_indices(links, 1)
    pairs = jnp.abs(positions[i] - positions[j])
    # all distances: 0 and 1, from the ends to the links, between links
    reach = waves.reach(jnp.concatenate([np.arange(2.0), positions, 1 - positions, pairs]))
    none, full = reach.at(0), reach.at(1)
    left, right = (reach.at(slice(2 + s, 2 + s + links)) for s in (0, links))
    # a load at an end acts just inside it: the left end is to the left of the load
    at_ends = [
        waves.at_end(system.conditions[0], -1, none, full, left, turns),
        waves.at_end(system.conditions[1], 1, full, none, right, turns),
    ]
    if not links:
        return at_ends, jnp.zeros((0, 4))
    values, slopes = waves.basis(left, right)[:2]
    number = np.zeros((links, links), int)
    number[i, j] = number[j, i] = 2 + 2 * links + np.arange(len(i))
    between = waves.green(reach, 3 if any(turns) else 1)
    between = [each[number] for each in between]
    if not any(turns):
        return at_ends, jnp.concatenate([values, between[0]], axis=1)
    side = jnp.where(positions[:, None] < positions, -1.0, 1.0)
    rows, columns = turns[:, None], turns[None, :]
    # a moment is a force dipole: minus the derivative with respect to its position
    slope = jnp.where(rows, side * between[1], -side * between[1])
    both = jnp.where(rows & columns, -between[2], between[0])
    at_links = jnp.where(rows, slopes, values)
    return at_ends, jnp.concatenate(
        [at_links, jnp.where(rows ^ columns, slope, both)], axis=1
    )


def equilibrated(m: Complex[Array, "N N"]) -> tuple[Array, Array, Array]:
    """Return m with rows and columns scaled to maxima of 1, and both scalings."""
    rows = _row_scales(m)
    magnitude = _magnitudes(m) * rows[:, None]
    columns = _inverse(jnp.max(magnitude, axis=0))
    return m * rows[:, None] * columns, rows, columns


def _magnitudes(m):
    return jax.lax.stop_gradient(jnp.abs(m.real) + jnp.abs(m.imag))


def _row_scales(m):
    return _inverse(jnp.max(_magnitudes(m), axis=1))


def _inverse(size):
    """Return 1 / size, or 1 for a row or column of zeros."""
    return jnp.where(size > 0, 1.0 / jnp.where(size > 0, size, 1.0), 1.0)


class Probe(eqx.Module):
    """The characteristic function evaluated at one lambda.

    arg f, f'/f, the equilibrated M and its derivative in lambda, and M's column scales.
    """

    phase: Numbers
    rate: Numbers
    matrix: Numbers
    slope: Numbers
    columns: Numbers


def probe(system: Dimensionless, eigenvalue: Complex[Array, ""]) -> Probe:
    """Evaluate the characteristic function at any dimensionless lambda.

    Values below the real axis are mirrored; `matrix` and `slope` are those above it.
    """
    upper, plain, change = _with_slope(system, eigenvalue)
    scaled, rows, columns = equilibrated(plain)
    change = change * rows[:, None] * columns
    phase, rate = _eliminated(upper, scaled, change, eigenvalue.imag < 0)
    return Probe(phase, rate, scaled, change, columns)


def phase_and_rate(
    system: Dimensionless, eigenvalue: Complex[Array, ""]
) -> tuple[Array, Array]:
    """Return arg f and f'/f at any dimensionless lambda."""
    upper, plain, change = _with_slope(system, eigenvalue)
    # column scaling does not affect pivoting
    rows = _row_scales(plain)[:, None]
    return _eliminated(upper, plain * rows, change * rows, eigenvalue.imag < 0)


def _with_slope(system: Dimensionless, eigenvalue):
    """Return lambda mirrored to the upper half plane, M and its derivative there."""
    upper = jnp.where(eigenvalue.imag < 0, jnp.conj(eigenvalue), eigenvalue)
    one = jnp.ones_like(upper)
    return upper, *jax.jvp(lambda value: matrix(system, value), (upper,), (one,))


def _eliminated(upper, scaled, change, mirrored):
    """Return arg f and f'/f from M with scaled rows and its derivative."""
    log_wronskian, rate = jax.jvp(
        lambda value: waves_at(value).log_wronskian(), (upper,), (jnp.ones_like(upper),)
    )
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
    return phase, rate


def _odd(permutation):
    """Return 1 for an odd permutation and 0 for an even one."""
    i, j = np.triu_indices(permutation.shape[0], 1)
    return jnp.sum(permutation[i] > permutation[j]) % 2
