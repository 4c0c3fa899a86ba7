"""Motions of linear bodies with linear stops, with a closed form for each flight.

Uses neither jaxvib nor JAX. For every set of closed stops the system is linear: M q'' +
D q' + (C + sum k n n^T) q = f cos(w t) r + sum k g n, whose motion from a state is its
steady-state response plus decaying modes. Steps are short compared with the fastest
mode; if a gap changes its sign in a step, or has an extremum within it, the step ends
at the root, found to rounding. Tables by numpy, steps by `piecewise.c`, which `cc`
builds.
"""

import ctypes
import functools
import itertools
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import scipy.linalg

_PER_TURN = 12  # steps in the fastest period of the modes, and of the load


def unsupported_reason() -> str:
    """Return why no motion can be followed here; "" if it can."""
    return "" if shutil.which("cc") else "there is no C compiler (cc)"


@functools.cache
def _library():
    source = Path(__file__).with_suffix(".c")
    built = Path(tempfile.mkdtemp()) / "piecewise.so"
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(built), str(source), "-lm"]
    subprocess.run(command, check=True)
    section = ctypes.CDLL(str(built)).section
    section.restype = ctypes.c_long
    pointer = ctypes.c_void_p
    section.argtypes = [ctypes.c_int] * 4 + [pointer] * 14
    return section


class Piecewise:
    """Systems side by side: matrices (s, n, n), stops (s, c, n), gaps and springs (s, c).

    The load: its amplitude along each freedom (s, n), and its frequency (s,).
    """

    def __init__(self, mass, damping, stiffness, stops, gaps, springs, load, frequency):
        number, size = load.shape
        count = gaps.shape[1]
        shape = number, 2**count
        self.size, self.count = 2 * size, count
        self.stops, self.gaps = np.ascontiguousarray(stops), np.ascontiguousarray(gaps)
        self.frequency, self.period = frequency.copy(), 2 * np.pi / frequency
        self.values = np.empty((*shape, 2 * size), complex)
        self.vectors = np.empty((*shape, 2 * size, 2 * size), complex)
        self.inverses = np.empty_like(self.vectors)
        self.swing = np.empty((*shape, 2 * size), complex)
        self.rest = np.empty((*shape, 2 * size))
        self.step, self.whole = np.empty(shape), np.empty((*shape, 2 * size, 2 * size))
        inverse = np.linalg.inv(mass)
        w = frequency[:, None, None]
        for touched in itertools.product((0, 1), repeat=count):
            place = int(np.dot(2 ** np.arange(count), touched))
            pressed = springs * np.array(touched)
            stiff = stiffness + np.einsum("sc,sci,scj->sij", pressed, stops, stops)
            push = np.einsum("sc,sci->si", pressed * gaps, stops)
            matrix = np.zeros((number, 2 * size, 2 * size))
            matrix[:, :size, size:] = np.eye(size)
            matrix[:, size:, :size] = -inverse @ stiff
            matrix[:, size:, size:] = -inverse @ damping
            values, vectors = np.linalg.eig(matrix)
            self.values[:, place], self.vectors[:, place] = values, vectors
            self.inverses[:, place] = np.linalg.inv(vectors)
            dynamic = stiff - w**2 * mass + 1j * w * damping
            response = np.linalg.solve(dynamic, load[:, :, None] + 0j)[:, :, 0]
            rate = 1j * frequency[:, None] * response
            self.swing[:, place] = np.concatenate([response, rate], axis=1)
            still = np.linalg.solve(stiff, push[:, :, None])[:, :, 0]
            self.rest[:, place] = np.concatenate([still, np.zeros_like(still)], axis=1)
            fastest = np.maximum(np.abs(values).max(axis=1), frequency)
            self.step[:, place] = 2 * np.pi / fastest / _PER_TURN
            steps = matrix * self.step[:, place, None, None]
            self.whole[:, place] = scipy.linalg.expm(steps)

    def section(self, states, periods, lanes) -> np.ndarray:
        """Return the states (lanes, periods, 2n) at the end of each of some periods.

        `states`: of these lanes at t = 0. NaN of a motion that takes too many steps.
        """
        tables = (
            self.period, self.frequency, self.stops, self.gaps, self.step, self.whole,
            self.rest, self.values, self.vectors, self.inverses, self.swing,
        )  # fmt: skip
        fixed = [table.ctypes.data for table in tables]
        found = np.full((len(lanes), periods, self.size), np.nan)
        run = _library()

        def one(row: int) -> None:
            state, lane = np.array(states[row], float), int(lanes[row])
            depth = self.stops[lane] @ state[: self.size // 2] - self.gaps[lane]
            place = np.array([np.dot(2 ** np.arange(self.count), depth > 0)], np.int32)
            out = np.empty((periods, self.size))
            ends = state.ctypes.data, place.ctypes.data, out.ctypes.data
            if run(lane, self.size, self.count, periods, *fixed, *ends) >= 0:
                found[row] = out

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one, range(len(lanes))))
        return found
