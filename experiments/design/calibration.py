"""Simulation-based calibration of posteriors of an impacting body from a noisy record.

    python -m experiments.design.calibration [--sets 500]    # needs numpyro

A body on a spring is released at -0.1 m and hits a rigid stop at 0. Stiffness, damping,
restitution and the deviation of the noise are drawn from their priors, a record of 60
displacements in 3 s is simulated, and the posterior is sampled by numpyro's NUTS with
`design.likelihood`. It starts from a least-squares fit, which begins at the nearest of
1024 draws of the prior, in coordinates scaled by the fit's covariance. If posteriors are
right, the rank of the true value among independent posterior draws is uniform. Ranks of
all sets are compared with a uniform distribution by chi-square. Writes
`calibration.json`.

**Source:** Talts, Betancourt, Simpson, Vehtari and Gelman, arXiv:1804.06788 (2018).
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.optimize
import scipy.stats
from numpyro.diagnostics import effective_sample_size
from numpyro.infer.hmc import hmc

import jaxvib as jv
from experiments.machine import machine

RESULT = Path(__file__).with_suffix(".json")
TIMES = np.linspace(0.05, 3.0, 60)
BINS = 10
WARMUP, SAMPLES, KEPT = 60, 95, 19  # every fifth is kept: ranks are 0 to 19
GUESSES = 1024  # of the prior, of which the nearest to the record starts the fit
FARTHEST = 8.0  # deviations of the first fit
PATHS = {
    "stiffness": "linear.modules.ground-body.stiffness",
    "damping": "linear.modules.ground-body.damping",
    "restitution": "contacts.stop.law.restitution",
}
PRIORS = {
    "stiffness": dist.LogNormal(np.log(40.0), 0.1),  # N/m
    "damping": dist.Normal(0.5, 0.1),  # N s/m
    "restitution": dist.Normal(0.8, 0.04),
    "deviation": dist.LogNormal(np.log(3e-3), 0.3),  # m
}


def body() -> jv.ImpactSystem:
    """Return the body of 1 kg on a spring, with a rigid stop at its rest."""
    spring = jv.TranslationTranslation(
        "ground", "body", mass=1.0, stiffness=40.0, damping=0.4, first_mass=0.0
    )
    stop = jv.Contact([1.0], gap=0.0, law=jv.RestitutionContact(0.8), name="stop")
    return jv.ImpactSystem(jv.assemble([spring]), contacts=(stop,))


def displacements(system):
    """Return the displacements at `TIMES` after the release, m."""
    start = np.array([-0.1, 0.0])
    return jv.simulate(system, start, TIMES, throw=False).states[:, 0]


def by_path(values):
    """Return the parameters of the body among drawn values."""
    return {path: values[name] for name, path in PATHS.items()}


# Means and deviations in free coordinates, in which all priors are normal.
NORMAL = np.array(
    [
        (each.loc, each.scale) if isinstance(each, dist.Normal)
        else (each.base_dist.loc, each.base_dist.scale)
        for each in PRIORS.values()
    ]
).T  # fmt: skip
TRANSFORMS = {
    name: dist.transforms.biject_to(prior.support) for name, prior in PRIORS.items()
}


def physical(free):
    """Return values by name of free coordinates: some are logarithms."""
    pairs = zip(TRANSFORMS.items(), free, strict=True)
    return {name: transform(number) for (name, transform), number in pairs}


def prior_density(free):
    """Return the logarithm of the prior's density in free coordinates."""
    total = 0.0
    for (name, transform), number in zip(TRANSFORMS.items(), free, strict=True):
        value = transform(number)
        total += PRIORS[name].log_prob(value)
        total += transform.log_abs_det_jacobian(number, value)
    return total


