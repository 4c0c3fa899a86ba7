"""The study kind `bifurcation_diagram`: its options and results, and its pictures."""
