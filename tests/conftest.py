"""How the whole suite runs: strict types and ranks, no deadline, the same examples."""

import hypothesis
import jax

import jaxvib  # noqa: F401  (float64 is on from here)

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
hypothesis.settings.register_profile("fixed", deadline=None, derandomize=True)
hypothesis.settings.load_profile("fixed")
