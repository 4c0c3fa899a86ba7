"""Bifurcations of random smooth fields, against closed forms and dense grids.

    python -m experiments.bifurcations.random_fields [--number 100] [--seed 1]

Branches at rest, along which eigenvalues and multipliers are known:

- `windows`: equilibria of five states, x' = Q A(p) Q^-1 (x - x^3), with complex pairs and
  a real eigenvalue that are unstable in windows of a thousandth to half of the range,
  beyond a value, or never;
- `multipliers`: the same fields with a period of 1, whose multipliers are exp(L), in
  windows of a hundredth to half of the range outside of which they fall like a parabola;
- `saddles` of five states, as equilibria and as motions of period 1: two real eigenvalues
  cancel, or two multipliers have the product 1, beside a stable pair next to the limit;
- `rotors` of one to six discs with internal damping: Hopf points at 2 w_j;
- `shafts` of unequal stiffness, at rest in their rotating frame, and `tongues` of two
  masses with varying stiffness: unstable speeds and frequencies are those of single
  matrices on a grid of 4000 values, bisected.

Counted: bifurcations missed (none listed within 1e-7 of the range), invented (listed as
found, none there), and changes of the number of unstable eigenvalues between neighbouring
points without a listed bifurcation. Prints the counts of each family.
"""

import argparse
import time

import jax.numpy as jnp
import numpy as np

import jaxvib as jv

GRID, HALVINGS, STEPS = 4000, 32, 1000
NEAR = 1e-7  # of the range: the branch points are interpolated to 2e-11


def blocks(x, p):
    """Return the derivative of the blocks: two complex pairs and one real state."""
    q, shape = p["p"], p["shape"]
    slope, w = rates(q, shape), jnp.abs(shape[4])
    first = slope[0] * x[0] - w[0] * x[1], w[0] * x[0] + slope[0] * x[1]
    second = slope[1] * x[2] - w[1] * x[3], w[1] * x[2] + slope[1] * x[3]
    return jnp.stack([*first, *second, slope[2] * x[4]])


def mixed(field):
    """Return a field in other coordinates, with a cubic term."""

    def other(x, p):
        return p["mix"] @ field(jnp.linalg.solve(p["mix"], x - x**3), p)

    return other


def beside_a_saddle(x, p):
    """Return the derivative of a saddle, a stable pair and a faster state."""
    pair = -p["near"] * x[2] - p["turn"] * x[3], p["turn"] * x[2] - p["near"] * x[3]
    return jnp.stack([p["p"] * x[0], -p["rate"] * x[1], *pair, p["fast"] * x[4]])


def rates(p, shape):
    """Return the real parts of the three blocks at a parameter.

    Windows that are bumps, windows that are parabolas, and lines; by the rows of `shape`:
    where, half of the window, height, which of the three, and the frequency.
    """
    where, half, height, which, _ = shape
    away = (p - where) / half
    bump = height * (2 * jnp.exp2(-(away**2)) - 1)
    parabola = height * (1 - away**2)
    return jnp.where(which == 0, bump, jnp.where(which == 1, parabola, height * away))


