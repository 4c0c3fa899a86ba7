"""Tests of systems in a config."""
