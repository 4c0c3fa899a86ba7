"""Measures of chains in motion: energy shares of wave packets and random motions."""

import dataclasses
import operator

import jax
import jax.numpy as jnp
import numpy as np

from ...dynamics import energy_field, step_chain, wave_packet
from ...dynamics.chains.motion import FINE
from ...foundation.suggestions import CheckedArguments
from ...systems import BeamChain
from .measure import Direct, Measure, Partial


@dataclasses.dataclass(frozen=True)
class Packet(CheckedArguments):
    """A wave packet that travels along a chain, with its reflected energy share.

    **Fields:** `centre`, `width` (bodies) and `wave_number` (rad/body) of the packet,
    on the `upper` or the lower branch; `duration` (s); `body`: energy at bodies below
    this index counts as reflected, the rest as transmitted.

    >>> jv.design.Packet(centre=8, width=3.0, wave_number=0.9, duration=20.0, body=16).body
    16
    """

    centre: float
    width: float
    wave_number: float
    duration: float
    body: int
    upper: bool = False

    def __call__(self, chain: BeamChain):
        """Return the final shares of energy below and from the body on."""
        plain = BeamChain(
            chain.bodies, chain.gamma, chain.ends, mass=chain.mass, length=chain.length,
            bending_stiffness=chain.bending_stiffness,
        )  # fmt: skip
        start = wave_packet(
            plain, self.centre, self.width, self.wave_number, upper=self.upper
        )
        end = _moved(chain, start, self.duration)
        density = energy_field(chain, end).density
        before = jnp.sum(density[: self.body]) / jnp.sum(density)
        return jnp.stack([before, 1.0 - before])


def packet_measure(share: str, packet: Packet) -> Measure:
    """Return a measure of the "reflected" or "transmitted" energy share of a packet.

    >>> packet = jv.design.Packet(
    ...     centre=8, width=3.0, wave_number=0.9, duration=20.0, body=16
    ... )
    >>> jv.design.packet_measure("reflected", packet).description
    'reflected share of energy'
    """
    places = {"reflected": 0, "transmitted": 1}
    if share not in places:
        raise ValueError(f"share = {share!r}; allowed: {', '.join(places)}")
    read = Partial(operator.getitem, (places[share],))
    return Measure(Direct(packet), read, "", f"{share} share of energy")


@dataclasses.dataclass(frozen=True)
class RandomSplit(CheckedArguments):
    """Distribution of energy in a chain started with random velocities.

    **Fields:** `duration` (s); `rotational`: the initial share of rotational energy;
    `seed` of the velocities.

    >>> jv.design.RandomSplit(duration=10.0, rotational=0.5).rotational
    0.5
    """

    duration: float
    rotational: float = 0.0
    seed: int = 0

    def __call__(self, chain: BeamChain):
        """Return the translational, rotational and strain shares of the energy."""
        drawn = jax.random.normal(jax.random.key(self.seed), (2, chain.bodies))
        # Roots of the shares by NumPy: at a share of 0 they have no derivative.
        roots = np.sqrt(2 * np.array([1 - self.rotational, self.rotational]))
        rates = roots[:, None] * drawn / jnp.sqrt(jnp.stack([chain.masses, chain.inertias]))
        if chain.ends == "hinged":
            rates = rates.at[0, 0].set(0.0).at[0, -1].set(0.0)
        start = jnp.concatenate([jnp.zeros_like(rates), rates])
        energies = chain.energies(_moved(chain, start, self.duration))
        parts = [energies.translational, energies.rotational, energies.potential]
        return jnp.stack(parts) / energies.total


def energy_share_measure(kind: str, split: RandomSplit) -> Measure:
    """Return a measure of the "translational", "rotational" or "potential" share.

    >>> split = jv.design.RandomSplit(duration=10.0)
    >>> jv.design.energy_share_measure("rotational", split).description
    'rotational share of energy'
    """
    kinds = ("translational", "rotational", "potential")
    if kind not in kinds:
        raise ValueError(f"kind = {kind!r}; allowed: {', '.join(kinds)}")
    read = Partial(operator.getitem, (kinds.index(kind),))
    return Measure(Direct(split), read, "", f"{kind} share of energy")


def _moved(chain, start, duration):
    """Return the final state by symplectic steps, differentiable in the chain."""
    waves = chain.bands(jnp.linspace(0.0, jnp.pi, 33))
    steps = jnp.ceil(duration * 2 * jnp.max(waves.upper) / FINE)
    return step_chain(chain, start, duration, steps, order=4)
