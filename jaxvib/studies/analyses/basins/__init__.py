"""The study kind `basins`: its options and results, and its pictures."""
