"""Chunks of a study in processes, on clusters and in shares."""
