"""Certified eigenvalues of beams with bodies, batched over designs."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Complex, Float, Int

from ...drawing.plottable import ResultRepr
from ...ensemble import SPARE_LANES, Reason
from ...ensemble.blas import one_blas_thread
from ...foundation.arrays import concatenate_lanes, gather_lanes
from ...foundation.quantity import result_field
from ...systems.structures.beam import BeamWithBodies
from .characteristic import Dimensionless, dimensionless, mixing
from .fast_spectrum import ROUNDED, first_starts, judged, split, step_of, sweep
from .ritz import all_starts, ritz_problem
from .spectrum import certified_spectrum

_CHUNK = 120  # designs per chunk: with `SPARE_LANES` lanes 128
# Steps of all roots, and further steps of unconverged ones: two third-order steps take
# starts with three digits to rounding; after eight, better starts are computed.
_TOGETHER, _SWEEPS = 2, 8


class BeamSpectra(ResultRepr):
    """First eigenvalues of many designs, with Im >= 0, sorted by modulus.

    >>> spectra = jv.modes.beam_spectra(
    ...     lambda sample: jv.oscillators_on_beam(beam, [0.5], [0.1], sample["k"]),
    ...     {"k": np.array([[50.0], [60.0]])},
    ...     count=1,
    ... )
    >>> spectra.certified.tolist()
    [True, True]
    """

    values: Complex[np.ndarray, "sample value"] = result_field(
        "eigenvalues", "rad/s", ("sample", "value")
    )
    residuals: Float[np.ndarray, "sample value"] = result_field(
        "last relative steps, or backward errors of designs recomputed", "",
        ("sample", "value"),
    )  # fmt: skip
    certified: Bool[np.ndarray, " sample"] = result_field(
        "the argument principle confirms the number of values", "", ("sample",)
    )
    radius: Float[np.ndarray, " sample"] = result_field(
        "radius of the certified circle", "rad/s", ("sample",)
    )
    repeated: Bool[np.ndarray, " sample"] = result_field(
        "not certified in the batch, and recomputed alone", "", ("sample",)
    )
    result: Int[np.ndarray, " sample"] = result_field("reason code", "", ("sample",))


@mixing
def beam_spectra(
    system: Callable[..., BeamWithBodies],
    samples: dict,
    count: int = 10,
    *,
    progress: Callable[[int], None] | None = None,
) -> BeamSpectra:
    """Return the first `count` eigenvalues of many designs.

    **Arguments:** `system`: a jittable function from one sample (a dictionary like
    `samples` without its leading axis) to a beam with bodies; pass the same function in
    later calls to reuse its compiled form. `samples`: arrays with one leading axis.
    `progress` is called with the number of designs done.

    Chunks of designs are computed by one compiled program: starts and two steps of all
    roots. The remaining unconverged roots are iterated in chunks of their own, then all
    designs are certified; those with poor starts are repeated with better ones. Designs
    that are still not certified are recomputed one by one; failures are marked in
    `certified` and `result`, as are designs with non-finite matrices (`BAD_PARAMETER`).

    >>> spectra = jv.modes.beam_spectra(
    ...     lambda sample: jv.oscillators_on_beam(beam, [0.5], [0.1], sample["k"]),
    ...     {"k": np.array([[50.0], [60.0]])},
    ...     count=1,
    ... )
    >>> spectra.values.imag.round(2).tolist()
    [[20.83], [22.06]]
    """
    samples = {name: np.asarray(column) for name, column in samples.items()}
    programs = _programs(system, count)
    every = np.arange(len(next(iter(samples.values()))))
    systems, roots, sizes, passive = in_chunks(programs.begin, every, samples)
    reached = (systems, roots, sizes, passive)
    _converge(programs.alone, count, *reached)
    found = in_chunks(programs.judge, every, *reached, progress=progress)
    resting = np.flatnonzero(np.any(roots == 0, axis=1))
    if resting.size:
        _set_rows(found, resting, in_chunks(programs.zeros, resting, *reached))
    rough = np.flatnonzero(~found.certified)
    if rough.size:
        few = _take_rows(systems, rough)
        alone = [_take_rows(few, i) for i in range(len(rough))]
        better = np.stack([_better_starts(one, count) for one in alone])
        roots, passive = split(better, count, np)
        reached = (few, roots, np.where(roots == 0, 0.0, np.inf), passive)
        _converge(programs.alone, count, *reached)
        _set_rows(found, rough, in_chunks(programs.judge, np.arange(len(rough)), *reached))
    repeated = ~found.certified
    time = systems.time
    with np.errstate(invalid="ignore"):  # infinite roots of designs that overflow
        values = found.roots[:, :count] / time[:, None]
    residuals, certified = found.sizes[:, :count].copy(), found.certified.copy()
    radius = found.radius / time
    overflown = np.zeros(len(every), bool)
    for place in np.flatnonzero(repeated[rough]):
        index, one = rough[place], alone[place]
        try:
            spectrum = certified_spectrum(one, count, None)
        except ValueError:  # matrices that are not finite
            overflown[index] = True
            continue
        values[index] = spectrum.values / one.time
        residuals[index] = spectrum.backward_errors
        certified[index] = spectrum.certified
        radius[index] = (spectrum.radius or np.nan) / one.time
    values[overflown], residuals[overflown], radius[overflown] = np.nan, np.nan, np.nan
    result = np.where(certified, int(Reason.SUCCESS), int(Reason.NOT_CERTIFIED))
    result[overflown] = Reason.BAD_PARAMETER
    return BeamSpectra(values, residuals, certified, radius, repeated, result)


class _Programs(NamedTuple):
    begin: Callable
    alone: Callable
    judge: Callable
    zeros: Callable


@functools.lru_cache(maxsize=32)
def _programs(system, count) -> _Programs:
    @jax.jit
    @jax.vmap
    def begin(sample):
        scaled = dimensionless(system(sample))
        roots, passive = first_starts(scaled, count)
        start = roots, jnp.zeros(roots.shape)
        roots, sizes = jax.lax.fori_loop(
            0, _TOGETHER, lambda _, state: sweep(scaled, state[0], passive), start
        )
        return scaled, roots, sizes, passive

    def judge(zeros):
        def of_one(*each):
            return judged(*each, count, zeros)

        return jax.jit(jax.vmap(of_one))

    return _Programs(begin, jax.jit(jax.vmap(step_of)), judge(False), judge(True))


def _converge(program, count: int, systems, roots, sizes, passive) -> None:
    """Iterate the unconverged ones of the first roots individually, in place."""
    for _ in range(_SWEEPS):
        order = np.argsort(np.abs(roots), axis=1)[:, :count]
        moving = np.take_along_axis(sizes, order, axis=1) > ROUNDED
        design, place = np.nonzero(moving)
        if not len(design):
            return
        which = order[design, place]
        pairs = np.arange(len(design))
        given = _take_rows((systems, roots, passive), design)
        moved, size = in_chunks(program, pairs, *given, which)
        roots[design, which], sizes[design, which] = moved, size


def _take_rows(tree, rows):
    return jax.tree.map(lambda whole: whole[rows], tree)


def in_chunks(program, rows, *given, progress=None, chunk=_CHUNK):
    """Apply a program to some rows of its arguments, `chunk` of them at a time.

    Chunks run sequentially: two concurrent runs of the same linear algebra can deadlock
    in XLA's thread pool on two cores.
    """
    parts = []
    for start in range(0, len(rows), chunk):
        lanes = np.arange(start, start + chunk + SPARE_LANES)
        some = rows[np.minimum(lanes, len(rows) - 1)]
        with one_blas_thread():
            found = program(*_take_rows(given, some))
            parts.append(gather_lanes(found, slice(chunk)))
        if progress is not None:
            progress(min(chunk, len(rows) - start))
    return gather_lanes(concatenate_lanes(parts), slice(len(rows)))


def _set_rows(arrays, rows, found) -> None:
    for column, values in zip(arrays, found, strict=True):
        column[rows] = values


def _better_starts(system: Dimensionless, count: int):
    """Return starts that include modal coupling by damping, computed on the host."""
    starts = all_starts(ritz_problem(system, count + 6, np))
    starts = starts[starts.imag >= 0]
    most = 4 * count + 4
    return np.append(starts, np.full(most, np.inf))[:most]
