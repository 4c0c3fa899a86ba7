r"""The highest peaks of a frequency response in a band, with derivatives.

The response $h(\omega) = q^T (C - \omega^2 M + i \omega D)^{-1} r$ varies over the
distance to its nearest pole: the grid of frequencies has steps in proportion to it. The
highest value on the grid is exceeded between frequencies at which
$h(s) h(-s) = \gamma^2$, eigenvalues of a Hamiltonian matrix [1, 2]; these and the points
midway between them join the grid. A peak lies where the slope of $|h|^2$ turns from
positive to negative, or at an end of the band towards which it rises.

**Sources:** [1] Boyd, Balakrishnan, *Systems & Control Letters* 15 (1990) 1. [2]
Bruinsma, Steinbuch, *Systems & Control Letters* 14 (1990) 287.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Complex, Float

from ... import linalg
from ...modes.frequency_response import Place, direction_of
from ...systems.base.roles import Linear
from ...systems.linear_part import linear_part_alone

_STEPS = 64  # from a pole to an end of the band: each 0.15 to 0.5 of the distance to it
_PARTS, _ROUNDS = 16, 2  # of a step with a peak: the highest of close ones is kept
_ITERATIONS = 60  # of Newton's method or halvings: these need 52 to rounding
# Of the width of a peak: the last step of Newton's method, after which the error is its
# square, and the largest that corrects a height.
_SMALL_STEP, _CORRECTS = 1e-8, 1e-3
_NARROW = 1e-14  # of the band: least decay that a pole counts with
# Relative error by rounding from which on a peak has no finite height, and difference to
# the sum over the modes from which on it has not been located.
_UNBOUNDED, _ASTRAY = 1e-2, 0.05


def response_peaks(
    system: Linear, force: Place, at: Place, low: float, high: float, count: int
) -> Float[Array, " count"]:
    """Return the peaks of `peaks_measure`, highest first."""
    linear = linear_part_alone(system)
    matrices = linear.matrices()
    size = matrices[0].shape[0]
    places = direction_of(linear, force, size), direction_of(linear, at, size)
    band = jnp.asarray(low, float), jnp.asarray(high, float)
    return _highest(_Response(*matrices, *places), *band, count)


class _Response(NamedTuple):
    """The response at one place to a force at another."""

    mass: Float[Array, "n n"]
    damping: Float[Array, "n n"]
    stiffness: Float[Array, "n n"]
    push: Float[Array, " n"]
    pick: Float[Array, " n"]

    def dynamic(self, frequency):
        """Return the matrix of real and imaginary parts of the displacements."""
        inphase = self.stiffness - frequency**2 * self.mass
        across = frequency * self.damping
        return jnp.block([[inphase, -across], [across, inphase]])

    def near(self, frequency):
        """Return |h|^2 as a function near a frequency, and two effects of rounding.

        These are the error of |h| and the relative one of the displacements. By the
        inverse of the matrix there, corrected by residuals: right to rounding there, and
        to the second order in changes of frequency and system.
        """
        frozen = jax.lax.stop_gradient(self)
        matrix = frozen.dynamic(frequency)
        inverse = linalg.inverse(matrix)
        right = jnp.concatenate([frozen.push, jnp.zeros_like(frozen.push)])
        left = block_diag(frozen.pick, frozen.pick)
        back = left @ inverse
        back = back + (left - back @ matrix) @ inverse
        first = inverse @ right
        first = first + inverse @ (right - matrix @ first)

        def square(frequency):
            dynamic = self.dynamic(frequency)
            both = first + inverse @ (right - dynamic @ first)
            return jnp.sum((left @ both + back @ (right - dynamic @ both)) ** 2)

        sizes = jax.tree.map(jnp.abs, frozen)
        terms = sizes._replace(mass=-sizes.mass).dynamic(frequency)
        terms = jnp.finfo(float).eps * jnp.abs(terms)
        spread = jnp.max(jnp.abs(inverse)) * jnp.sum(sizes.push) * jnp.sum(sizes.pick)
        error = jnp.max(jnp.abs(back) @ terms @ jnp.abs(first))
        error = error + jnp.finfo(float).eps * spread
        return square, error, jnp.max(jnp.sum(jnp.abs(inverse) @ terms, axis=1))


class _Modal(NamedTuple):
    r"""The response as a sum over modes, $h = \sum_j r_j / (1 - \nu_j (s/\sigma - 1))$.

    $\nu$ are the eigenvalues of $\sigma (S - \sigma E)^{-1} E$ for the first-order form
    $E \dot z = S z$: masses may be zero, $\nu$ is 0 then. Poles near $\sigma$ are the
    most exact.
    """

    factors: Complex[Array, " two_n"]
    residues: Complex[Array, " two_n"]
    scale: Float[Array, ""]

    @property
    def poles(self) -> Complex[Array, " two_n"]:
        """The poles; infinite or NaN where a mass is zero."""
        return _from_factors(self.factors, self.scale)

    def square(self, frequency):
        """Return |h|^2, its slope and its second derivative."""
        each = 1 / (1 - self.factors * jax.lax.complex(-1.0, frequency / self.scale))
        first = self.factors * each * jax.lax.complex(0.0, 1 / self.scale)
        value = jnp.sum(self.residues * each)
        slope = jnp.sum(self.residues * each * first)
        bend = 2 * jnp.sum(self.residues * each * first**2)
        back = jnp.conj(value)
        both = jnp.abs(slope) ** 2 + (back * bend).real
        return jnp.abs(value) ** 2, 2 * (back * slope).real, 2 * both

    def narrowed(self, begin, end):
        """Return a part of a step in which it has its highest peak."""
        for _ in range(_ROUNDS):
            parts = jnp.linspace(begin, end, _PARTS + 1)
            values, slopes, _ = jax.vmap(self.square)(parts)
            best = jnp.argmax(values)
            best = jnp.clip(jnp.where(slopes[best] > 0, best, best - 1), 0, _PARTS - 1)
            begin, end = parts[best], parts[best + 1]
        return begin, end, values[best]


def _modal(response: _Response, scale) -> _Modal:
    mass, damping, stiffness, push, pick = response
    inverse, matrix = _shifted(mass, damping, stiffness, scale)
    system = linalg.eigensystem(matrix)
    factors, right, left = (jax.lax.complex(*part) for part in system)
    size = push.shape[0]
    pushed = (inverse @ push).astype(factors.dtype)
    residues = (pick.astype(factors.dtype) @ right[:size]) * (
        (left[:, :size] + left[:, size:]) @ pushed
    )
    return _Modal(factors, residues, scale)


def _shifted(mass, damping, stiffness, scale):
    r"""Return $(C + \sigma D + \sigma^2 M)^{-1}$ and the matrix of `_Modal`."""
    one = jnp.eye(mass.shape[0])
    heavy = scale**2 * mass
    inverse = linalg.inverse(stiffness + scale * damping + heavy)
    first, second = -inverse @ (heavy + scale * damping), -inverse @ heavy
    return inverse, jnp.block([[first, second], [one + first, second]])


def _from_factors(factors, scale):
    return (1 + 1 / factors) * scale.astype(factors.dtype)


@functools.partial(jax.jit, static_argnames="count")
def _highest(response: _Response, low, high, count) -> Float[Array, " count"]:
    frozen = jax.lax.stop_gradient(response)
    modal = _modal(frozen, high)
    begins, ends, peaked = _rises(frozen, modal, low, high)
    inside = begins < ends
    begins, ends, guesses = jax.vmap(modal.narrowed)(begins, ends)
    order = jnp.argsort(jnp.where(peaked, -guesses, jnp.inf))
    order = jnp.where(jnp.arange(len(order)) < jnp.sum(peaked), order, order[0])
    order = order[jnp.minimum(jnp.arange(count), len(order) - 1)]
    # As much wider as the modes may be wrong.
    wide = jnp.where(inside, ends - begins + 1e-12 * high, 0.0)
    begins, ends = jnp.maximum(begins - wide, low), jnp.minimum(ends + wide, high)
    tops = jax.vmap(lambda *ends: _top(frozen, *ends))(begins[order], ends[order])
    measured = jax.vmap(lambda *place: _height(response, *place))
    return measured(tops, inside[order], guesses[order])


def _rises(response: _Response, modal: _Modal, low, high):
    """Return begins and ends of steps of the band, and whether the response peaks there.

    Those with the highest ends come first, as many as it can have peaks. Of a peak at an
    end of the band both are equal.
    """
    graded = _graded(modal.poles, low, high)
    values, _, _ = jax.vmap(modal.square)(graded)
    level = jnp.sqrt(jnp.max(jnp.nan_to_num(values, posinf=0.0)))
    crossed = _crossings(response, level, low, high)
    midway = (crossed[1:] + crossed[:-1]) / 2
    points = jnp.sort(jnp.concatenate([graded, crossed, midway]))
    points = jnp.pad(points, 1, mode="edge")
    values, slopes, bends = jax.vmap(modal.square)(points)
    # At rest the slope is 0: the curvature tells where it goes.
    rising = jnp.where(points > 0, slopes, bends) > 0
    turns = rising.at[0].set(True)[:-1] & ~rising.at[-1].set(False)[1:]
    begins, ends = points[:-1], points[1:]
    higher = jnp.maximum(values[:-1], values[1:])
    order = jnp.argsort(jnp.where(turns, -jnp.nan_to_num(higher, nan=jnp.inf), jnp.inf))
    order = order[: 2 * len(response.push) + 1]
    return begins[order], ends[order], turns[order]


def _graded(poles, low, high) -> Float[Array, " points"]:
    """Return frequencies from `low` to `high`, denser towards each pole."""
    decay = jnp.maximum(jnp.abs(poles.real), _NARROW * high)
    place = jnp.abs(poles.imag)
    # From one pole of a pair upwards, from the other downwards.
    end = jnp.where(poles.imag < 0, low, high)
    reach = jnp.linspace(0.0, jnp.arcsinh((end - place) / decay), _STEPS)
    points = place[None] + decay[None] * jnp.sinh(reach)
    return jnp.concatenate([jnp.stack([low, high]), _within(points.reshape(-1), low, high)])


def _crossings(response: _Response, level, low, high) -> Float[Array, " points"]:
    """Return frequencies, among which are all at which |h| has a value."""
    mass, damping, stiffness, push, pick = response
    across = -jnp.outer(push, push) / level, -jnp.outer(pick, pick) / level
    both = jnp.block([[stiffness, across[0]], [across[1], stiffness.T]])
    heavy, damped = block_diag(mass, mass.T), block_diag(damping, -damping.T)
    _, matrix = _shifted(heavy, damped, both, high)
    values = _from_factors(linalg.eigenvalues(matrix), high)
    return jnp.sort(_within(jnp.abs(values.imag), low, high))


def _within(points, low, high):
    return jnp.clip(jnp.where(jnp.isfinite(points), points, high), low, high)


def _with_bend(function, here):
    """Return a function's value, slope and second derivative."""

    def with_slope(here):
        return jax.jvp(function, (here,), (jnp.ones_like(here),))

    (value, slope), (_, bend) = jax.jvp(with_slope, (here,), (jnp.ones_like(here),))
    return value, slope, bend


