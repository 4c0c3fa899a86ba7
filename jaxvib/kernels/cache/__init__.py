"""Keys of lowered programs, and their entries on disk."""
