"""Charts of one periodic motion: its multipliers, or the motion over one period."""

from typing import Any

import numpy as np

from ..drawing import Axis, Chart, Line, Notes
from ..dynamics.flow import Trajectory, simulate
from ..systems.system import System

PeriodicMotion = Any  # an orbit or a limit cycle: their modules import this one
_POINTS = 1025  # of one period: an impact that lasts a hundredth of it has ten


def multipliers_chart(orbit: PeriodicMotion) -> Chart:
    """Return the chart of an orbit's or cycle's multipliers with the unit circle."""
    _check_one(orbit)
    values = np.asarray(orbit.floquet_multipliers)
    angle = np.linspace(0.0, 2 * np.pi, 181)
    layers = (
        Line(np.cos(angle), np.sin(angle), "stability limit", 3, "dot"),
        Notes(values.real, values.imag, ("",) * len(values), "multipliers", "circle"),
    )
    axes = Axis("real part of a multiplier"), Axis("imaginary part")
    return Chart(*axes, layers, equal=True)


def orbit_motion(orbit: PeriodicMotion, system: System) -> Trajectory:
    """Return the motion of an orbit or a cycle of a system over one period."""
    _check_one(orbit)
    times = np.linspace(0.0, float(orbit.period), _POINTS)
    return simulate(system, orbit.state, times)


def _check_one(orbit) -> None:
    if not orbit.drawable:
        shape = np.shape(orbit.result)
        found = f"a batch of shape {shape}" if shape else "none was found"
        raise ValueError(f"{type(orbit).__name__}: {found}; allowed: a single result")
