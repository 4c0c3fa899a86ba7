"""Samples of a large system in their modes, in groups that share a program."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ...dynamics.modal import modal_form
from ...foundation.arrays import combine_arrays, gather_lanes, partition_arrays, stack_lanes

# Bytes of the tables of a group, and the most lanes of one.
_BYTES, _LANES = 2**28, 64


class ModalGroup(NamedTuple):
    """Samples whose modal forms have the same structure.

    `lanes`: their places among all; `leaves`, `static`: the parameters of each sample's
    modal form, and what they share; for samples without one those of their system.
    """

    lanes: np.ndarray
    leaves: PyTree
    static: Any


def modal_groups(leaves: PyTree, static: Any) -> Iterator[ModalGroup]:
    """Yield all samples, with their modal forms where they have one.

    The tables of a form take megabytes: a group exists only while it is in use.
    """
    number = len(jax.tree.leaves(leaves)[0])
    waiting: dict[Any, tuple[list[int], list]] = {}
    others = []
    for place in range(number):
        one = jax.tree.map(lambda leaf, k=place: jnp.asarray(leaf[k]), leaves)
        form = modal_form(combine_arrays(one, static))
        if form is None:  # its modes are critically damped, for instance
            others.append(place)
            continue
        numbers, shared = partition_arrays(form)
        numbers = jax.tree.map(np.asarray, numbers)
        shapes = tuple(leaf.shape for leaf in jax.tree.leaves(numbers))
        places, forms = waiting.setdefault((shared, shapes), ([], []))
        places.append(place)
        forms.append(numbers)
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(numbers))
        if len(places) >= min(_LANES, max(_BYTES // size, 2)):
            yield _group(*waiting.pop((shared, shapes)), shared)
    for key in list(waiting):
        yield _group(*waiting.pop(key), key[0])
    if others:
        lanes = np.asarray(others)
        yield ModalGroup(lanes, gather_lanes(leaves, lanes), static)


def _group(places: list[int], forms: list, shared: Any) -> ModalGroup:
    return ModalGroup(np.asarray(places), stack_lanes(forms), shared)
