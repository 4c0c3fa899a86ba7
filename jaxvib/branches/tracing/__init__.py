"""Tracing of a branch, and what happens along it: the same for every kind of motion."""
