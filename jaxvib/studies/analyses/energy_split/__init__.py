"""The study kind `energy_split`: its options and results, and its pictures."""
