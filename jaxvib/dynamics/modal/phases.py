r"""Modes of a linear system for each set of closed contacts, if these are linear.

While the contacts of a set act, the system is linear too, with the stiffness $K + \sum_c
k_c n_c n_c^T$, and its motion in the modes of that is known for any time.
"""

import itertools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...systems.contacts.contact import LinearContact
from ...systems.impact import EquationOfMotion
from ..linear_modes import forced_motion, modal_blocks
from .collocation import Eigenvalues
from .eigenmodes import Eigenmodes, eigenmodes

# Terms of the Taylor series of a gap: as many as make up two vectors of eight.
TERMS = 16
# Number of contacts up to which there are modes for each set of them.
_CONTACTS = 3
# Numbers of a state beyond which a change of modes costs more than the steps that it saves.
_STATE = 128
# Numbers of a processor's vector.
_VECTOR = 8


class Phases(NamedTuple):
    r"""Modes and steady states for each set of closed contacts, on a leading axis.

    $$s = \mathrm{Re}(V a) + s_p(t) + s_0, \qquad \dot a_k = \lambda_k a_k.$$

    Set j has the contacts c with $j_c = 1$, $j = \sum_c 2^c j_c$. **Fields:** `modes`,
    `to_modes`: the transposes of their duals, so that sums are those of rows; `forced`
    (sets, 2, waves, 2n): see `ModalForm`; `still` (sets, 2n): $s_0$, the
    equilibrium without loads. Penetrations have the `series` (sets, y, K, c) of powers of
    time, without the loads and `limits` (sets, c), their gaps at the equilibrium, m; the
    amplitudes' sizes times `bounds` (sets, 3, c, p) bound the terms 0, 2 (twice) and K of
    it at any time. `steady` (sets, 2, waves, c): the part of the loads.
    """

    modes: Eigenmodes
    to_modes: Float[Array, "sets state y"]
    forced: Float[Array, "sets 2 waves state"]
    still: Float[Array, "sets state"]
    series: Float[Array, "sets y k c"]
    bounds: Float[Array, "sets 3 c p"]
    limits: Float[Array, "sets c"]
    steady: Float[Array, "sets 2 waves c"]


def phases_of(
    motion: EquationOfMotion, matrices: list[np.ndarray], pushed: list
) -> Phases | None:
    """Return the modes of all sets of closed contacts of a system.

    `matrices`: mass, damping and stiffness; `pushed`: see `forced_motion`. None for many
    contacts or states, contacts that are not linear, and where a set has real eigenvalues
    or nearly dependent eigenvectors.
    """
    contacts, size = motion.contacts, len(matrices[0])
    laws = [contact.law for contact in contacts if contact.has_linear_gap]
    linear = len(laws) == len(contacts) and all(type(x) is LinearContact for x in laws)
    if not linear or not 0 < len(contacts) <= _CONTACTS or 2 * size > _STATE:
        return None
    rows = np.concatenate([np.asarray(contact.rows) for contact in contacts])
    gaps = np.array([float(contact.gap) for contact in contacts])
    stiffness = np.array([float(law.stiffness) for law in laws])
    each = []
    for places in itertools.product((0.0, 1.0), repeat=len(contacts)):
        acting = stiffness * places[::-1]  # the first contact changes first
        found = _phase(matrices, rows, gaps, acting, pushed, np.asarray(motion.offset))
        if found is None:
            return None
        each.append(found)
    return jax.tree.map(lambda *parts: jnp.stack(parts), *each)


def _phase(matrices, rows, gaps, acting, pushed, offset) -> Phases | None:
    """Return the modes with springs of a stiffness at the contacts."""
    mass, damping, stiffness = matrices
    stiffer = stiffness + (rows.T * acting) @ rows
    try:
        split = modal_blocks(mass, damping, stiffer)
        forced = None if split is None else forced_motion(mass, damping, stiffer, pushed)
        pressed = np.linalg.solve(stiffer, rows.T @ (acting * gaps))
    except np.linalg.LinAlgError:
        return None
    if split is None or forced is None or not np.all(split.angular > 0):
        return None
    modes = _in_whole_vectors(eigenmodes(split))
    seen = rows @ np.asarray(modes.shapes)[:, : len(mass)].T
    still = np.concatenate([offset + pressed, np.zeros_like(offset)])
    steady = forced[..., : len(mass)] @ rows.T
    numbers = forced, still, *_series(modes, seen), gaps - rows @ pressed, steady
    return Phases(modes, modes.duals.T, *map(jnp.asarray, numbers))


def _in_whole_vectors(modes: Eigenmodes) -> Eigenmodes:
    """Return modes with others of amplitude 0, so that loops over them have no rest."""
    more = -modes.eigenvalues.decay.shape[0] % _VECTOR

    def padded(rows):
        parts = rows.reshape(2, -1, rows.shape[1])
        return jnp.pad(parts, ((0, 0), (0, more), (0, 0))).reshape(-1, rows.shape[1])

    values = Eigenvalues(*(jnp.pad(part, (0, more)) for part in modes.eigenvalues))
    return Eigenmodes(values, padded(modes.shapes), padded(modes.duals))


def _series(modes: Eigenmodes, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return `series` and `bounds` of what rows (c, 2p) of amplitudes give."""
    real, imag = np.split(seen, 2, axis=1)
    decay, angular = map(np.asarray, modes.eigenvalues)
    values = decay + 1j * angular
    order = np.arange(TERMS)[:, None, None]
    factorials = np.array([math.factorial(k) for k in range(TERMS)], float)
    terms = (real - 1j * imag) * values**order / factorials[:, None, None]
    series = np.concatenate([terms.real, -terms.imag], axis=-1)
    sizes, paces = np.abs(real + 1j * imag), np.abs(values)
    last = sizes * paces**TERMS / math.factorial(TERMS)
    return series.transpose(2, 0, 1), np.stack([sizes, sizes * paces**2, last])
