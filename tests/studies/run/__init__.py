"""Tests of running a study."""
