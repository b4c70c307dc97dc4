"""Readers of robot files: URDF, MJCF, Denavit-Hartenberg tables. Each returns a description."""
