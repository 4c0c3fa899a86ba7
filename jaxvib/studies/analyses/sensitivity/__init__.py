"""The study kind `sensitivity`: its options and results, and its pictures."""
