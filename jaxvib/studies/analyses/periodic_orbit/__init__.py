"""The study kind `periodic_orbit`: its options and results, and its pictures."""
