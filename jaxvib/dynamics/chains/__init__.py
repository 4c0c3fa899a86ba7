"""Chains of particles in motion: steps, lanes, energies and ensembles."""
