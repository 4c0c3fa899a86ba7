"""The study kind `pareto_front`: its options and results, and its pictures."""
