"""Checked against: the matrix before its columns became fewer, and parts of a motion."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv
from jaxvib.dynamics.modal import modal_flow, modal_form
from jaxvib.dynamics.modal.collocation import Eigenvalues
from jaxvib.dynamics.modal.directions import unit_directions
from jaxvib.dynamics.modal.sensitivities import DECAYED, unit_sensitivities
from jaxvib.dynamics.motion import Want
from jaxvib.kernels.calls.kernel_cache import cached_kernel
from tests.modal_cantilever import PERIOD, cantilever_frequencies, modal_cantilever

SIZE = 96
# Ten modes live, the others have decayed after 1 s.
DECAY = np.where(np.arange(SIZE // 2) < 10, -0.1, -50.0)
random = np.random.default_rng(4)


def fewer(matrix):
    """Return the matrix, that of fewer columns, and the number of blocks that move."""
    first = unit_sensitivities(SIZE)
    directions, unit = unit_directions(SIZE), jnp.eye(SIZE)
    blocks = jnp.einsum("ik,bkw->biw", matrix, first.blocks)
    values = Eigenvalues(jnp.asarray(DECAY), jnp.zeros(SIZE // 2))
    known = first._replace(blocks=blocks)
    new, rows = directions.fewer(known, values, jnp.asarray(1.0))
    return rows.matrix(new, unit, unit), jnp.sum(new.move())


in_memory = cached_kernel(fewer, in_memory=True)


def test_columns_become_as_few_as_the_rank():
    sizes = 10.0 ** -np.arange(20.0)
    matrix = random.normal(size=(SIZE, 20)) * sizes @ random.normal(size=(20, SIZE))
    found, blocks = in_memory(jnp.asarray(matrix))
    largest = np.abs(matrix).max()
    np.testing.assert_allclose(found, matrix, atol=10 * DECAYED * largest)
    assert int(blocks) == 1


def test_columns_of_a_large_rank_are_kept():
    matrix = random.normal(size=(SIZE, 70)) @ random.normal(size=(70, SIZE))
    found, blocks = in_memory(jnp.asarray(matrix))
    np.testing.assert_allclose(found, matrix, rtol=0, atol=1e-15 * np.abs(matrix).max())
    assert int(blocks) == 3


@pytest.mark.slow  # compilation for forty modes
def test_sensitivities_of_many_modes_are_products_of_those_of_parts():
    modes, parts = 40, 12
    form = modal_form(modal_cantilever(modes, jv.HertzContact(5e3)))
    scales = np.concatenate([cantilever_frequencies(modes), np.ones(modes)])
    start = np.zeros(2 * modes)
    start[0], start[modes] = 0.0095, 0.006
    flow, want = jax.jit(modal_flow), Want(1e-9, monodromy=True)
    whole = flow(form, start, 0.0, 2 * PERIOD, want).monodromy
    # Parts begin with all columns, and are too short for fewer.
    state, product = start, np.eye(2 * modes)
    times = np.linspace(0.0, 2 * PERIOD, parts + 1)
    for begin, end in itertools.pairwise(times):
        part = flow(form, state, begin, end, want)
        state, product = part.state, np.asarray(part.monodromy) @ product
    ratios = scales[:, None] / scales
    whole, product = (ratios * np.asarray(matrix) for matrix in (whole, product))
    np.testing.assert_allclose(whole, product, rtol=0, atol=1e-8)
