"""Basins of attraction: the attractor of each of many initial states."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from ...drawing import Chart, Labels, Plottable, draw
from ...drawing.axes import Axes
from ...dynamics.engines import engine_for
from ...foundation.command.progress import Report, progress_reporter
from ...foundation.quantity import Range, check_number, check_range, result_field
from ...systems.base.system import System
from ...systems.drift import check_drift
from ...systems.periods import check_period
from ...systems.sampled_bodies import SampledBodies, SampledSystem, sampled_bodies
from ...systems.unforced import (
    is_unforced,
    may_stick_or_hit,
    refuse_period,
    unforced_system,
)
from ..periodic_orbit import LONGEST_PERIOD
from ..pictures import basins_chart, moved_components
from ..settings import USUAL, SettlingSettings
from .attractors import Attractors, gathered, in_order
from .basin_search import SEGMENT, Search
from .body_search import BodySearch
from .field_search import FieldSearch

_TRANSIENT = 512  # periods: 12 decay times at a damping ratio of 0.4 %


class Basins(Plottable):
    r"""The attractor of each initial state, and the share of each attractor.

    The standard error of a share is that of independent random starts, $\sqrt{p (1 - p)
    / S}$; for a grid it is an upper estimate if basins are wide.

    >>> starts = jv.orbits.state_grid(system, {0: [-0.1, 0.0], 2: [0.0, 0.5]})
    >>> jv.basins(system, starts).share.tolist()
    [1.0]
    """

    label: Int[np.ndarray, " start"] = result_field(
        "position of the attractor, -1 undecided", "", ("start",)
    )
    result: Int[np.ndarray, " start"] = result_field(
        "reason code: success, or why undecided", "", ("start",)
    )
    periods_run: Int[np.ndarray, " start"] = result_field(
        "load periods until it was identified", "", ("start",)
    )
    share: Float[np.ndarray, " attractor"] = result_field(
        "share of the initial states", "", ("attractor",)
    )
    share_error: Float[np.ndarray, " attractor"] = result_field(
        "standard error of the share", "", ("attractor",)
    )
    undecided: Float[np.ndarray, ""] = result_field(
        "share of the states that are undecided"
    )
    attractors: Attractors
    starts: Float[np.ndarray, "start state"] = result_field(
        "initial states", "", ("start", "state")
    )
    labels: Labels = eqx.field(static=True, default=Labels())

    @property
    def drawable(self) -> bool:
        """Whether exactly two components of the initial states differ."""
        return len(moved_components(self)) == 2

    def charts(self) -> list[Chart]:
        """Return the chart of the basins, if it has two axes, and those of all fields."""
        own = [basins_chart(self, None)] if self.drawable else []
        return [*own, *super().charts()]

    def plot(self, components: tuple[int, int] | None = None, *, ax: Axes = None) -> Axes:
        """Draw the basins on matplotlib axes, and return them.

        **Arguments:** `components`: positions in the state of the horizontal and the
        vertical axis, by default the two that differ; states of a full grid
        (`state_grid`) are coloured cells, others are marks. `ax`: by default new ones.
        **Raises:** `ValueError` if the two components are not given and ambiguous, or
        out of range.
        """
        return draw(basins_chart(self, components), ax)

    def __repr__(self) -> str:
        lines = [f"Basins of {len(self.label)} initial states"]
        shares = zip(self.attractors.names, self.share, self.share_error, strict=True)
        lines += [
            f"  {name:<28} {share:8.2%} +- {error:.2%}" for name, share, error in shares
        ]
        return "\n".join([*lines, f"  {'undecided':<28} {float(self.undecided):8.2%}"])


def state_grid(
    system: System, values: Mapping[int, Sequence[float] | np.ndarray]
) -> np.ndarray:
    """Return initial states (starts, n) over a grid; other components are at rest.

    **Arguments:** `values`: of components of the state by their position; the first one
    varies slowest. **Raises:** `ValueError` for a component out of range.

    >>> jv.orbits.state_grid(system, {0: [-0.1, 0.0, 0.1], 2: [0.0, 0.5]}).shape
    (6, 4)
    """
    rest = np.asarray(system.rest())
    check_range("component", list(values), "", Range(at_least=0, at_most=len(rest) - 1))
    columns = np.meshgrid(*(np.asarray(v, float) for v in values.values()), indexing="ij")
    states = np.tile(rest, (columns[0].size, 1))
    for component, column in zip(values, columns, strict=True):
        states[:, component] = column.ravel()
    return states


def attractors(
    system: System, starts: np.ndarray | Sequence[Any], **options: Any
) -> Attractors:
    """Return the attractors to which motions from `starts` (starts, n) converge.

    Options and exceptions are those of `basins`.

    >>> starts = jv.orbits.state_grid(system, {0: [-0.1, 0.0], 2: [0.0, 0.5]})
    >>> jv.orbits.attractors(system, starts).orbits.periods.tolist()
    [1]
    """
    return basins(system, starts, **options).attractors


def basins(
    system: System,
    starts: np.ndarray | Sequence[Any],
    *,
    settings: SettlingSettings = USUAL,
    period: float | None = None,
    batch: int = 16_384,
    progress: Report = None,
) -> Basins:
    """Return the attractor to which the motion from each initial state converges.

    Motions are integrated, 16 periods of the load at a time, until they are within 1e-4
    of a known attractor (in units of its size). From a motion that recurs elsewhere
    Newton iteration finds an orbit, with its multipliers; repelling orbits are stored, so
    that motions passing them continue. In a system that is linear except for its
    contacts, a motion during which no gap will close again is in its steady state. A
    motion that has not converged in `transient` periods (512), or 12 decay times of such
    a system if these are longer, is observed until it can be classified (`classify`);
    aperiodic attractors are distinguished by their states. `batch` states at a time are
    held in memory.

    An autonomous system, or bodies under constant loads only, has equilibria and
    cycles: `period` is then an approximate period of its motions, s, and replaces that
    of the load. A motion is on a stable equilibrium when it has entered a region in
    which a quadratic Lyapunov function was found to decrease, and on a stable cycle
    when within 1e-4 of its orbit, at any phase. `CHAOTIC` motions are distinguished as
    in other systems; a motion that grows to 1e4 times the initial size of motions has
    `ESCAPED`, and others are unsettled: tori, or angles that rotate forever. An angle
    represented by its cosine and sine, on an attracting circle, is on a cycle. With a
    drift (`drifting`) states that differ by a shift are equal: a rotation is a cycle,
    with its `progress`, and a uniform motion along a drift of any length an equilibrium,
    with its progress in `period`.

    Bodies with friction or hard stops come to rest on a set of states, anywhere in the
    interval in which a friction sticks: states are of the same set, which counts as one
    equilibrium, if all on the line between them are at rest, and the set attracts if the
    multipliers of a motion at rest, but those along it, are below 1. Its `state` is one
    of them, and its exponent is NaN if all other motions end in a finite time.

    **Arguments:** `starts`: states at t = 0, (starts, n). `settings`: `max_periods` of 8
    or less, used with loads only; `evidence` is not used. `period`: see above.
    `progress`: is called with the number of states decided since its last call; by default
    a bar is shown after two seconds, or a line per minute without a terminal, and with
    `False` nothing.
    **Raises:** `ValueError` for starts of another shape or an argument out of its range.

    >>> starts = jv.orbits.state_grid(system, {0: [-0.1, 0.0], 2: [0.0, 0.5]})
    >>> found = jv.basins(system, starts)
    >>> found.label.tolist()
    [0, 0, 0, 0]
    """
    starts = np.asarray(starts, float)
    check_range("batch", batch, "", Range(at_least=2))
    search = search_for(system, starts, period, settings)
    label = np.full(len(starts), -1, np.int16)
    result = np.zeros(len(starts), np.int32)
    run = np.zeros(len(starts), np.int32)
    with progress_reporter(progress, len(starts), "basins", "states") as report:
        for first in range(0, len(starts), batch):
            part = slice(first, first + batch)
            label[part], result[part], run[part] = search.classify_starts(
                starts[part], report
            )
    order = in_order(search.attractors)
    position = np.full(len(order) + 1, -1, np.int16)  # the last entry is for -1
    position[order] = np.arange(len(order))
    label = position[label]
    found = gathered(system, [search.attractors[i] for i in order])
    return basins_of(label, result, run, found, starts, system.labels)


def basins_of(
    label: np.ndarray,
    result: np.ndarray,
    run: np.ndarray,
    found: Attractors,
    starts: np.ndarray,
    labels: Labels,
) -> Basins:
    """Return basins with the shares of the attractors, from what each start led to."""
    counts = np.bincount(label[label >= 0], minlength=len(found.points))
    share = counts / len(starts)
    error = np.sqrt(share * (1 - share) / len(starts))
    undecided = np.asarray(np.mean(label < 0))
    return Basins(label, result, run, share, error, undecided, found, starts, labels)


def search_for(
    system: System, starts: np.ndarray, period: float | None, settings
) -> Search:
    """Return the attractor search of a system. **Raises:** `ValueError`."""
    unforced = is_unforced(system)
    if unforced:
        settings.refuse("basins of an autonomous system", "max_periods")
        check_drift(system)
        system = _in_spans(system, period)
    else:
        if period is not None:
            refuse_period(system, period)
        check_period(system)
    size = jax.eval_shape(system.rest).shape[0]
    if starts.ndim != 2 or starts.shape[1] != size or not len(starts):
        raise ValueError(
            f"starts have shape {starts.shape}; allowed: (starts, {size}), 1 start or more"
        )
    settings.refuse("basins", "evidence", "section")
    allowed = Range(at_least=1, at_most=LONGEST_PERIOD)
    check_range("max_periods", settings.max_periods, "", allowed)
    transient = settings.transient_or(_TRANSIENT)
    check_range("transient", transient, "", Range(at_least=SEGMENT))
    engine, _ = engine_for(system, settings.engine, len(starts))
    if unforced:
        kind = BodySearch if isinstance(system, SampledBodies) else FieldSearch
        return kind(system, starts, settings, transient, engine)
    return Search(system, settings, transient, engine)


def basins_engine(
    system: System, starts: int, period: float | None = None
) -> tuple[str, str]:
    """Return the engine that "auto" selects for basins from so many states, and why.

    `period`: for an autonomous system, as for `basins`. **Raises:** `ValueError`
    if it is missing there.

    >>> jv.orbits.basins_engine(system, 100)
    ('event', 'linear except for contacts')
    """
    seen = _in_spans(system, period) if is_unforced(system) else system
    return engine_for(seen, "auto", starts)


def _in_spans(system, period) -> SampledSystem:
    """Return an autonomous system sampled once in a time `period`, s."""
    if period is None:
        raise ValueError(
            "period = None of an autonomous system; allowed: an approximate period of "
            "its motions, s"
        )
    check_number("period", period, "s", Range(above=0.0))
    if may_stick_or_hit(system):
        return sampled_bodies(system, period)
    return unforced_system(system, period, "basins", modulo_drift=True)
