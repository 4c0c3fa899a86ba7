"""Tests of kinds of analysis."""
