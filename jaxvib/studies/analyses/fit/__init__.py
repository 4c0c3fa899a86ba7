"""The study kind `fit`: its options and results, and its pictures."""