def _top(response: _Response, begin, end) -> Float[Array, ""]:
    """Return the frequency of the peak of a part, by Newton's method and halvings."""

    def unsettled(state):
        number, begin, end, _, settled = state
        wide = end - begin > 4 * jnp.finfo(float).eps * end
        return (number < _ITERATIONS) & wide & ~settled

    def step(state):
        number, begin, end, here, _ = state
        value, slope, bend = _with_bend(response.near(here)[0], here)
        begin, end = jnp.where(slope > 0, here, begin), jnp.where(slope > 0, end, here)
        new = here - slope / bend
        valid = (bend < 0) & (begin <= new) & (new <= end)
        settled = valid & (jnp.abs(new - here) <= _SMALL_STEP * jnp.sqrt(-value / bend))
        return number + 1, begin, end, jnp.where(valid, new, (begin + end) / 2), settled

    state = (0, begin, end, (begin + end) / 2, False)
    return jax.lax.while_loop(unsettled, step, state)[3]


def _height(response: _Response, frequency, inside, guess) -> Float[Array, ""]:
    r"""Return |h| at a peak, infinite without damping.

    The frequency $\omega_0$ is rounded, which at light damping is felt in derivatives:
    $|h|^2$ at the peak is $f - f'^2 / (2 f'')$, with all taken at $\omega_0$. First and
    second derivatives by the system are those of a peak that moves.
    """
    square, error, rounding = response.near(frequency)
    value, slope, bend = _with_bend(square, frequency)
    bend = jax.lax.stop_gradient(bend)
    moves = inside & (bend < 0) & (jnp.abs(slope) <= _CORRECTS * jnp.sqrt(-bend * value))
    value = value - jnp.where(moves, slope**2 / (2 * jnp.where(moves, bend, -1.0)), 0.0)
    known = jnp.all(jnp.isfinite(jnp.stack(jax.lax.stop_gradient(response[:3]))))
    apart = jnp.abs(jnp.sqrt(jax.lax.stop_gradient(value)) - jnp.sqrt(guess))
    located = apart <= _ASTRAY * jnp.sqrt(guess) + error / _UNBOUNDED
    height = jnp.where(located, jnp.sqrt(value), jnp.nan)
    return jnp.where(~known | (rounding < _UNBOUNDED), height, jnp.inf)
