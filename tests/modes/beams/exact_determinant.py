"""Any beam with bodies by a determinant in 40 digits, sharing no code with jaxvib.

A case is a dictionary as `finite_elements.eigenvalues` takes it.
"""

import functools

import mpmath
import numpy as np

MATRICES = ("positions", "stiffness", "damping", "inertance", "link_map", "mass",
            "body_damping", "body_stiffness", "coupling")  # fmt: skip


def determinant(value, case):
    """Return the determinant of four waves, m links and n bodies, as mpmath has digits.

    Krylov's functions from the left end, which grow: nothing here is scaled.
    """
    numbers = {name: _exact(case.get(name)) for name in MATRICES}
    places, links = numbers["positions"], len(case["positions"])
    bodies = 0 if case.get("mass") is None else len(case["mass"])
    beam = functools.partial(
        _beam, (-(value**2)) ** mpmath.mpf("0.25"), places, case.get("turns")
    )
    rows = [row for side in (0, 1) for row in _end(beam, case, side)]
    turns = case.get("turns") or [False] * links
    at_links = [beam(x, int(turning)) for x, turning in zip(places, turns, strict=True)]
    rows = [row + [0] * bodies for row in rows]
    for i, held in enumerate(at_links):
        stiff, damped, inert = (
            numbers[n][i] if numbers[n] else 0
            for n in ("stiffness", "damping", "inertance")
        )
        link = stiff + value * (damped + value * inert)
        row = [link * term for term in held]
        row[4 + i] += 1
        rows.append(row + [-link * numbers["link_map"][i][j] for j in range(bodies)])
    for i in range(bodies):
        row = [mpmath.mpf(0)] * 4 + [numbers["link_map"][k][i] for k in range(links)]
        for j in range(bodies):
            m, d, c = (
                numbers[n][i][j] if numbers[n] else 0
                for n in ("mass", "body_damping", "body_stiffness")
            )
            row.append(c + value * (d + value * m))
        for k in range(links if numbers["coupling"] else 0):
            own = numbers["link_map"][k]
            more = numbers["coupling"][i][k] - own[i] * numbers["stiffness"][k]
            stretch = [-term for term in at_links[k]] + [own[j] for j in range(bodies)]
            row = [a + more * b for a, b in zip(row, stretch, strict=True)]
        rows.append(row)
    return mpmath.det(mpmath.matrix(rows))


def _exact(value):
    """Return nested lists of mpmath's numbers."""
    value = [] if value is None else np.asarray(value, float)
    return (
        mpmath.matrix(value).tolist()
        if np.ndim(value) == 2
        else list(map(mpmath.mpf, value))
    )


def _beam(wave, places, turns, x, order, left=False):
    """Return a derivative at x of each wave and of what each link's unit force leaves."""

    def krylov(x, order):
        # the derivatives of (sinh - sin) / (2 wave^3)
        z, odd = wave * x, order % 2
        growing = (mpmath.sinh, mpmath.cosh)[odd](z)
        turning = (mpmath.sin, mpmath.cos)[odd](z) * (-1) ** (order // 2)
        return (growing - turning) * wave ** (order - 3) / 2

    loads = []
    for place, turning in zip(places, turns or [False] * len(places), strict=True):
        # a load at an end acts just inside it; a moment is minus a force's derivative
        acts = x >= place and not left
        here = krylov(x - place, order + turning) if acts else mpmath.mpf(0)
        loads.append(-here if turning else here)
    return [krylov(x, order + k) for k in range(4)] + loads


def _end(beam, case, side):
    """Return the two conditions of an end, elastic ones included."""
    orders = {"clamped": (0, 1), "hinged": (0, 2), "sliding": (1, 3), "free": (2, 3)}
    x, left = mpmath.mpf(side), side == 0
    springs = [s for s in case.get("supports", ()) if s[0] == side]
    for order in orders[case["ends"][side]]:
        row = beam(x, order, left=left)
        for _, shift, turn in springs:
            # V'' = +- k_r V' and V''' = -+ k_t V, upper signs at the left end
            held, spring = (1, -turn) if order == 2 else (0, shift)
            spring = mpmath.mpf(spring if left else -spring)
            held = beam(x, held, left=left)
            row = [a + spring * b for a, b in zip(row, held, strict=True)]
        yield row


def errors(case, modes):
    """Return the relative errors of a case's simple values that are not 0."""
    values, found = np.asarray(modes.values), []
    alone = (values != 0) & (np.asarray(modes.multiplicities) == 1)
    with mpmath.workdps(40):
        for value in values[alone]:
            ours = mpmath.mpc(complex(value))
            root = mpmath.findroot(
                lambda at: determinant(at, case),
                (ours * (1 + mpmath.mpf("1e-12")), ours),
                solver="secant",
                verify=False,
            )
            found.append(float(abs(root - ours) / abs(root)))
    return found
