"""The study kind `design`: its options and results, and its pictures."""
