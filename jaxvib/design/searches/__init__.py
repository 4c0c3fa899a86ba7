"""Searches by optax and SciPy, and the history of what they evaluated."""
