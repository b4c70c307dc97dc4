"""What a user chooses about the design of a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from steelyard.errors import SignalError, listed, shown
from steelyard.excitation.files.interpolation import INTERPOLATIONS, Interpolation

Basis = Literal["fourier", "points", "via", "postures"]
MOST_POINTS = 5_000_000
BASES: tuple[Basis, ...] = get_args(Basis)

LEAST_SHARE = 0.01
DEFAULT_SHARE = 0.95
"""Share of every limit that a motion uses; a controller does not follow it exactly."""
DEFAULT_RATE_HZ = 200.0
"""Of the points that are sent, and of the log that is expected."""


@dataclass(frozen=True)
class DesignSettings:
    """Settings of a design; all have defaults.

    basis : "fourier", a sum of sines; "points", optimum points joined by fifth-order polynomials;
        "via", via points with trapezoidal acceleration; "postures", static postures.
    period_s : of the sum of sines, or duration of another motion. periods : how often it is run.
    harmonics : sines for each joint. criterion : by its name in the registry.
    seed : of the random starts. budget_s : time (s) for search and proofs together: what proofs
        take is measured, and the search has the rest, at least half. rounds : of the search, after
        which it ends if the time has not; None for as many as the time allows.
    samples : per period, for the criterion. rate_hz : of the log, for the predicted precision, and
        of the points that are sent. threads : None for all that the machine offers.
    share : of every limit that the motion may use; ranges of positions shrink about their middle.
    interpolation : what the controller does between the points that it is sent, for which limits
        are proven too.
    """

    basis: Basis = "fourier"
    period_s: float = 20.0
    periods: int = 1
    harmonics: int = 5
    criterion: str = "d-optimal"
    seed: int = 0
    budget_s: float = 30.0
    rounds: int | None = None
    samples: int = 400
    rate_hz: float = DEFAULT_RATE_HZ
    threads: int | None = None
    share: float = DEFAULT_SHARE
    interpolation: Interpolation = "quintic"

    def __post_init__(self) -> None:
        if self.basis not in BASES:
            raise SignalError(f"there is no basis {shown(self.basis)}; there are {listed(BASES)}")
        if self.interpolation not in INTERPOLATIONS:
            raise SignalError(
                f"there is no interpolation {shown(self.interpolation)}; there are "
                f"{listed(INTERPOLATIONS)}"
            )
        if not LEAST_SHARE <= self.share <= 1.0:
            raise SignalError(
                f"share of the limits is {self.share:g}; it must be from {LEAST_SHARE:g} to 1, "
                "such as 0.95 (95 % of position range, speed, acceleration, jerk and torque)"
            )
        for name in ("period_s", "budget_s", "rate_hz"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise SignalError(f"{name} is {value}; it must be positive")
        for name, most in (("period_s", 3600.0), ("harmonics", 100), ("rate_hz", 1e6)):
            if getattr(self, name) > most:
                raise SignalError(
                    f"{name} is {getattr(self, name):g}; at most {most:g} is possible"
                )
        points = self.period_s * max(1, self.periods) * self.rate_hz
        if points > MOST_POINTS:
            raise SignalError(
                f"a motion of {self.periods} periods of {self.period_s:g} s has {points:.3g} "
                f"points at {self.rate_hz:g} Hz; at most {MOST_POINTS:,} are possible: choose "
                "fewer or shorter periods, or a lower rate"
            )
        for name in ("periods", "harmonics", "samples"):
            value = getattr(self, name)
            if value < 1:
                raise SignalError(f"{name} is {value}; it must be at least 1")
        if self.seed < 0:
            raise SignalError(f"seed is {self.seed}; it must not be negative")
        if self.rounds is not None and self.rounds < 1:
            raise SignalError(f"rounds is {self.rounds}; at least one is needed")
        if self.threads is not None and self.threads < 1:
            raise SignalError(f"threads is {self.threads}; at least one is needed")
