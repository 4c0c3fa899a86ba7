"""The folder of a study: crash-safe writing, validated reading."""
