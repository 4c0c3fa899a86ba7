"""What laws and systems offer to each other and to the floors above."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class ContactLaw(Protocol):
    """A force between two bodies by how deep they are in each other."""

    def force(self, penetration: Any) -> Any:
        """Return the repelling force, N, at a penetration, m."""

    def energy(self, penetration: Any) -> Any:
        """Return the stored energy, J, at a penetration, m."""


@runtime_checkable
class LoadLaw(Protocol):
    """A force that depends on time alone, and repeats."""

    def force(self, time: Any) -> Any:
        """Return the force, N, at a time, s."""

    def period(self) -> Any:
        """Return the period, s."""


@runtime_checkable
class Linear(Protocol):
    """A linear system, or the linear part of one."""

    def matrices(self) -> Any:
        """Return (M, D, C)."""


@runtime_checkable
class Periodic(Protocol):
    """A system whose loads repeat, so that it can have periodic motions."""

    def equation(self) -> Any:
        """Return the equation of motion, ready to be evaluated."""

    def rest(self) -> Any:
        """Return the state at rest in static equilibrium."""

    def period(self) -> Any:
        """Return the common period of the loads, s."""
