"""Branches and bifurcations of each kind of motion: orbits, cycles, equilibria."""
