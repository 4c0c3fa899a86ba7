"""Beams with bodies, chains of particles, elastic structures in their modes."""
