"""Charts, text and animation of a `Trajectory`."""

from typing import Any

import jax
import numpy as np

from ..drawing import Axis, Chart, Line, animation
from ..drawing.labels import shared
from ..ensemble import reason
from ..foundation.result_repr import span
from ..foundation.suggestions import unknown_key

_MOST_SHOWN = 5  # components of the state
_WHAT = ("displacement", "velocity", "force", "phase")


def trajectory_chart(motion: Any, what: str) -> Chart:
    """Return the chart of a `Trajectory`, see `Trajectory.plot`."""
    if what not in _WHAT:
        raise ValueError(unknown_key("picture of a motion", what, _WHAT))
    _check_one(motion)
    states, labels = np.asarray(motion.states), motion.labels
    count = states.shape[1]
    shown = len(labels.freedoms) or count
    names = labels.freedoms or [labels.name(i) for i in range(count)]
    units = [labels.unit(i) for i in range(count)]
    times = np.asarray(motion.times)
    if what == "force":
        forces = np.asarray(motion.contact_force).T
        lines = [Line(times, f, f"contact {i}", i) for i, f in enumerate(forces)]
        return Chart(Axis("time (s)"), Axis("contact force (N)"), tuple(lines))
    rates = count >= 2 * shown
    if what != "displacement" and not rates:
        raise ValueError(f"{what!r} needs velocities; the system has no bodies")
    displacement = Axis(shared("displacement" if rates else "state", units[:shown]))
    velocity = Axis(shared("velocity", units[shown : 2 * shown]))
    if what == "phase":
        pairs = [(states[:, i], states[:, shown + i]) for i in range(shown)]
        lines = [Line(*pair, names[i], i) for i, pair in enumerate(pairs)]
        return Chart(displacement, velocity, tuple(lines))
    first, axis = (0, displacement) if what == "displacement" else (shown, velocity)
    lines = [Line(times, states[:, first + i], names[i], i) for i in range(shown)]
    return Chart(Axis("time (s)"), axis, tuple(lines))


def trajectory_text(motion: Any) -> str:
    """Return the repr of a `Trajectory`: the range of each component, with its unit."""
    if isinstance(motion.states, jax.core.Tracer):
        return f"Trajectory of shape {motion.states.shape}"
    labels, states = motion.labels, np.asarray(motion.states)
    first, last = np.asarray(motion.times)[[0, -1]]
    count = states.shape[1]
    shown = count if count <= _MOST_SHOWN else _MOST_SHOWN - 1
    rows = [(labels.name(i), span(states[:, i], labels.unit(i))) for i in range(shown)]
    if shown < count:
        rows.append((f"{count - shown} more", "components of the state"))
    force = np.asarray(motion.contact_force)
    if force.size:
        rows.append(("contact force", f"up to {np.nanmax(force):.4g} N"))
    rows.append(("result", reason(motion.result)))
    width = max(len(name) for name, _ in rows)
    head = f"Trajectory at {len(states)} times, {first:.6g} to {last:.6g} s"
    return "\n".join([head, *(f"  {name:{width}}  {words}" for name, words in rows)])


def trajectory_animation(motion: Any, duration: float) -> Any:
    """Return the animation of a `Trajectory`, see `Trajectory.animate`."""
    _check_one(motion)
    labels = motion.labels
    places = np.asarray(motion.states)[:, : len(labels.freedoms) or None]
    count = places.shape[1]
    names = labels.freedoms or [labels.name(i) for i in range(count)]
    units = labels.units[:count]
    return animation(np.asarray(motion.times), places, names, units, duration)


def _check_one(motion) -> None:
    if np.ndim(motion.result):
        shape = np.shape(motion.result)
        raise ValueError(f"motions of shape {shape}; allowed: one (use jax.tree.map)")
