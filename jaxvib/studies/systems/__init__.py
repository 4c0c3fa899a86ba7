"""Kinds of systems in a config, one file each."""
