"""Branches and bifurcations as results: their fields, checks, arrays and charts."""
