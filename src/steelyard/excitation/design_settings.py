"""What a user chooses about the design of a motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from steelyard.errors import SignalError, listed, shown
from steelyard.excitation.files.interpolation import INTERPOLATIONS, Interpolation
from steelyard.excitation.points._point_search import Measure, Optimiser
from steelyard.excitation.points.point_design import PointSettings

Basis = Literal["fourier", "points", "via", "postures"]
MOST_POINTS = 5_000_000
BASES: tuple[Basis, ...] = get_args(Basis)
ColumnScale = Literal["none", "typical", "prior"]
COLUMN_SCALES: tuple[ColumnScale, ...] = get_args(ColumnScale)
MOST_ROWS = 10_000
"""Energy differences between points."""

USED_BY: Mapping[str, tuple[Basis, ...]] = {
    "period_s": ("fourier", "via", "postures"),
    "periods": ("fourier",),
    "harmonics": ("fourier",),
    "criterion": ("fourier", "via"),
    "budget_s": ("fourier", "via", "points"),
    "rounds": ("fourier", "via"),
    "threads": ("fourier",),
    **dict.fromkeys(
        (
            "measure",
            "n_rows",
            "condition_weight",
            "equilibrium_weight",
            "column_scale",
            "optimiser",
            "n_starts",
        ),
        ("points",),
    ),
}
"""The bases that use a setting; settings that are not listed have an effect with every basis."""
WEIGHTS = ("condition_weight", "equilibrium_weight")


def without_effect(name: str, basis: str, measure: str) -> str | None:
    """Why a setting has no effect with this basis, or None where it has one."""
    users = USED_BY.get(name, BASES)
    if basis not in users:
        return f"has no effect with the basis '{basis}', only with {listed(users)}"
    if name in WEIGHTS and measure != "balanced":
        return f"has no effect with the measure '{measure}', only with 'balanced'"
    return None


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

    Of the basis "points" alone (Gautier and Khalil 1992): measure, condition_weight (lambda1),
    equilibrium_weight (lambda2), optimiser and n_starts as in
    `steelyard.excitation.points.point_design.PointSettings`; n_rows : energy differences r, twice
    the base parameters if None. column_scale : factors of the columns of W before it is measured:
    "none"; "typical", the typical size of each base parameter; "prior", its value in the robot
    file, and at least a hundredth of the typical size.

    A setting that the basis does not use is refused unless it has its default, see `USED_BY`.
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
    measure: Measure = "svd"
    n_rows: int | None = None
    condition_weight: float = 1.0
    equilibrium_weight: float = 0.01
    column_scale: ColumnScale = "none"
    optimiser: Optimiser = "gradient"
    n_starts: int = 60

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
        if self.column_scale not in COLUMN_SCALES:
            raise SignalError(
                f"column_scale is {shown(self.column_scale)}; it is one of {listed(COLUMN_SCALES)}"
            )
        if self.n_rows is not None and not 1 <= self.n_rows <= MOST_ROWS:
            raise SignalError(f"n_rows is {self.n_rows}; 1 to {MOST_ROWS:,} are possible")
        self.point_settings(1 if self.n_rows is None else self.n_rows)  # checks the others
        for one in fields(self):
            reason = without_effect(one.name, self.basis, self.measure)
            if reason is not None and getattr(self, one.name) != one.default:
                raise SignalError(f"{one.name} {reason}; leave it out, or choose another basis")

    def point_settings(self, n_rows: int) -> PointSettings:
        """Those of the search for optimum points, with so many rows unless a number is given."""
        return PointSettings(
            n_rows=n_rows if self.n_rows is None else self.n_rows,
            measure=self.measure,
            condition_weight=self.condition_weight,
            equilibrium_weight=self.equilibrium_weight,
            optimiser=self.optimiser,
            n_starts=self.n_starts,
            budget_s=self.budget_s,
            seed=self.seed,
        )

    def uses(self, name: str) -> bool:
        """Whether a setting has an effect with this basis and measure."""
        return without_effect(name, self.basis, self.measure) is None

    @property
    def goal(self) -> str:
        """What the search makes small, as it is named among the options."""
        if self.uses("criterion"):
            return self.criterion
        return self.measure if self.basis == "points" else "condition"

    def as_json(self) -> dict[str, Any]:
        """Every setting by name; None for those without effect."""
        return {name: value if self.uses(name) else None for name, value in asdict(self).items()}
