"""Analyses as a config says them: one folder for each kind."""
