"""Symplectic steps of a chain with nonlinear springs and stops."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from ...foundation.arrays import is_concrete
from ...foundation.quantity import (
    Quantity,
    Range,
    check_range,
    check_shape,
    floats,
    quantity,
)
from ...foundation.suggestions import CheckedArguments
from ...systems.base.law import ContactLaw, force_of
from ...systems.structures.chain import BeamChain

# Symmetric compositions of Verlet steps, by order; first halves, the middle one last.
_COMPOSITIONS = {
    2: (1.0,),
    4: (0.41449077179437573714, 0.41449077179437573714, -0.65796308717750294857),
    # Suzuki and Umeno (1993), as in Hairer, Lubich and Wanner (2006), V.3.11
    8: (
        0.74167036435061295344822780, -0.40910082580003159399730010,
        0.19075471029623837995387626, -0.57386247111608226665638773,
        0.29906418130365592384446354, 0.33462491824529818378495798,
        0.31529309239676659663205666, -0.79688793935291635401978884,
    ),
}  # fmt: skip


class CubicGround(CheckedArguments, eqx.Module):
    r"""A spring from every body to the ground with $f = -k y - c y^3$.

    **Fields:** `stiffness` $k$ (N/m), `cubic` $c$ (N/m^3). **Raises:** `ValueError` for a
    field that is not a number.

    >>> ground = jv.dynamics.CubicGround(stiffness=0.1, cubic=0.5)
    >>> float(ground.force(jnp.array([1.0]))[0])
    -0.6
    """

    stiffness: Float[Quantity, ""] = quantity("stiffness", "N/m", "linear stiffness")
    cubic: Float[Quantity, ""] = quantity("cubic", "N/m^3", "cubic stiffness")

    def force(self, position: Float[Array, "2 bodies"]) -> Float[Array, "2 bodies"]:
        """Return the force (N) and the moment on each body."""
        y = position[0]
        return position.at[0].set(-(self.stiffness + self.cubic * y * y) * y).at[1].set(0.0)

    def energy(self, position: Float[Array, "2 bodies"]) -> Float[Array, ""]:
        """Return the stored energy, J."""
        square = position[0] ** 2
        return jnp.sum(self.stiffness * square / 2 + self.cubic * square**2 / 4)


class Stop(CheckedArguments, eqx.Module):
    r"""A stop that acts on a body beyond a gap: $f = -F(y_i - g)$.

    **Fields:** `body` $i$; `gap` $g$ (m); `law`: any elastic contact law, from penetration
    to force. **Raises:** `ValueError` for a gap that is not a number.

    >>> stop = jv.dynamics.Stop(body=3, gap=0.01, law=jv.LinearContact(1e4))
    >>> state = jv.dynamics.kick(chain, body=3, velocity=1.0)
    >>> jv.dynamics.step_chain(chain, state, 1.0, 100, forces=(stop,)).shape
    (4, 32)
    """

    body: int = eqx.field(static=True)
    gap: Float[Quantity, ""] = quantity("gap", "m", "gap at rest")
    law: ContactLaw

    def force(self, position: Float[Array, "2 bodies"]) -> Float[Array, "2 bodies"]:
        """Return the force (N) and the moment on each body."""
        force = force_of(self.law, position[0, self.body] - self.gap)
        return jnp.zeros_like(position).at[0, self.body].set(-force)

    def energy(self, position: Float[Array, "2 bodies"]) -> Float[Array, ""]:
        """Return the stored energy, J."""
        law: Any = self.law
        return law.energy(position[0, self.body] - self.gap)


def step_chain(
    chain: BeamChain,
    state: Real[ArrayLike, "4 bodies"] | Sequence[Any],
    duration: Real[ArrayLike, ""] | float,
    steps: Real[ArrayLike, ""] | int,
    *,
    forces: tuple[eqx.Module, ...] = (),
    order: int = 4,
) -> Float[Array, "4 bodies"]:
    r"""Return the state after `duration` (s) in equal symplectic steps.

    Each step composes Verlet's (kick, drift, kick) into a method of `order` 2, 4
    (Suzuki) or 8; it is reversible and keeps the energy within a bound that does not
    grow with time (order 4, steps of $0.1/\omega_1$: 2e-5 of it over a million steps).
    A step must stay below $2/\omega_{max}$ over the largest coefficient.
    **Arguments:** `forces`: other forces on the bodies, `CubicGround`, `Stop` or
    anything with `force(position)`. **Raises:** `ValueError` for an unsupported order,
    fewer than one step, or a state of another shape.

    >>> state = jv.dynamics.kick(chain, body=3, velocity=1.0)
    >>> moved = jv.dynamics.step_chain(chain, state, duration=1.0, steps=100)
    >>> exact = jv.propagate(chain, state, [1.0])[0]
    >>> bool(abs(moved - exact).max() < 1e-6)
    True
    """
    if order not in _COMPOSITIONS:
        raise ValueError(f"order = {order}; allowed: {', '.join(map(str, _COMPOSITIONS))}")
    check_range("steps", steps, "", Range(at_least=1))
    state = checked_fields(chain, state)
    step = jnp.asarray(duration, float) / steps
    if is_concrete(chain, forces, state, duration, steps):
        steps = np.asarray(steps, int)  # one program for all; others have reverse mode
    elif not isinstance(steps, int):
        steps = jnp.asarray(steps).astype(int)
    return _stepped(chain, forces, order, state, step, steps)


def checked_fields(
    chain: BeamChain, state: Real[ArrayLike, "4 bodies"] | Sequence[Any]
) -> Float[Array, "4 bodies"]:
    """Return a state as an array. **Raises:** `ValueError` for another shape."""
    state = floats("state", state)
    check_shape("state", state, (4, chain.bodies))
    return state


def stage_weights(order: int) -> tuple[float, ...]:
    """Return the weights of the Verlet steps that compose a step of this order."""
    half = _COMPOSITIONS[order]
    return (*half[:-1], half[-1], *reversed(half[:-1]))


@eqx.filter_jit
def _stepped(chain, forces, order, state, step, steps):
    weights = stage_weights(order)
    inverse = 1 / jnp.stack([chain.masses, chain.inertias])

    def acceleration(place):
        force = chain.forces(place)
        for extra in forces:
            force = force + extra.force(place)
        if chain.ends == "hinged":
            force = force.at[0, 0].set(0.0).at[0, -1].set(0.0)
        return inverse * force

    def once(_, moving):
        place, rate, push = moving
        for weight in weights:
            rate = rate + (weight * step / 2) * push
            place = place + (weight * step) * rate
            push = acceleration(place)
            rate = rate + (weight * step / 2) * push
        return place, rate, push

    place, rate = state[:2], state[2:]
    place, rate, _ = jax.lax.fori_loop(0, steps, once, (place, rate, acceleration(place)))
    return jnp.concatenate([place, rate])
