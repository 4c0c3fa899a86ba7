"""Modules that planar and spatial systems are assembled from."""
