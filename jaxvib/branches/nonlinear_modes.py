"""Nonlinear modes: families of periodic motions without loads and losses, along energy."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Real

from ..ensemble import Reason, reason
from ..foundation.arrays import one_lane, partition_arrays, require_concrete, to_jax
from ..foundation.environment import require_float64
from ..foundation.progress import Report, progress_reporter
from ..foundation.quantity import Range, check_ascending, check_range
from ..modes.modal import NaturalModes, natural_modes
from ..systems.conservative import total_energy, why_not_conservative
from ..systems.impact import ImpactSystem
from .arclength import both_ways, run_tracers
from .bifurcation_results import FieldBifurcation, found_bifurcation
from .branch import AbstractBranch
from .check import BranchCheck
from .corrector import LaneData
from .mode_equations import FreeMotion, frequency_near, mode_corrector, mode_evaluator
from .problem import BranchProblem
from .settings import USUAL, ContinuationSettings
from .test_functions import (
    OF_MULTIPLIERS,
    LocatedZero,
    complex_pair,
    off_circle,
    past_circle,
)
from .tracer import Limits
from .tracing import trace

# Newton's method has converged if a step is below this many tolerances.
_CLOSE = 30
# The linear mode is a start where it has its energy to this part, at both of its ends;
# energies are divided by this factor, at most so often, to find one.
_LINEAR, _LESS, _DIVISIONS = 1e-4, 4.0, 40
# Multipliers farther than this from the unit circle have left it. A pair that collides
# there leaves it as the root of the distance: an error of 1e-12 of the matrix is 1e-6.
_LEFT = 1e-5
# Settings that do not apply to these motions.
_NOT_OF_MODES = ("segments", "events", "stop_at")


class NonlinearMode(AbstractBranch):
    """Periodic motions without loads and losses along their energy, in their order.

    `orbits`: a `FreeMotion` whose fields have a leading axis of points; `parameter`: their
    energies, J; `stable`: 1 elliptic, 0 hyperbolic, -1 undecided. Among the `bifurcations`
    are `"krein"` points, at which two pairs of multipliers meet and leave the unit circle.

    >>> cubic = jv.NonlinearSpring([1.0], jv.PolynomialLaw([0.0, 0.0, 1.0]))
    >>> linear = jv.LinearSystem([[1.0]], [[0.0]], [[1.0]])
    >>> duffing = jv.ImpactSystem(linear, springs=[cubic])
    >>> family = jv.nonlinear_modes(duffing, 0, (0.01, 1.0))
    >>> family.frequencies[jnp.array([0, -1])].round(4).tolist()
    [1.0074, 1.3815]
    """

    noun, verdict = "free motions", "elliptic"

    orbits: FreeMotion
    bifurcations: tuple[FieldBifurcation, ...] = ()

    @property
    def energies(self) -> Float[Array, " points"]:
        """The energies, J."""
        return self.parameter

    @property
    def frequencies(self) -> Float[Array, " points"]:
        """The angular frequencies, rad/s."""
        return self.orbits.frequency

    @property
    def floquet_multipliers(self) -> Complex[Array, "points m"]:
        """The Floquet multipliers but the two along the family."""
        return self.orbits.floquet_multipliers

    @property
    def amplitudes(self) -> Float[Array, "points freedoms"]:
        """Half of highest minus lowest value."""
        return self.orbits.amplitude

    def frequency_at(
        self, system: ImpactSystem, energy: Real[Array, ""] | float
    ) -> Float[Array, ""]:
        """Return the angular frequency at an energy, J, of this system or one near it.

        Newton iteration begins at the motion of the branch with the nearest energy. The
        frequency can be differentiated by every parameter of the system, at that energy,
        and by the energy, by the implicit function theorem; it is NaN if no motion is
        found near that of the branch.
        """
        distance = jnp.abs(jnp.log(self.parameter) - jnp.log(energy))
        here = jax.tree.map(lambda leaf: leaf[jnp.argmin(distance)], self.orbits)
        leaves, static = partition_arrays(system)
        masses = jnp.diagonal(jax.lax.stop_gradient(system.matrices()[0]))
        units = _units(masses, here.frequency)
        z = here.state / (units[:-2] * jnp.sqrt(here.energy))
        level = jnp.log(jnp.asarray(energy, float))
        x = jnp.concatenate([z, jnp.stack([here.period / units[-2], level])])
        return frequency_near(static, leaves, _data((), units, USUAL), x)

    def check(self, *_: Any, **__: Any) -> BranchCheck:
        """Raise `ValueError`: orbits of one energy are not isolated by themselves."""
        raise ValueError("check of a nonlinear mode; allowed: branches of other motions")

    def _details(self) -> str:
        least, most = np.nanmin(self.frequencies), np.nanmax(self.frequencies)
        return f"; frequencies {least:.6g} to {most:.6g} rad/s"


def nonlinear_modes(
    system: ImpactSystem,
    mode: int,
    energies: tuple[float, float],
    *,
    settings: ContinuationSettings = USUAL,
    progress: Report = None,
) -> NonlinearMode:
    r"""Return the family of periodic motions that grows out of a linear mode, along energy.

    The system has no loads and no damping: its motions keep their energy, kinetic and
    that stored in springs and contacts. Small ones of one frequency are those of a linear
    mode. They are continued to larger energies by pseudo-arclength continuation, also
    through the touching of elastic stops (`branches.mode_equations`). Their frequencies
    over the energy are the backbone of the mode. The two multipliers along the family are
    1, and left out. The others are pairs on the unit circle (elliptic) or not
    (hyperbolic), and become so where they meet: at 1, a `"fold"` or `"branch_point"`, at
    -1, a `"period_doubling"`, or elsewhere on the circle, a `"krein"` point.

    **Arguments:** `mode`: its position among `natural_modes`, from 0. `energies`: the
    least and the largest, J. `settings`, `progress`: as for `continue_orbit`, with steps
    in the logarithm of the energy.

    **Raises:** `ValueError` for a system with loads, damping, friction, hard stops or laws
    without an energy, a contact that touches at rest, a mode that does not exist, a rigid
    or unstable one, or energies that are not positive and ascending; `RuntimeError` if
    the linear mode does not lead to a motion of the least energy.

    **Source:** Kerschen, Peeters, Golinval and Vakakis, *Mech. Syst. Signal Process.* 23
    (2009) 170; Peeters et al., *ibid.* 195.

    >>> cubic = jv.NonlinearSpring([1.0], jv.PolynomialLaw([0.0, 0.0, 1.0]))
    >>> linear = jv.LinearSystem([[1.0]], [[0.0]], [[1.0]])
    >>> duffing = jv.ImpactSystem(linear, springs=[cubic])
    >>> backbone = jv.nonlinear_modes(duffing, 0, (0.01, 1.0))
    >>> round(float(backbone.frequency_at(duffing, 0.75)), 6)
    1.31778
    """
    require_float64()
    require_concrete("nonlinear_modes", system)
    settings.refuse("nonlinear_modes", *_NOT_OF_MODES)
    _check(system)
    modes = natural_modes(system)
    _check_mode(modes, mode)
    check_range("energies", energies, "J", Range(above=0.0, below=np.inf))
    check_ascending("energies", energies, "J")
    problem = ModeProblem(system, float(modes.frequencies[mode]), settings)
    low, high = np.log(np.asarray(energies, float))
    shape = np.asarray(modes.shapes[:, mode])
    begun = min(float(low), problem.linear_up_to(shape, float(high)))
    x = problem.linear(shape, begun)
    with progress_reporter(progress, None, "nonlinear_modes", "points") as report:
        if begun < low:
            (pair,) = both_ways(problem, x[None], problem.limits(begun, low, settings))
            ((points, ends),) = run_tracers(problem, [pair], settings.most_points, report)
            x = points[-1].x
            if x[-1] != low:
                why = reason(np.asarray(ends[1]))
                raise RuntimeError(
                    f"nonlinear_modes: mode {mode} ends at {np.exp(x[-1]):g} J: {why}"
                )
        limits = problem.limits(low, high, settings)
        limits = limits._replace(exact=((float(energies[0]), float(energies[1])),))
        (pair,) = both_ways(problem, x[None], limits)
        if pair[0].code == Reason.DIVERGED:
            raise RuntimeError(f"nonlinear_modes: mode {mode} has no such motion of "
                               f"{energies[0]:g} J")  # fmt: skip
        (found,) = trace(problem, [pair], limits, report)
    return NonlinearMode(orbits=to_jax(found.solutions), **problem.fields(found))


def _check(system: Any) -> None:
    """Raise `ValueError` for a system without families that grow out of linear modes."""
    if why := why_not_conservative(system):
        raise ValueError(
            f"nonlinear_modes: {why}; allowed: an ImpactSystem without loads and losses"
        )
    if system.drift is not None:
        raise ValueError("nonlinear_modes of a drifting system; allowed: without a drift")
    depths = np.asarray(system.equation().penetrations(system.rest()))
    for place in np.flatnonzero(depths >= 0):
        contact = system.contacts[place]
        raise ValueError(
            f"contacts.{contact.name or place}.gap: the contact touches at rest, and no "
            "motion is linear; allowed: gaps that are open there"
        )


def _check_mode(modes: NaturalModes, mode: int) -> None:
    """Raise `ValueError` for a mode that does not vibrate."""
    most = len(modes.frequencies) - 1
    check_range("mode", mode, "", Range(at_least=0, at_most=most))
    frequency = float(modes.frequencies[mode])
    if not frequency > 0:
        what = "is a rigid mode, without a frequency"
        what = what if frequency == 0 else "is unstable: the stiffness is negative"
        raise ValueError(f"mode = {mode} {what}; allowed: modes that vibrate")


def _units(masses: Array, frequency: Array) -> Array:
    """Return the scales of the state of unit energy, of the period and the logarithm."""
    speeds = jnp.sqrt(2 / masses)
    ends = jnp.stack([2 * jnp.pi / frequency, jnp.ones(())])
    return jnp.concatenate([speeds / frequency, speeds, ends])


def _data(leaves: Any, units: Any, settings: ContinuationSettings) -> LaneData:
    rtol = np.asarray(settings.rtol)
    tight = rtol * settings.factor
    return LaneData(leaves, units, tight, tight * _CLOSE, tight, setting=rtol)


def _left_circle(multipliers: np.ndarray) -> np.ndarray:
    """Return how far multipliers are outside of the circle, beyond their own errors."""
    return past_circle(multipliers) - _LEFT


def _apart(multipliers: np.ndarray) -> np.ndarray:
    """Return the distances of multipliers from each other, 1 from the inverse of each."""
    values = multipliers[..., :, None]
    product = np.abs(values * multipliers[..., None, :] - 1)
    least = product.min(-1, keepdims=True)
    inverse = (product == least) | (product == np.swapaxes(least, -1, -2))
    sizes = 1 + np.abs(values) + np.abs(multipliers[..., None, :])
    apart = np.where(inverse, 1.0, np.abs(values - multipliers[..., None, :]) / sizes)
    first, second = np.triu_indices(multipliers.shape[-1], 1)
    return apart[..., first, second]


_KREIN = complex_pair("krein", _left_circle, off_circle, _apart)


class ModeProblem(BranchProblem):
    """Periodic motions of one conservative system, without those of other families.

    `frequency`: of the linear mode, rad/s, to which the unknowns are scaled.
    """

    def __init__(self, system: ImpactSystem, frequency: float, settings):
        leaves, static = partition_arrays(system)
        leaves = jax.tree.map(np.asarray, leaves)
        masses = jnp.diagonal(system.matrices()[0])
        units = np.asarray(_units(masses, jnp.asarray(frequency)))
        data = one_lane(_data(leaves, units, settings))
        functions = mode_corrector(static), mode_evaluator(static)
        super().__init__(static, "energy", data, *functions)
        self.resolution = float(settings.rtol)
        # A system of one degree of freedom has no multipliers across its family.
        fold, doubling, _, crossing = OF_MULTIPLIERS
        every = fold._replace(tolerance=np.inf), doubling, _KREIN, crossing
        self.tests = every if len(units) > 4 else ()
        self._system = system

    @property
    def unit(self) -> str:
        """The unit of the energy."""
        return "J"

    def limits(self, low: float, high: float, settings: ContinuationSettings) -> Limits:
        """Return the limits of a branch between two logarithms of energies."""
        bounds, steps = ((low, high),), settings.steps(float(high - low))
        return Limits(bounds, bounds, **steps, most_points=settings.most_points)

    def linear(self, shape: np.ndarray, level: float) -> np.ndarray:
        """Return the scaled unknowns of the linear mode at a logarithm of its energy."""
        size = len(shape)
        frequency = 2 * np.pi / self.units[-2]
        state = np.append(np.sqrt(2) * shape / frequency, np.zeros(size))
        return np.append(state / self.units[:-2], [1.0, level])

    def linear_up_to(self, shape: np.ndarray, level: float) -> float:
        """Return a logarithm of energies below which motions are nearly linear."""
        energy = eqx.filter_jit(total_energy)
        for _ in range(_DIVISIONS):
            state = self.linear(shape, level)[:-2] * self.units[:-2] * np.exp(level / 2)
            both = [float(energy(self._system, way * state)) for way in (1.0, -1.0)]
            if max(abs(each / np.exp(level) - 1) for each in both) < _LINEAR:
                break
            level -= np.log(_LESS)
        return level

    def result(self, find: LocatedZero) -> FieldBifurcation:
        """Return a located bifurcation."""
        period = find.solution.period
        return found_bifurcation(find, "cycle", self.path, period, 2 * np.pi / period)

    def unstable(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return the numbers of multipliers outside of the unit circle."""
        return (_left_circle(eigenvalues) > 0).sum(-1)
