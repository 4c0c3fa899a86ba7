"""Bodies coupled to first-order states, such as those of circuits and actuators."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...foundation.quantity import check_shape
from ...foundation.types import Number
from ..base.around import AroundEquation, part
from ..base.equation import Time
from ..base.law import trait
from ..parameters import part_names
from .element import StateElement


class CoupledEquation(AroundEquation):
    r"""The equation of bodies and of the states of elements: $(q, \dot q, s)$.

    `moved` is the `EquationOfMotion` of the bodies:

    $$M \ddot q + D \dot q + C q + \sum_c n_c F_c + \sum_s n_s F_s
        + \sum_k n_k F_k(s_k, m_k^T q, m_k^T \dot q, t) = \sum_l r_l f_l(t), \qquad
      \dot s_k = g_k(s_k, m_k^T q, m_k^T \dot q, t).$$
    """

    elements: tuple[StateElement, ...]

    @property
    def size(self) -> int:
        """The number of states of the bodies, 2n."""
        return 2 * self.moved.offset.shape[0]

    offset: ClassVar[Any] = part("offset")  # of the bodies, like the following
    contacts: ClassVar[Any] = part("contacts")
    vars().update({name: part(name) for name in ("frictions", "springs")})

    def vector_field(
        self, time: Time, state: Float[Array, " state"]
    ) -> Float[Array, " state"]:
        """Return the state's rate of change at a time, s."""
        velocity, acceleration = jnp.split(
            self.moved.vector_field(time, state[: self.size]), 2
        )
        found = []
        for element, *motion in self._elements(state):
            found.append(jnp.asarray(element.law.rate(*motion, time), state.dtype))
            force = element.law.force(*motion, time)
            acceleration = acceleration - element.response * force
        return jnp.concatenate([velocity, acceleration, *found])

    def element_powers(
        self, time: Number, state: Float[Array, " state"]
    ) -> Float[Array, " elements"]:
        """Return the power that each element takes from the bodies, W."""
        velocity = state[self.size // 2 : self.size]
        powers = [
            element.law.force(*motion, time) * (element.direction @ velocity)
            for element, *motion in self._elements(state)
        ]
        return jnp.stack(powers) if powers else jnp.zeros(0)

    def may_pulse(self) -> bool:
        """Return whether there may be short pulses that a step could miss."""
        return super().may_pulse() or any(trait(x.law, "pulses") for x in self.elements)

    def may_jump(self) -> bool:
        """Return whether a law is not declared continuous."""
        return super().may_jump() or any(trait(x.law, "jumps") for x in self.elements)

    def _elements(self, state) -> Iterator[tuple]:
        """Yield each element with its states, its elongation, m, and its rate, m/s."""
        position, velocity = jnp.split(state[: self.size], 2)
        position, begin = position - self.moved.offset, self.size
        for element in self.elements:
            end = begin + len(element.law.states)
            along = element.measured
            yield element, state[begin:end], along @ position, along @ velocity
            begin = end


def named_states(elements: Sequence[StateElement]) -> Iterator[tuple[str, str]]:
    """Yield the name, such as `circuit.voltage`, and the unit of each state."""
    for name, element in zip(part_names(elements), elements, strict=True):
        states = element.law.states
        units = trait(element.law, "units") or ("",) * len(states)
        for state, unit in zip(states, units, strict=True):
            yield f"{name}.{state}", unit


def check_elements(elements: Sequence[StateElement], size: int) -> None:
    """Raise `ValueError` for an element that does not fit the bodies or its states."""
    for name, element in zip(part_names(elements), elements, strict=True):
        check_shape(f"element {name}: senses", element.measured, (size,))
        count, shape = len(element.law.states), _rate_shape(element)
        if shape != (count,):
            raise ValueError(
                f"element {name}: rate has shape {shape}; allowed: ({count},), one for "
                "each of its states"
            )


def _rate_shape(element: StateElement) -> tuple[int, ...]:
    """Return the shape of the rates of an element's states."""
    zero = jnp.zeros(())
    states = jnp.zeros(len(element.law.states))
    return jnp.shape(eqx.filter_eval_shape(element.law.rate, states, zero, zero, zero))
