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
from ...dynamics.engines.engine import Segment
from ...dynamics.observables import largest_forces, times_of_largest_forces
from ...foundation.types import AnyArray
from ...kernels import WebAssembly, web_assembly
from ...kernels.kernel_cache import cached_fact
from ...systems import replace
from ...systems.system import System, state_shape

RTOL = 1e-10  # of the integration, as of `flow`


def modules(system: System, values: Mapping[str, float]) -> dict[str, WebAssembly]:
    """Return the WebAssembly modules of a system's motion.

    `values`: the parameters that are arguments, by path. `segment` integrates from
    `state` at `t0` to `t1` and returns the state and the contacts' observables, all in
    float64, with the load's period and the state at rest; `slope` integrates over a
    period from t = 0 and returns the state and the change due to a small change
    `tangent` of the initial state, with room for one tangent per component of a state.
    Where it would be too long, there is none.

    **Raises:** `ValueError` if a motion cannot be compiled.
    """
    # The values are arguments: the modules are the same for all of them.
    unvalued = replace(system, dict.fromkeys(values, 1.0))
    kept = cached_fact(_encoded_modules, unvalued, list(values))
    if isinstance(kept, str):
        raise ValueError(kept)
    return {
        name: WebAssembly(base64.b64decode(code), layout)
        for name, (code, layout) in kept.items()
    }


def _encoded_modules(system: System, paths: list[str]) -> dict[str, list] | str:
    """Return the code in base64 and the layout of each module, or why there is none."""
    size = state_shape(system)[0]
    state, values = np.zeros(size), dict.fromkeys(paths, 1.0)
    try:
        # A motion is one lane, which the scalar form computes the fastest.
        segment = web_assembly(
            _segment(system), values, state, 0.0, 1.0, instructions="scalar"
        )
    except ValueError as error:
        return str(error)
    found = {"segment": segment}
    with contextlib.suppress(ValueError):
        found["slope"] = web_assembly(_slope(system), values, state, state, lanes=size)
    return {
        name: [base64.b64encode(each.code).decode(), each.layout]
        for name, each in found.items()
    }


def _segment(system: System):
    """Return the function of values, state, t0 and t1 that integrates a motion."""
    engine = engine_of(system, "auto")

    def segment(values, state, t0, t1) -> dict[str, Any]:
        lane = replace(system, values)
        end, watched, code = engine.watch(lane, Segment(state, t0, t1, RTOL, 0.0))
        equation = lane.equation()
        found: dict[str, AnyArray] = {
            "state": end,
            "force": equation.at(t1).forces_at(end),
            "peak": largest_forces(equation, watched),
            "peak_time": times_of_largest_forces(equation, watched),
            "first_touch": watched.first_touch,
            "duration": watched.duration,
            "onsets": watched.onsets,
            "impulse": watched.impulse,
            "code": code,
            "period": lane.period(),
            "rest": lane.rest(),
        }
        return {name: jnp.asarray(each, float) for name, each in found.items()}

    return segment


def _slope(system: System):
    """Return the function of values, state and tangent that integrates a period."""

    def slope(values, state, tangent) -> dict[str, Any]:
        lane = replace(system, values)

        def end(start):
            return flow(lane, start, 0.0, lane.period(), rtol=RTOL, throw=False)

        after, change = jax.jvp(end, (state,), (tangent,))
        return {"state": after, "tangent": change}

    return slope
