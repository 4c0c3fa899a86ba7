"""Frequency response: the steady state under a unit harmonic force."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Complex, Float, Real

from ..foundation.quantity import check_shape, floats
from ..systems.base.roles import Linear
from ..systems.linear_part import linear_part_alone

Place = str | int | Mapping[str, float] | Real[ArrayLike, " n"] | Sequence[Any]


def frequency_response(
    system: Linear,
    frequencies: Real[ArrayLike, "..."] | Sequence[Any],
    *,
    force: Place,
    at: Place | None = None,
) -> Complex[Array, "..."]:
    r"""Return the complex displacement per unit force at angular frequencies (rad/s).

    $$x = (C - \omega^2 M + i \omega D)^{-1} r, \qquad q(t) = \mathrm{Re}(x e^{i \omega
      t}) \text{ under } f(t) = r \cos \omega t.$$

    **Arguments:** `force`: direction of the force (or moment): the name or index of a
    degree of freedom, a mapping from names to coefficients, or a vector of shape (n,);
    `at`: direction of the displacement, likewise; all degrees of freedom along a last
    axis if `None`. An undamped system gives infinities or NaN at its natural
    frequencies. Contacts, friction elements and loads are ignored, nonlinear springs
    are linearised at the unstrained position. **Raises:** `ValueError` for an unknown
    degree of freedom, or springs that cannot be linearised.

    >>> response = jv.frequency_response(tower, [8.0, 12.0], force="first", at="roof")
    >>> abs(response).round(5).tolist()
    [0.00325, 0.03874]
    """
    system = linear_part_alone(system)
    matrices = system.matrices()
    size = matrices[0].shape[0]
    push = direction_of(system, force, size)
    frequencies = jnp.asarray(frequencies, float)
    response = _responses(matrices, push, frequencies.reshape(-1))
    response = response.reshape(*frequencies.shape, size)
    if at is None:
        return response
    return response @ direction_of(system, at, size).astype(response.dtype)


@jax.jit
def _responses(matrices, push, frequencies):
    mass, damping, stiffness = matrices

    def response(frequency):
        dynamic = jax.lax.complex(stiffness - frequency**2 * mass, frequency * damping)
        return jnp.linalg.solve(dynamic, push.astype(dynamic.dtype))

    return jax.vmap(response)(frequencies)


def direction_of(system: Linear, place: Place, size: int) -> Float[Array, " n"]:
    """Return a direction, given as such or as a degree of freedom.

    **Raises:** `ValueError` for an unknown degree of freedom or a wrong shape.
    """
    if isinstance(place, str | Mapping):
        return system.direction(place)
    if isinstance(place, int):
        if not 0 <= place < size:
            raise ValueError(f"degree of freedom {place} is not in [0, {size})")
        return jnp.zeros(size).at[place].set(1.0)
    place = floats("direction", place)
    check_shape("direction", place, (size,))
    return place
