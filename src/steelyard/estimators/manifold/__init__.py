"""Least squares on the manifold of physical bodies (Traversaro et al. 2016)."""
