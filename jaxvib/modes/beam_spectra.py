"""Certified eigenvalues of thousands of designs of a beam with bodies, in one call."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from .._quantity import reported
from ..ensemble.reasons import Reason
from ..systems.beam import BeamWithBodies
from .beam_spectrum import certified_spectrum
from .characteristic import Dimensionless, Numbers, dimensionless, mixing
from .fast_spectrum import first_starts, judged, split, sweep, unsettled
from .ritz import all_starts, ritz_problem

_CHUNK = 64
_FIRST_SWEEPS, _SWEEPS = 4, 8  # at most
_FEWER = 0.6  # of the late ones: going on together is worth another round


class BeamSpectra(eqx.Module):
    """First eigenvalues of many designs, with Im >= 0 and by modulus in each of them."""

    values: Complex[np.ndarray, "sample value"] = reported(
        "eigenvalues", "rad/s", ("sample", "value")
    )
    residuals: Float[np.ndarray, "sample value"] = reported(
        "last relative steps, or backward errors of designs done again", "",
        ("sample", "value"),
    )  # fmt: skip
    certified: Bool[np.ndarray, " sample"] = reported(
        "the argument principle counts as many as were found", "", ("sample",)
    )
    radius: Float[np.ndarray, " sample"] = reported(
        "radius of the certified circle", "rad/s", ("sample",)
    )
    repeated: Bool[np.ndarray, " sample"] = reported(
        "the quick way was not enough and the careful one was taken", "", ("sample",)
    )
    result: Int[np.ndarray, " sample"] = reported("reason code", "", ("sample",))


@mixing
def beam_spectra(
    system: Callable[..., BeamWithBodies],
    samples: dict,
    count: int = 10,
    *,
    progress: Callable[[int], None] | None = None,
) -> BeamSpectra:
    """Return the first `count` eigenvalues of many designs.

    **Arguments:** `system`: from one sample, a dictionary like `samples` without its
    leading axis, to a beam with bodies, jittable; keep the same function between calls
    and its compiled form is kept too. `samples`: arrays with one leading axis.
    Designs go in chunks through one program. Those that need more sweeps than most are
    collected and go on together; then those whose starts were too rough, with better
    ones. What is left without certificate is done again one by one, and what then has
    none is marked in `certified` and `result`. `progress` is called with the number of
    designs done.
    """
    samples = {name: np.asarray(column) for name, column in samples.items()}
    programs = _programs(system, count)
    every = np.arange(len(next(iter(samples.values()))))
    starts = _in_chunks(programs.starts, every, samples)
    found = _in_chunks(programs.first, every, samples, *starts, progress=progress)
    resting = np.flatnonzero(np.any(starts[0] == 0, axis=1))
    if resting.size:
        _put(found, resting, _in_chunks(programs.zeros, resting, samples, *starts))
    late, before = np.flatnonzero(~found.certified), len(every)
    while 0 < len(late) < _FEWER * before:
        more = _in_chunks(programs.first, late, samples, found.roots, starts[1])
        _put(found, late, more)
        late, before = np.flatnonzero(~found.certified), len(late)
    rough = late
    if rough.size:
        scaled = _in_chunks(programs.scaled, rough, samples)
        alone = [jax.tree.map(lambda part, i=i: part[i], scaled) for i in range(len(rough))]
        better = np.stack([_better_starts(one, count) for one in alone])
        better = split(better, count, np)
        given = jax.tree.map(lambda column: column[rough], samples)
        _put(found, rough, _in_chunks(programs.rest, np.arange(len(rough)), given, *better))
    repeated = ~found.certified
    values = found.roots[:, :count] / found.time[:, None]
    residuals, certified = found.sizes[:, :count].copy(), found.certified.copy()
    radius = found.radius / found.time
    for place in np.flatnonzero(repeated[rough]):
        index, one = rough[place], alone[place]
        spectrum = certified_spectrum(one, count, None)
        values[index] = spectrum.values / one.time
        residuals[index] = spectrum.backward_errors
        certified[index] = spectrum.certified
        radius[index] = (spectrum.radius or np.nan) / one.time
    result = np.where(certified, int(Reason.SUCCESS), int(Reason.NOT_CERTIFIED))
    return BeamSpectra(values, residuals, certified, radius, repeated, result)


class _Settled(NamedTuple):
    """Dimensionless roots of designs after some sweeps, more than are wanted."""

    roots: Numbers
    sizes: Numbers
    certified: Numbers
    radius: Numbers
    time: Numbers


class _Programs(NamedTuple):
    scaled: Callable
    starts: Callable
    first: Callable
    zeros: Callable
    rest: Callable


@functools.lru_cache(maxsize=32)
def _programs(system, count) -> _Programs:
    @jax.jit
    @jax.vmap
    def scaled(sample):
        return dimensionless(system(sample))

    @jax.jit
    @jax.vmap
    def starts(sample):
        return first_starts(dimensionless(system(sample)), count)

    @functools.partial(jax.jit, static_argnums=0)
    def settle(zeros, most, few, samples, roots, passive):
        systems = jax.vmap(lambda sample: dimensionless(system(sample)))(samples)

        def goes_on(state):
            _, sizes, done = state
            moving = jax.vmap(lambda size: unsettled(size, count))(sizes)
            return (done < most) & (jnp.sum(moving) > few)

        def step(state):
            return *jax.vmap(sweep)(systems, state[0], passive), state[2] + 1

        begin = (roots, jnp.full(roots.shape, jnp.inf), 0)
        roots, sizes, _ = jax.lax.while_loop(goes_on, step, begin)
        judge = jax.vmap(lambda *each: judged(*each, count, zeros))
        return _Settled(*judge(systems, roots, sizes, passive), systems.time)

    first = functools.partial(settle, False, _FIRST_SWEEPS, _CHUNK // 2)
    rigid = functools.partial(settle, True, _SWEEPS, 0)
    rest = functools.partial(settle, False, _SWEEPS, 0)
    return _Programs(scaled, starts, first, rigid, rest)


def _in_chunks(program, rows, *given, progress=None):
    """Return what a program gives for some rows of what it is given.

    One chunk at a time: two concurrent runs of the same linear algebra can block each
    other in the pool of threads that XLA has on two cores.
    """
    parts = []
    for start in range(0, len(rows), _CHUNK):
        chunk = rows[np.minimum(np.arange(start, start + _CHUNK), len(rows) - 1)]
        found = program(*jax.tree.map(lambda whole, chunk=chunk: whole[chunk], given))
        parts.append(jax.tree.map(np.asarray, found))
        if progress is not None:
            progress(min(_CHUNK, len(rows) - start))
    return jax.tree.map(lambda *each: np.concatenate(each)[: len(rows)], *parts)


def _put(whole, rows, found) -> None:
    for column, values in zip(whole, found, strict=True):
        column[rows] = values


def _better_starts(system: Dimensionless, count: int):
    """Return starts that know how damping couples the modes, from the host."""
    starts = all_starts(ritz_problem(system, count + 6, np))
    starts = starts[starts.imag >= 0]
    most = 4 * count + 4
    return np.append(starts, np.full(most, np.inf))[:most]
