"""Phase resonance of damped systems: where a load leads a coordinate by a quarter period.

See `equations.resonance_equations`.
"""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads submodules lazily
from jaxtyping import Array, Float, Real

from ..foundation.arrays import one_lane, partition_arrays, require_concrete, to_jax
from ..foundation.command.progress import Report
from ..foundation.environment import require_float64
from ..foundation.quantity import Range, check_number, check_range, result_field
from ..orbits.periodic_orbit import PeriodicOrbit
from ..systems.base.freedoms import direction
from ..systems.impact import ImpactSystem, is_hard
from ..systems.loads import HarmonicLoad
from .equations.corrector import solved_near, system_corrector
from .equations.resonance_equations import (
    Resonance,
    law_of,
    resonance_equations,
    resonance_evaluator,
    resonance_residual,
    wave_of,
)
from .nonlinear_modes import (
    AbstractBackbone,
    checked_mode,
    open_at_rest,
    scaled_data,
    traced_family,
)
from .results.bifurcation_results import FieldBifurcation, found_bifurcation
from .tracing.problem import BranchProblem
from .tracing.settings import USUAL, ContinuationSettings
from .tracing.test_functions import OF_MULTIPLIERS, LocatedZero, real_one
from .tracing.tracer import axis_of

# The motion is nearly linear where the first step of Newton's method from the linear one
# is shorter; amplitudes are divided by this factor, at most so often, to find one.
_LINEAR, _LESS, _DIVISIONS = 1e-3, 4.0, 40
# A linear system is followed over this ratio of amplitudes.
_RANGE = 100.0
# Frequencies at which the phase of the linear response is computed, from half of that of
# the mode to its double.
_FREQUENCIES = 4000
# Damping ratios below are rounding.
_DAMPED = 1e-12
# The least size of a state, of the largest, to which it is scaled.
_SMALL = 1e-3
# Where a multiplier passes 1 the response at a constant frequency has a fold.
_FOLD = real_one("fold", 1.0, lambda values: (values - 1) / (1 + np.abs(values)))


class PhaseResonance(AbstractBackbone):
    """Motions in phase resonance along the amplitude of their load, in their order.

    `orbits`: a `PeriodicOrbit` whose fields have a leading axis of points; `parameter`: the
    load amplitudes; `stable`: of the motions under a load of constant frequency, which the
    loop that holds the phase may stabilise. `bifurcations`: at a `"fold"` the response at a
    constant frequency has one there (multiplier 1), too.
    """

    noun, family = "motions in phase resonance", "phase resonance"

    orbits: PeriodicOrbit
    frequency: Float[Array, " points"] = result_field(
        "angular frequency of the load", "rad/s", ("point",)
    )
    frequency_error: Float[Array, " points"] = result_field(
        "error bar of the frequency", "rad/s", ("point",)
    )
    measured: tuple[float, ...] = eqx.field(static=True)
    bifurcations: tuple[FieldBifurcation, ...] = ()

    def frequency_at(
        self, system: ImpactSystem, amplitude: Real[Array, ""] | float
    ) -> Float[Array, ""]:
        """Return the resonance frequency at a load amplitude, of this system or a near one.

        As `NonlinearMode.frequency_at`, it can be differentiated by every parameter of the
        system and by the amplitude, and is NaN if no motion is found near the branch.
        """
        distance = jnp.abs(jnp.log(self.parameter) - jnp.log(amplitude))
        nearest = jnp.argmin(distance)
        state, frequency = self.orbits.state[nearest], self.frequency[nearest]
        leaves, static = partition_arrays(system)
        size = jnp.max(jnp.abs(state)) / self.parameter[nearest]
        units = jnp.append(jnp.full(len(state), size), jnp.stack([frequency, jnp.ones(())]))
        z = state / (size * self.parameter[nearest])
        level = jnp.log(jnp.asarray(amplitude, float))
        x = jnp.concatenate([z, jnp.stack([jnp.ones(()), level])])
        functions = resonance_equations(self.measured), resonance_residual(self.measured)
        given = leaves, scaled_data((), units, USUAL), x
        return solved_near(*functions, static, *given)[-1] * frequency


