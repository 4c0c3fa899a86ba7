"""Batched responses to thousands of samples of a load."""

import functools
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..drawing import Plottable
from ..ensemble import map_samples
from ..foundation.quantity import Range, check_range, result_field
from ..foundation.suggestions import unknown_key
from ..systems.base.system import System
from ..systems.loads import Load
from .limits import Limit, check_limits, freedoms_of
from .response import Response, chosen_engine, respond

_CHUNK = 256  # lanes: the overhead around a piece's kernel equals that of a single lane


def responses(
    system: System,
    load: str | int,
    laws: Load | Sequence[Load],
    duration: float,
    *,
    limits: Sequence[Limit] = (),
    rtol: float = 1e-8,
    engine: str = "auto",
    chunk: int = _CHUNK,
) -> Response:
    """Return the `response` from rest to each of many laws of one load.

    **Arguments:** `load`: its name or index; `laws`: of one kind and length, as a list,
    or as one law whose arrays have the samples as a leading axis
    (`FilteredNoise.loads`); `duration`: of each motion, s; the others as in `response`
    and `map_samples`.
    **Returns:** the responses with a leading axis, as NumPy arrays; a failed motion has
    NaN and its reason code and does not affect the others.
    **Raises:** `ValueError` as `response`, or for incompatible laws.

    >>> noise = jv.FilteredNoise.low_pass(0.5, 20.0, 0.6)
    >>> law = noise.load(highest=60.0, duration=10.0, seed=1)
    >>> roof = jv.AppliedLoad([0.0, 1.0], law, "noise")
    >>> shaken = jv.ImpactSystem(tower, loads=(roof,))
    >>> laws = noise.loads(highest=60.0, duration=10.0, seeds=range(20))
    >>> found = jv.responses(shaken, "noise", laws, 10.0)
    >>> print(jv.transients.statistics(found).mean_peak)
    [0.0785 0.1532]
    """
    place = load_place(system, load)
    chosen = chosen_engine(system, engine)
    check_range("duration", duration, "s", Range(above=0.0))
    check_range("rtol", rtol, "", Range(above=0.0, at_most=1e-4))
    limits = tuple(limits)
    check_limits(limits, freedoms_of(system))
    law = _stacked(laws) if isinstance(laws, Sequence) else laws
    lanes, law_static = eqx.partition(law, eqx.is_array)
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(lanes)]
    if len({shape[:1] for shape in shapes}) != 1 or not shapes[0]:
        raise ValueError(
            f"laws have arrays of shapes {shapes}; allowed: the samples as a leading axis "
            "of each, or a list of laws"
        )
    number = shapes[0][0]
    given, static = eqx.partition(system, eqx.is_array)
    stage = _stage(static, law_static, place, chosen)
    settings = limits, jnp.asarray([0.0, duration]), jnp.asarray(rtol, float)
    samples = _broadcast(given, number), lanes, _broadcast(settings, number)
    return map_samples(stage, samples, chunk=min(chunk, number))


def load_place(system: System, load: str | int) -> int:
    """Return the index of a load given by its index or name.

    **Raises:** `ValueError` for an unknown load.
    """
    count = len(system.loads)
    if isinstance(load, int):
        if not 0 <= load < count:
            raise ValueError(f"load = {load}; allowed: 0 to {count - 1}")
        return load
    names: list[str] = [each.name or str(place) for place, each in enumerate(system.loads)]
    if count == 1 and load == "load":
        return 0
    if load not in names:
        raise ValueError(unknown_key("load", load, names))
    return names.index(load)


def scaled(law: Load, factors: Float[Array, " samples"]) -> Load:
    """Return laws with a leading axis, each multiplied by a factor.

    **Raises:** `ValueError` for a law that is neither a Fourier series nor a record.
    """
    if not (parts := law.linear_fields):
        name = type(law).__name__
        raise ValueError(f"law = {name}; allowed: FourierLoad, RecordLoad")
    factors = jnp.asarray(factors, float)

    def times(array):
        return array * factors.reshape(-1, *[1] * (array.ndim - 1))

    found = [times(getattr(law, part)) for part in parts]
    return eqx.tree_at(lambda each: [getattr(each, part) for part in parts], law, found)


