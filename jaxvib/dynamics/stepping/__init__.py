"""Integration in steps with controlled errors."""
