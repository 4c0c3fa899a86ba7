"""Small studies by real physics, written as a study writes them; no jaxvib solver.

The two-body equations of Pogorelova and Postnikova (2011) with soft contact, stepped by
the classical Runge-Kutta method for all samples at once; multipliers by differences.
"""

import functools

import numpy as np

from jaxvib.ensemble import Reason
from jaxvib.studies.config.toml_writer import to_toml
from jaxvib.studies.run.study import load_text
from jaxvib.studies.store.fields import Variable
from jaxvib.studies.store.store import Store

MAIN, ATTACHED = 6.283, 5.646  # rad/s
DAMPING, MASS_RATIO, GAP, STIFFNESS = 0.036, 0.1, 0.05, 3.504e7
MAIN_MASS, ATTACHED_MASS = 1000.0, 100.0
STEPS = 600  # per load period: a soft contact lasts more than ten of them


def contact_force(state):
    return STIFFNESS * np.maximum(state[0] - state[1], 0.0) ** 1.5


def rate(phase, state, amplitude, gap):
    xm, xa, vm, va = state
    force = contact_force(state)
    coupling = 2 * DAMPING * ATTACHED * (vm - va) + ATTACHED**2 * (xm - xa + gap)
    load = amplitude * np.cos(phase)
    main = -2 * DAMPING * MAIN * vm - MAIN**2 * xm - MASS_RATIO * coupling
    return np.stack([vm, va, main + (load - force) / MAIN_MASS,
                     coupling + force / ATTACHED_MASS])  # fmt: skip


def periods_of_motion(state, frequency, amplitude, gap, number):
    """Step through whole load periods; yields each period's states, forces."""
    step = 2 * np.pi / frequency / STEPS
    for _ in range(number):
        states = [state]
        for i in range(STEPS):
            phase = [2 * np.pi * (i + part) / STEPS for part in (0.0, 0.5, 1.0)]
            k1 = rate(phase[0], state, amplitude, gap)
            k2 = rate(phase[1], state + step / 2 * k1, amplitude, gap)
            k3 = rate(phase[1], state + step / 2 * k2, amplitude, gap)
            k4 = rate(phase[2], state + step * k3, amplitude, gap)
            state = state + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            states.append(state)
        yield np.stack(states)  # (STEPS + 1, 4, lanes)


@functools.cache
def settled(frequency, amplitude, gap, transient=30, longest=2):
    """Return what a periodic-orbit study reports of each sample, and its motions."""
    frequency, amplitude, gap = map(np.array, (frequency, amplitude, gap))
    lanes = len(frequency)
    state = np.zeros((4, lanes))
    state[1] = gap
    for motion in periods_of_motion(state, frequency, amplitude, gap, transient):
        state = motion[-1]
    motions = list(periods_of_motion(state, frequency, amplitude, gap, longest))
    starts = np.stack([state, *(motion[-1] for motion in motions)])
    gaps = np.abs(starts[1:] - starts[0]).max(1)  # (longest, lanes)
    closed = gaps < 1e-3
    periods = np.where(closed.any(0), closed.argmax(0) + 1, 0)
    whole = np.concatenate([motion[:-1] for motion in motions])  # (longest STEPS, 4, lanes)
    forces = contact_force(np.moveaxis(whole, 1, 0))
    used = np.arange(len(whole))[:, None] < STEPS * np.maximum(periods, 1)
    touching = forces > 0
    onsets = (touching & ~np.roll(touching, 1, axis=0) & used).sum(0)
    span = np.ptp(np.where(used[:, None], whole, whole[:1]), axis=0)
    largest = largest_multiplier(state, frequency, amplitude, gap, periods)
    return {
        "state": state.T,
        "periods": np.maximum(periods, 1),
        "period": np.maximum(periods, 1) * 2 * np.pi / frequency,
        "contacts": onsets,
        "contacts_per_period": onsets / np.maximum(periods, 1),
        "contact_duration": (touching & used).sum(0) * 2 * np.pi / frequency / STEPS,
        "max_contact_force": np.where(used, forces, 0).max(0),
        "amplitude": span[:2].T / 2,
        "result": np.where(periods > 0, Reason.SUCCESS, Reason.NOT_CONVERGED),
        "largest_multiplier": largest,
        "stable": np.where(np.isnan(largest), -1, largest < 1).astype(np.int8),
    }, (whole, forces, periods)


def largest_multiplier(state, frequency, amplitude, gap, periods):
    shifted = [state, *(state + 1e-6 * np.eye(4)[i][:, None] for i in range(4))]
    lanes = state.shape[1]
    tiled = np.concatenate(shifted, axis=1)
    wanted = np.full((lanes, 4, 4), np.nan)
    often = (np.tile(each, 5) for each in (frequency, amplitude, gap))
    stepped = periods_of_motion(tiled, *often, max(1, periods.max()))
    for number, motion in enumerate(stepped, 1):
        ends = motion[-1].reshape(4, 5, lanes)
        columns = (ends[:, 1:] - ends[:, :1]) / 1e-6
        here = periods == number
        wanted[here] = np.moveaxis(columns, -1, 0)[here]
    known = np.isfinite(wanted).all((1, 2))
    modulus = np.full(lanes, np.nan)
    modulus[known] = np.abs(np.linalg.eigvals(wanted[known])).max(1)
    return modulus


