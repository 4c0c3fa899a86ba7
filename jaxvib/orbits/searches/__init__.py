"""Searches for attractors, their basins, and how robust they are."""
