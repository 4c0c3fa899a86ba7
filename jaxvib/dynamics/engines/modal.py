"""The engine of large linear systems with contacts in their modes."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...foundation.arrays import (
    combine_arrays,
    is_concrete,
    partition_arrays,
    stop_gradient_tree,
)
from ...foundation.types import Number
from ...foundation.zero_tangents import is_zero
from ...kernels.calls.derivative_rule import with_rule
from ...systems.base.equation import Equation
from ..modal import ModalForm, modal_flow, modal_form
from ..motion import Motion, Want
from ..observables import init_observables
from ..sensitivities import value_and_tangent
from .engine import Engine, forces_in, in_periods
from .stepped import DiffraxEngine

# Error of displacements observed over many periods, relative to their size: far below the
# change of their extremes from one observation of an aperiodic motion to the next.
_BLUR = 1e-4


class ModalEngine(Engine):
    """Exact flights of all modes, and steps in contact by collocation.

    Its steps do not depend on the number of modes. Derivatives by the state and by the
    times come from the sensitivities of its own steps; derivatives by parameters, and
    those of higher order, are those of time stepping by diffrax.

    **Fields:** `observing`: whether motions with a monodromy matrix update observables,
    which takes steps that resolve all displacements; otherwise they are those of the
    start.

    **Raises:** `ValueError` for a system without a modal form, see `modal_form`.
    """

    observing: bool = True

    def refusal(self, equation: Equation) -> str:
        """Return "": construction of a modal form checks the system."""
        return ""

    def integrate(
        self, system: Any, state: Array, t0: Number, t1: Number, want: Want
    ) -> Motion:
        """Return a motion; where a change is wanted, displacements are seen less finely."""
        form, run = _form_of(system), (state, t0, t1)
        if want.along is not None:
            return in_periods(modal_flow(form, *run, want, _BLUR), want)
        if want.times is not None or want.periods is not None:
            return self.in_parts(system, *run, want)
        fixed = form is system or is_concrete(system, run, want.rtol)
        if want.differentiable and not fixed:
            leaves, static = partition_arrays(system)
            numbers = (jnp.asarray(number, float) for number in (t0, t1, want.rtol))
            flow = _differentiable(form, static)
            return Motion(*flow(leaves, jnp.asarray(state, float), *numbers))
        seen = want.observables
        if want.monodromy and not self.observing:
            if seen is None:
                seen = init_observables(jnp.asarray(t0, float), state, form.motion)
            unseen = dataclasses.replace(want, grazing=None, observables=None)
            return modal_flow(form, *run, unseen)._replace(observables=seen)
        found = modal_flow(form, *run, want)
        if not want.forces:
            return found
        forces = forces_in(form.motion)(jnp.asarray(t1, float), found.state)
        return found._replace(forces=forces)


def _form_of(system: Any) -> ModalForm:
    if isinstance(system, ModalForm):
        return system
    form = modal_form(system if is_concrete(system) else stop_gradient_tree(system))
    if form is None:
        raise ValueError(
            "engine = 'modal': the system has no modal form; allowed: linear systems of "
            "more than 8 degrees of freedom with up to 16 elastic contacts (8 annular "
            "ones) and harmonic loads or none, without rigid-body or critically damped "
            "modes and undamped resonances, their parameters not traced by jit or vmap"
        )
    return form


def _differentiable(form: ModalForm, static: Any):
    """Return the flow of (leaves, state, t0, t1, rtol): state, reason code and steps."""

    def by_steps(leaves, state, t0, t1, rtol):
        system = combine_arrays(leaves, static)
        return DiffraxEngine().integrate(system, state, t0, t1, Want(rtol)).state

    def run(leaves, state, t0, t1, rtol):
        found = modal_flow(form, state, t0, t1, Want(rtol))
        return found.state, found.result, found.steps

    def rule(primals, tangents):
        found = flow(*primals)
        if all(is_zero(tangent) for tangent in jax.tree.leaves(tangents[0], is_zero)):
            change = along_states(primals, found[0], tangents[1:])
        else:
            change = value_and_tangent(by_steps, primals, tangents)[1]
        still = [np.zeros(number.shape, jax.dtypes.float0) for number in found[1:]]
        return found, (change, *still)

    def along_states(primals, end, tangents):
        leaves, state, t0, t1, _ = primals
        moved, earlier, later, _ = (
            jnp.zeros(tangent.shape) if is_zero(tangent) else tangent
            for tangent in tangents
        )
        field = combine_arrays(leaves, static).equation().vector_field
        begins = moved - field(t0, state) * earlier
        return monodromy(*primals) @ begins + field(t1, end) * later

    def own_monodromy(leaves, state, t0, t1, rtol):
        return modal_flow(form, state, t0, t1, Want(rtol, monodromy=True)).monodromy

    def higher(primals, tangents):
        slope = value_and_tangent(jax.jacfwd(by_steps, 1), primals, tangents)[1]
        return monodromy(*primals), slope

    flow, monodromy = with_rule(run, rule), with_rule(own_monodromy, higher)
    return flow
