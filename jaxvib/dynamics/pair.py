"""Dormand and Prince's 8(7) pair, as diffrax has it."""

import functools
from typing import NamedTuple

import numpy as np


class Pair(NamedTuple):
    """An explicit pair of S stages, the last of which is the next step's first.

    `nodes`: when each stage is, (S,); `coefficients`: of all stages in each, (S, S);
    `error`: of all stages in the error of a step, (S,). A step ends in its last stage.
    """

    nodes: np.ndarray
    coefficients: np.ndarray
    error: np.ndarray


@functools.cache
def pair() -> Pair:
    """Return the pair, whose import takes as long as all of the library's own."""
    import diffrax

    tableau = diffrax.Dopri8.tableau
    coefficients = np.zeros((len(tableau.c) + 1,) * 2)
    for row, weights in enumerate(tableau.a_lower, 1):
        coefficients[row, : len(weights)] = weights
    nodes = np.concatenate([[0.0], tableau.c])
    return Pair(nodes, coefficients, np.asarray(tableau.b_error))
