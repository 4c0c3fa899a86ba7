"""Error bounds of gaps in steps in contact: vibrations that these do not resolve."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...foundation.types import Number
from .collocation import NODES, PLACES
from .gaps import Gaps
from .modal_form import ModalForm
from .rates import rates_of_amplitudes

# The error of a step's polynomial of exp(w t), projected at the nodes and exact at both
# ends: at most w^8 over the first number, and the second one, by evaluation.
_SLOWLY, _MOST = 1e10, 1.5
# The slope of a polynomial at the start of a step of length 1, from values at its nodes.
_powers = np.polynomial.polynomial.polyvander(PLACES, NODES - 1)
_SLOPE_AT_START = np.linalg.inv(_powers)[1]


def unresolved(
    system: ModalForm,
    gaps: Gaps,
    y: Float[Array, " y"],
    time: Number,
    forces: Float[Array, "k d"],
    length: Number,
) -> Float[Array, " c"]:
    r"""Return bounds of the errors of the gaps' polynomials in a step, m.

    Under smooth forces F amplitudes follow $\beta F/\lambda + \beta \dot F/\lambda^2 +
    \dots$, which is a polynomial as F is; the rest vibrates freely. It is what is left of
    $\dot a / \lambda = a - \beta F/\lambda$ at the start, `forces` being those at the
    step's nodes.
    """
    paces = system.modes.eigenvalues.paces()
    rates = rates_of_amplitudes(system, gaps, y, time)
    slopes = jnp.abs(jnp.asarray(_SLOPE_AT_START) @ forces) / length
    follows = jnp.hypot(*jnp.split(system.pushes, 2)) @ slopes / paces**2
    vibrates = jnp.hypot(*jnp.split(rates, 2)) / paces + follows
    wrong = jnp.minimum((paces * length) ** 8 / _SLOWLY, _MOST)
    along = jnp.hypot(*jnp.split(gaps.rows[0], 2, axis=-1)) @ (vibrates * wrong)
    axes = gaps.axes
    both = jnp.hypot(along[axes.first], along[axes.second])
    return jnp.where(axes.is_round, both, along[axes.first])
