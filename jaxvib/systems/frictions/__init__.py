"""Dry friction of bodies and of contacts."""
