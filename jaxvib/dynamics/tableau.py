"""Dormand and Prince's 8(7) pair, from diffrax."""

import functools
from typing import NamedTuple

import numpy as np


class ButcherTableau(NamedTuple):
    """The tableau of an explicit FSAL pair of S stages.

    `nodes`: the time of each stage, (S,); `coefficients`: of all stages in each, (S,
    S); `error`: weights of the stages in a step's error, (S,). A step ends in its last
    stage.
    """

    nodes: np.ndarray
    coefficients: np.ndarray
    error: np.ndarray


@functools.cache
def dormand_prince_tableau() -> ButcherTableau:
    """Return the pair; importing diffrax takes as long as importing all of jaxvib."""
    import diffrax

    tableau = diffrax.Dopri8.tableau
    coefficients = np.zeros((len(tableau.c) + 1,) * 2)
    for row, weights in enumerate(tableau.a_lower, 1):
        coefficients[row, : len(weights)] = weights
    nodes = np.concatenate([[0.0], tableau.c])
    return ButcherTableau(nodes, coefficients, np.asarray(tableau.b_error))
