"""Weigh a body at the flange from joint torques: from least squares to the physical estimate.

Friction that changes with the load would be taken for mass or inertia of the payload. It is
estimated with it, or, where it is left out, tested: a change that the torques show is a finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import WeighingError, listed
from steelyard.findings import Finding
from steelyard.model.model import Model
from steelyard.payload._fit_doubts import implausible_body
from steelyard.payload.intervals import INERTIA_COM_NAMES, values_with_intervals
from steelyard.payload.joint_columns import FrictionColumns
from steelyard.payload.joint_fit import JointFit, KnownArm, fit_payload, no_change_probability
from steelyard.payload.one_body import OneBodyFit, body_scale, fit_body
from steelyard.payload.payload_estimate import (
    PayloadEstimate,
    PayloadRun,
    PayloadSolver,
    PayloadValue,
)
from steelyard.regression.regression import Regression

Array = NDArray[np.float64]
FrictionChange = Literal["estimate", "none"]
FRICTION_CHANGES: tuple[FrictionChange, ...] = ("estimate", "none")

SIGNIFICANT = 0.01
"""A change of friction is reported if it would be this unlikely by chance, over all joints."""
VAGUE = 0.5
"""An inertia is not told apart from others if its sigma exceeds this share of a typical one."""
CLEAR = 2.0
"""Standard deviations above zero from which a mass counts as seen."""
CERTAIN = 5.0
"""Standard deviations below zero from which on a negative mass is certain."""
POOR = 0.1
UNEXPLAINED = 0.1
"""Residuals, as shares of the payload's torques and of all torques, above which a fit is poor."""
DOUBTFUL = 0.9999
"""Confidence with which a misfit of the best physical body is reported."""
SHOWN_SHARE = 0.1
"""Joints whose gain changes the mass by less than this share of it are not named."""


def weigh_on_joints(
    model: Model,
    frame: str,
    regressions: Sequence[Regression],
    runs: Sequence[PayloadRun],
    *,
    arm: KnownArm | None = None,
    friction: FrictionChange = "estimate",
    solver: PayloadSolver = "sdp",
    level: float = 0.95,
    findings: Sequence[Finding] = (),
) -> PayloadEstimate:
    """The payload on the link ``frame`` from the factors of [W P D tau] of every run.

    arm : None where runs without the payload are among them. friction : "estimate" its change
        while the payload is carried, or "none". findings : about the logs.
    """
    columns = FrictionColumns(model)
    free = fit_payload(regressions, columns.of_row, columns.terms, arm)
    used = free if friction == "estimate" else fit_payload(regressions, columns.of_row, (), arm)
    body = fit_body(used.R, used.z, solver)
    values = values_with_intervals(
        body,
        used.covariance,
        used.degrees_of_freedom,
        level,
        R=used.R,
        z=used.z,
        undetermined=used.undetermined,
        inflation=used.inflation,
    )
    static = _is_vague(body, values)
    found = [*findings, *_friction_findings(model, columns, free, friction)]
    if static:
        found.append(_vague_inertia(frame))
    found += _fit_findings(used, body, values, frame)
    found.append(_gain_finding(model, used))
    others = [
        *_changes(model, columns, used, level, estimated=friction == "estimate"),
        *_gain_shares(model, used, level),
    ]
    return PayloadEstimate(
        mode="joints",
        frame=frame,
        body=body.body,
        phi=body.phi,
        values=values,
        others=tuple(others),
        level=level,
        interval_covariance=used.kind,
        solver=solver,
        optimum_reached=body.optimum_reached,
        excess=body.excess,
        relative_error=used.relative_error,
        channels=tuple(
            (name, float(rms), unit)
            for name, rms, unit in zip(model.channels, used.rms, model.channel_units, strict=True)
        ),
        static=static,
        runs=tuple(runs),
        findings=tuple(found),
    )