def phase_resonance(
    system: ImpactSystem,
    mode: int,
    amplitude: float,
    coordinate: str | int | Mapping[str, float],
    *,
    settings: ContinuationSettings = USUAL,
    progress: Report = None,
) -> PhaseResonance:
    r"""Return the motions in phase resonance with a mode, along the load's amplitude.

    The first harmonic of the load leads that of a coordinate by a quarter period (or lags
    behind it by one, where the coordinate moves against the load's point). The curve begins
    near the frequency of a linear mode, where motions are nearly linear, and is continued
    to larger amplitudes by pseudo-arclength continuation with the frequency as an
    additional unknown (`branches.phase_resonance`). It is what an experiment with a
    phase-locked loop measures; with little damping it is near `nonlinear_modes`.

    **Arguments:** `system`: with one load, or motion of its base, of the law
    `HarmonicLoad`, whose own amplitude and frequency are not used. `mode`: its position
    among `natural_modes`, from 0. `amplitude`: the largest, in the unit of the load's.
    `coordinate`: a degree of freedom, by name or position, or a mapping of names to
    coefficients. `settings`, `progress`: as for `continue_orbit`, with steps in the
    logarithm of the amplitude.

    **Raises:** `ValueError` for a system with other loads, dry friction, hard stops, a
    contact that touches at rest or whose force varies in time, a mode that does not exist,
    a rigid or unstable one, an unknown coordinate, one that the mode does not move, or an
    amplitude that is not positive; `RuntimeError` if no motion is found near the linear
    one.

    >>> cubic = jv.NonlinearSpring([1.0], jv.PolynomialLaw([0.0, 0.0, 1.0]))
    >>> linear = jv.LinearSystem([[1.0]], [[0.05]], [[1.0]])
    >>> load = jv.AppliedLoad([1.0], jv.HarmonicLoad(1.0, 1.0))
    >>> duffing = jv.ImpactSystem(linear, loads=[load], springs=[cubic])
    >>> backbone = jv.branches.phase_resonance(duffing, 0, 0.1, 0)
    >>> round(float(backbone.frequency_at(duffing, 0.05)), 4)
    1.2264
    """
    require_float64()
    require_concrete("phase_resonance", system)
    settings.refuse("phase_resonance", "segments", "events", "stop_at")
    check_number("amplitude", amplitude, "N", Range(above=0.0, below=np.inf))
    along = _checked_direction(system, coordinate)
    natural = float(checked_mode(system, mode).frequencies[mode])
    start, frequency = _linear_resonance(system, along, natural, mode)
    problem = ResonanceProblem(system, along, start, frequency, settings)
    high = float(np.log(amplitude))
    low = problem.linear_up_to(high)
    low = high - np.log(_RANGE) if low == high else low
    verb, ends = f"phase_resonance of linear mode {mode}", (low, float(amplitude))
    found = traced_family(verb, problem, [problem.linear(low)], ends, settings, progress)
    orbit = to_jax(found.solutions.orbit)
    error = to_jax(np.asarray(found.solutions.frequency_error))
    own = {"frequency": 2 * jnp.pi / orbit.period, "frequency_error": error}
    return PhaseResonance(orbits=orbit, measured=along, **own, **problem.fields(found))


def _checked_direction(system: ImpactSystem, coordinate: Any) -> tuple[float, ...]:
    """Return the direction of a coordinate; `ValueError` if no phase can be held."""
    allowed = "; allowed: an ImpactSystem with one HarmonicLoad and no dry friction"
    if len(system.loads) != 1:
        raise ValueError(f"phase_resonance: {len(system.loads)} loads{allowed}")
    if wave_of(system) is None:
        name = type(law_of(system)).__name__
        raise ValueError(f"phase_resonance: the load is a {name}{allowed}")
    if getattr(system.loads[0], "given", "") == "velocity":
        raise ValueError("phase_resonance: the load is given as the velocity of a base; "
                         "allowed: as its acceleration or displacement")  # fmt: skip
    if system.frictions:
        raise ValueError(f"phase_resonance: dry friction acts{allowed}")
    for place, contact in enumerate(system.contacts):
        if is_hard(contact):
            raise ValueError(f"contacts.{contact.name or place} is a hard stop; allowed: "
                             "contacts with a force")  # fmt: skip
    for name in ("contacts", "springs"):
        for place, part in enumerate(getattr(system, name)):
            if part.variation is not None:
                raise ValueError(f"{name}.{part.name or place} varies in time{allowed}")
    open_at_rest(system)
    names = system.freedom_names
    if isinstance(coordinate, int) and not isinstance(coordinate, bool):
        most = len(names) - 1
        check_range("coordinate", coordinate, "", Range(at_least=0, at_most=most))
        coordinate = names[coordinate]
    return tuple(np.asarray(direction(names, coordinate)).tolist())


@eqx.filter_jit
def _linear_parts(system: ImpactSystem, frequency: Array) -> tuple[Array, Array, Array]:
    """Return the Jacobian at rest and the effect of a unit load at both phases."""

    def rate(amplitude, phase, state):
        law = HarmonicLoad(jnp.asarray(amplitude), frequency, jnp.asarray(phase))
        return system.with_law(0, law).equation().vector_field(0.0, state)

    rest = system.rest()
    still = rate(0.0, 0.0, rest)
    matrix = jax.jacfwd(lambda state: rate(0.0, 0.0, state))(rest)
    return matrix, rate(1.0, 0.0, rest) - still, rate(1.0, np.pi / 2, rest) - still


