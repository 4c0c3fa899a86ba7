"""The study kind `linear_motion`: its options and results, and its pictures."""
