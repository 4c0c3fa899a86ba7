"""Object files for C, and modules for browsers."""
