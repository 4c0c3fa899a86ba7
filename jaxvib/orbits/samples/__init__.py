"""Motions of many samples: regimes, diagrams, trajectories."""
