"""Estimation methods (least squares, physically constrained, with a prior), and intervals."""
