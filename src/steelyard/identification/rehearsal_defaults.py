"""Defaults of a rehearsal, for Python and for the command line."""

from __future__ import annotations

TOLERANCE = 0.1
"""Largest error of what is needed, relative to its size."""
RESAMPLES = 100
"""Fits for the intervals, half of those of an identification."""
