"""Errors on held-out data, compared with the robot file's inertials and the zero model."""
