"""What a payload stream says: the payload at one time, and changes of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.robot.principal_body import PrincipalBody

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PayloadSnapshot:
    """The payload at one time.

    time : s, of the last sample. body : physical, in the axes of ``frame``; phi : its ten
    parameters (10,).
    mass_sigma : kg. com_sigma : (3,) m. phi_sigma : (10,). Standard deviations without the
        conditions that a body is physical, autocorrelation of the residuals included. A large one
        says that the motion has not determined the value yet; what it says nothing about is near
        a sphere of water.
    effective_samples : number of samples, each counted with its weight.
    bias : (n_channels,) of the channels, N m or N.
    doubt : None, or why the samples are doubted, although ``body`` is the best that fits them. Its
        code is "negative-mass" if least squares without conditions has a mass that is negative by
        more than four standard deviations.
    """

    time: float
    frame: str
    body: PrincipalBody
    phi: Array
    mass_sigma: float
    com_sigma: Array
    phi_sigma: Array
    effective_samples: float
    bias: Array
    doubt: Finding | None = None

    def __repr__(self) -> str:
        mass = f"{self.body.mass:.4g} kg (sigma {self.mass_sigma:.2g})"
        doubt = "" if self.doubt is None else f", doubted: {self.doubt.code}"
        return f"<PayloadSnapshot at '{self.frame}', {self.time:.3f} s: {mass}{doubt}>"


@dataclass(frozen=True)
class PayloadChange:
    """A change of the payload.

    time : s, when it happened, to about a block. reported : s, when this was known.
    mass_before, mass_after : kg, with the same bias. sigma : kg, standard deviation of their
        difference. Where the robot has not moved before, a weight may be bias: the masses are then
        not determined, but their difference is.
    statistic, threshold : that were compared.
    """

    time: float
    reported: float
    mass_before: float
    mass_after: float
    sigma: float
    statistic: float
    threshold: float

    @property
    def mass_change(self) -> float:
        """kg, positive when something was picked up."""
        return self.mass_after - self.mass_before
