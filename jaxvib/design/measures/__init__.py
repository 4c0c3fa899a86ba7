"""Measures: what a design is judged by, with derivatives."""
