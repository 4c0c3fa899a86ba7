"""Base classes of systems, forced or autonomous."""

import abc
import functools
import types
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...drawing.labels import Labels
from ...foundation.types import EMPTY
from ...kernels.calls.kernel_cache import cached_fact
from .equation import Equation
from .roles import Linear
from .system_repr import SystemRepr


class System(SystemRepr):
    r"""A dynamical system, with time-periodic forcing or autonomous.

    To add one, write an `equinox.Module` whose leaves are its physical parameters, each
    declared by `quantity`, with `equation`, `rest` and `period`. All other attributes
    have defaults: no contacts, no loads, no linear part, and scales of states derived
    from the field.

    `mechanical` declares that states are displacements followed by their velocities;
    engines, orbits and branches use only the interface defined here.
    """

    # Not annotated, as fields would precede those of a subclass.
    mechanical = False
    autonomous = False  # a vector field independent of time
    period_is_declared = False  # by the user of a field, and to be checked
    in_memory = False  # whether its kernels keep arrays of more than 16 numbers in memory
    contacts = EMPTY  # of `impact.Contact`
    loads = EMPTY  # of `impact.AppliedLoad`
    frictions = EMPTY  # of `friction.Friction`
    springs = EMPTY  # of `springs.NonlinearSpring`
    elements = EMPTY  # of `states.StateElement`
    drift = None  # a `drift.Drift`

    @abc.abstractmethod
    def equation(self) -> Equation:
        """Return the equation of motion."""

    @abc.abstractmethod
    def rest(self) -> Float[Array, " state"]:
        """Return the state at rest, the default initial state."""

    @abc.abstractmethod
    def period(self) -> Float[Array, ""]:
        """Return the common period of the forcing, s; NaN if there is none."""

    @property
    def has_contacts(self) -> bool:
        """Whether there is a contact that a solver must not miss."""
        return bool(self.contacts)

    def linear_part(self) -> Linear | None:
        """Return the linear system without contacts and loads, or None."""
        return None

    def scales(self, state: Float[Array, " state"]) -> Float[Array, " state"] | None:
        """Return scales of the components; None: derived from the field."""
        return None

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the displacements, in the order of `Equation.displaced`."""
        return tuple(map(str, range(structural_fact(_number_displaced, self))))

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of a state's components, as stored by studies."""
        return tuple(map(str, range(state_shape(self)[0])))

    @property
    def labels(self) -> Labels:
        """Labels of the components of a state and of the displacements."""
        return Labels(self.state_names, (), self.freedom_names, ())


def equation_shape(system: System) -> Any:
    """Return a system's equation with shapes in place of its arrays."""
    return _abstract(system, "equation")


def state_shape(system: System) -> tuple[int, ...]:
    """Return the shape of a system's states."""
    return tuple(structural_fact(_state_shape, system))


def _state_shape(system: System) -> list[int]:
    return list(_abstract(system, "rest").shape)


def _number_displaced(system: System) -> int:
    shape = eqx.filter_eval_shape(lambda s: s.equation().displaced(s.rest()), system)
    return shape.shape[0]


def structural_fact(function: types.FunctionType, system: System) -> Any:
    """Return `function(system)`, which depends on shapes only, as plain data for JSON.

    It is cached between processes, as JAX's evaluation of shapes takes ten times as long.
    """
    leaves, tree = _with_shapes(system)
    try:
        return _cached_fact(function, tree, *leaves)
    except TypeError:  # a user's system with an unhashable part, or that needs numbers
        return function(system)


@functools.lru_cache(maxsize=256)
def _cached_fact(function, tree, *leaves):
    return cached_fact(function, jax.tree.unflatten(tree, leaves))


def _abstract(system: System, method: str) -> Any:
    """Return the abstract result of a method; systems of equal shapes share it."""
    leaves, tree = _with_shapes(system)
    try:
        return _cached_abstract(method, tree, *leaves)
    except TypeError:  # a user's system with an unhashable part, or that needs numbers
        return eqx.filter_eval_shape(lambda: getattr(system, method)())


def _with_shapes(system: System) -> tuple[list[Any], Any]:
    """Return the leaves of a system, with shapes in place of arrays, and its tree."""
    leaves, tree = jax.tree.flatten(system)
    shapes = [
        jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if eqx.is_array(leaf) else leaf
        for leaf in leaves
    ]
    return shapes, tree


@functools.lru_cache(maxsize=256)
def _cached_abstract(method: str, tree, *leaves):
    system = jax.tree.unflatten(tree, leaves)
    return eqx.filter_eval_shape(lambda system: getattr(system, method)(), system)


class Mechanical(System):
    """A system whose states are displacements followed by their velocities.

    `variables` and `formulas`: those of `derived` parameters; `drift`: see `drifting`.
    """

    variables: eqx.Module | None = eqx.field(default=None, kw_only=True)
    formulas: tuple[tuple[str, str], ...] = eqx.field(static=True, default=(), kw_only=True)
    drift: Any = eqx.field(static=True, default=None, kw_only=True)

    mechanical = True

    def scales(self, state: Float[Array, " state"]) -> Float[Array, " state"] | None:
        """Return scales of the components.

        Displacements are scaled by the angular frequency of the load to velocities; the
        largest velocity is the size of the motion.
        """
        frequency = 2 * jnp.pi / self.period()
        half = state.shape[0] // 2
        weights = jnp.concatenate([jnp.full(half, frequency), jnp.ones(half)])
        size = jnp.max(jnp.abs(state) * weights)
        return jnp.maximum(size, jnp.finfo(state.dtype).tiny) / weights

    def further_states(self) -> tuple[tuple[str, str], ...]:
        """Return names and units of states behind the velocities (default: none)."""
        return ()

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom, of their rates and of further states."""
        names = self.freedom_names
        further = (name for name, _ in self.further_states())
        return (*names, *(f"rate of {name}" for name in names), *further)

    @property
    def labels(self) -> Labels:
        """Labels and units of the components of a state and of the displacements."""
        turning = self.rotations() if isinstance(self, Linear) else None
        names = self.freedom_names
        turning = [False] * len(names) if turning is None else turning
        units = tuple("rad" if turns else "m" for turns in turning)
        rates = tuple(f"{unit}/s" for unit in units)
        further = tuple(unit for _, unit in self.further_states())
        units_of_states = units + rates + further
        progress = units_of_states[self.drift.place] if self.drift else ""
        return Labels(self.state_names, units_of_states, names, units, progress)
