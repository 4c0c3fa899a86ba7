"""Orbits of many samples from guesses: Newton's method by itself, and then its evidence."""

import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..ensemble import compile_ahead, map_samples
from ..kernels.library import library_kernel
from .evidence import evidence_factor
from .periodic_orbit import PeriodicOrbit, orbit_of_shot
from .settings import SettlingSettings
from .settling import GRAZING
from .shooting import scales, shoot


class OrbitFinder:
    """Newton's method for many samples of one structure, compiled beside other work.

    The iteration is a kernel where one can be printed. Eigenvalues and condition numbers
    of its orbits, which no kernel has, come from a small program of XLA's without a flow.

    **Fields:** `static`: what the samples' systems share; `one`: leaves and a state of one
    of them; `how`: whose `engine` "auto" takes whatever follows single motions;
    `quick`: whether "auto" may go by events, which it does where that is a kernel.
    """

    def __init__(self, static, one, how: SettlingSettings, quick: bool):
        (leaves, state), chunk, engine = one, how.chunk, how.engine
        rtol, factor = how.rtol, evidence_factor(how.evidence)
        self._run = functools.partial(map_samples, chunk=chunk)
        self._settings = float(rtol), float(factor)
        settings = np.asarray(1, np.int32), np.asarray(rtol), np.asarray(factor)
        lane = (leaves, np.asarray(state), *settings)
        by_events = _shot_stage(static, "event")
        go = engine == "event" or (quick and not by_events.why_not(lane))
        steps = "diffrax" if engine == "diffrax" else "auto"
        self._shots = by_events if go else _shot_stage(static, steps)
        self._evidence = _evidence_stage(static)
        shot = self._shots.shapes(lane)
        compile_ahead(self._shots, lane, chunk=chunk)
        compile_ahead(self._evidence, (lane, shot), chunk=chunk)

    def find(self, leaves, guesses, periods: int) -> tuple[PeriodicOrbit, np.ndarray]:
        """Return orbits near guesses, one of a sample, and how far each is from there.

        The distance is relative to the motion's own scales.
        """
        number = len(guesses)
        settings = (np.full(number, value) for value in self._settings)
        lanes = leaves, guesses, np.full(number, periods, np.int32), *settings
        found, distance = self._run(self._evidence, (lanes, self._run(self._shots, lanes)))
        return found, np.asarray(distance)


@functools.lru_cache(maxsize=32)
def _shot_stage(static, engine):
    def stage(lane):
        leaves, state, periods, rtol, factor = lane
        system = eqx.combine(leaves, static)
        return shoot(system, state, periods, rtol, rtol * factor, GRAZING, engine)

    return library_kernel(stage, static, engine)


@functools.lru_cache(maxsize=32)
def _evidence_stage(static):
    def stage(lane):
        (leaves, state, periods, rtol, factor), shot = lane
        system = eqx.combine(leaves, static)
        orbit = orbit_of_shot(system, shot, periods, rtol * factor, factor < 1)
        return orbit, jnp.max(jnp.abs(orbit.state - state) / scales(system, state))

    return stage
