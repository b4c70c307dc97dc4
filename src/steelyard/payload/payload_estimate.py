"""What weighing a payload returns: the body with intervals, and what else was estimated with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.verdict.verdict import Verdict
from steelyard.findings import Finding
from steelyard.payload.payload_verdict import payload_verdict
from steelyard.robot.inertia import PARAMETERS, to_com, violations
from steelyard.robot.principal_body import EquivalentBox, PrincipalBody, equivalent_box

Array = NDArray[np.float64]
PayloadKind = Literal["confidence", "feasible range", "not determined"]
PayloadSolver = Literal["sdp", "manifold"]
SCHEMA = "steelyard.payload/1"


@dataclass(frozen=True)
class PayloadValue:
    """One number of a payload or of its sensor, with its interval.

    name : ``m``, ``cx`` to ``cz``, ``Ixx_com`` to ``Izz_com`` and the ten parameters about the
        frame's origin (``mx``, ``Ixx``, ...); ``bias_fx`` to ``bias_tz``; ``rotation_x`` to
        ``rotation_z`` of the sensor (a rotation vector, rad); names of friction changes.
    kind : "confidence" where the data determine it; "feasible range" where they do not, and
        physical bodies that fit the data have values from ``lower`` to ``upper``; "not determined"
        where any value fits (the limits are None).
    sigma : standard deviation; None unless kind is "confidence".
    at_boundary : whether the body is at the edge of what is physical in this value.
    """

    name: str
    unit: str
    value: float
    sigma: float | None
    lower: float | None
    upper: float | None
    kind: PayloadKind
    at_boundary: bool = False


@dataclass(frozen=True)
class PayloadRun:
    """One recording that was used.

    loaded : whether the payload was on the robot. cutoff_hz : of the low-pass filter of the
    kinematics; None where they were taken as recorded.
    """

    name: str
    n_samples: int
    duration_s: float
    loaded: bool = True
    cutoff_hz: float | None = None


@dataclass(frozen=True, eq=False)
class Unconstrained:
    """Least squares without physical consistency, beside the physical body (Traversaro et al. 2016,
    Table I).

    phi : (10,), which no body needs to have. relative_error : of it, as that of the estimate.
    """

    phi: Array
    relative_error: float

    @property
    def broken(self) -> tuple[str, ...]:
        """What no body can have of it; empty where it is physical, up to rounding."""
        return tuple(one.words for one in violations(self.phi, "unconstrained least squares"))

    def value(self, name: str) -> float:
        """One of its numbers by the name that it has in `PayloadEstimate.values`; NaN for what a
        mass of zero leaves without meaning.
        """
        if name in PARAMETERS:
            return float(self.phi[PARAMETERS.index(name)])
        if self.phi[0] == 0.0:
            return float("nan")
        com = self.phi[1:4] / self.phi[0]
        if name in COM_NAMES:
            return float(com[COM_NAMES.index(name)])
        inertia = to_com(self.phi)[2]
        row, column = ("xyz".index(axis) for axis in name[1:3])
        return float(inertia[row, column])


COM_NAMES = ("cx", "cy", "cz")


@dataclass(frozen=True, eq=False)
class PayloadEstimate:
    """A weighed payload.

    body : the physical body in the axes of ``frame``; its digits are checked exactly.
    values : of the body. others : bias and rotation of the sensor, friction changes and the like.
    solver : that found it. optimum_reached : whether its sum of squares is that of the convex
        problem's optimum, to 1e-6 relative; excess : by how much it is above it, relative.
    relative_error : |residual| / |wrench or torque without bias|. channels : rms of the residual
        by channel, with its name and unit.
    static : whether the motion was too slow to say anything about the inertia.
    unconstrained : least squares without physical consistency, of a body on a sensor; else None.
    """

    mode: Literal["ft", "joints"]
    frame: str
    body: PrincipalBody
    phi: Array
    values: tuple[PayloadValue, ...]
    others: tuple[PayloadValue, ...]
    level: float
    interval_covariance: str
    solver: PayloadSolver
    optimum_reached: bool
    excess: float
    relative_error: float
    channels: tuple[tuple[str, float, str], ...]
    static: bool
    runs: tuple[PayloadRun, ...]
    findings: tuple[Finding, ...]
    unconstrained: Unconstrained | None = None

    def __repr__(self) -> str:
        return f"<PayloadEstimate at '{self.frame}': {self.body.mass:.4g} kg by '{self.solver}'>"

    def value(self, name: str) -> PayloadValue:
        """The value of this name, of the body or of what was estimated with it."""
        for one in (*self.values, *self.others):
            if one.name == name:
                return one
        names = ", ".join(one.name for one in (*self.values, *self.others))
        raise KeyError(f"there is no '{name}'; there are {names}")

    @property
    def verdict(self) -> Verdict:
        """Whether the payload can be used: usable, usable with care, or do not use, and why."""
        determined = {one.name for one in self.values if one.kind == "confidence"}
        return payload_verdict(determined, self.relative_error, self.findings)

    @property
    def box(self) -> EquivalentBox:
        """The cuboid of uniform density with the same inertial parameters."""
        return equivalent_box(self.body)

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold."""
        body, box, verdict = self.body, self.box, self.verdict
        return {
            "schema": SCHEMA,
            "mode": self.mode,
            "frame": self.frame,
            "verdict": {
                "level": verdict.level,
                "sentence": verdict.sentence,
                "reasons": [one.as_json() for one in verdict.reasons],
            },
            "inertial_parameters": self.phi.tolist(),
            "mass": body.mass,
            "com": body.com.tolist(),
            "principal_axes": body.rotation.tolist(),
            "second_moments": body.second_moments.tolist(),
            "box": {"half_sizes": box.half_sizes.tolist(), "density": box.density},
            "values": _entries(self.values),
            "others": _entries(self.others),
            "interval_level": self.level,
            "interval_covariance": self.interval_covariance,
            "solver": self.solver,
            "optimum_reached": self.optimum_reached,
            "excess": self.excess,
            "relative_error": self.relative_error,
            "channels": [
                {"name": name, "rms": rms, "unit": unit} for name, rms, unit in self.channels
            ],
            "static": self.static,
            "unconstrained": None
            if self.unconstrained is None
            else {
                "inertial_parameters": self.unconstrained.phi.tolist(),
                "relative_error": self.unconstrained.relative_error,
                "broken": list(self.unconstrained.broken),
            },
            "runs": [vars(run) for run in self.runs],
            "findings": [finding.as_json() for finding in self.findings],
        }


def _entries(values: Iterable[PayloadValue]) -> list[dict[str, Any]]:
    return [vars(value) for value in values]