def random_shape(rng, forced: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the random numbers of a field, and its bifurcations in 0 < p < 1."""
    shape, found = np.zeros((5, 3)), []
    for i in range(3):
        where, turn = rng.uniform(0.1, 0.9), rng.uniform(2, 30)
        kind = rng.choice(["window", "beyond", "never"])
        half = 10 ** rng.uniform(-2.3 if forced else -3.3, -0.7)
        height = 20 * half**2 if forced else rng.uniform(0.05, 0.8)
        if kind == "window":
            found += [where - half, where + half]
            shape[:, i] = where, half, height, int(forced), turn
        elif kind == "beyond":
            found.append(where)
            shape[:, i] = where, 1.0, rng.choice([-1, 1]) * rng.uniform(0.5, 3), 2, turn
        else:
            shape[:, i] = 10.0, 1.0, rng.uniform(0.05, 0.3), 2, turn
    return shape, np.array([p for p in found if 0 < p < 1])


def from_fields(rng, forced: bool):
    """Return the case of a field with windows: the branch, its truth, unstable numbers."""
    shape, truth = random_shape(rng, forced)
    mix = np.eye(5) + 0.3 * rng.normal(size=(5, 5))
    numbers = {"p": rng.uniform(0.02, 0.98), "shape": shape, "mix": mix}
    branch = branch_of(FORCED if forced else FIELD, numbers, "p", (0.0, 1.0))

    def number(p):
        each = np.array([np.asarray(rates(one, shape)) > 0 for one in np.atleast_1d(p)])
        return each @ [2, 2, 1]

    return branch, truth, number


def branch_of(system, numbers, path: str, bounds):
    """Return the branch at rest of a system with given numbers."""
    system, state = jv.replace(system, numbers), None
    state = np.zeros(system.dimension)
    if system.autonomous:
        point = jv.equilibrium(system, state)
        return jv.continue_equilibrium(system, point, path, bounds)
    orbit = jv.periodic_orbit(system, state, throw=False)
    return jv.continue_orbit(system, orbit, path, bounds, progress=False)


def saddle(rng):
    """Return the case of a neutral saddle beside a stable pair."""
    forced = rng.random() < 0.5
    near, turn = 10 ** rng.uniform(-6, -2), rng.uniform(0.3, 3)
    rate, fast = rng.uniform(0.3, 2), -(10 ** rng.uniform(0, 1 if forced else 4))
    numbers = {"p": rate * rng.uniform(0.5, 1.5), "near": near, "turn": turn}
    numbers |= {
        "rate": rate,
        "fast": fast,
        "mix": np.eye(5) + 0.2 * rng.normal(size=(5, 5)),
    }
    system = SADDLE_FORCED if forced else SADDLE
    branch = branch_of(system, numbers, "p", (0.3 * rate, 2 * rate))
    return branch, np.zeros(0), lambda p: np.ones(np.shape(np.atleast_1d(p)), int)


def rotor(rng):
    """Return the case of a rotor of one to six discs."""
    count = int(rng.integers(1, 7))
    c, k = rng.uniform(0.01, 0.1), rng.uniform(0.5, 2, count + 1)
    stiffness = np.diag(k[:-1] + k[1:]) - np.diag(k[1:-1], 1) - np.diag(k[1:-1], -1)
    w = np.sqrt(np.linalg.eigvalsh(stiffness))

    def field(x, p):
        speed, (a, b, u, v) = p["speed"], jnp.split(x, 4)
        x_force = speed**2 * a - stiffness @ a - 2 * c * u + c * speed * b
        y_force = speed**2 * b - stiffness @ b - 2 * c * v - c * speed * a
        return jnp.concatenate([u, v, x_force + 2 * speed * v, y_force - 2 * speed * u])

    bounds = rng.uniform(0.05, 0.2), rng.uniform(6, 12)
    start = {"speed": rng.uniform(0.3, 5)}
    system = jv.autonomous_system(field, parameters=start, dimension=4 * count)
    branch = branch_of(system, {}, "speed", bounds)
    at = np.sort(2 * w)
    return branch, at[at < bounds[1]], lambda p: 2 * np.searchsorted(at, p)


def shaft(rng):
    """Return the case of a shaft of unequal stiffness, unstable between two speeds."""
    k = np.sort(rng.uniform(0.8, 1.2, 2)) * rng.uniform(0.5, 4)
    c = rng.uniform(0.001, 0.02)

    def matrix(speed):
        return np.array(
            [[0, 0, 1, 0], [0, 0, 0, 1],
             [speed**2 - k[0], c * speed, -c, 2 * speed],
             [-c * speed, speed**2 - k[1], -2 * speed, -c]]
        )  # fmt: skip

    def field(x, p):
        speed = p["speed"]
        return jnp.stack(
            [x[2], x[3],
             (speed**2 - k[0]) * x[0] + c * speed * x[1] - c * x[2] + 2 * speed * x[3],
             (speed**2 - k[1]) * x[1] - c * speed * x[0] - c * x[3] - 2 * speed * x[2]]
        )  # fmt: skip

    bounds, start = (0.1, rng.uniform(4, 12)), {"speed": rng.uniform(0.2, 3.5)}
    system = jv.autonomous_system(field, parameters=start, dimension=4)
    branch = branch_of(system, {}, "speed", bounds)

    def number(speeds):
        every = np.array([matrix(speed) for speed in np.atleast_1d(speeds)])
        return (np.linalg.eigvals(every).real > 1e-12).sum(-1)

    return branch, boundaries(number, bounds), number


def tongue(rng):
    """Return the case of two masses with varying stiffness, of random light damping."""
    c, h, k = rng.uniform(0.005, 0.05), rng.uniform(0.02, 0.3), rng.uniform(0.2, 2)
    stiff, vary = np.array([[1 + k, -k], [-k, 1.3 + k]]), np.array([[h, -h], [-h, h]])
    vary[0, 0] += rng.uniform(0, 0.2)
    bounds = rng.uniform(0.5, 1.0), rng.uniform(3.0, 6.0)
    numbers = {"w": rng.uniform(*bounds), "c": c, "stiff": stiff, "vary": vary}
    branch = branch_of(TONGUE, numbers, "w", bounds)

    def number(w):
        """Return the numbers of multipliers outside the circle, by a classical method."""
        w = np.atleast_1d(w)
        now, size = (
            np.tile(np.eye(4), (len(w), 1, 1)),
            (2 * np.pi / w / STEPS)[:, None, None],
        )

        def slope(part, y):
            force = stiff + vary * np.cos(2 * np.pi * part)
            return np.concatenate([y[:, 2:], -force @ y[:, :2] - c * y[:, 2:]], axis=1)

        for i in range(STEPS):
            one = slope(i / STEPS, now)
            two = slope((i + 0.5) / STEPS, now + size / 2 * one)
            three = slope((i + 0.5) / STEPS, now + size / 2 * two)
            four = slope((i + 1) / STEPS, now + size * three)
            now = now + size / 6 * (one + 2 * two + 2 * three + four)
        return (np.abs(np.linalg.eigvals(now)) > 1).sum(-1)

    return branch, boundaries(number, bounds), number


def boundaries(number, bounds) -> np.ndarray:
    """Return where a number changes, from a dense grid and bisection."""
    grid = np.linspace(*bounds, GRID)
    values = number(grid)
    at = np.flatnonzero(np.diff(values))
    low, high, before = grid[at], grid[at + 1], values[at]
    for _ in range(HALVINGS if len(at) else 0):
        middle = (low + high) / 2
        same = number(middle) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2


def judged(branch, truth, number) -> np.ndarray:
    """Return how many bifurcations are missed, invented, and changes not listed."""
    p = np.asarray(branch.parameter)
    span = np.ptp(p)
    sure = [q for q in branch.bifurcations if int(q.result) == 0]
    places = np.array([float(q.parameter) for q in branch.bifurcations])
    found = np.array([float(q.parameter) for q in sure])
    apart = np.abs(np.subtract.outer(truth, found))
    missed = (apart.min(1, initial=np.inf) > NEAR * span).sum()
    invented = (apart.min(0, initial=np.inf) > NEAR * span).sum()
    numbers = number(p)
    unlisted = 0
    for i in np.flatnonzero(np.diff(numbers)):
        low, high = sorted(p[i : i + 2])
        inside = (places >= low - NEAR * span) & (places <= high + NEAR * span)
        unlisted += not inside.any()
    return np.array([len(truth), missed, invented, unlisted])


NUMBERS = {"p": 0.5, "shape": np.zeros((5, 3)), "mix": np.eye(5)}
OF_SADDLE = {
    "p": 0.5,
    "near": 0.1,
    "turn": 1.0,
    "rate": 0.5,
    "fast": -1.0,
    "mix": np.eye(5),
}


def both(field, numbers):
    """Return a field as an autonomous system, and as a forced one of period 1."""
    field = mixed(field)
    alone = jv.autonomous_system(field, parameters=numbers, dimension=5)
    forced = jv.forced_system(
        lambda t, x, p: field(x, p), parameters=numbers, period=1.0, dimension=5
    )
    return alone, forced


FIELD, FORCED = both(blocks, NUMBERS)
SADDLE, SADDLE_FORCED = both(beside_a_saddle, OF_SADDLE)
TONGUE = jv.forced_system(
    lambda t, x, p: jnp.concatenate(
        [x[2:], -(p["stiff"] + p["vary"] * jnp.cos(p["w"] * t)) @ x[:2] - p["c"] * x[2:]
         - jnp.append(x[:1] ** 3, 0.0)]
    ),
    parameters={"w": 1.2, "c": 0.1, "stiff": np.eye(2), "vary": np.eye(2)},
    period=lambda p: 2 * jnp.pi / p["w"],
    dimension=4,
)  # fmt: skip
FAMILIES = {
    "windows": lambda rng: from_fields(rng, False),
    "multipliers": lambda rng: from_fields(rng, True),
    "saddles": saddle,
    "rotors": rotor,
    "shafts": shaft,
    "tongues": tongue,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    each = -(-options.number // len(FAMILIES))
    print("family: branches, bifurcations, missed, invented, unlisted, seconds", flush=True)
    for name, family in FAMILIES.items():
        begin, rng = time.perf_counter(), np.random.default_rng(options.seed)
        counts = np.zeros(4, int)
        for i in range(each):
            one = judged(*family(rng))
            counts += one
            if one[1:].any():
                print(
                    f"  {name} {i}: {one[1]} missed, {one[2]} invented, {one[3]} unlisted"
                )
        took = time.perf_counter() - begin
        print(f"{name}: {each}, {', '.join(map(str, counts))}, {took:.0f}", flush=True)


if __name__ == "__main__":
    main()
