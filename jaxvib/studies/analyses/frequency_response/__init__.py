"""The study kind `frequency_response`: its options and results, and its pictures."""
