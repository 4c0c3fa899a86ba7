"""Dynamics of particle chains: steps, batches, energies and ensembles."""
