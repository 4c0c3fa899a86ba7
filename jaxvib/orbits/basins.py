"""Basins of attraction: where each of many initial states settles, and on what."""

import functools
from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from .._progress import Report, telling
from .._quantity import Range, check_range, reported
from ..drawing import Drawn, Labels, draw
from ..dynamics.engines import engine_for
from ..ensemble import Reason, map_samples, recalled
from ..systems.periods import check_period
from ..systems.system import System
from .aperiodic import watch_out
from .attractors import (
    CLOSE,
    Attractors,
    Found,
    aperiodic_motion,
    belongs,
    distances,
    gathered,
    in_order,
    numbers,
    periodic_motion,
    same,
)
from .linear_steady_state import (
    linear_but_for_contacts,
    linear_steady_state,
    never_settles,
    stays_apart,
    transient_periods,
)
from .periodic_orbit import LONGEST_PERIOD, orbit_from_guess, unknown_orbits
from .pictures import basins_chart, moved_components
from .settings import USUAL, SettlingSettings
from .settling import recurrences, strobe
from .shooting import scales

_TRANSIENT = 512  # periods: 12 decay times at a damping ratio of 0.4 %
_SEGMENT = 16  # periods after which it is seen who has settled
_LIKELY = 4  # what has not settled after these segments may have no period
_MOST_ORBITS = 64  # that are looked for in one segment: the others wait for the next one
_MOST_FAILED = 4  # motions that turn out to be on their way still
# A motion that recurs this closely is one that Newton's method is tried on, in units of
# its size; one that comes this near to an orbit is on its way to it or past it.
_RECURRED, _NEARBY = 1e-5, 1e-3
_PLAUSIBLE = 1e-2  # ... and one with which its period may be found


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

    **Arguments:** `starts`: states at t = 0, (starts, n). `settings`: `max_periods` of 8
    or less; `evidence` is of no use here. `progress`: is called with the number of states
    decided since its last call; by default a bar is shown from two seconds on, or a line a
    minute without a terminal, and with `False` nothing.
    **Raises:** `ValueError` for starts of another shape or an argument out of its range.

    >>> starts = jv.orbits.state_grid(system, {0: [-0.1, 0.0], 2: [0.0, 0.5]})
    >>> found = jv.basins(system, starts)
    >>> found.label.tolist()
    [0, 0, 0, 0]
    """
    check_period(system)
    starts = np.asarray(starts, float)
    size = jax.eval_shape(system.rest).shape[0]
    if starts.ndim != 2 or starts.shape[1] != size or not len(starts):
        raise ValueError(
            f"starts have shape {starts.shape}; allowed: (starts, {size}), 1 start or more"
        )
    settings.refuse("basins", "evidence")
    allowed = Range(at_least=1, at_most=LONGEST_PERIOD)
    check_range("max_periods", settings.max_periods, "", allowed)
    transient = settings.transient_or(_TRANSIENT)
    check_range("transient", transient, "", Range(at_least=_SEGMENT))
    check_range("batch", batch, "", Range(at_least=2))
    engine, _ = engine_for(system, settings.engine, len(starts))
    search = _Search(system, settings, transient, engine)
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


class _Search:
    """What is known so far of a system's attractors, and of the orbits that repel."""

    def __init__(self, system, settings: SettlingSettings, transient: int, engine):
        self.leaves, self.static = eqx.partition(system, eqx.is_inexact_array)
        self.system = system
        self.period = float(system.period())
        self.longest, self.chunk = settings.max_periods, settings.chunk
        self.rtol, self.engine, self.transient = settings.rtol, engine, transient
        self.end = None
        if linear_but_for_contacts(system):
            self.end = numbers(eqx.filter_jit(linear_steady_state)(system))
            limit = transient_periods(self.end, self.period, transient)
            self.transient = int(limit)
        self.attractors: list[Found] = []
        self.repelling: list[Found] = []

    def settle(self, states: np.ndarray, report):
        """Return labels, reason codes and periods run of a batch of initial states."""
        number = len(states)
        states = states.copy()
        label = np.full(number, -1, np.int16)
        result, run = np.zeros(number, np.int32), np.zeros(number, np.int32)
        bad = ~np.isfinite(states).all(axis=1)
        result[bad] = Reason.BAD_PARAMETER
        waiting = np.flatnonzero(~bad)
        report(int(bad.sum()))
        stage = _settle_stage(self.static, self.longest, self.engine)
        segments = -(-self.transient // _SEGMENT)
        for segment in range(segments):
            waiting = self._linear(states, label, result, waiting, report)
            if not waiting.size:
                return label, result, run
            trail, nearest, codes = self._run(stage, states[waiting])
            states[waiting], result[waiting] = trail[:, -1], codes
            run[waiting] += _SEGMENT
            found = self._known(trail)
            last = segment == segments - 1
            for _ in range(_MOST_ORBITS):
                recurs = (codes == 0) & (found < 0) & (nearest.min(axis=1) < _RECURRED)
                new = np.flatnonzero(recurs & ~self._passing(trail[:, -1]))
                if not new.size:
                    break
                self._new_orbit(trail[new[0]], nearest[new[0]])
                found = self._known(trail)
            # Watching takes thousands of periods: it is not tried in each segment.
            if last or (segment >= _LIKELY and segment & (segment - 1) == 0):
                found = self._track_aperiodic(trail, nearest, codes, found, last)
            label[waiting] = found
            going = (found < 0) & (codes == 0)
            report(int((~going).sum()))
            waiting = waiting[going]
        result[waiting] = Reason.UNSETTLED
        report(waiting.size)
        return label, result, run

    def _linear(self, states, label, result, waiting, report) -> np.ndarray:
        """Decide motions on which no gap closes any more; return the others."""
        if self.end is None or not waiting.size:
            return waiting
        apart, free = (
            np.asarray(which(self.end, states[waiting])) for which in (_apart, _free)
        )
        result[waiting[free]] = Reason.UNDAMPED
        if apart.any():
            label[waiting[apart]] = self._position_of(self.end.state)
            apart = label[waiting] >= 0
        report(int((apart | free).sum()))
        return waiting[~apart & ~free]

    def _position_of(self, state) -> int:
        """Return the position of the attractor that passes a steady state, -1 if none."""
        for known in (False, True):
            for i, each in enumerate(self.attractors):
                if distances(state[None], each.points, each.units).min() < CLOSE:
                    return i
            if not known:
                self._new_orbit(state[None], np.zeros(1))
        return -1

    def _run(self, stage, states):
        everywhere = jax.tree.map(
            lambda leaf: np.broadcast_to(leaf, (len(states), *np.shape(leaf))), self.leaves
        )
        tolerance = np.full(len(states), self.rtol)
        return map_samples(stage, (everywhere, states, tolerance), chunk=self.chunk)

    def _known(self, trail) -> np.ndarray:
        """Return the attractor that each motion (lanes, times, n) belongs to, or -1."""
        found = np.full(len(trail), -1, np.int16)
        for position, each in enumerate(self.attractors):
            free = np.flatnonzero(found < 0)
            found[free[belongs(trail[free], each)]] = position
        return found

    def _passing(self, states) -> np.ndarray:
        """Return which states are near an orbit that is known, of either kind."""
        near = np.zeros(len(states), bool)
        for each in (*self.attractors, *self.repelling):
            apart = distances(states, each.points, each.units).min(axis=1)
            near |= apart < _NEARBY
        return near

    def _new_orbit(self, trail, nearest) -> None:
        """Look for the orbit on which a motion (times, n) recurs, and remember it."""
        for periods in np.flatnonzero(nearest < _PLAUSIBLE) + 1:
            orbit, points, units = numbers(
                recalled(
                    _orbit, self.system, trail[-1], periods.astype(np.int32), self.rtol
                )
            )
            points = points[:periods]
            apart = distances(trail[-1:], points, units).min()
            if int(orbit.result) != Reason.SUCCESS or apart > 10 * _PLAUSIBLE:
                continue
            found = periodic_motion(orbit, points, units)
            into = self.attractors if found.attracting else self.repelling
            if not any(same(found, each) for each in into):
                into.append(found)
            if found.attracting:
                break
        # What passes here goes on, and is not asked again whether there is an orbit.
        units = np.asarray(_units(self.system, trail[-1]))
        passed = jax.tree.map(lambda leaf: leaf[0], unknown_orbits(self.system, 1))
        self.repelling.append(Found(passed, trail[-1:], units, 0.0, False))

    def _track_aperiodic(self, trail, nearest, codes, found, last) -> np.ndarray:
        """Class the motions that have not settled; new ones only where all are `last`.

        Earlier a motion is tried if most of those that are left are like it: waiting
        for thousands of chaotic ones to settle would take most of the time.
        """
        tries = failed = 0
        while tries < _MOST_ORBITS:
            open_ = np.flatnonzero((codes == 0) & (found < 0))
            roaming = open_[nearest[open_].min(axis=1) > _PLAUSIBLE]
            many = len(roaming) > max(16, len(trail) // 2) and tries == 0
            if not roaming.size or not (last or many):
                return found
            tries += 1
            each = self._watched(trail[roaming[0], -1])
            if each is None:
                failed += 1
                if not last or failed == _MOST_FAILED:
                    return found
                nearest[roaming[0]] = 0.0  # undecided: it is on its way still
                continue
            self.attractors.append(each)
            found = self._known(trail)
            found[roaming[0]] = len(self.attractors) - 1
        return found

    def _watched(self, state) -> Found | None:
        """Return the motion without a period from a state, None if it is not settled."""
        leaves = jax.tree.map(lambda leaf: np.asarray(leaf)[None], self.leaves)
        watched = watch_out(
            leaves, self.static, state[None], engine=self.engine,
            longest=self.longest, chunk=self.chunk,
        )  # fmt: skip
        one = jax.tree.map(lambda leaf: leaf[0], watched)
        if not Reason(one.code).motion or Reason(one.code).undecided:
            return None
        some = one.trail[:: len(one.trail) // 16]
        units = np.max([_units(self.system, point) for point in some], axis=0)
        return aperiodic_motion(self.system, one, self.period, units)


@eqx.filter_jit
def _orbit(system, state, periods, rtol):
    """Return the orbit near a state, its states once a period, and its units."""
    rtol = jnp.asarray(rtol, float)
    orbit = orbit_from_guess(system, jnp.asarray(state), periods, rtol, jnp.asarray(1e-2))
    points, _ = strobe(system, orbit.state, LONGEST_PERIOD, rtol, "auto")
    return orbit, points, scales(system, orbit.state)


@eqx.filter_jit
def _units(system, state):
    return scales(system, state)


@functools.lru_cache(maxsize=32)
def _settle_stage(static, longest, engine):
    def stage(lane):
        leaves, state, rtol = lane
        system = eqx.combine(leaves, static)
        states, result = strobe(system, state, _SEGMENT, rtol, engine)
        return states, recurrences(system, states, longest), result

    return stage


_apart = jax.jit(jax.vmap(stays_apart, (None, 0)))
_free = jax.jit(jax.vmap(never_settles, (None, 0)))
