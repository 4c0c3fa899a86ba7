"""The pieces that a planar or spatial system is overlaid from, by their energies."""
