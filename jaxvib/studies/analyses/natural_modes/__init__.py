"""The study kind `natural_modes`: its options and results, and its pictures."""
