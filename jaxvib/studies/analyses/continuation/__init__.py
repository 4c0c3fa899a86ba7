"""The study kind `continuation`: its options and results, and its pictures."""
