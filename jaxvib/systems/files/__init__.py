"""Systems from matrix files of other programs."""
