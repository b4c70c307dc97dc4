"""Weighed payloads with made-up intervals: for tests of what is made of one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.findings import Finding
from steelyard.payload.payload_estimate import PayloadEstimate, PayloadRun, PayloadValue
from steelyard.robot.inertia import PARAMETER_UNITS, PARAMETERS, to_com
from steelyard.robot.principal_body import principal_body
from steelyard.testing.random_robots import random_body

COM = ("cx", "cy", "cz")
ABOUT_COM = {
    "Ixx": (0, 0),
    "Ixy": (0, 1),
    "Iyy": (1, 1),
    "Ixz": (0, 2),
    "Iyz": (1, 2),
    "Izz": (2, 2),
}


def weighed(
    phi: np.ndarray | None = None, *, frame: str = "flange", seed: int = 3
) -> PayloadEstimate:
    """An estimate of the body phi (10,), or of a random one, all of it determined."""
    phi = random_body(np.random.default_rng(seed)) if phi is None else np.asarray(phi, dtype=float)
    mass, com, inertia = to_com(phi)
    numbers = {"m": ("kg", float(mass))}
    numbers |= {name: ("m", float(x)) for name, x in zip(COM, com, strict=True)}
    numbers |= {f"{name}_com": ("kg m²", float(inertia[ij])) for name, ij in ABOUT_COM.items()}
    numbers |= {
        name: (unit, float(x))
        for name, unit, x in zip(PARAMETERS[1:], PARAMETER_UNITS[1:], phi[1:], strict=True)
    }
    bias = {f"bias_f{axis}": ("N", 0.5 - k) for k, axis in enumerate("xyz")}
    bias |= {f"bias_t{axis}": ("N m", 0.02 * k) for k, axis in enumerate("xyz")}
    return PayloadEstimate(
        mode="ft",
        frame=frame,
        body=principal_body(phi),
        phi=phi,
        values=tuple(_sure(name, *number) for name, number in numbers.items()),
        others=tuple(_sure(name, *number) for name, number in bias.items()),
        level=0.95,
        interval_covariance="cluster",
        solver="sdp",
        optimum_reached=True,
        excess=0.0,
        relative_error=0.0123,
        channels=(("force x", 0.21, "N"), ("torque z", 0.011, "N m")),
        static=False,
        runs=(PayloadRun("run1", 10_000, 20.0, cutoff_hz=12.0),),
        findings=(Finding("info", "made-up", "this payload was not weighed"),),
    )


def without_inertia(estimate: PayloadEstimate) -> PayloadEstimate:
    """The same payload from static poses: a range for each moment, nothing for the products."""

    def opened(value: PayloadValue) -> PayloadValue:
        if not value.name.startswith("I"):
            return value
        if value.name[1] == value.name[2]:
            return replace(value, sigma=None, lower=0.0, upper=2.0, kind="feasible range")
        return replace(value, sigma=None, lower=None, upper=None, kind="not determined")

    return replace(estimate, values=tuple(map(opened, estimate.values)), static=True)


def opened(estimate: PayloadEstimate, *names: str) -> PayloadEstimate:
    """The same payload with these values not determined."""

    def changed(value: PayloadValue) -> PayloadValue:
        if value.name not in names:
            return value
        return replace(value, sigma=None, lower=None, upper=None, kind="not determined")

    return replace(
        estimate,
        values=tuple(map(changed, estimate.values)),
        others=tuple(map(changed, estimate.others)),
    )


def _sure(name: str, unit: str, value: float) -> PayloadValue:
    sigma = 0.01 * abs(value) + 1e-4
    return PayloadValue(
        name, unit, value, sigma, value - 1.96 * sigma, value + 1.96 * sigma, "confidence"
    )
