"""What the interior-point method found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.conic.interior_rules import USABLE
from steelyard.errors import EstimationError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InteriorSolution:
    """The optimum and its residuals.

    duals : Z_k, one for each condition, (d, d).
    stationarity : largest entry of the gradient minus sum_k A_k*(Z_k), relative to the largest of
        1, |Fᵀg - c| and the floors.
    violation : largest entry of S_k - (A_k x + b_k), relative to the largest of 1 and S_k.
    gap : the duality gap, divided by 1 + ½ |F x - g|² + sum_k floor_k (tr S_k - log det S_k - d).
        A product p of an ordinary condition adds p to the gap, one with a floor
        p - floor - floor log(p / floor).
    off_floor : largest relative distance of a product from its floor.
    converged : whether all of these are as small as was asked for.
    """

    x: Array
    duals: tuple[Array, ...]
    iterations: int
    converged: bool
    stationarity: float
    violation: float
    gap: float
    off_floor: float

    @property
    def worst(self) -> float:
        """The largest residual: how far from the optimum."""
        return max(self.stationarity, self.violation, self.gap)


def usable(found: InteriorSolution, at: int) -> InteriorSolution:
    """The best iterate, if its residuals are small enough; else EstimationError.

    at : the number of the step at which it was found.
    """
    if found.converged or found.worst <= USABLE:
        return found
    raise EstimationError(
        f"the interior-point method did not converge; best after {at} steps "
        f"(gradient {found.stationarity:.1e}, violation {found.violation:.1e}, "
        f"gap {found.gap:.1e})"
    )
