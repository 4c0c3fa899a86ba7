"""Configs: TOML read into checked tables, what may be set, and which samples follow."""