def _is_vague(body: OneBodyFit, values: Sequence[PayloadValue]) -> bool:
    """Whether no moment of inertia is known better than that of a typical body of this mass."""
    typical = float(body_scale(max(float(body.phi[0]), 1e-3))[-1])
    return not any(
        value.sigma is not None and value.sigma < VAGUE * typical
        for value in values
        if value.name in INERTIA_COM_NAMES
    )


def _vague_inertia(frame: str) -> Finding:
    return Finding(
        "info",
        "inertia-not-told",
        f"the joint torques do not tell the payload's inertia at '{frame}' from that of any body "
        "of its mass: rely on mass and centre of mass only; for the inertia move the last joints "
        "faster, or use a force/torque sensor",
    )


def _fit_findings(
    fit: JointFit, body: OneBodyFit, values: Sequence[PayloadValue], frame: str
) -> tuple[Finding, ...]:
    """What the fit itself has to say."""
    found = []
    if fit.kind == "classical":
        found.append(
            Finding(
                "warning",
                "no-cluster-covariance",
                f"only classical error bars, which filtered residuals make too small: {fit.why}",
            )
        )
    found += _doubts(fit, body, frame)
    if fit.relative_error > POOR and fit.unexplained > UNEXPLAINED:
        found.append(
            Finding(
                "warning",
                "poor-fit",
                f"arm and payload leave {100 * fit.unexplained:.2g} % of the torques unexplained, "
                f"which is {100 * fit.relative_error:.2g} % of what the payload changes in them: "
                "do not rely on the result. Check gravity, units and signs of positions and "
                "torques, clocks, and whether the logs are of the same robot and payload",
            )
        )
    found += implausible_body(
        body.body, values, "check the sign and the unit of torques, and the direction of gravity"
    )
    open_names = [value.name for value in values if value.kind != "confidence"]
    if open_names:
        found.append(
            Finding(
                "info",
                "payload-partly-determined",
                f"the arm and its motion do not determine {listed(open_names)} of the payload: "
                "they have a feasible range, or none; move joints whose axes are not parallel",
            )
        )
    if body.at_boundary:
        found.append(
            Finding(
                "info",
                "on-the-boundary",
                "unconstrained least squares is not physical: the body is at the edge of the "
                "physical set (flat, a rod or a point), and intervals of the values that this "
                "moves are valid on one side at most",
            )
        )
    if not body.optimum_reached:
        found.append(
            Finding(
                "warning",
                "optimum-not-reached",
                f"the sum of squares is {body.excess:.2g} above the optimum (relative); use the "
                "solver 'sdp'",
            )
        )
    return tuple(found)


def _doubts(fit: JointFit, body: OneBodyFit, frame: str) -> tuple[Finding, ...]:
    """Warnings of torques that no payload explains; refuses a mass that is surely negative."""
    from scipy.stats import chi2

    advice = (
        "look whether logs with and without it were exchanged or are of different robots, and move "
        "the joints that carry it through larger angles"
    )
    mass, sigma = float(fit.pi[0]), float(np.sqrt(fit.covariance[0, 0]))
    if mass < -CERTAIN * sigma:
        raise WeighingError(
            "negative-mass",
            f"the torques give the payload at '{frame}' a mass of {mass:.3g} kg, with a standard "
            f"deviation of {sigma:.2g} kg: the logs with and without it appear to be exchanged; "
            "exchange them, or check the sign of the torques and the direction of gravity",
        )
    if mass < CLEAR * sigma:
        words = (
            f"the torques do not show a payload: least squares gives {mass:.3g} kg with a standard "
            f"deviation of {sigma:.2g} kg; {advice}"
        )
        return (Finding("warning", "no-payload", words),)
    away = fit.z - fit.R @ body.free
    worse = max(body.objective - float(away @ away), 0.0) / fit.inflation
    if worse > float(chi2.ppf(DOUBTFUL, 10)):
        words = (
            "the torques contradict every physical payload: a body that is not physical fits them "
            f"better by {worse:.0f} in units of the noise, where chance explains about 10; {advice}"
        )
        return (Finding("warning", "payload-not-physical", words),)
    return ()


