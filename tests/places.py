"""Lanes of a plain `vmap` compared with themselves elsewhere in it.

Up to JAX 0.10 no bit of a lane depends on its place. Later versions compute the last few
lanes in a loop of their own, whose sums are rounded differently; in `map_samples` those
are copies.
"""

import jax
import numpy as np

SAME_BITS = jax.__version_info__ < (0, 11)


def check_same(here, there, rtol=1e-8) -> None:
    """Raise unless both are the same: to the bit, or to rounding that has grown."""
    for one, other in zip(jax.tree.leaves(here), jax.tree.leaves(there), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        if SAME_BITS or not np.issubdtype(one.dtype, np.inexact):
            np.testing.assert_array_equal(one, other)
        else:
            size = np.abs(one[np.isfinite(one)]).max(initial=0.0)
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * size)
