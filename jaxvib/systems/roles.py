"""What laws and linear systems offer to systems and to the floors above."""

import abc
import inspect
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

from .freedoms import direction
from .printed import Printed


@runtime_checkable
class ElasticLaw(Protocol):
    """A force between two bodies by how deep they are in each other.

    To add one, write an `equinox.Module` with these two methods, its numbers declared by
    `quantity`; arrays of any shape are mapped element by element. `jumps = False` says
    that the force is continuous; else orbits and derivatives are refused where it is seen
    to jump. Engines that step take any law; "event" takes those that
    `dynamics.events.motion` has a form for.
    """

    def force(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m."""
        ...

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        ...


@runtime_checkable
class DampedLaw(Protocol):
    """A force by how deep two bodies are in each other, and how fast they go deeper.

    As `ElasticLaw`, with a `force` that takes the penetration's rate too.
    """

    def force(
        self, penetration: Float[ArrayLike, "*n"], rate: Float[ArrayLike, "*n"]
    ) -> Float[Array, "*n"]:
        """Return the repelling force, N, at a penetration, m, and its rate, m/s."""
        ...

    def energy(self, penetration: Float[ArrayLike, "*n"]) -> Float[Array, "*n"]:
        """Return the stored energy, J, at a penetration, m."""
        ...


ContactLaw = ElasticLaw | DampedLaw


def is_damped(law) -> bool:
    """Return whether the force of a law takes a rate beside what it is elastic in."""
    return len(inspect.signature(law.force).parameters) > 1


def force_of(law, *motion: Array) -> Array:
    """Return the force, N, of a law at a penetration or elongation, m, and its rate."""
    return law.force(*(motion if is_damped(law) else motion[:1]))


@runtime_checkable
class LoadLaw(Protocol):
    """A force that depends on time alone, and repeats.

    To add one, write an `equinox.Module` with these two methods, its numbers declared by
    `quantity`. Engines that step take any such law; a `Load` tells the others more.
    """

    def force(self, time: Real[Array, ""] | float) -> Float[Array, ""]:
        """Return the force, N, at a time, s."""
        ...

    def period(self) -> Float[Array, ""]:
        """Return the period, s."""
        ...


class Linear(Printed):
    r"""A system $M \ddot q + D \dot q + C q = f$, or the linear part of one.

    To add one, write `matrices`. Where degrees of freedom have names, `freedom_names` makes
    places of them; `strain_rows` keeps the digits of slow motions, and `sparse_matrices`
    with `sparse_strains` serve many thousands of freedoms.
    """

    has_contacts = False
    loads = ()
    frictions = ()
    springs = ()

    @abc.abstractmethod
    def matrices(self) -> tuple[Float[Array, "n n"], ...]:
        """Return (M, D, C)."""

    @property
    def freedom_names(self) -> tuple[str, ...]:
        """The names of the degrees of freedom, none where they have positions only."""
        return ()

    def linear_part(self) -> "Linear":
        """Return the system itself."""
        return self

    def direction(self, place: str | Mapping[str, float]) -> Float[Array, " n"]:
        """Return the direction of a degree of freedom, or of some with coefficients.

        **Raises:** `ValueError` for an unknown degree of freedom, naming the nearest one,
        or a system whose degrees of freedom have no names.
        """
        if not self.freedom_names:
            raise ValueError(f"{place!r}: the system has no names; allowed: a position")
        return direction(self.freedom_names, place)

    def rotations(self) -> np.ndarray | None:
        """Return which degrees of freedom are rotations, (n,), None where all translate."""
        return None

    def strain_rows(self) -> tuple[Float[Array, " s"], Float[Array, "s n"]] | None:
        r"""Return weights $w$ and rows $R$ with $C = R^T \mathrm{diag}(w) R$, or None."""
        return None

    def sparse_matrices(self) -> tuple | None:
        """Return (M, D, C) as scipy's sparse arrays, None where they are not sparse."""
        return None

    def sparse_strains(self) -> tuple | None:
        """Return `strain_rows` with the rows as a scipy sparse array, or None."""
        return None
