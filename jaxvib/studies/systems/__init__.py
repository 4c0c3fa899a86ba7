"""Systems as a config says them: one file for each kind."""
