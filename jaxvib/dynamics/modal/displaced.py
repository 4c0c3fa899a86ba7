"""Steps in which all displacements are nearly quintic polynomials, to observe them."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ...foundation.types import Number
from ..observables import Observables
from .eigenmodes import Eigenmodes
from .modal_form import LEVELS, ModalForm
from .phases import Phases


class Observed(NamedTuple):
    """What is observed of a motion.

    `grazing`: the depth up to which a touch is not a contact, m; `observables`: from
    before the motion; `blur`: the error of displacements, relative to
    their size.
    """

    grazing: Any
    observables: Observables
    blur: Any


class Displaced(NamedTuple):
    """The largest displacements, and the errors of a step's quintic of them.

    `reach` (p,): per unit amplitude, and `moved`: by the loads; `unseen` (p, levels) and
    `by_loads` (levels,): their errors, h^6 / 46080 times the sixth derivative and at most
    twice the amplitude, for the tables' lengths h. `blur`: the error that is allowed,
    relative to the size of displacements.
    """

    reach: Any
    unseen: Any
    moved: Any
    by_loads: Any
    blur: Any

    def finest(
        self, sizes: Float[Array, " p"], vibrates: Float[Array, " p"]
    ) -> Int[Array, ""]:
        """Return the level of the longest step that resolves the displacements.

        `sizes` of amplitudes, and of the part of them that `vibrates`.
        """
        return self._level(sizes, vibrates)[0]

    def longest(self, sizes: Float[Array, " p"], lengths: Array) -> Float[Array, ""]:
        """Return the longest step, s, that resolves them where all amplitudes vibrate.

        `lengths`: those of the tables. Errors grow as the sixth power, or less.
        """
        level, unseen, allowed = self._level(sizes, sizes)
        shorter = jnp.maximum(unseen[level], jnp.finfo(float).tiny)
        return lengths[level] * jnp.clip(allowed / shorter, 1.0, 2.0**6) ** (1 / 6)

    def _level(self, sizes, vibrates) -> tuple[Array, Array, Array]:
        """Return the level, the errors of all levels, and the allowed one."""
        unseen = vibrates @ self.unseen + self.by_loads
        allowed = self.blur * (sizes @ self.reach + self.moved)
        return jnp.minimum(jnp.sum(unseen > allowed), LEVELS - 1), unseen, allowed


def displaced(system: ModalForm, blur: Number, phase: Phases | None = None) -> Displaced:
    """Return the data of the displacements, those of a `phase` with closed contacts."""
    part = system if phase is None else phase
    modes: Eigenmodes = part.modes
    half = modes.shapes.shape[1] // 2
    lengths = system.steps.length
    reach = jnp.max(jnp.hypot(*jnp.split(modes.shapes[:, :half], 2)), axis=1)
    moved = jnp.max(jnp.sum(jnp.abs(part.forced[..., :half]), axis=(0, 1)))
    paces = modes.eigenvalues.paces()
    unseen = jnp.minimum((paces[:, None] * lengths[None]) ** 6 / 46080, 2.0)
    by_loads = (jnp.max(system.frequency) * lengths) ** 6 / 46080 * moved
    return Displaced(reach, reach[:, None] * unseen, moved, by_loads, blur)
