"""Basins of attraction: where each of many initial states settles, and on what."""

from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float, Int

from .._progress import Report, telling
from .._quantity import Range, check_range, reported
from ..drawing import Drawn, Labels, draw
from ..dynamics.engines import engine_for
from ..systems.periods import check_period
from ..systems.self_moved import SelfMoved, moves_itself, self_moved
from ..systems.system import System
from .attractors import Attractors, gathered, in_order
from .basin_search import SEGMENT, Search
from .field_search import FieldSearch
from .periodic_orbit import LONGEST_PERIOD
from .pictures import basins_chart, moved_components
from .settings import USUAL, SettlingSettings

_TRANSIENT = 512  # periods: 12 decay times at a damping ratio of 0.4 %


class Basins(Drawn, eqx.Module):
    r"""Which attractor each initial state leads to, and how large each one's share is.

    The share's standard error is that of independent random starts, $\sqrt{p (1 - p) /
    S}$; of a grid it is an upper estimate where basins are wide.

    >>> starts = jv.orbits.state_grid(system, {0: [-0.1, 0.0], 2: [0.0, 0.5]})
    >>> jv.basins(system, starts).share.tolist()
    [1.0]
    """

    label: Int[np.ndarray, " start"] = reported(
        "position of the attractor, -1 undecided", "", ("start",)
    )
    result: Int[np.ndarray, " start"] = reported(
        "reason code: success, or why undecided", "", ("start",)
    )
    periods_run: Int[np.ndarray, " start"] = reported(
        "periods of the load until it was seen", "", ("start",)
    )
    share: Float[np.ndarray, " attractor"] = reported(
        "share of the initial states", "", ("attractor",)
    )
    share_error: Float[np.ndarray, " attractor"] = reported(
        "standard error of the share", "", ("attractor",)
    )
    undecided: Float[np.ndarray, ""] = reported("share of the states that are undecided")
    attractors: Attractors
    starts: Float[np.ndarray, "start state"] = reported(
        "initial states", "", ("start", "state")
    )
    labels: Labels = eqx.field(static=True, default=Labels())

    @property
    def drawable(self) -> bool:
        """Whether two components of the initial states differ, and no more."""
        return len(moved_components(self)) == 2

    def plot(self, components: tuple[int, int] | None = None, *, ax=None):
        """Draw where initial states lead on axes of matplotlib, and return them.

        **Arguments:** `components`: positions in the state of what is across and up, by
        default the two that differ; states of a full grid (`state_grid`) fill it with
        colour, others are marks. `ax`: new ones unless given. **Raises:** `ValueError`
        where no two components are told, or there are none of that number.
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
    varies slowest. **Raises:** `ValueError` for a component that there is not.

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


def attractors(system: System, starts: np.ndarray | Sequence, **options) -> Attractors:
    """Return the attractors that motions from `starts` (starts, n) settle on.

    The options, and what may go wrong, are those of `basins`.

    >>> starts = jv.orbits.state_grid(system, {0: [-0.1, 0.0], 2: [0.0, 0.5]})
    >>> jv.orbits.attractors(system, starts).orbits.periods.tolist()
    [1]
    """
    return basins(system, starts, **options).attractors


def basins(
    system: System,
    starts: np.ndarray | Sequence,
    *,
    settings: SettlingSettings = USUAL,
    period: float | None = None,
    batch: int = 16_384,
    progress: Report = None,
) -> Basins:
    """Return on which attractor the motion from each initial state settles.

    Motions run on, 16 periods of the load at a time, until they are within 1e-4 of an
    attractor that is known (in units of its size). One that recurs elsewhere leads
    Newton's method to its orbit, with its multipliers; an orbit that repels is
    remembered, so that what passes it goes on. Where a system is linear but for its
    contacts, what closes no gap any more is in its steady state. What has not settled in
    `transient` periods (512), or 12 decay times of such a system where these are longer, is
    watched until there is evidence for what it is (`evidence_of`), and is told from
    others like it by the states it goes through. `batch` states at a time are held in
    memory.

    An autonomous system, or bodies under constant loads alone, has equilibria and cycles:
    `period` is then about the time in which motions go round, s, and takes the place of
    the load's. A motion is on a stable equilibrium where it has come to states that the
    field is seen to draw nearer all around it (by a quadratic form of Lyapunov's), on a
    stable cycle within 1e-4 of its orbit, whatever the phase. What is `CHAOTIC` is told
    apart as of other systems; a motion that is 1e4 times as large as motions were at
    first has `ESCAPED`, and others are not settled: tori, or angles that turn for ever. By
    its cosine and sine, on a circle that attracts, such an angle is on a cycle.

    **Arguments:** `starts`: states at t = 0, (starts, n). `settings`: `max_periods` of 8
    or less, of use with loads only; `evidence` is of no use here. `period`: see above.
    `progress`: is called with the number of states decided since its last call; by default
    a bar is shown from two seconds on, or a line a minute without a terminal, and with
    `False` nothing.
    **Raises:** `ValueError` for starts of another shape or an argument out of its range.

    >>> starts = jv.orbits.state_grid(system, {0: [-0.1, 0.0], 2: [0.0, 0.5]})
    >>> found = jv.basins(system, starts)
    >>> found.label.tolist()
    [0, 0, 0, 0]
    """
    starts = np.asarray(starts, float)
    check_range("batch", batch, "", Range(at_least=2))
    search = _search(system, starts, period, settings)
    label = np.full(len(starts), -1, np.int16)
    result = np.zeros(len(starts), np.int32)
    run = np.zeros(len(starts), np.int32)
    with telling(progress, len(starts), "basins", "states") as report:
        for first in range(0, len(starts), batch):
            part = slice(first, first + batch)
            label[part], result[part], run[part] = search.settle(starts[part], report)
    order = in_order(search.attractors)
    position = np.full(len(order) + 1, -1, np.int16)  # the last one is of -1
    position[order] = np.arange(len(order))
    label = position[label]
    counts = np.bincount(label[label >= 0], minlength=len(order))
    share = counts / len(starts)
    return Basins(
        label,
        result,
        run,
        share,
        np.sqrt(share * (1 - share) / len(starts)),
        np.asarray(np.mean(label < 0)),
        gathered(system, [search.attractors[i] for i in order]),
        np.asarray(starts),
        system.labels,
    )


def _search(system, starts: np.ndarray, period, settings) -> Search:
    """Return the search of a system's attractors. **Raises:** `ValueError`."""
    if moves_itself(system):
        settings.refuse("basins of a system that moves itself", "max_periods")
        system, search_of = _in_spans(system, period), FieldSearch
    else:
        check_period(system)
        search_of = Search
        if period is not None:
            raise ValueError(
                f"period = {period} of a system that is moved from outside; allowed: None"
            )
    size = jax.eval_shape(system.rest).shape[0]
    if starts.ndim != 2 or starts.shape[1] != size or not len(starts):
        raise ValueError(
            f"starts have shape {starts.shape}; allowed: (starts, {size}), 1 start or more"
        )
    settings.refuse("basins", "evidence")
    allowed = Range(at_least=1, at_most=LONGEST_PERIOD)
    check_range("max_periods", settings.max_periods, "", allowed)
    transient = settings.transient_or(_TRANSIENT)
    check_range("transient", transient, "", Range(at_least=SEGMENT))
    engine, _ = engine_for(system, settings.engine, len(starts))
    return search_of(system, settings, transient, engine)


def basins_engine(system, starts: int, period=None) -> tuple[str, str]:
    """Return the engine by which "auto" finds basins from so many states, and why.

    `period`: of a system that moves itself, as `basins` takes it. **Raises:** `ValueError`
    where such a system has none.

    >>> jv.orbits.basins_engine(system, 100)
    ('event', 'linear except for its contacts')
    """
    seen = _in_spans(system, period) if moves_itself(system) else system
    return engine_for(seen, "auto", starts)


def _in_spans(system, period) -> SelfMoved:
    """Return a system that moves itself as one that is seen once in a time, s."""
    if period is None:
        raise ValueError(
            "period = None of a system that moves itself; allowed: about the time in which "
            "its motions go round, s"
        )
    check_range("period", period, "s", Range(above=0.0))
    return self_moved(system, period, "basins")
