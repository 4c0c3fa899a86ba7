"""Nonlinear modes: families of periodic motions without loads and losses, along energy."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from ..dynamics.modal import modal_form
from ..ensemble import Reason
from ..ensemble.blas import one_blas_thread
from ..foundation.arrays import one_lane, partition_arrays, require_concrete, to_jax
from ..foundation.command.progress import Report, progress_reporter
from ..foundation.environment import require_float64
from ..foundation.quantity import Range, check_number, check_range
from ..modes.modal import NaturalModes, natural_modes
from ..systems.conservative import at_rest, total_energy, why_not_conservative
from ..systems.impact import ImpactSystem, is_hard
from .equations.corrector import (
    STEP_IN_TOLERANCES,
    LaneData,
    lane_corrector,
    solved_near,
    system_corrector,
)
from .equations.mode_equations import (
    FreeMotion,
    mode_evaluator,
    mode_map,
    mode_residual,
    motion_at,
)
from .results.bifurcation_results import FieldBifurcation, found_bifurcation
from .results.branch import AbstractBranch
from .results.check import BranchCheck
from .tracing.arclength import both_ways
from .tracing.problem import BranchProblem, lane_of
from .tracing.settings import USUAL, ContinuationSettings
from .tracing.test_functions import (
    OF_MULTIPLIERS,
    EvaluatedPoints,
    LocatedZero,
    complex_pair,
    off_circle,
    past_circle,
)
from .tracing.trace import Traced, trace
from .tracing.tracer import BranchPoint, Crossing, Limits, TracerContext, axis_of

# The linear mode is a start where it has its energy to this part, at both of its ends;
# energies are divided by this factor, at most so often, to find one.
_LINEAR, _LESS, _DIVISIONS = 1e-4, 4.0, 40
# Multipliers farther than this from the unit circle have left it. A pair that collides
# there leaves it as the root of the distance: an error of 1e-12 of the matrix is 1e-6.
_LEFT = 1e-5
# Frequencies are multiples within this part; parts of both modes, as angles, among which
# families are sought.
_EXACT, _ANGLES = 1e-6, 721
# Tolerances of large systems' matrices, times that of motions: of those of Newton's steps
# and of multipliers. 320 modes without damping take 40,000 steps at 1e-12, 2,000 at
# 1e-8, and 150 at 1e-6.
_OF_STEPS, _OF_MOTIONS = 1e4, 1e2
# Relative steps of the period beyond a grazing of a hard stop, tried in order, and the
# largest correction of the point there, in such steps.
_REACHES, _NEAR = (1e-3, 3e-3, 1e-2, 3e-2), 10.0


class AbstractBackbone(AbstractBranch):
    """Motions whose frequency changes along the branch: a backbone, or the like."""

    family: eqx.AbstractClassVar[str]

    def check(self, *_: Any, **__: Any) -> BranchCheck:
        """Raise `ValueError`: the system alone does not isolate these motions."""
        raise ValueError(f"check of a {self.family}; allowed: branches of other motions")

    def _details(self) -> str:
        frequencies = 2 * np.pi / np.asarray(self.orbits.period)
        least, most = np.nanmin(frequencies), np.nanmax(frequencies)
        return f"; frequencies {least:.6g} to {most:.6g} rad/s"


class NonlinearMode(AbstractBackbone):
    """Periodic motions without loads and losses along their energy, in their order.

    `orbits`: a `FreeMotion` whose fields have a leading axis of points; `parameter`: their
    energies, J; `stable`: 1 elliptic, 0 hyperbolic, -1 undecided. Among the `bifurcations`
    are `"krein"` points, at which two pairs of multipliers meet and leave the unit circle.
    """

    noun, verdict, family = "free motions", "elliptic", "nonlinear mode"

    orbits: FreeMotion
    bifurcations: tuple[FieldBifurcation, ...] = ()

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
        given = leaves, scaled_data((), units, USUAL), x
        period = solved_near(mode_map, mode_residual, static, *given)[-1] * units[-2]
        return 2 * jnp.pi / period


def nonlinear_modes(
    system: ImpactSystem,
    mode: int,
    energy: float,
    *,
    settings: ContinuationSettings = USUAL,
    progress: Report = None,
) -> NonlinearMode:
    r"""Return the family of periodic motions that grows out of a linear mode, along energy.

    The system has no loads and no damping: its motions keep their energy, kinetic and
    that stored in springs and contacts. Small ones of one frequency are those of a linear
    mode, or of several whose frequencies are multiples of its own. From where they
    cease to be linear they are continued to larger energies by
    pseudo-arclength continuation, also through the touching of elastic stops
    (`equations.mode_equations`). Their frequencies over the energy are the backbone of the
    mode. The two multipliers along the family are 1, and left out. The others are pairs
    on the unit circle (elliptic) or not (hyperbolic), and become so where they meet: at
    1, a `"fold"` or `"branch_point"`, at -1, a `"period_doubling"`, or elsewhere on the
    circle, a `"krein"` point. Beside a saddle, over which motions escape, families end
    where periods depend so much on the energy that they are known no more
    (`TOO_FEW_SEGMENTS`: a smaller `rtol` leads farther).

    **Arguments:** `mode`: its position among `natural_modes`, from 0. `energy`: the
    largest, J. `settings`, `progress`: as for `continue_orbit`, with steps in the
    logarithm of the energy.

    **Raises:** `ValueError` for a system with loads, damping, friction, hard stops with
    losses or contacts without an energy, a contact that touches at rest, a mode that does
    not exist, a rigid or unstable one, or an energy that is not positive, or up to which
    motions are linear, as below that of a stop; `RuntimeError` if no motion is found near
    the linear mode.

    **Source:** Kerschen, Peeters, Golinval and Vakakis, *Mech. Syst. Signal Process.* 23
    (2009) 170; Peeters et al., *ibid.* 195.

    >>> cubic = jv.NonlinearSpring([1.0], jv.PolynomialLaw([0.0, 0.0, 1.0]))
    >>> linear = jv.LinearSystem([[1.0]], [[0.0]], [[1.0]])
    >>> duffing = jv.ImpactSystem(linear, springs=[cubic])
    >>> backbone = jv.nonlinear_modes(duffing, 0, 1.0)
    >>> round(float(backbone.frequency_at(duffing, 0.75)), 6)
    1.317776
    """
    require_float64()
    require_concrete("nonlinear_modes", system)
    settings.refuse("nonlinear_modes", "segments", "events", "stop_at")
    check_number("energy", energy, "J", Range(above=0.0, below=np.inf))
    modes = checked_modes(system, mode)
    kind = ModeProblem if modal_form(system) is None else _LargeModeProblem
    problem = kind(system, float(modes.frequencies[mode]), settings)
    shape, high = np.asarray(modes.shapes[:, mode]), float(np.log(energy))
    low = problem.linear_up_to(shape, high)
    if low == high:
        raise ValueError(f"energy = {energy:g} J: motions of mode {mode} are linear up to "
                         "there; allowed: larger ones")  # fmt: skip
    starts = itertools.chain([problem.linear(shape, low)], problem.mixed(modes, mode, low))
    verb, ends = f"nonlinear_modes of linear mode {mode}", (low, float(energy))
    found = traced_family(verb, problem, starts, ends, settings, progress)
    return NonlinearMode(orbits=to_jax(found.solutions), **problem.fields(found))


def traced_family(
    verb: str, problem: BranchProblem, starts: Iterable, ends, settings, progress: Report
) -> Traced:
    """Return the family of the first of its linear starts near which a motion is found.

    `ends`: the logarithm of the parameter at the starts, and its largest value.
    """
    (low, most), high = ends, float(np.log(ends[1]))
    steps = settings.steps(high - low)
    exact = ((float(np.exp(low)), most),)
    limits = Limits(((low, high),), exact, **steps, most_points=settings.most_points)
    for start in starts:
        (pair,) = both_ways(problem, start[None], limits)
        if pair[0].code != Reason.DIVERGED:
            break
    else:
        raise RuntimeError(f"{verb}: no motion found near it")
    with progress_reporter(progress, None, verb.split()[0], "points") as report:
        return trace(problem, [pair], limits, report)[0]


def checked_modes(system: ImpactSystem, mode: int) -> NaturalModes:
    """Return the linear modes; `ValueError` if no family grows out of one."""
    if why := why_not_conservative(system):
        raise ValueError(
            f"nonlinear_modes: {why}; allowed: an ImpactSystem without loads and losses"
        )
    open_at_rest(system)
    return checked_mode(system, mode)


def open_at_rest(system: ImpactSystem) -> None:
    """Raise `ValueError` if a contact touches at rest."""
    depths = np.asarray(system.equation().penetrations(system.rest()))
    for place in np.flatnonzero(depths >= 0):
        raise ValueError(
            f"contacts.{system.contacts[place].name or place}.gap: the contact touches at "
            "rest, and no motion is linear; allowed: gaps that are open there"
        )


def checked_mode(system: ImpactSystem, mode: int) -> NaturalModes:
    """Return the linear modes; `ValueError` unless the given one is one that vibrates."""
    modes = natural_modes(at_rest(system) if system.springs else system)
    check_range("mode", mode, "", Range(at_least=0, at_most=len(modes.frequencies) - 1))
    frequency = float(modes.frequencies[mode])
    if not frequency > 0:
        what = "rigid: its frequency is 0" if frequency == 0 else "unstable"
        raise ValueError(f"mode = {mode} is {what}; allowed: modes that vibrate")
    return modes


@eqx.filter_jit
def _stored(system: ImpactSystem, path: Array) -> Array:
    """Return the energy of positions, (..., n), beyond that of small motions."""
    _, _, stiffness = at_rest(system).matrices()

    def beyond(position):
        state = jnp.append(position, jnp.zeros_like(position))
        return total_energy(system, state) - position @ stiffness @ position / 2

    return jax.vmap(jax.vmap(beyond))(path)


def _units(masses: Array, frequency: Array) -> Array:
    """Return the scales of the state of unit energy, of the period and the logarithm."""
    speeds = jnp.sqrt(2 / masses)
    ends = jnp.stack([2 * jnp.pi / frequency, jnp.ones(())])
    return jnp.concatenate([speeds / frequency, speeds, ends])


def scaled_data(leaves: Any, units: Any, settings: ContinuationSettings) -> LaneData:
    """Return the data of one branch whose unknowns have these scales."""
    rtol = np.asarray(settings.rtol)
    tight = rtol * settings.factor
    return LaneData(leaves, units, tight, tight * STEP_IN_TOLERANCES, tight, setting=rtol)


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

    unit = "J"

    def __init__(self, system: ImpactSystem, frequency: float, settings):
        leaves, static = partition_arrays(system)
        leaves = jax.tree.map(np.asarray, leaves)
        masses = jnp.diagonal(system.matrices()[0])
        units = np.asarray(_units(masses, jnp.asarray(frequency)))
        data = one_lane(scaled_data(leaves, units, settings))
        corrector = system_corrector(mode_map, static, "energy")
        super().__init__(static, "energy", data, corrector, mode_evaluator(static))
        self.resolution = float(settings.rtol)
        # A system of one degree of freedom has no multipliers across its family.
        fold, doubling, _, crossing = OF_MULTIPLIERS
        every = fold._replace(tolerance=np.inf), doubling, _KREIN, crossing
        self.tests = every if len(units) > 4 else ()
        self._system = system
        self._is_hard = [is_hard(contact) for contact in system.contacts]

    def linear(self, shape: np.ndarray, level: float) -> np.ndarray:
        """Return the scaled unknowns of the linear mode at a logarithm of its energy.

        The motion begins where all bodies rest, away from hard stops; between two of them
        it begins half way.
        """
        ends = [self._depths(np.append(end, 0 * end)) for end in (shape, 0 * shape)]
        toward = set(np.sign(ends[0] - ends[1]).tolist()) - {0.0}
        still, moving = (0.0, 1.0) if len(toward) > 1 else (-max(toward, default=-1.0), 0.0)
        return np.append(self._linear_state(still * shape, moving * shape), [1.0, level])

    def _depths(self, state: np.ndarray) -> np.ndarray:
        """Return the penetrations of hard stops."""
        depths = self._system.equation().penetrations(jnp.asarray(state))
        return np.asarray(depths)[self._is_hard]

    def _linear_state(self, still: np.ndarray, moving: np.ndarray) -> np.ndarray:
        frequency = 2 * np.pi / self.units[-2]
        # Zeros are positive.
        state = np.append(np.sqrt(2) * still / frequency, np.sqrt(2) * moving + 0.0)
        return state / self.units[:-2]

    def mixed(self, modes: NaturalModes, mode: int, level: float) -> Iterator[np.ndarray]:
        r"""Yield starts of families that begin with parts of another mode as well.

        Where its frequency is an exact multiple, motions in both modes of the energies
        $h \cos^2 \theta$ and $h \sin^2 \theta$ are periodic while they are linear. Those
        go on to larger energies whose mean energy of the nonlinear springs and contacts
        over a period is stationary along $\theta$.
        """
        frequencies, shapes = np.asarray(modes.frequencies), np.asarray(modes.shapes)
        ratios = frequencies / frequencies[mode]
        whole = (np.abs(ratios - np.round(ratios)) < _EXACT) & (np.round(ratios) > 0)
        angles = np.linspace(-np.pi / 2, np.pi / 2, _ANGLES)
        for other in np.flatnonzero(whole & (np.arange(len(ratios)) != mode)):
            parts = shapes[:, [mode, other]] / frequencies[[mode, other]]
            turns = np.outer([1, np.round(ratios[other])], 2 * np.pi * np.arange(64) / 64)
            mixes = np.stack([np.cos(angles), np.sin(angles)], axis=1)
            size = np.sqrt(2 * np.exp(level))
            path = size * np.einsum("ij,aj,jt->ati", parts, mixes, np.cos(turns))
            mean = np.asarray(_stored(self._system, jnp.asarray(path))).mean(-1)
            slopes = np.diff(mean)
            found = 1 + np.flatnonzero(slopes[1:] * slopes[:-1] < 0)
            for angle in sorted(angles[found], key=abs):
                still = parts @ [np.cos(angle), np.sin(angle)] * frequencies[mode]
                yield np.append(self._linear_state(still, 0 * still), [1.0, level])

    def linear_up_to(self, shape: np.ndarray, level: float) -> float:
        """Return a logarithm of energies below which motions are nearly linear."""
        energy, at_rest = eqx.filter_jit(total_energy), self._linear_state(shape, 0 * shape)
        for _ in range(_DIVISIONS):
            state = at_rest * self.units[:-2] * np.exp(level / 2)
            both = [float(energy(self._system, way * state)) for way in (1.0, -1.0)]
            far = any((self._depths(way * state) >= 0).any() for way in (1, -1))
            if not far and max(abs(each / np.exp(level) - 1) for each in both) < _LINEAR:
                break
            level -= np.log(_LESS)
        return level

    def context(self, branch: int, limits: Limits) -> TracerContext:
        """Return the shared context of the tracers, which pass grazings of hard stops."""
        context = super().context(branch, limits)
        return context._replace(crossing=self._beyond) if any(self._is_hard) else context

    def _beyond(self, here: BranchPoint, step: float, sure: bool) -> Crossing | None:
        r"""Return the point beyond a grazing, at which the branch turns abruptly.

        An impact shortens the period at once; the energy may grow or fall. One of a single
        body with the reach $(1 + \epsilon) g$ shortens it by $\sqrt{2 \epsilon} / \pi$.
        """
        if not sure:
            return None
        size = len(here.x)
        energy, period = axis_of(size, -1), axis_of(size, -2)
        for reach, impacts in itertools.product(_REACHES, (1, 2)):
            ahead = (np.pi * reach / impacts) ** 2
            guess = here.x + ahead * energy - reach * here.x * period
            found = jax.tree.map(np.asarray, self.correct_of(0, guess[None], period[None]))
            if found.found[0] and found.miss[0] < _NEAR * reach:
                tangent = -np.sign(found.tangent[0, -2]) * found.tangent[0]
                point = BranchPoint(found.x[0], tangent, float(found.miss[0]), jumped=True)
                return Crossing([point], None, reach)
        return None

    def result(self, find: LocatedZero) -> FieldBifurcation:
        """Return a located bifurcation."""
        period = find.solution.period
        return found_bifurcation(find, "cycle", self.path, period, 2 * np.pi / period)

    def unstable(self, eigenvalues: np.ndarray) -> np.ndarray:
        """Return the numbers of multipliers outside of the unit circle."""
        return (_left_circle(eigenvalues) > 0).sum(-1)


def _each(function: Callable, lanes: Any, chunk: int) -> Any:
    """Return what `map_samples` does, of a function that is compiled by itself."""
    number = len(jax.tree.leaves(lanes)[0])
    with one_blas_thread():
        found = [
            jax.tree.map(np.asarray, function(lane_of(lanes, k))) for k in range(number)
        ]
    return jax.tree.map(lambda *every: np.stack(every), *found)


class _LargeModeProblem(ModeProblem):
    """That of a system in modal form: one point after the other, by XLA.

    The multipliers of high modes pass each other many times from one point to the next:
    verdicts are those of the points, and no bifurcations are located between them.
    """

    mapped = staticmethod(_each)

    def __init__(self, system: ImpactSystem, frequency: float, settings):
        super().__init__(system, frequency, settings)
        self.data, self.tests = self.data._replace(leaves=()), ()
        corrector = lane_corrector(lambda *at: mode_map(system, "", *at, _OF_STEPS))
        self.corrector = jax.jit(corrector)
        self.evaluator = jax.jit(lambda lane: motion_at(system, *lane, _OF_MOTIONS))

    def seen(self, branch: int, points, solutions: FreeMotion) -> EvaluatedPoints:
        """Return what is known of points: the motions' own multipliers."""
        tangents = np.array([point.tangent[-1:] for point in points])
        return EvaluatedPoints(tangents, self.eigenvalues(solutions), lambda: solutions)