def _friction_findings(
    model: Model, columns: FrictionColumns, free: JointFit, friction: FrictionChange
) -> tuple[Finding, ...]:
    """The joints whose friction changes with the payload more than chance explains."""
    place = {term: k for k, term in enumerate(columns.terms)}
    changed = [
        name
        for name, row in zip(model.channels, columns.of_row, strict=True)
        if row
        and no_change_probability(free, [place[term] for term in row])
        < SIGNIFICANT / len(model.channels)
    ]
    if not changed:
        return ()
    if friction == "estimate":
        words = (
            f"friction or offset of {listed(changed)} is not the same with the payload as without: "
            "the change was estimated with it, and is not part of its mass"
        )
        return (Finding("info", "friction-changed", words),)
    words = (
        f"friction or offset of {listed(changed)} is not the same with the payload as without, and "
        "its change was not estimated: mass and centre of mass of the payload are biased by it; "
        "use friction='estimate'"
    )
    return (Finding("warning", "friction-changed", words),)


def _changes(
    model: Model, columns: FrictionColumns, fit: JointFit, level: float, *, estimated: bool
) -> tuple[PayloadValue, ...]:
    """The changes of friction with confidence limits."""
    from scipy.stats import t

    if not estimated:
        return ()
    quantile = float(t.ppf(0.5 * (1.0 + level), fit.degrees_of_freedom))
    arrays = model.term_arrays
    values = []
    for k, term in enumerate(columns.terms):
        column = model.columns[arrays.column[term]]
        value, sigma = float(fit.delta[k]), float(np.sqrt(fit.delta_covariance[k, k]))
        name = f"change of {column.name}"
        if not sigma > 0.0:
            values.append(
                PayloadValue(name, column.unit, value, None, None, None, "not determined")
            )
            continue
        half = quantile * sigma
        values.append(
            PayloadValue(name, column.unit, value, sigma, value - half, value + half, "confidence")
        )
    return tuple(values)


def _gain_shares(model: Model, fit: JointFit, level: float) -> tuple[PayloadValue, ...]:
    """d log m / d log g of each joint: by how much (relative) its gain scales the mass."""
    from scipy.stats import t

    mass = float(fit.pi[0])
    if not mass > 0.0:
        return ()
    quantile = float(t.ppf(0.5 * (1.0 + level), fit.degrees_of_freedom))
    values = []
    for g, name in enumerate(model.channels):
        share, sigma = float(fit.by_joint[g, 0]) / mass, float(fit.by_joint_sigma[g, 0]) / mass
        half = quantile * sigma
        values.append(
            PayloadValue(
                f"gain share of {name}", "", share, sigma, share - half, share + half, "confidence"
            )
        )
    return tuple(values)


def _gain_finding(model: Model, fit: JointFit) -> Finding:
    """How much drive gains that are not exactly known change the mass."""
    mass = float(fit.pi[0])
    shares = fit.by_joint[:, 0] / mass if mass > 0.0 else np.zeros(len(model.channels))
    order = np.argsort(-np.abs(shares))
    named = [
        f"{model.channels[g]} {shares[g]:+.2f} %" for g in order if abs(shares[g]) >= SHOWN_SHARE
    ]
    independent = float(np.linalg.norm(shares))
    return Finding(
        "info",
        "gains-scale-the-payload",
        "torques are taken as true: drive gains that are all wrong by 1 % change the mass by 1 %; "
        f"a single gain that is wrong by +1 % changes it by: {listed(named)}; gains that are each "
        f"wrong by about 1 %, independently, by about {independent:.2f} %. Where gains are not "
        "known to this, estimate them with a payload of known mass (steelyard gains)",
    )
