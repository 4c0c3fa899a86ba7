"""The study kind `beam_eigenvalues`: its options and results, and its pictures."""
