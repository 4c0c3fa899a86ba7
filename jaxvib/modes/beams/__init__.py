"""Beams with bodies: certified eigenvalues, modes, responses and time histories."""
