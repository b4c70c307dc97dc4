"""Weigh a body on a force/torque sensor, from the motion of its frame and the wrench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError, WeighingError
from steelyard.estimators.optimum_distance import above_optimum
from steelyard.findings import Finding
from steelyard.payload._fit_doubts import check_levers, force_mass, implausible_body, poor_fit
from steelyard.payload._measured_sizes import check_sizes
from steelyard.payload._turning_check import check_turning
from steelyard.payload.intervals import INERTIA_COM_NAMES, values_with_intervals
from steelyard.payload.orientations import check_orientations
from steelyard.payload.payload_estimate import (
    PayloadEstimate,
    PayloadRun,
    PayloadSolver,
    PayloadValue,
    Unconstrained,
)
from steelyard.payload.sensor_factors import SensorFactors, compress_wrench, usable_samples
from steelyard.payload.sensor_fit import LEAST_MASS, SensorFit, fit_on_sensor, rotation_vector
from steelyard.payload.wrong_frame import check_frame
from steelyard.robot.inertia import skew
from steelyard.signals.frame_motion import FrameMotion, Wrench
from steelyard.signals.saturation import saturation_finding, without_saturated
from steelyard.signals.wrench import Axes

Array = NDArray[np.float64]
Recording = tuple[FrameMotion, Wrench]

BIAS_NAMES = ("bias_fx", "bias_fy", "bias_fz", "bias_tx", "bias_ty", "bias_tz")
LOOSE_TURN = 0.2
"""Standard deviation (rad) from which on a rotation of the sensor is not determined."""
CLEARLY = 3.0
"""Standard deviations above zero from which a mass is seen in the force."""
ROTATION_NAMES = ("rotation_x", "rotation_y", "rotation_z")


def weigh_on_sensor(
    recordings: Sequence[Recording],
    *,
    solver: PayloadSolver = "sdp",
    bias: bool = True,
    rotation: bool = False,
    level: float = 0.95,
    static: bool | None = None,
    axes: Axes | None = None,
    budget_s: float | None = None,
) -> PayloadEstimate:
    """The body that the sensor carries, with intervals.

    recordings : motion of the sensor's frame and the wrench on the body, sample by sample.
    bias : whether to estimate a constant bias of the sensor, common to all recordings.
    rotation : whether to estimate how the sensor's axes are turned relative to the frame: the
        rotation vector r, with R_frame_sensor = exp(r), of a small turn.
    static : True to leave out the inertia, False to refuse data that do not determine it; None to
        report it as not determined where the motion is too slow.
    axes : in which the wrench was recorded as the user stated, for messages only: the wrench that
        is given here is in those of the frame.
    budget_s : of the solver "manifold": time (s) after which its steps end; the body is physical
        then, too, and a finding says how far it is from the optimum.
    """
    check_budget(budget_s, solver)
    whole = checked(recordings)
    check_sizes(whole)
    used, findings = within_range(whole)
    refuse_empty(used)
    orientations = check_orientations(used, bias=bias)
    findings += orientations.findings
    findings += check_turning(used)
    findings += check_frame(used, bias=bias, rotation=rotation, axes=axes)
    factors = compress_wrench(used, bias=bias, rotation=rotation)
    ignored = orientations.ignored
    if static:
        ignored = np.column_stack([ignored, np.eye(10)[:, 4:]])
    fit = fit_on_sensor(factors, solver, ignored=ignored, budget_s=budget_s)
    check_levers(factors, used[0][0].frame, fit.R_frame_sensor)
    p = factors.n_nuisance
    values = values_with_intervals(
        fit.body,
        fit.covariance[p:, p:],
        fit.freedom,
        level,
        R=fit.R,
        z=fit.z,
        undetermined=fit.undetermined,
        inflation=fit.inflation,
    )
    by_name = {value.name: value for value in values}
    is_static = all(by_name[name].kind != "confidence" for name in INERTIA_COM_NAMES)
    if is_static:
        findings += (_no_inertia(used[0][0].frame, refuse=static is False),)
    mass = by_name["m"]
    if mass.kind != "confidence":
        mass = _mass_by_force(mass, *force_mass(factors, fit.R_frame_sensor))
        values = tuple(mass if value.name == "m" else value for value in values)
    if mass.lower is not None and mass.lower <= 0.0:
        findings += (_no_payload(used[0][0].frame, mass),)
    findings += fit_findings(fit)
    findings += poor_fit(used, fit)
    findings += implausible_body(
        fit.body.body,
        values,
        "check the sign and the unit of the torque, and the unit of the angular velocity",
    )
    return PayloadEstimate(
        mode="ft",
        frame=used[0][0].frame,
        body=fit.body.body,
        phi=fit.body.phi,
        values=values,
        others=sensor_values(factors, fit, level),
        level=level,
        interval_covariance="cluster" if fit.blocks_used else "classical",
        solver=solver,
        optimum_reached=fit.body.optimum_reached,
        excess=fit.body.excess,
        relative_error=fit.relative_error,
        channels=(
            ("force", float(fit.residual[0]), "N"),
            ("torque", float(fit.residual[1]), "N m"),
        ),
        static=is_static,
        runs=tuple(run_of(motion, wrench) for motion, wrench in used),
        findings=findings,
        unconstrained=Unconstrained(fit.body.free, fit.free_error),
    )


def check_budget(budget_s: float | None, solver: PayloadSolver) -> None:
    """Refuse a budget of a solver that cannot be stopped, and one that is none."""
    if budget_s is None:
        return
    if solver != "manifold":
        raise EstimationError(
            f"a budget of {budget_s:g} s is given, but the solver '{solver}' cannot be stopped "
            "early; use the solver 'manifold'"
        )
    if not 0.0 < budget_s < float("inf"):
        raise EstimationError(f"budget_s is {budget_s:g}; it must be a positive number of seconds")


def checked(recordings: Sequence[Recording]) -> tuple[Recording, ...]:
    """The recordings; refuses none, unequal lengths and different frames."""
    used = tuple(recordings)
    if not used:
        raise EstimationError("there is no recording to weigh the payload from")
    frames = {motion.frame for motion, _ in used} | {wrench.frame for _, wrench in used}
    if len(frames) > 1:
        raise EstimationError(
            "motion and wrench must be of one frame, but there are "
            + ", ".join(sorted(f"'{frame}'" for frame in frames))
        )
    for motion, wrench in used:
        if len(motion) != len(wrench):
            raise EstimationError(
                f"run '{motion.run}' has {len(motion)} samples of motion and {len(wrench)} of the "
                "wrench; put them on one time base"
            )
    return used


def within_range(
    recordings: Sequence[Recording],
) -> tuple[tuple[Recording, ...], tuple[Finding, ...]]:
    """The recordings without the samples at which the sensor is saturated."""
    used, findings = [], []
    for motion, wrench in recordings:
        kept, found = without_saturated(wrench)
        used.append((motion, kept))
        if found:
            findings.append(saturation_finding(motion.run, found, len(wrench)))
    return tuple(used), tuple(findings)


def refuse_empty(recordings: Sequence[Recording]) -> None:
    """Refuse a recording in which no sample can be used."""
    for motion, wrench in recordings:
        if len(usable_samples(motion, wrench)) == 0:
            raise EstimationError(
                f"run '{motion.run}' has no sample with motion, force and torque that can be used"
            )


def fit_findings(fit: SensorFit) -> tuple[Finding, ...]:
    """What the fit itself has to say."""
    found = []
    if not fit.blocks_used:
        found.append(
            Finding(
                "warning",
                "no-cluster-covariance",
                f"{fit.why_no_blocks}: the intervals assume independent residuals; record for "
                "longer",
            )
        )
    if fit.body.at_boundary:
        found.append(
            Finding(
                "info",
                "on-the-boundary",
                "unconstrained least squares is not physical: the body is at the edge of the "
                "physical set (flat, a rod or a point), and intervals of the values that this "
                "moves are valid on one side at most; move faster to determine the inertia better",
            )
        )
    if not fit.body.optimum_reached:
        why, cure = "", "use the solver 'sdp'"
        if fit.body.stopped == "budget":
            why = f"the budget was over after {fit.body.iterations} steps on the manifold: "
            cure = "give it more time, or use the solver 'sdp'"
        found.append(
            Finding(
                "warning",
                "optimum-not-reached",
                f"{why}the body is physical, but its sum of squares is "
                f"{above_optimum(fit.body.excess, 1.0)}; {cure}",
            )
        )
    return tuple(found)


def _no_inertia(frame: str, *, refuse: bool) -> Finding:
    """That the motion is too slow for the inertia."""
    words = (
        f"the motion of frame '{frame}' is too slow to determine the payload's inertia: only mass "
        "and centre of mass are estimated; turn it back and forth quickly about three axes"
    )
    if refuse:
        raise WeighingError("static-motion", words)
    return Finding("info", "static-motion", words)


def _mass_by_force(mass: PayloadValue, by_force: float, sigma: float) -> PayloadValue:
    """The mass that force and torque together leave open, where the force alone says that it may
    be zero: from zero to what the force allows.
    """
    if not (by_force < CLEARLY * sigma and sigma < LEAST_MASS):
        return mass
    upper = max(by_force + CLEARLY * sigma, mass.value)
    return replace(mass, lower=0.0, upper=upper, sigma=None, kind="feasible range")


def _no_payload(frame: str, mass: PayloadValue) -> Finding:
    """That the mass may be zero."""
    known = (
        f"standard deviation {mass.sigma:.2g} kg"
        if mass.sigma is not None
        else f"any mass up to {mass.upper:.2g} kg fits"
    )
    return Finding(
        "warning",
        "no-payload",
        f"the mass at frame '{frame}', {mass.value:.3g} kg, cannot be told from zero ({known}), so "
        "its centre is not determined; is there a payload?",
    )


def run_of(motion: FrameMotion, wrench: Wrench) -> PayloadRun:
    """What was used of a recording."""
    span = float(motion.time[-1] - motion.time[0])
    return PayloadRun(motion.run, len(usable_samples(motion, wrench)), span)


def sensor_values(factors: SensorFactors, fit: SensorFit, level: float) -> tuple[PayloadValue, ...]:
    """Bias in the sensor's axes and rotation of the sensor, with confidence limits."""
    from scipy.stats import t

    p, R = factors.n_nuisance, fit.R_frame_sensor
    quantile = float(t.ppf(0.5 * (1.0 + level), fit.freedom))
    covariance = fit.covariance[:p, :p]
    T = np.eye(p)
    names: list[str] = []
    units: list[str] = []
    values: list[float] = []
    turn = slice(6 * factors.bias, p)
    if factors.bias:
        names += BIAS_NAMES
        units += 3 * ["N"] + 3 * ["N m"]
        values += fit.bias.tolist()
        for g in (slice(0, 3), slice(3, 6)):
            # b_sensor = Rᵀ b_frame, and R turns by exp(delta) R
            T[g, g] = R.T
            if factors.rotation:
                T[g, turn] = R.T @ skew(R @ fit.bias[g])
    if factors.rotation:
        r = rotation_vector(R)
        names += ROTATION_NAMES
        units += 3 * ["rad"]
        values += r.tolist()
        T[turn, turn] = np.linalg.inv(_left_jacobian(r))
    sigmas = np.sqrt(np.maximum(np.diag(T @ covariance @ T.T), 0.0))
    # a bias can make up for what is not determined of the body
    shifted = np.abs(T @ fit.nuisance_open).max(axis=1, initial=0.0) > sigmas
    loose = np.zeros(p, dtype=bool)
    loose[turn] = sigmas[turn] > LOOSE_TURN
    out = []
    for k, (name, unit, x) in enumerate(zip(names, units, values, strict=True)):
        if shifted[k] or loose[k]:
            out.append(PayloadValue(name, unit, x, None, None, None, "not determined"))
            continue
        half = quantile * float(sigmas[k])
        out.append(PayloadValue(name, unit, x, float(sigmas[k]), x - half, x + half, "confidence"))
    return tuple(out)


def _left_jacobian(r: Array) -> Array:
    """J (3, 3) with exp(r + dr) = exp(J dr) exp(r)."""
    angle = float(np.linalg.norm(r))
    S = skew(r)
    if angle < 1e-6:
        return np.asarray(np.eye(3) + 0.5 * S)
    return np.asarray(
        np.eye(3)
        + (1.0 - np.cos(angle)) / angle**2 * S
        + (angle - np.sin(angle)) / angle**3 * S @ S
    )
