"""Further contact laws, one in each file."""