def _response(system: ImpactSystem, frequency: float) -> np.ndarray:
    """Return the complex amplitudes of the states under a unit load, of the phase 0."""
    parts = map(np.asarray, _linear_parts(system, jnp.asarray(frequency)))
    matrix, cosine, sine = parts
    shifted = 1j * frequency * np.eye(len(matrix)) - matrix
    return np.linalg.solve(shifted, cosine - 1j * sine)


def _linear_resonance(system: ImpactSystem, along, natural: float, mode: int):
    """Return the linear state of unit load, at phase resonance, and its frequency."""

    def in_phase(frequency):
        found = _response(system, frequency)
        return float(np.asarray(along) @ found[: len(along)].real)

    frequencies = natural * np.geomspace(0.5, 2.0, _FREQUENCIES)
    matrix, cosine, sine = map(np.asarray, _linear_parts(system, jnp.asarray(natural)))
    values, vectors = np.linalg.eig(matrix)
    near = values[np.argmin(np.abs(values - 1j * natural))]
    if not near.real < -_DAMPED * natural:
        raise ValueError(f"mode = {mode} has no damping, and its phase jumps at resonance; "
                         "allowed: damped modes; nonlinear_modes")  # fmt: skip
    forces = np.linalg.solve(vectors, cosine - 1j * sine)
    row = np.asarray(along) @ vectors[: len(along)]
    seen = ((row * forces) / (1j * frequencies[:, None] - values)).sum(-1).real
    crossed = np.flatnonzero(seen[1:] * seen[:-1] <= 0)
    if not crossed.size:
        raise ValueError(f"coordinate: at no frequency near {natural:g} rad/s of mode "
                         f"{mode} does the load lead it by a quarter period; allowed: one "
                         "that the mode moves, with damping")  # fmt: skip
    nearest = crossed[np.argmin(np.abs(np.log(frequencies[crossed] / natural)))]
    # The sign is that of rounding if one of them is the root.
    ends = frequencies[[max(nearest - 1, 0), min(nearest + 2, _FREQUENCIES - 1)]]
    frequency = scipy.optimize.brentq(in_phase, *ends, xtol=1e-15 * natural)
    found = _response(system, frequency)
    turn = np.exp(1j * float(wave_of(system).phase))
    return (found * turn).real, frequency


class ResonanceProblem(BranchProblem):
    """Motions in phase resonance of one system, along the logarithm of the amplitude.

    `start`: the linear state under a unit load; `frequency`: that of its phase resonance.
    """

    unit = ""

    def __init__(self, system, along, start: np.ndarray, frequency: float, settings):
        leaves, static = partition_arrays(system)
        leaves = jax.tree.map(np.asarray, leaves)
        size = _response(system, frequency)
        units = np.append(_sizes(np.abs(size)), [frequency, 1.0])
        data = one_lane(scaled_data(leaves, units, settings))
        corrector = system_corrector(resonance_equations(along), static, "")
        super().__init__(static, "load amplitude", data, corrector,
                         resonance_evaluator(static, along))  # fmt: skip
        self.start = start
        (load,) = system.loads
        of_base = {"acceleration": "m/s^2", "displacement": "m"}
        of_load = "N m" if system.turned(load) else "N"
        self.unit = of_base.get(getattr(load, "given", ""), of_load)
        _, doubling, torus, _ = OF_MULTIPLIERS
        self.tests = _FOLD, doubling, torus

    def linear(self, level: float) -> np.ndarray:
        """Return the scaled unknowns of the linear motion at a logarithm of amplitudes."""
        return np.append(self.start / self.units[:-2], [1.0, level])

    def linear_up_to(self, level: float) -> float:
        """Return a logarithm of amplitudes at which the motion is nearly linear."""
        for _ in range(_DIVISIONS):
            x = self.linear(level)[None]
            found = self.correct_of(0, x, axis_of(x.size, -1)[None])
            if found.found[0] and found.miss[0] < _LINEAR:
                break
            level -= np.log(_LESS)
        return level

    def result(self, find: LocatedZero) -> FieldBifurcation:
        """Return a located bifurcation."""
        orbit = find.solution.orbit
        own = self.path, orbit.period, 2 * np.pi / orbit.period
        return found_bifurcation(find._replace(solution=orbit), "resonance", *own)

    def eigenvalues(self, solutions: Resonance) -> np.ndarray:
        """Return the Floquet multipliers."""
        return np.asarray(solutions.orbit.floquet_multipliers)


def _sizes(size: np.ndarray) -> np.ndarray:
    """Return scales of states: their sizes, those of small ones not too small."""
    halves = np.array_split(size, [len(size) // 2])
    return np.concatenate([np.maximum(half, _SMALL * half.max()) for half in halves])
