"""Checked against: the same lanes one at a time, and in the middle of many."""

import threading

import jax.numpy as jnp
import numpy as np
import pytest

import jaxvib as jv


def mixed(x, matrix, count, flag, nothing):
    total = jnp.sum(matrix * x) + jnp.sum(nothing)
    return {
        "matrix": matrix.T + total,
        "count": count + 1,
        "flag": flag ^ (total > 0),
        "nothing": nothing,
        "small": total.astype(jnp.float32),
    }


def lanes(number):
    rng = np.random.default_rng(3)
    return (
        rng.normal(size=number),
        rng.normal(size=(number, 2, 3)),
        np.arange(number, dtype=np.int32),
        np.arange(number) % 3 == 0,
        np.zeros((number, 0)),
    )


@pytest.mark.parametrize("number", range(1, 18))
def test_few_lanes_have_the_bits_of_many(number):
    kernel = jv.kernel(mixed)
    many, few = kernel.map(*lanes(64)), [array[:number] for array in lanes(64)]
    found = kernel.map(*few)
    one = kernel.map(*(array[-1:] for array in few))
    for name, values in found.items():
        assert values.shape == many[name][:number].shape
        assert values.dtype == many[name].dtype
        np.testing.assert_array_equal(values, many[name][:number])
        np.testing.assert_array_equal(values[-1:], one[name])
    np.testing.assert_array_equal(found["count"], few[2] + 1)


def test_results_stay_when_the_program_is_called_again():
    square = jv.kernel(lambda x: x * x)
    first = square.map(np.array([3.0]))
    square.map(np.array([5.0]))
    assert first.tolist() == [9.0]
    first[0] = 1.0  # and can be written to, like other results


def test_threads_do_not_share_memory():
    square, wrong = jv.kernel(lambda x: x * x), []

    def work(number):
        for _ in range(2000):
            found = square.map(np.array([number]))
            if found[0] != number * number:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
