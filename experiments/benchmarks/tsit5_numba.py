"""The two-body vibro-impact system by Tsit5 in numba: a peer of `engines`."""

import diffrax
import numba
import numpy as np

_A = np.zeros((6, 6))
for _i, _row in enumerate(diffrax.Tsit5.tableau.a_lower):
    _A[_i, : len(_row)] = _row
_C = np.asarray(diffrax.Tsit5.tableau.c)
_E = np.asarray(diffrax.Tsit5.tableau.b_error)


@numba.njit(fastmath=True)
def _field(t, s, stiffness, amplitude, frequency, rate):
    z = s[0] - s[1]
    force = stiffness * z * np.sqrt(z) if z > 0 else 0.0
    link = 2 * 0.036 * 5.646 * (s[2] - s[3]) + 5.646**2 * (z + 0.05)
    load = amplitude * np.cos(frequency * t)
    rate[0], rate[1] = s[2], s[3]
    own = 2 * 0.036 * 6.283 * s[2] + 6.283**2 * s[0]
    rate[2] = -own - 0.1 * link + (load - force) / 1000.0
    rate[3] = link + force / 100.0


@numba.njit(parallel=True, fastmath=True)
def _run(stiffness, amplitude, frequency, periods, rtol, table, nodes, errors):
    number = len(stiffness)
    found = np.empty((number, 4))
    for lane in numba.prange(number):
        given = stiffness[lane], amplitude[lane], frequency[lane]
        rates, state, new = np.zeros((7, 4)), np.zeros(4), np.zeros(4)
        state[1] = 0.05
        t, end, h, before = 0.0, periods * 2 * np.pi / frequency[lane], 1e-3, 1.0
        _field(t, state, *given, rates[0])
        while t < end:
            for i in range(6):
                for d in range(4):
                    total = 0.0
                    for j in range(i + 1):
                        total += table[i, j] * rates[j, d]
                    new[d] = state[d] + h * total
                _field(t + nodes[i] * h, new, *given, rates[i + 1])
            square = 0.0
            for d in range(4):
                error = 0.0
                for j in range(7):
                    error += errors[j] * rates[j, d]
                size = max(abs(state[d]), abs(new[d]))
                square += (h * error / (rtol * 1e-2 + rtol * size)) ** 2 / 4
            ratio = max(np.sqrt(square), 1e-10)
            factor = 0.9 * ratio**-0.14 * before**0.08
            if ratio <= 1:
                t += h
                before = max(ratio, 1e-4)
                state[:] = new
                rates[0] = rates[6]
                factor = min(max(factor, 0.2), 10.0)
            else:
                factor = min(max(factor, 0.2), 1.0)
            h = min(h * factor, max(end - t, 0.0))
        found[lane] = state
    return found


def lanes_in_numba(stiffness, amplitude, frequency, periods: int, rtol: float):
    """Return the final states (lanes, 4), one lane after another on every core."""
    return _run(stiffness, amplitude, frequency, periods, rtol, _A, _C, _E)
