"""The kernels of a live page: a motion with its contacts, and its derivative."""

import base64
import contextlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...dynamics import flow
from ...dynamics.engines.choice import engine_of
from ...dynamics.motion import Want
from ...dynamics.observables import (
    Observables,
    largest_forces,
    times_of_largest_forces,
)
from ...foundation.types import AnyArray
from ...kernels import WebAssembly, web_assembly
from ...kernels.calls.kernel_cache import cached_fact
from ...systems import replace
from ...systems.base.system import System, state_shape
from ...systems.sample_checks import value_faults
from .records import examples, with_pieces

RTOL = 1e-10  # of the integration, as of `flow`


def modules(
    system: System, values: Mapping[str, float], *, periodic: bool = True
) -> dict[str, WebAssembly]:
    """Return the WebAssembly modules of a system's motion.

    `values`: the parameters that are arguments, by path. `segment` integrates from
    `state` at `t0` to `t1` and returns the state and the contacts' observables, all in
    float64, with the state at rest. Of `periodic` loads it returns the period, else the
    largest displacements from rest and the loads; its last argument has a piece of each
    of the system's `records`. `fault` is the number of the sentence of `faults`
    that holds, from 1. `slope`, for periodic loads only, integrates over a
    period from t = 0 and returns the state and its derivative by the initial state,
    `matrix`. Where it would be too long, there is none.

    **Raises:** `ValueError` if a motion cannot be compiled.
    """
    # The values are arguments: the modules are the same for all of them.
    try:
        unvalued = replace(system, dict.fromkeys(values, 1.0))
    except ValueError:  # ones may be refused together
        unvalued = system
    kept = cached_fact(_encoded_modules, unvalued, list(values), periodic)
    if isinstance(kept, str):
        raise ValueError(kept)
    return {
        name: WebAssembly(base64.b64decode(code), layout)
        for name, (code, layout) in kept.items()
    }


def _encoded_modules(
    system: System, paths: list[str], periodic: bool
) -> dict[str, list] | str:
    """Return the code in base64 and the layout of each module, or why there is none."""
    size = state_shape(system)[0]
    state, values = np.zeros(size), dict.fromkeys(paths, 1.0)
    try:
        # A motion is one lane, which the scalar form computes the fastest.
        pieces = {} if periodic else examples(system)
        segment = web_assembly(
            _segment(system, periodic), values, state, 0.0, 1.0, pieces,
            instructions="scalar",
        )  # fmt: skip
    except ValueError as error:
        return str(error)
    found = {"segment": segment}
    if periodic:
        with contextlib.suppress(ValueError):
            found["slope"] = web_assembly(
                _slope(system), values, state, instructions="scalar"
            )
    return {
        name: [base64.b64encode(each.code).decode(), each.layout]
        for name, each in found.items()
    }


def _segment(system: System, periodic: bool):
    """Return the function of values, state, times and pieces that integrates a motion."""
    engine = engine_of(system, "auto")

    def motion(values, state, t0, t1, pieces) -> dict[str, Any]:
        given = replace(system, values)
        lane = given if periodic else with_pieces(given, pieces)
        seen = engine.integrate(lane, state, t0, t1, Want(RTOL, grazing=0.0))
        end, observables = seen.state, seen.observables
        equation = lane.equation()
        found: dict[str, AnyArray] = {
            "state": end,
            "force": equation.at(t1).forces_at(end),
            "peak": largest_forces(equation, observables),
            "peak_time": times_of_largest_forces(equation, observables),
            "first_touch": observables.first_touch,
            "duration": observables.duration,
            "onsets": observables.onsets,
            "impulse": observables.impulse,
            "code": seen.result,
            "rest": lane.rest(),
        }
        found |= {"period": lane.period()} if periodic else _extremes(lane, observables)
        if wrong := list(faults(given, periodic).values()):
            numbers = [jnp.where(each, i, 0) for i, each in enumerate(wrong, 1)]
            found["fault"] = jnp.max(jnp.stack(numbers))
        if not periodic:
            forces = [load.law.force(t1) for load in lane.loads]
            found["loads"] = jnp.stack(forces) if forces else jnp.zeros(0)
        return {name: jnp.asarray(each, float) for name, each in found.items()}

    motion.__qualname__ = "the program of a motion"  # in messages
    return motion


def faults(system: System, periodic: bool) -> dict[str, Any]:
    """Return, by sentence, whether traced values of a system are refused together."""
    found = value_faults(system)
    if periodic:
        found["the loads have no common period"] = jnp.isnan(system.period())
    return found


def _extremes(system: System, observables: Observables) -> dict[str, AnyArray]:
    """Return the largest displacement of each body from rest, and its time."""
    rest = system.equation().displaced(system.rest())
    high, low = observables.highest - rest, rest - observables.lowest
    times = jnp.where(high >= low, observables.highest_time, observables.lowest_time)
    return {"largest": jnp.maximum(high, low), "largest_time": times}


def _slope(system: System):
    """Return the function of values and state that integrates a period."""

    def slope(values, state) -> dict[str, Any]:
        lane = replace(system, values)

        def end(start):
            after = flow(lane, start, 0.0, lane.period(), rtol=RTOL, throw=False)
            return after, after

        # The motion is computed once for the tangents along all components.
        matrix, after = jax.jacfwd(end, has_aux=True)(state)
        return {"state": after, "matrix": matrix}

    return slope
