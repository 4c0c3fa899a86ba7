"""Kinds of analyses in a config, one folder each."""
