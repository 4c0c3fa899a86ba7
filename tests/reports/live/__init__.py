"""Tests of pages that compute motions."""
