"""Charts of one periodic motion: its multipliers, or the motion over one period."""

from typing import Any, ClassVar

import numpy as np
from equinox import AbstractVar
from jaxtyping import Array, Complex, Float

from ...drawing import Axis, Chart, Notes, draw
from ...drawing.axes import Axes
from ...drawing.polyline import unit_circle
from ...dynamics.flow import Trajectory, simulate
from ...ensemble.result import Result
from ...systems.base.system import System

_POINTS = 1025  # of one period: an impact that lasts a hundredth of it has ten


class PlottableMotion(Result):
    """Base class of periodic motions; `default_picture`: the default `what` of `plot`."""

    default_picture: ClassVar[str] = "phase"

    period: AbstractVar[Float[Array, ""]]
    state: AbstractVar[Float[Array, " state"]]
    floquet_multipliers: AbstractVar[Complex[Array, " state"]]
    largest_multiplier: AbstractVar[Float[Array, ""]]

    @property
    def drawable(self) -> bool:
        """Whether this is a single motion, and was found."""
        return np.ndim(self.result) == 0 and not self._empty()

    def charts(self) -> list[Chart]:
        """Return the chart of the multipliers, and those of all fields."""
        return [multipliers_chart(self), *super().charts()]

    def plot(
        self, system: System | None = None, what: str | None = None, *, ax: Axes = None
    ) -> Axes:
        """Draw the motion on matplotlib axes, by default new ones, and return them.

        With its `system` the motion over one period, `what` as for `Trajectory.plot`;
        otherwise its Floquet multipliers with the unit circle, the limit of stability.
        **Raises:** `ValueError` for a batch of results or one that was not found.
        """
        if system is None:
            return draw(multipliers_chart(self), ax)
        return orbit_motion(self, system).plot(what or self.default_picture, ax=ax)

    def animate(self, system: System, duration: float = 8.0) -> Any:
        """Return a `matplotlib` animation of one period, see `Trajectory.animate`."""
        return orbit_motion(self, system).animate(duration)

    def _empty(self) -> bool:
        return not np.isfinite(self.largest_multiplier)


def multipliers_chart(orbit: PlottableMotion) -> Chart:
    """Return the chart of an orbit's or cycle's multipliers with the unit circle."""
    _check_one(orbit)
    values = np.asarray(orbit.floquet_multipliers)
    marks = Notes(values.real, values.imag, ("",) * len(values), "multipliers", "circle")
    axes = Axis("real part of a multiplier"), Axis("imaginary part")
    return Chart(*axes, (unit_circle(), marks), equal=True)


def orbit_motion(orbit: PlottableMotion, system: System) -> Trajectory:
    """Return the motion of an orbit or a cycle of a system over one period."""
    _check_one(orbit)
    times = np.linspace(0.0, float(orbit.period), _POINTS)
    return simulate(system, orbit.state, times)


def _check_one(orbit: PlottableMotion) -> None:
    if not orbit.drawable:
        shape = np.shape(orbit.result)
        found = f"a batch of shape {shape}" if shape else "none was found"
        raise ValueError(f"{type(orbit).__name__}: {found}; allowed: a single result")
