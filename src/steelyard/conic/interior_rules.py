"""The numbers by which the interior-point method steps and stops."""

from __future__ import annotations

ACCURACY = 1e-9
MAX_ITERATIONS = 100
PATIENCE = 25
STALLED = 5
"""Steps without progress after which the method stops: PATIENCE before an iterate is usable,
STALLED after.
"""
POLISHED = 2
"""Steps after which the method stops if the objective is optimal and the products have come no
nearer to their floors: that is as near as the rounding of x allows.
"""
ABOVE = 3.0
"""How far the products are above their floors at the start, in units of the gradient."""
NEAR = 1e-3
"""The same if the start is the optimum of a nearby problem; noise has the size 1."""
CIRCLING = 8
"""Steps without progress after which the full second-order correction is no longer tried."""
STEP = (0.9, 0.995)
"""Largest share of the way to the boundary that a step may go, for predictor steps of length 0
and 1.
"""
SHORTER = 0.9
"""Steps shorter than this share of the predictor step are tried again with less correction."""
LEAST = 1e-5
"""The products of ordinary conditions are not reduced below this share of the accuracy."""
GAP = 0.01
"""Largest gap at the optimum, as a share of the accuracy: accurate parameters need a smaller gap
than an accurate objective.
"""
CRAWL = 0.1
"""If a step leaves the gap above this share of the previous one, convergence is slow to the end
(a condition without strict complementarity); then a gap equal to the accuracy is enough.
"""
USABLE = 1e-5
"""Relative residuals up to which an iterate that did not converge is still returned."""
