"""Base classes of systems, equations of motion, laws and parts."""
