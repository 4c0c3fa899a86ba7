"""Classification of regimes, compared with closed forms and longer integration.

    python -m experiments.regimes [--apart 10000] [--touching 1000] [--seed 16]
        [--map results/regime_map]

Three masses on a chain of springs with 0.6 % of critical damping, one load, a soft and
a stiff stop. In the first kind no gap closes after a start from rest, by the closed
form of the linear motion (modes in numpy, the largest displacement at some 20,000
times): all are motions of period 1. In the second kind gaps close. Their classes are
compared with those of `experiments.piecewise`, numpy and C, which integrates each from
rest for ten times the longest transient: 3840 periods, or 120 decay times. There a
motion is periodic if it recurs to 1e-8 in eight successive periods, chaotic if a
perturbation of 1e-9 of its size exceeds 1e-2 after 4096 more periods, and
quasi-periodic if it stays within 1e-5. If transients lead to different attractors, the
class is compared on ours: from its state, over the same time.

`--map results/regime_map` counts the classes of the 64 x 64 map, in the folder of
`jaxvib run configs/regime_map.toml`, and its quasi-periodic samples with clearly
negative exponents. Rows that are not run again are kept in `regimes.json`, with their
number of samples.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import numpy as np

import jaxvib as jv
from experiments.piecewise import Piecewise
from jaxvib.ensemble import Reason, undecided
from jaxvib.orbits import regimes

RESULTS = Path(__file__).with_suffix(".json")
RATIO = 0.006
LONGER = 10
WATCHED = 4096
BODIES = ("a", "b", "c")
LEAVES = {"masses": "mass", "springs": "stiffness", "dampers": "damping"}
LINKS = ("ground-a", "a-b", "b-c")


def chain(seed: int, number: int) -> dict[str, np.ndarray]:
    """Return random chains of three masses, with a load on the first one."""
    draw = np.random.default_rng(seed)
    masses = draw.uniform(0.5, 2.0, (number, 3))
    springs = draw.uniform(500.0, 2000.0, (number, 3))
    lowest = natural(masses, springs)[0][:, 0]
    return {
        "masses": masses,
        "springs": springs,
        "dampers": springs * (2 * RATIO / lowest)[:, None],
        "frequency": lowest * draw.uniform(0.5, 6.0, number),
        "soft": springs[:, 0] * 10 ** draw.uniform(-0.5, 0.5, number),
        "stiff": springs[:, 0] * 10 ** draw.uniform(2.0, 3.0, number),
        "shares": draw.uniform(0.0, 1.0, (number, 2)),
    }


def matrices(masses, links) -> tuple[np.ndarray, np.ndarray]:
    """Return (s, 3, 3) matrices of masses on the diagonal, and of links in a chain."""
    rows = np.array([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    return masses[:, :, None] * np.eye(3), np.einsum("sl,li,lj->sij", links, rows, rows)


def natural(masses, springs) -> tuple[np.ndarray, np.ndarray]:
    """Return frequencies (s, 3), rad/s, and modes of unit modal mass."""
    _, stiffness = matrices(masses, springs)
    root = 1 / np.sqrt(masses)
    values, modes = np.linalg.eigh(root[:, :, None] * stiffness * root[:, None, :])
    return np.sqrt(values), root[:, :, None] * modes


def peaks(chains) -> np.ndarray:
    """Return the largest displacement of each mass from rest on, (s, 3), at 1 N."""
    found = np.zeros((len(chains["frequency"]), 3))
    for lane in range(len(found)):
        one = {key: value[lane : lane + 1] for key, value in chains.items()}
        (w,), (modes,) = natural(one["masses"], one["springs"])
        load = one["frequency"][0]
        ratio = RATIO * w / w[0]  # dampers go with springs
        response = modes[0] / (w**2 - load**2 + 2j * ratio * w * load)
        root = -ratio * w + 1j * w * np.sqrt(1 - ratio**2)
        # q = Re(Q e^{iwt} + c e^{rt}) with q = q' = 0 at t = 0.
        place, rate = -response.real, (load * response.imag)
        free = place - 1j * (rate - root.real * place) / root.imag
        # Near resonance motions grow until the free one has died out.
        times = np.arange(0.0, 5.0 / (RATIO * w[0]), np.pi / 16 / max(w[-1], load))
        turned = np.exp(1j * load * times)[:, None] * response
        moved = turned.real + (np.exp(times[:, None] * root) * free).real
        found[lane] = np.abs(moved @ modes.T).max(axis=0)
    return found


def jaxvib_regimes(chains, gaps):
    """Return what jaxvib tells of chains, and the seconds that it took."""
    modules = [
        jv.TranslationTranslation(first, second, mass=1.0, stiffness=1e3, damping=1.0)
        for first, second in zip(("ground", "a", "b"), BODIES, strict=True)
    ]
    linear = jv.assemble(modules)
    stops = (
        jv.Contact(linear.direction("c"), 1.0, jv.LinearContact(1e3), "soft"),
        jv.Contact(linear.direction("b"), 1.0, jv.LinearContact(1e5), "stiff"),
    )
    load = jv.AppliedLoad(linear.direction("a"), jv.HarmonicLoad(1.0, 10.0), "push")
    samples = {"loads.push.law.frequency": chains["frequency"]}
    for column, link in enumerate(LINKS):
        for key, leaf in (
            ("masses", "mass"),
            ("springs", "stiffness"),
            ("dampers", "damping"),
        ):
            samples[f"linear.modules.{link}.{leaf}"] = chains[key][:, column]
    for column, name in enumerate(("soft", "stiff")):
        samples[f"contacts.{name}.law.stiffness"] = chains[name]
        samples[f"contacts.{name}.gap"] = gaps[:, column]
    begin = time.perf_counter()
    found = regimes(jv.ImpactSystem(linear, stops, (load,)), samples)
    return found, time.perf_counter() - begin


def never_touching(number: int, seed: int) -> dict:
    """Return how many chains on which no gap closes are called motions of period 1."""
    chains = chain(seed, number)
    reach = peaks(chains)[:, [2, 1]]
    gaps = reach * (1.02 + 2 * chains["shares"])
    found, seconds = jaxvib_regimes(chains, gaps)
    period_1 = (found.result == 0) & (found.periods == 1) & (found.contacts == 0)
    return {
        "samples": number,
        "of period 1, without contact": int(period_1.sum()),
        "stable": int(np.sum(period_1 & (found.stable == 1))),
        "classes": classes(found),
        "seconds": round(seconds, 1),
    }


def classes(found) -> dict[str, int]:
    """Return how many samples there are of each class."""
    names = [
        f"period {periods}" if code == 0 else Reason(code).motion or Reason(code).name
        for code, periods in zip(found.result.tolist(), found.periods.tolist(), strict=True)
    ]
    return dict(Counter(names).most_common())


def touching(number: int, seed: int) -> dict:
    """Return how classes of chains that touch agree with a ten times longer integration."""
    chains = chain(seed + 1, number)
    gaps = peaks(chains)[:, [2, 1]] * (0.2 + 0.78 * chains["shares"])
    found, seconds = jaxvib_regimes(chains, gaps)
    print(classes(found), f"{seconds:.0f} s", flush=True)
    begin = time.perf_counter()
    names = ours(found)
    open_ = np.char.startswith(names, "undecided")
    lowest = natural(chains["masses"], chains["springs"])[0][:, 0]
    decay = 1 / (RATIO * lowest) * chains["frequency"] / (2 * np.pi)  # in periods
    periods = LONGER * np.maximum(384, np.ceil(12 * decay)).astype(int)
    other = piecewise(chains, gaps)
    theirs, _ = followed(other, np.zeros((number, 6)), periods)
    agree = names == theirs
    unlike = np.flatnonzero(~agree & ~open_ & (theirs != "undecided"))
    again = np.full(number, "", dtype=theirs.dtype)
    if unlike.size:
        starts = np.asarray(found.state)[unlike]
        again[unlike], _ = followed(other, starts, periods[unlike], unlike)
    elsewhere = np.zeros(number, bool)
    elsewhere[unlike] = again[unlike] == names[unlike]
    both = ~open_ & (theirs != "undecided")
    disagree = np.flatnonzero(both & ~agree & ~elsewhere)
    return {
        "samples": number,
        "classes": classes(found),
        "classes of the longer integration": dict(Counter(theirs.tolist()).most_common()),
        "agree": int((agree & both).sum()),
        "agree on our attractor, transients lead to another": int(elsewhere.sum()),
        "disagree": len(disagree),
        "undecided by jaxvib": int(open_.sum()),
        "undecided by the longer integration alone": int((~open_ & ~both).sum()),
        "which disagree": [
            [int(i), str(names[i]), str(theirs[i]), str(again[i])] for i in disagree
        ],
        "seconds": round(seconds, 1),
        "seconds of the longer integration": round(time.perf_counter() - begin, 1),
    }


def ours(found) -> np.ndarray:
    """Return our classes in the words of `followed`."""
    return np.array([
        "failed" if Reason(code).failed
        else "undecided" if Reason(code).undecided
        else Reason(code).motion or f"period {periods}"
        for code, periods in zip(found.result.tolist(), found.periods.tolist(), strict=True)
    ], dtype="<U24")  # fmt: skip


def piecewise(chains, gaps) -> Piecewise:
    """Return chains for the integration that shares nothing with jaxvib."""
    mass, stiffness = matrices(chains["masses"], chains["springs"])
    _, damping = matrices(chains["masses"], chains["dampers"])
    number = len(gaps)
    stops = np.tile([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], (number, 1, 1))
    springs = np.stack([chains["soft"], chains["stiff"]], axis=1)
    load = np.tile([1.0, 0.0, 0.0], (number, 1))
    return Piecewise(
        mass, damping, stiffness, stops, gaps, springs, load, chains["frequency"]
    )


def followed(other: Piecewise, states, periods, lanes=None, at_a_time=128):
    """Return classes of motions followed for so many periods, and their last states."""
    lanes = np.arange(len(states)) if lanes is None else lanes
    now = states.copy()
    names = np.full(len(states), "", dtype="<U24")
    going, done = np.arange(len(states)), 0
    while going.size:
        trail = other.section(now[going], at_a_time, lanes[going])
        now[going], done = trail[:, -1], done + at_a_time
        period = recurs(trail, 1e-8)
        names[going[period > 0]] = [
            f"period {p}" if p <= 8 else "longer period" for p in period[period > 0]
        ]
        going = going[(period == 0) & (done < periods[going])]
    rest = np.flatnonzero(names == "")
    if rest.size:
        names[rest] = wandering(other, now[rest], lanes[rest])
    return names, now


def recurs(trail, near: float) -> np.ndarray:
    """Return after how many periods, up to half of them, motions recur; 0 if not.

    What nearly recurs after fewer periods spirals into another orbit, and has not yet.
    """
    size = np.abs(trail).max(axis=1)[:, None, :]
    points = trail / np.maximum(size, 1e-300)
    number = points.shape[1]
    found, open_ = np.zeros(len(trail), int), np.ones(len(trail), bool)
    for period in range(1, number // 2):
        apart = points[:, -8:] - points[:, number - 8 - period : number - period]
        distance = np.abs(apart).max(axis=(1, 2))
        found[open_ & (distance < near)] = period
        open_ &= distance > 1e4 * near
    return found


def wandering(other: Piecewise, states, lanes) -> np.ndarray:
    """Return classes of motions without a short period, by a neighbour of each."""
    moved = states * (1 + 1e-9 * np.sign(np.arange(6) - 2.5))
    both = np.concatenate([states, moved])
    trail = other.section(both, WATCHED, np.concatenate([lanes, lanes]))
    one, neighbour = np.split(trail, 2)
    units = np.abs(one).max(axis=1)
    apart = (np.abs(one - neighbour) / units[:, None]).max(axis=2)
    late = np.median(apart[:, -WATCHED // 8 :], axis=1)
    period = recurs(one[:, -2048:], 1e-6)
    names = np.where(late > 1e-2, "chaotic", "undecided").astype("<U24")
    names[late < 1e-5] = "quasi-periodic"
    names[period > 8] = "longer period"
    return np.where(
        (period > 0) & (period <= 8), np.char.add("period ", period.astype(str)), names
    )


def the_map(store: str) -> dict:
    """Return the classes of the main study's map as a store holds them."""
    results = jv.open_study(store).load()
    code = np.asarray(results["result"]).ravel()
    period = 2 * np.pi / np.broadcast_to(results["load.frequency"], (64, 64)).ravel()
    exponent = np.asarray(results["lyapunov_exponent"]).ravel() * period
    names = [
        f"period {periods}" if c == 0 else Reason(c).motion or Reason(c).name
        for c, periods in zip(code, np.asarray(results["periods"]).ravel(), strict=True)
    ]
    quasi = exponent[code == Reason.QUASI_PERIODIC]
    return {
        "samples": len(code),
        "classes": dict(Counter(names).most_common()),
        "classes before": BEFORE,
        "undecided": int(undecided(code, np.asarray(results["stable"]).ravel()).sum()),
        "quasi-periodic with an exponent below -1e-3 a period": int((quasi < -1e-3).sum()),
        "largest |exponent| of a quasi-periodic one, per period": float(
            np.abs(quasi).max(initial=0.0)
        ),
        "largest contact force, N": float(np.nanmax(results["max_contact_force"])),
    }


# Of the map, by exponents of 256 periods and three standard errors.
BEFORE = {"quasi-periodic": 293, "chaotic": 373, "not converged (undecided)": 112}


def main() -> None:
    """Run what is asked for, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--apart", type=int, default=10_000)
    parser.add_argument("--touching", type=int, default=1000)
    parser.add_argument("--map", metavar="STORE")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = json.loads(options.output.read_text()) if options.output.exists() else {}
    if options.apart:
        results["never touching"] = never_touching(options.apart, options.seed)
        print(results["never touching"], flush=True)
    if options.touching:
        results["touching"] = touching(options.touching, options.seed)
        print(results["touching"], flush=True)
    if options.map:
        results["map"] = the_map(options.map)
        print(results["map"], flush=True)
    options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
