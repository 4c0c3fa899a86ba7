"""Orbits of many samples from guesses: Newton's method by itself, and then its evidence."""

import functools

import equinox as eqx
import jax
import numpy as np

from .._arrays import library_of, on_host
from ..ensemble import InParts, compile_ahead, map_samples
from .evidence import evidence_factor
from .motion_kernels import shot_kernel
from .orbit import PeriodicOrbit, orbit_of_shot
from .settings import SettlingSettings


class OrbitFinder:
    """Newton's method for many samples of one structure, compiled beside other work.

    The iteration is a kernel where one can be printed. Eigenvalues and condition numbers
    of its orbits, which no kernel has, are numpy's for a `few` samples, and come from a
    small program of XLA's without a flow for more of them.

    **Fields:** `static`: what the samples' systems share; `one`: leaves and a state of one
    of them; `how`: whose `engine` "auto" takes whatever follows single motions;
    `quick`: whether "auto" may go by events, which it does where that is a kernel.
    """

    def __init__(self, static, one, how: SettlingSettings, quick: bool, few: bool):
        (leaves, state), chunk, engine = one, how.chunk, how.engine
        rtol, factor = how.rtol, evidence_factor(how.evidence)
        self._run = functools.partial(map_samples, chunk=chunk)
        self._settings = float(rtol), float(factor)
        settings = np.asarray(1, np.int32), np.asarray(rtol), np.asarray(factor)
        lane = (leaves, np.asarray(state), *settings)
        by_events = shot_kernel(static, "event")
        go = engine == "event" or (quick and not by_events.why_not(lane))
        steps = "diffrax" if engine == "diffrax" else "auto"
        self._shots = by_events if go else shot_kernel(static, steps)
        compile_ahead(self._shots, lane, chunk=chunk)
        if few and not self._shots.why_not(lane):
            finished = InParts(self._shots, functools.partial(_evidence_of_all, static))
            self._find = functools.partial(self._run, finished)
        else:
            evidence = _evidence_stage(static)
            compile_ahead(evidence, (lane, self._shots.shapes(lane)), chunk=chunk)
            self._find = lambda lanes: self._run(
                evidence, (lanes, self._run(self._shots, lanes))
            )

    def find(self, leaves, guesses, periods: int) -> tuple[PeriodicOrbit, np.ndarray]:
        """Return orbits near guesses, one of a sample, and how far each is from there.

        The distance is relative to the motion's own scales.
        """
        number = len(guesses)
        settings = (np.full(number, value) for value in self._settings)
        lanes = leaves, guesses, np.full(number, periods, np.int32), *settings
        found, distance = self._find(lanes)
        return found, np.asarray(distance)


@functools.lru_cache(maxsize=32)
def _evidence_stage(static):
    return lambda lane: _evidence(eqx.combine(lane[0][0], static), *lane)


def _evidence_of_all(static, lanes, found):
    """Return the orbits of what many shots found, and how far each is from its guess."""
    one = jax.tree.map(lambda leaf: leaf[0], lanes[0])
    return _evidence(eqx.combine(one, static), lanes, found)


def _evidence(system, lane, found):
    """Return the orbit of what a shot found, and how far it is from the guess."""
    _, state, periods, rtol, factor = lane
    orbit = orbit_of_shot(system, *found, periods, rtol * factor, factor < 1)
    xp = library_of(lane, found)
    far = xp.abs(on_host(orbit.state) - state) / found[1].start_units
    return orbit, xp.max(far, axis=-1)
