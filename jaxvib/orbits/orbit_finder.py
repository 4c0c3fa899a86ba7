"""Batched Newton shooting with error estimates."""

import functools

import numpy as np
from jaxtyping import PyTree

from ..dynamics.engines import engine_for
from ..dynamics.engines.choice import MODAL
from ..dynamics.modal import ModalForm
from ..ensemble import TwoStageFunction, compile_ahead, map_samples
from ..systems.drift import modulo_drift
from .error_estimates import error_factor
from .motion_kernels import shooting_kernel
from .orbit import PeriodicOrbit, orbit_from_shooting
from .settings import SettlingSettings


class OrbitFinder:
    """Newton shooting for many samples of one structure, compiled in the background.

    The iteration is a kernel if it can be lowered. Eigenvalues and condition numbers of
    its orbits are computed by NumPy.

    **Arguments:** `system`: one of theirs; `static`: the part that they share; `one`:
    leaves and a state of one of them; `how`: settings, whose `engine` "auto" selects as
    for single motions; `quick`: whether "auto" may be event-driven, if that is a kernel.
    """

    def __init__(self, system, static, one, how: SettlingSettings, quick: bool):
        (leaves, state), chunk = one, how.chunk
        rtol, factor = how.rtol, error_factor(how.evidence)
        self._run = functools.partial(map_samples, chunk=chunk)
        self._settings = float(rtol), float(factor)
        settings = np.asarray(1, np.int32), np.asarray(rtol), np.asarray(factor)
        lane = (leaves, np.asarray(state), *settings)
        by_events = functools.partial(
            shooting_kernel(static, "event").unsupported_reason, lane
        )
        engine = MODAL
        if not isinstance(static, ModalForm):
            engine, _ = engine_for(system, how.engine, 1, by_events if quick else None)
        self._shots = shooting_kernel(static, engine)
        compile_ahead(self._shots, lane, chunk=chunk)
        self._find = TwoStageFunction(self._shots, functools.partial(_evidence, system))

    def find(
        self, leaves: PyTree, guesses: np.ndarray, periods: np.ndarray
    ) -> tuple[PeriodicOrbit, np.ndarray]:
        """Return orbits near guesses, one per sample, and their distances from them.

        The distance is relative to the motion's own scales.
        """
        number = len(guesses)
        settings = (np.full(number, value) for value in self._settings)
        lanes = leaves, guesses, np.asarray(periods, np.int32), *settings
        return self._run(self._find, lanes)


def _evidence(system, lanes, found):
    """Return the orbits of shooting results, and their distances from the guesses."""
    _, guesses, periods, rtol, factor = lanes
    orbits = orbit_from_shooting(system, *found, periods, rtol * factor, factor < 1)
    far = modulo_drift(system, orbits.state, guesses) - guesses
    far = np.abs(far) / found[1].start_units
    return orbits, np.max(far, axis=-1)