class Posterior:
    """Samples the posterior of a record, near a first fit of the parameters."""

    def __init__(self):
        record = jv.design.Record(displacements, np.zeros(len(TIMES)))
        self.likelihood = jv.design.likelihood(body(), {"motion": record})
        self.simulated = jax.jit(self._motion)
        self._slopes = jax.jit(jax.jacfwd(lambda free: self._motion(physical(free))))
        self._free_motion = jax.jit(lambda free: self._motion(physical(free)))
        self._motions = jax.jit(jax.vmap(self._motion))
        guesses = drawn(jax.random.key(2), GUESSES)
        self._guesses = np.stack(
            [TRANSFORMS[name].inv(column) for name, column in guesses.items()], axis=1
        )
        self._guessed = np.asarray(self._motions(guesses))
        self._sampled = jax.jit(self._sample)

    def _motion(self, values):
        return self.likelihood.predicted(by_path(values))["motion"]

    def _sample(self, data, centre, root, key):
        """Return draws of the free coordinates, and which of them diverged.

        One function of the record, which is compiled once for all sets: `MCMC.run`
        traces the model anew at each call, which takes longer than its draws.
        """

        def potential(scaled):
            # In coordinates in which the first fit has unit deviations. Steps tried by
            # the sampler far beyond would cost millions of impacts.
            near = jnp.all(jnp.abs(scaled) < FARTHEST)
            free = centre + root @ jnp.clip(scaled, -FARTHEST, FARTHEST)
            values = physical(free)
            density = self.likelihood.with_data({"motion": data})
            noise = {"motion": values["deviation"]}
            total = density(by_path(values), noise) + prior_density(free)
            return jnp.where(near, -total, jnp.inf)

        begin, step = hmc(potential, algo="NUTS")
        state = begin(
            jnp.zeros(4), WARMUP, adapt_mass_matrix=False, max_tree_depth=5,
            target_accept_prob=0.9,
            inverse_mass_matrix=jnp.ones(4), dense_mass=False, rng_key=key,
        )  # fmt: skip

        def moved(state, _):
            state = step(state)
            return state, (centre + root @ state.z, state.diverging)

        _, (draws, diverging) = jax.lax.scan(moved, state, length=WARMUP + SAMPLES)
        return draws[WARMUP:], diverging[WARMUP:]

    def fitted(self, data) -> tuple[np.ndarray, np.ndarray]:
        """Return the best free coordinates and the root of their covariance."""
        best = np.argmin(np.sum((self._guessed - data) ** 2, axis=1))
        start = self._guesses[best]

        middle, spread = NORMAL

        def left(free):
            motion = np.asarray(self._free_motion(jnp.asarray(free)))
            noise = np.exp(free[3])
            return np.append((motion - data) / noise, (free - middle)[:3] / spread[:3])

        def slopes(free):
            by_free = np.asarray(self._slopes(jnp.asarray(free)))[:, :3] / np.exp(free[3])
            return np.concatenate([by_free, np.diag(1 / spread[:3])])

        free = start
        for _ in range(2):  # the second time with the deviation from the first
            found = scipy.optimize.least_squares(
                lambda three, free=free: left(np.append(three, free[3])),
                free[:3],
                lambda three, free=free: slopes(np.append(three, free[3])),
            )
            motion = np.asarray(self._free_motion(jnp.append(found.x, free[3])))
            deviation = np.sqrt(np.mean((motion - data) ** 2))
            free = np.append(found.x, np.log(deviation))
        matrix = slopes(free)
        root = np.zeros((4, 4))
        root[:3, :3] = np.linalg.cholesky(np.linalg.inv(matrix.T @ matrix))
        root[3, 3] = 1 / np.sqrt(2 * len(data) + 1 / spread[3] ** 2)
        return free, root

    def draws(self, data, seed: int) -> tuple[dict, int]:
        """Return posterior draws by name, and how many steps diverged."""
        centre, root = map(jnp.asarray, self.fitted(data))
        free, diverging = self._sampled(data, centre, root, jax.random.key(seed))
        values = physical(np.asarray(free).T)
        return {name: np.asarray(x) for name, x in values.items()}, int(diverging.sum())


def drawn(key, number: int):
    """Return draws of the prior."""
    keys = jax.random.split(key, len(PRIORS))
    pairs = zip(keys, PRIORS.items(), strict=True)
    return {name: prior.sample(key, (number,)) for key, (name, prior) in pairs}


def calibrated(sets: int) -> dict:
    """Return the ranks' tests, and effective samples a minute."""
    posterior = Posterior()
    truths = drawn(jax.random.key(1), sets)
    noise = np.random.default_rng(3).normal(size=(sets, len(TIMES)))
    ranks = {name: [] for name in PRIORS}
    effective = {name: [] for name in PRIORS}
    diverging, seconds = 0, 0.0
    for i in range(-1, sets):  # the first one compiles
        truth = {name: column[i] for name, column in truths.items()}
        data = np.asarray(posterior.simulated(truth)) + truth["deviation"] * noise[i]
        began = time.process_time()
        found, diverged = posterior.draws(np.asarray(data), 100 + i)
        if i < 0:
            continue
        seconds += time.process_time() - began
        diverging += diverged
        for name, chain in found.items():
            effective[name].append(float(effective_sample_size(chain[None])))
            kept = chain[SAMPLES // KEPT - 1 :: SAMPLES // KEPT]
            ranks[name].append(int(np.sum(kept < float(truth[name]))))
        if (i + 1) % 25 == 0:
            print(i + 1, "sets", round(seconds, 1), "s", flush=True)
    return {
        "sets": sets,
        "draws of each": SAMPLES,
        "core-seconds once compiled": round(seconds, 1),
        "diverging": diverging / (sets * SAMPLES),
        "parameters": {
            name: summary(np.array(ranks[name]), effective[name], seconds / 60)
            for name in PRIORS
        },
    }


def summary(ranks: np.ndarray, effective: list[float], minutes: float) -> dict:
    """Return the test of uniform ranks, and effective samples per core-minute."""
    width = (KEPT + 1) // BINS
    counts = np.bincount(ranks // width, minlength=BINS)
    test = scipy.stats.chisquare(counts)
    return {
        "ranks": counts.tolist(),
        "chi-square": round(float(test.statistic), 2),
        "degrees of freedom": BINS - 1,
        "probability": round(float(test.pvalue), 4),
        "effective samples per set": round(float(np.mean(effective)), 1),
        "effective samples per core-minute": round(float(np.sum(effective)) / minutes),
    }


def main() -> None:
    """Write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=500)
    result = calibrated(parser.parse_args().sets) | {"machine": machine()}
    print(json.dumps(result, indent=1))
    RESULT.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
