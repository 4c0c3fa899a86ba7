"""The study kind `chain_motion`: its options and results, and its pictures."""