UNITS = {
    "state": "", "periods": "", "period": "s", "contacts": "",
    "contacts_per_period": "", "contact_duration": "s", "max_contact_force": "N",
    "amplitude": "m", "result": "", "largest_multiplier": "", "stable": "",
    "load.frequency": "rad/s", "load.amplitude": "N", "gap": "m",
}  # fmt: skip
AXES = {"state": ("state",), "amplitude": ("freedom",)}


def write_map_study(directory, frequencies, amplitudes, title="A small map", failed=()):
    """Write a study over a grid; samples in `failed` are marked so, for their colour."""
    frequency, amplitude = (a.ravel() for a in np.meshgrid(frequencies, amplitudes))
    found, motion = settled(*map(tuple, (frequency, amplitude, 0 * frequency + GAP)))
    results = {name: values.copy() for name, values in found.items()}
    for sample in failed:
        results["result"][sample] = Reason.DIVERGED
        for name in ("max_contact_force", "largest_multiplier", "amplitude"):
            results[name][sample] = np.nan
    results = {"load.amplitude": amplitude, "load.frequency": frequency} | results
    grid = {"load.amplitude": len(amplitudes), "load.frequency": len(frequencies)}
    return _write(directory, title, results, motion, grid)


def write_random_study(directory, number=24, seed=3):
    generator = np.random.default_rng(seed)
    frequency, amplitude = generator.uniform([5, 100], [8, 500], (number, 2)).T
    results, motion = settled(*map(tuple, (frequency, amplitude, 0 * frequency + GAP)))
    results = {"load.amplitude": amplitude, "load.frequency": frequency} | results
    return _write(directory, "Random samples", results, motion, None)


def write_cube_study(directory, gaps, amplitudes, frequencies):
    """Write a study over a grid of three paths, the gap slowest."""
    paths = {"gap": gaps, "load.amplitude": amplitudes, "load.frequency": frequencies}
    crossed = [each.ravel() for each in np.meshgrid(*paths.values(), indexing="ij")]
    results, motion = settled(*map(tuple, crossed[::-1]))
    results = dict(zip(paths, crossed, strict=True)) | results
    grid = {path: len(values) for path, values in paths.items()}
    return _write(directory, "Three paths", results, motion, grid)


def _write(directory, title, results, motion, grid):
    samples = len(results["result"])
    tables = config_of(directory, title, results, grid)
    record = {
        "title": title,
        "analysis": "periodic_orbit",
        "system": "two_body_impact",
        "samples": samples,
        "chunk": samples,
        "grid": grid,
        "coordinates": list(tables["sweep"])[1:],
        "axes": {"state": ["x_main", "x_attached", "v_main", "v_attached"],
                 "freedom": ["main", "attached"]},
        "evidence": "checked",
        "config": tables,
        "versions": {"jaxvib": "0.1.0"},
        "fingerprint": {"device": "cpu"},
        "git": None,
    }  # fmt: skip
    store = Store.create(directory, record, to_toml(tables))
    store.append(0, {name: variable(name, values) for name, values in results.items()})
    store.add_group("traces", traces(results, motion), ("sample",))
    store.finish()
    return directory


def config_of(directory, title, results, grid):
    """Return the tables of the config that these numbers would be the study of."""
    paths = [
        path for path in ("gap", "load.amplitude", "load.frequency") if path in results
    ]
    values = {
        path: (np.unique if grid else np.asarray)(results[path]).tolist() for path in paths
    }
    body = {"damping_ratio": DAMPING}
    tables = {
        "title": title,
        "system": {
            "kind": "two_body_impact",
            "main": {"mass": MAIN_MASS, "frequency": MAIN, **body},
            "attached": {"mass": ATTACHED_MASS, "frequency": ATTACHED, **body},
            "gap": GAP,
            "contact": {"stiffness": STIFFNESS},
        },
        "analysis": {"kind": "periodic_orbit", "max_periods": 2},
        "sweep": {"method": "grid" if grid else "paired", **values},
        "output": {"directory": directory.name},
    }
    return load_text(to_toml(tables), directory.name).resolved()


def variable(name, values):
    axes = ("sample", *AXES.get(name, ()))
    return Variable(axes, np.asarray(values), UNITS[name], name.replace("_", " "))


def traces(results, motion, points=241):
    whole, forces, periods = motion
    chosen = np.arange(0, len(periods), 3)
    rows = [
        np.linspace(0, STEPS * max(1, periods[i]) - 1, points).astype(int) for i in chosen
    ]
    step = 2 * np.pi / results["load.frequency"] / STEPS
    return {
        "sample": Variable(("trace",), chosen),
        "times": Variable(
            ("trace", "time"),
            np.stack([r * step[i] for r, i in zip(rows, chosen, strict=True)]),
            "s",
        ),
        "states": Variable(
            ("trace", "time", "state"),
            np.stack([whole[r, :, i] for r, i in zip(rows, chosen, strict=True)]),
        ),
        "contact_force": Variable(
            ("trace", "time", "contact"),
            np.stack([forces[r, i][:, None] for r, i in zip(rows, chosen, strict=True)]),
            "N",
        ),
    }
