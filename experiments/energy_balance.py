"""Whether energies balance with contacts, friction and springs of other laws together.

    python -m experiments.energy_balance [--number 1000] [--seed 1]

Random chains of two bodies under a harmonic load: a damped Hertz contact with a wall, a
bump stop of two slopes between the bodies, a cubic spring, dry friction with Stribeck's
curve on the second body. Each starts at random and moves for a random time; the change of
its energy is held against the work of its load less what dampers, friction and contacts
take, each power integrated along the motion by Gauss's rule on every step. The identity
uses nothing of how the motion was found. Written is the largest difference, relative to
the sum of all energies that went to and fro, into `experiments/energy_balance.json`.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import jaxvib as jv
from jaxvib.dynamics.events.engine import Asked, travel
from jaxvib.ensemble import map_samples
from jaxvib.systems.roles import force_of, is_damped

RESULT = Path(__file__).with_suffix(".json")
_RTOL = 1e-12


def random_samples(rng, number: int) -> dict:
    """Return numbers of random systems, states and times, with a leading axis."""

    def spread(low, high):
        return np.exp(rng.uniform(np.log(low), np.log(high), number))

    force = spread(0.02, 0.5)
    return {
        "mass": spread(0.2, 1.0),
        "ratio": spread(1e-2, 0.1),
        "hertz": spread(30.0, 1e4),
        "crossley": spread(1e-2, 0.5),
        "gap": rng.uniform(0.1, 0.8, number),
        "bump": np.stack([spread(5.0, 50.0), spread(5.0, 500.0)], axis=1),
        "depth": spread(0.02, 0.2),
        "cubic": spread(0.01, 1.0),
        "force": force,
        "static": force * rng.uniform(1.05, 1.8, number),
        "stribeck": spread(0.05, 1.0),
        "amplitude": spread(0.3, 3.0),
        "frequency": spread(0.3, 3.0),
        "state": rng.normal(size=(number, 4)) * 0.3,
        "time": rng.uniform(5.0, 30.0, number),
    }


def system_of(sample: dict) -> jv.ImpactSystem:
    """Return a random system of its numbers."""
    mass, ratio = sample["mass"], sample["ratio"]
    held, link = jnp.diag(jnp.asarray([1.0, 0.0])), jnp.asarray([[1.0, -1.0], [-1.0, 1.0]])
    linear = jv.LinearSystem(
        held + mass * (jnp.eye(2) - held), ratio * (held + link), held + mass * link
    )
    first, second, between = (jnp.asarray(d) for d in ([1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]))
    rubber = jv.HuntCrossleyContact(sample["hertz"], sample["crossley"])
    bump = jv.PiecewiseLinearContact(sample["bump"], sample["depth"][None])
    limits = sample["force"], sample["static"], 0.0, None, sample["stribeck"]
    law = jv.PolynomialLaw(jnp.stack([jnp.zeros(()), jnp.zeros(()), sample["cubic"]]))
    return jv.ImpactSystem(
        linear,
        [
            jv.Contact(first, sample["gap"], rubber),
            jv.Contact(between, sample["gap"], bump),
        ],
        [jv.AppliedLoad(first, jv.HarmonicLoad(sample["amplitude"], sample["frequency"]))],
        [jv.CoulombFriction(second, *limits)],
        [jv.NonlinearSpring(second, law)],
    )


def _elastic(system) -> list:
    return [contact for contact in system.contacts if not is_damped(contact.law)]


def energy(system, state):
    """Return the energy of bodies, springs and contacts without damping, J."""
    mass, _, stiffness = system.matrices()
    position, velocity = jnp.split(state, 2)
    total = (velocity @ mass @ velocity + position @ stiffness @ position) / 2
    for contact in _elastic(system):
        depth = contact.direction @ position - contact.gap
        total = total + contact.law.energy(depth)
    for spring in system.springs:
        stretch = spring.direction @ position
        powers = stretch ** jnp.arange(2.0, 2.0 + spring.law.coefficients.shape[0])
        shares = 1 / jnp.arange(2.0, 2.0 + spring.law.coefficients.shape[0])
        total = total + jnp.sum(spring.law.coefficients * shares * powers)
    return total


def powers(system, time, state):
    """Return what the load does, and what dampers, contacts and friction take, W."""
    _, damping, _ = system.matrices()
    position, velocity = jnp.split(state, 2)
    (load,) = system.loads
    lost = jnp.zeros(())
    # All that a damped contact takes and gives back: what it stores is lost where it lets
    # go pressed in, as a power of z that Gauss's rule does not follow to z = 0.
    for contact in system.contacts:
        if is_damped(contact.law):
            depth = contact.direction @ position - contact.gap
            rate = contact.direction @ velocity
            lost = lost + force_of(contact.law, depth, rate) * rate
    (friction,) = system.frictions
    sliding = friction.direction @ velocity
    return jnp.stack(
        [
            load.law.force(time) * (load.direction @ velocity),
            velocity @ damping @ velocity,
            lost,
            friction.sliding(sliding) * jnp.abs(sliding),
        ]
    )


def balance(sample: dict):
    """Return the difference of a sample's energies, relative; its works; a reason code."""
    system = system_of(sample)
    found = travel(
        system.equation(),
        sample["state"],
        0.0,
        sample["time"],
        _RTOL,
        Asked(integrand=lambda t, s: powers(system, t, s)),
    )
    work, *losses = found.integral
    change = energy(system, found.state) - energy(system, sample["state"])
    size = energy(system, sample["state"]) + jnp.abs(work) + sum(map(jnp.abs, losses))
    return (change - work + sum(losses)) / size, found.integral / size, found.result


def balances(number: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return differences, works and reason codes of random systems."""
    samples = random_samples(np.random.default_rng(seed), number)
    found = map_samples(jv.kernel(balance), jax.tree.map(jnp.asarray, samples))
    return tuple(np.asarray(each) for each in found)


def main() -> None:
    """Write the result of a campaign."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = time.process_time()
    apart, works, codes = balances(given.number, given.seed)
    result = {
        "systems": given.number,
        "seed": given.seed,
        "failed": int(np.sum(codes != 0)),
        "largest difference": float(np.max(np.abs(apart))),
        "median difference": float(np.median(np.abs(apart))),
        "with damped contact": int(np.sum(works[:, 2] > 0)),
        "with friction": int(np.sum(works[:, 3] > 0)),
        "core-seconds": round(time.process_time() - began, 1),
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
