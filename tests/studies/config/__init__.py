"""Tests of a study's config."""
