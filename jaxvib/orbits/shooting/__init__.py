"""Shooting, settling and multipliers of one motion."""
