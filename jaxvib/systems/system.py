"""What is studied: systems that can have periodic motions, by their loads or without."""

import abc
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..drawing.labels import Labels
from .equation import Equation
from .printed import Printed
from .roles import Linear


class System(Printed):
    r"""A system of bodies or of any quantities, moved by what repeats in time.

    To add one, write an `equinox.Module` whose leaves are its physical parameters, each
    declared by `quantity`, and its `equation`, `rest` and `period`. Everything else has a
    default: no contacts, no loads, no linear part, and states that are measured in what
    the field itself makes of them.

    `mechanical` says that states are displacements and then their velocities; engines,
    orbits and branches ask nothing of a system but what stands here.
    """

    # Without annotations, as these would be fields that come before a system's own.
    mechanical = False
    autonomous = False  # moved by nothing but itself, for ever in the same way
    contacts = ()  # of `impact.Contact`
    loads = ()  # of `impact.AppliedLoad`
    frictions = ()  # of `friction.Friction`
    springs = ()  # of `springs.NonlinearSpring`

    @abc.abstractmethod
    def equation(self) -> Equation:
        """Return the equation of motion, ready to be evaluated."""

    @abc.abstractmethod
    def rest(self) -> Float[Array, " state"]:
        """Return the state at rest, where motions start unless told otherwise."""

    @abc.abstractmethod
    def period(self) -> Float[Array, ""]:
        """Return the common period of all that moves it, s; NaN if there is none."""

    @property
    def has_contacts(self) -> bool:
        """Whether there is a contact that a solver must not miss."""
        return bool(self.contacts)

    def linear_part(self) -> Linear | None:
        """Return the system without its contacts and loads if that is linear, or None."""
        return None

    def scales(self, state: Float[Array, " state"]) -> Float[Array, " state"] | None:
        """Return what components are measured in; None: in what the field makes of them."""
        return None

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of what has an amplitude, in the order of `Equation.displaced`."""
        found = _shape_of(lambda system: system.equation().displaced(system.rest()), self)
        return tuple(map(str, range(found.shape[0])))

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of a state's components, as studies write them."""
        found = _shape_of(lambda system: system.rest(), self)
        return tuple(map(str, range(found.shape[0])))

    @property
    def labels(self) -> Labels:
        """What the components of a state, and the displacements, are called."""
        return Labels(self.state_names, (), self.freedom_names, ())


def equation_shape(system: System) -> Any:
    """Return a system's equation with the shapes of its numbers in their places."""
    numbers, static = eqx.partition(system, eqx.is_array)
    shapes, tree = jax.tree.flatten(
        jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), numbers)
    )
    try:
        return _equation_shape(static, tree, tuple(shapes))
    except TypeError:  # of a user's system with a part that has no hash
        return eqx.filter_eval_shape(lambda system: system.equation(), system)


@functools.lru_cache(maxsize=256)
def _equation_shape(static, tree, shapes):
    system = eqx.combine(jax.tree.unflatten(tree, shapes), static)
    return eqx.filter_eval_shape(lambda system: system.equation(), system)


class Mechanical(System):
    """A system whose states are displacements and then their velocities.

    `variables` and `formulas`: by which some parameters follow from others, see `derived`.
    """

    variables: eqx.Module | None = eqx.field(default=None, kw_only=True)
    formulas: tuple[tuple[str, str], ...] = eqx.field(static=True, default=(), kw_only=True)

    mechanical = True

    def scales(self, state: Float[Array, " state"]) -> Float[Array, " state"]:
        """Return what components are measured in.

        Displacements times the angular frequency of the load are velocities; the largest
        velocity is the size of the motion.
        """
        frequency = 2 * jnp.pi / self.period()
        half = state.shape[0] // 2
        weights = jnp.concatenate([jnp.full(half, frequency), jnp.ones(half)])
        size = jnp.max(jnp.abs(state) * weights)
        return jnp.maximum(size, jnp.finfo(state.dtype).tiny) / weights

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom, and then of their rates."""
        names = self.freedom_names
        return (*names, *(f"rate of {name}" for name in names))

    @property
    def labels(self) -> Labels:
        """What components of a state and displacements are called, and their units."""
        turning = self.rotations() if isinstance(self, Linear) else None
        names = self.freedom_names
        turning = [False] * len(names) if turning is None else turning
        units = tuple("rad" if turns else "m" for turns in turning)
        rates = tuple(f"{unit}/s" for unit in units)
        return Labels(self.state_names, units + rates, names, units)


def _shape_of(function: Callable, system: System) -> jax.ShapeDtypeStruct:
    """Return the shape of what is made of a system, whose arrays may be numpy's."""

    def shape(leaf):
        array = isinstance(leaf, np.ndarray | jax.Array)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if array else leaf

    return eqx.filter_eval_shape(function, jax.tree.map(shape, system))
