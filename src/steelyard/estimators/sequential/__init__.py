"""Identification link by link, from the leaves inward, and its refinement to the optimum."""