@functools.lru_cache(maxsize=32)
def _stage(static, law_static, place: int, engine: str):
    def stage(lane):
        arrays, law, (limits, times, rtol) = lane
        system = eqx.combine(arrays, static)
        system = system.with_law(place, eqx.combine(law, law_static))
        return respond(system, system.rest(), times[0], times[1], rtol, limits, engine)

    return stage


def _stacked(laws: Sequence[Load]) -> Load:
    if not laws:
        raise ValueError("laws = () is empty; allowed: one or more")
    shapes = {str(jax.tree.map(jnp.shape, law)) for law in laws}
    kinds = {jax.tree.structure(law) for law in laws}
    if len(shapes) > 1 or len(kinds) > 1:
        found = ", ".join(sorted({type(law).__name__ for law in laws}))
        raise ValueError(
            f"laws are of {found} and {len(shapes)} different lengths; allowed: laws of "
            "the same kind and length"
        )
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *laws)


def _broadcast(tree, number: int):
    def wide(leaf):
        return np.broadcast_to(np.asarray(leaf), (number, *np.shape(leaf)))

    return jax.tree.map(wide, tree)


class Statistics(Plottable):
    """Statistics of an ensemble of responses, with standard errors."""

    drawn = ("mean_peak", "root_mean_square")

    mean_peak: Float[Array, " freedom"] = result_field(
        "mean of the peaks", "m", ("freedom",)
    )
    mean_peak_error: Float[Array, " freedom"] = result_field(
        "its standard error", "m", ("freedom",)
    )
    peak_deviation: Float[Array, " freedom"] = result_field(
        "standard deviation of the peaks", "m", ("freedom",)
    )
    root_mean_square: Float[Array, " freedom"] = result_field(
        "root mean square displacement, over time and samples", "m", ("freedom",)
    )
    root_mean_square_error: Float[Array, " freedom"] = result_field(
        "its standard error", "m", ("freedom",)
    )
    variance: Float[Array, " state"] = result_field(
        "variance of the state at the end over the samples", "", ("state",)
    )
    variance_error: Float[Array, " state"] = result_field(
        "its standard error", "", ("state",)
    )
    passed: Float[Array, " limit"] = result_field(
        "share of the samples that reach each limit", "", ("limit",)
    )
    passed_error: Float[Array, " limit"] = result_field(
        "its standard error", "", ("limit",)
    )
    good: Int[Array, ""] = result_field("number of samples that did not fail")
    failed: Int[Array, ""] = result_field("number of failed samples, excluded")


def statistics(found: Response) -> Statistics:
    r"""Return means, deviations and shares over the leading axis of responses.

    The standard error of a mean is $s/\sqrt{N}$, of a root mean square that of its square
    over twice the root, of a variance $\sqrt{(m_4 - s^4)/N}$, of a share
    $\sqrt{p (1 - p)/N}$. Failed samples are excluded and counted. **Raises:**
    `ValueError` for fewer than two successful samples.
    """
    good = np.asarray(found.result) == 0
    number = int(np.sum(good))
    if number < 2:
        raise ValueError(
            f"{number} of {good.size} samples did not fail; allowed: 2 or more"
        )
    root = np.sqrt(number)

    def of(name):
        return np.asarray(getattr(found, name))[good]

    peaks, squares, states = of("peak"), of("mean_square"), of("state")
    mean_square = squares.mean(axis=0)
    level = np.sqrt(mean_square)
    square_error = squares.std(axis=0, ddof=1) / root
    apart = states - states.mean(axis=0)
    variance = np.sum(apart**2, axis=0) / (number - 1)
    fourth = np.mean(apart**4, axis=0)
    passed = np.mean(np.isfinite(of("first_passage")), axis=0)
    numbers = (
        peaks.mean(axis=0),
        peaks.std(axis=0, ddof=1) / root,
        peaks.std(axis=0, ddof=1),
        level,
        square_error / (2 * np.where(level > 0, level, 1.0)),
        variance,
        np.sqrt(np.maximum(fourth - variance**2, 0.0)) / root,
        passed,
        np.sqrt(passed * (1 - passed)) / root,
    )
    counts = np.asarray(number), np.asarray(good.size - number)
    return Statistics(*map(jnp.asarray, (*numbers, *counts)))
