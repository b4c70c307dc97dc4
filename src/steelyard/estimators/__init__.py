"""Estimators: each a function from a regression to an `Estimate`."""

from steelyard.estimators.least_squares import ols, wls

__all__ = ["ols", "wls"]
