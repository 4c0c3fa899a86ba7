r"""Motions in phase resonance: their equations, amplitude and frequency.

A harmonic load $a \cos(\omega t + \varphi)$ does the largest work on a linear body where
it leads the body's displacement by a quarter period. Experiments with a phase-locked
loop keep this phase and change the amplitude: the frequencies that they find are the
backbone of a damped system. With the coordinate $y$ of a motion, the unknowns are a
state $s = a\,u\,z$ in units that grow with the amplitude, the frequency, and
$\lambda = \log a$:

$$\varphi^{2\pi/\omega}(s; \omega, a) = s, \qquad
  \int_0^{2\pi/\omega} y \cos(\omega t + \varphi)\, dt = 0.$$

The integral is a state of an element that exerts no force, and as accurate as the motion.

**Source:** Peeters, Kerschen and Golinval, *J. Sound and Vibration* 330 (2011) 486; Peter
and Leine, *Mech. Syst. Signal Process.* 96 (2017) 139.
"""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ... import linalg
from ...dynamics.flow import flow
from ...ensemble import TwoStageFunction
from ...foundation.arrays import combine_arrays
from ...foundation.types import Number
from ...kernels.calls.kernel_cache import cached_kernel
from ...orbits.periodic_orbit import PeriodicOrbit
from ...systems.impact import ImpactSystem
from ...systems.loads import HarmonicLoad, harmonic_of
from ...systems.states import StateElement, StateLaw
from .corrector import LaneData, system_of
from .point import orbit_at, shooting_at


class _FirstHarmonic(StateLaw):
    r"""A measurement: $\omega$ times the integrals of $y\cos(\omega t + \varphi)$ and sine.

    `frequency`, rad/s, and `phase`, rad, are those of the load.
    """

    frequency: Array
    phase: Array

    states, units = ("cosine", "sine"), ("m", "m")
    pulses = jumps = False

    def rate(self, states: Array, elongation: Array, speed: Array, time: Number) -> Array:
        """Return the rates of both integrals."""
        angle = self.frequency * time + self.phase
        both = jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        return self.frequency * elongation * both

    def force(self, states: Array, elongation: Array, speed: Array, time: Number) -> Array:
        """Return 0: it measures only."""
        return jnp.zeros_like(elongation)


def law_of(system: ImpactSystem) -> Any:
    """Return the law of the only load of a system."""
    (load,) = system.loads
    return getattr(load, "motion", None) or load.law


def wave_of(system: ImpactSystem) -> Any:
    """Return the harmonic load that this is, or None."""
    return harmonic_of(law_of(system))


def _driven(system: ImpactSystem, frequency: Array, amplitude: Array) -> ImpactSystem:
    """Return the system under a load of another frequency and amplitude."""
    return system.with_law(0, HarmonicLoad(amplitude, frequency, wave_of(system).phase))


@functools.lru_cache(maxsize=32)
def resonance_residual(along: tuple[float, ...]):
    """Return the function to the returns of states and the cosine of the phase."""

    def residual(system, data: LaneData, anchor: Array, x: Array) -> Array:
        system, state, units = _place(system, data, x)
        law, size = law_of(system), len(state)
        seen = _FirstHarmonic(law.frequency, law.phase)
        element = StateElement(jnp.asarray(along), seen)
        # The states of elements are in their order.
        system = dataclasses.replace(system, elements=(*system.elements, element))
        begun = jnp.append(state, jnp.zeros(2))
        final = flow(system, begun, 0.0, law.period(), rtol=data.tight)
        cosine, sine = final[size:]
        return jnp.append(final[:size] / units - x[:-2], cosine / jnp.hypot(cosine, sine))

    return residual


def _place(system, data: LaneData, x: Array) -> tuple[ImpactSystem, Array, Array]:
    """Return the system and the state at scaled unknowns, and the state's units."""
    amplitude = jnp.exp(x[-1] * data.units[-1])
    units = data.units[:-2] * amplitude
    return _driven(system, x[-2] * data.units[-2], amplitude), x[:-2] * units, units


@functools.lru_cache(maxsize=32)
def resonance_equations(along: tuple[float, ...]):
    """Return the function of the equations, see `corrector.system_corrector`."""
    residual = resonance_residual(along)

    def equations(system, path: str, data: LaneData, anchor: Array, x: Array):
        def both(x):
            rest = residual(system, data, anchor, x)
            return rest, rest

        matrix, rest = jax.jacfwd(both, has_aux=True)(x)
        size = len(x) - 2
        return rest, matrix, (matrix[:size, :size] + jnp.eye(size), jnp.zeros(()))

    return equations


class Resonance(NamedTuple):
    """An orbit in phase resonance, and the error of its frequency, rad/s."""

    orbit: PeriodicOrbit
    frequency_error: Any


@functools.lru_cache(maxsize=32)
def resonance_evaluator(static: ImpactSystem, along: tuple[float, ...]) -> TwoStageFunction:
    """Return the function from a lane (data, x) to the amplitude and the motion."""
    equations = resonance_equations(along)

    def seen(lane):
        data, x = lane
        system = system_of(data, static)

        def step(rtol):
            rest, matrix, _ = equations(system, "", data._replace(tight=rtol), x, x)
            return linalg.inverse(matrix[:, :-1])[-1] @ rest

        # Sequential, so that the flow is compiled once.
        both = jnp.stack([data.setting, data.tight])
        moved = jax.lax.map(step, both)
        moved = jnp.abs(moved[0] - moved[1]) + jnp.abs(moved[1])
        error = jnp.where(data.tight < data.setting, moved * data.units[-2], jnp.nan)
        driven, state, _ = _place(system, data, x)
        periods = jnp.asarray(1, jnp.int32)
        shooting = shooting_at(driven, state, periods, data.setting, data.tight)
        return jnp.exp(x[-1] * data.units[-1]), error, state, shooting

    def finish(lanes, found):
        data, (value, error, state, shooting) = lanes[0], found
        one = jax.tree.map(lambda leaf: leaf[0], data.leaves)
        settings = np.ones(len(value), np.int32), data.setting, data.tight
        orbit = orbit_at(combine_arrays(one, static), state, shooting, *settings)
        return value, Resonance(orbit, error)

    return TwoStageFunction(cached_kernel(seen, static, along), finish)
