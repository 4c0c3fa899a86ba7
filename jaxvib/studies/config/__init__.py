"""Configs: TOML parsed into validated tables, their parameters and samples."""
