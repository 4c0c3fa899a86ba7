"""Equations of orbits, cycles, modes and bifurcations, and their correction by Newton."""
