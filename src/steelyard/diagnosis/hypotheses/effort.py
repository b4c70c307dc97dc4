"""An effort that cannot be the torque of its joint: far below what the links weigh there, and
independent of their weight.

Some drivers write a share of the rated current, or a signal of their own, into the column of a
torque: the lift of a mobile robot then "carries" its whole arm with 1 N. Masses that explain such
an effort are near zero, which spoils every other joint. Whether it is left out is decided by how
well the other torques of left-out parts are predicted with it and without it, by physical fits near
the robot file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.hypothesis import Kind, Suspect
from steelyard.diagnosis.hypotheses.samples import Samples
from steelyard.diagnosis.left_out import channel_factors, part_edges, part_members
from steelyard.errors import SteelyardError
from steelyard.estimators.least_squares import joint_noise
from steelyard.estimators.prior_fit import USUAL, fit_with_prior
from steelyard.estimators.prior_weight import SAME
from steelyard.findings import Finding
from steelyard.knowledge.prior import prior_from_robot
from steelyard.logs.log import Log
from steelyard.model.base_map import base_map
from steelyard.model.kernels import rigid_torque
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

Array = NDArray[np.float64]
CODE = "effort-not-torque"
EFFORT = Kind(
    CODE,
    "log",
    lambda one: (
        f"the effort {one.whose} cannot be its torque: it is {one.size:.2g} times what "
        "the links of the robot file weigh there"
    ),
    severity="never",
)
FAR_BELOW = 0.15
"""An effort (rms) below this share of what the file's links weigh at the joint is no torque, where
it does not follow the weight: no file is so far off."""
LIKELY = 0.3
"""Share of the file's torque (rms) that the efforts of most other joints have to have: otherwise it
is the unit, or the file."""
STEADY_WEIGHT = 0.1
"""Share by which a weight has to change for an effort to be seen to follow it."""
OTHER_UNIT = "a torque in another unit, since it changes as the weight does"
CARRIED = "a spring, a counterweight or a self-locking drive that carries the load"
FOLLOWS = 0.5
"""Share of an effort's changes that a weight explains if the effort follows it."""


def weightless_efforts(samples: Samples, *, following: bool = False) -> tuple[Suspect, ...]:
    """The efforts that cannot be torques, by joint: their rms as a share of the weight's.

    ``error`` of each has both (N m or N). following : those that change as the weight does, in the
    place of those that do not.
    """
    model, theta = samples.model, samples.model.prior_theta()
    still = np.zeros_like(samples.v)
    gravity = np.array(model.mechanism.gravity)
    weight = rigid_torque(model, theta, samples.q, still, still, gravity)
    rigid = rigid_torque(model, theta, samples.q, samples.v, samples.a, gravity)
    n_joints = len(model.channels)
    used = np.asarray(samples.moving.any(axis=0))
    effort, demand, expected = (_rms(one) for one in (samples.tau, weight, rigid))
    found = []
    for k, joint in enumerate(model.channels):
        others = used & (np.arange(n_joints) != k) & (expected > 0.0)
        if not used[k] or not others.any() or effort[k] >= FAR_BELOW * demand[k]:
            continue
        likely = effort[others] > LIKELY * expected[others]
        if np.mean(likely) <= 0.5 or _follows(samples, weight, k) != following:
            continue
        share = float(effort[k] / demand[k])
        size = (float(effort[k]), float(demand[k]))
        could_be = (OTHER_UNIT if following else CARRIED,)
        found.append(Suspect(EFFORT, (joint,), share, "share", 0.0, size, could_be=could_be))
    return tuple(found)


def without_efforts(samples: Samples, left_out: tuple[Suspect, ...]) -> Samples:
    """The samples without the torques of these joints."""
    names = {joint for one in left_out for joint in one.joints}
    gone = np.array([joint in names for joint in samples.model.channels])
    if not gone.any():
        return samples
    return replace(samples, moving=samples.moving & ~gone, tau=np.where(gone, 0.0, samples.tau))


def _rms(table: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(table**2, axis=0)))


def _follows(samples: Samples, weight: Array, joint: int) -> bool:
    """Whether an effort changes as the weight does, where the weight changes: then it is a torque
    in another unit.
    """
    x = weight[:, joint] - weight[:, joint].mean()
    if float(_rms(x)) < STEADY_WEIGHT * float(_rms(weight[:, joint])):
        return False
    rest = np.column_stack([np.ones(len(x)), samples.v[:, joint], samples.jump[:, joint]])
    left = (
        samples.tau[:, joint] - rest @ np.linalg.lstsq(rest, samples.tau[:, joint], rcond=None)[0]
    )
    x = x - rest @ np.linalg.lstsq(rest, x, rcond=None)[0]
    both = float(x @ left) ** 2
    return both > FOLLOWS * float(x @ x) * float(left @ left)


@dataclass(frozen=True)
class EffortEvidence:
    """Errors of the other torques on left-out parts, rms in units of their noise, with an effort
    and without it. better : whether they are clearly smaller without it.
    """

    used: float
    left_out: float
    better: bool


def evidence_against(
    model: Model, log: Log, processing: Processing, joints: tuple[str, ...]
) -> EffortEvidence | None:
    """How well the other torques are predicted with the efforts of these joints and without; None
    where that cannot be computed.
    """
    left_out = (*processing.torques_left_out, *joints)
    try:
        using = _compressed(
            model, log, replace(processing, without_torque=left_out[: -len(joints)])
        )
        without = _compressed(model, log, replace(processing, without_torque=left_out))
        with_it, alone = _scores(model, using, without)
    except SteelyardError:
        return None
    if not (np.isfinite(with_it).all() and np.isfinite(alone).all()):
        return None
    better = with_it - alone
    spread = float(np.std(better, ddof=1)) / np.sqrt(len(better))
    return EffortEvidence(
        float(np.sqrt(with_it.mean())),
        float(np.sqrt(alone.mean())),
        bool(better.mean() > max(spread, SAME * alone.mean())),
    )


def _compressed(model: Model, log: Log, processing: Processing) -> Regression:
    asked = processing
    if asked.acceleration == "none":
        asked = replace(asked, acceleration="differentiate")
    run = prepare(log, model, asked)
    return compress(
        model,
        run.motion,
        run.measurements,
        base=base_map(model),
        correlation_s=run.record.correlation_s,
        record=run.record,
    )


def _scores(model: Model, using: Regression, without: Regression) -> tuple[Array, Array]:
    """Mean squared errors (n_parts,) of the channels that ``without`` has, predicted from both."""
    edges = part_edges(without)
    sigma = joint_noise(without)
    seen = np.flatnonzero(without.counts.sum(axis=0) > 0)
    members = part_members(without, edges)
    channels = channel_factors(without, sigma, members)
    counts = np.array([without.counts[one][:, seen].sum() for one in members], dtype=float)
    prior = prior_from_robot(model)
    scored = []
    for regression in (using, without):
        fit = fit_with_prior(model, regression, prior, gamma=USUAL)
        assert fit.pull is not None
        out = np.zeros(len(members))
        for k, blocks in enumerate(part_members(regression, edges)):
            task = np.ones(2 + len(regression.keys))
            task[:2] = USUAL, fit.pull.choice.terms
            task[2 + blocks] = 0.0
            beta = fit.pull.fits.base_parameters(task)
            for c in seen:
                own = np.append(beta[list(without.groups[c].columns)], -1.0)
                out[k] += float(np.sum((channels[c][k] @ own) ** 2))
        scored.append(out / np.maximum(counts, 1.0))
    return scored[0], scored[1]


def effort_finding(
    suspect: Suspect, evidence: EffortEvidence | None, unit: str, *, left_out: bool
) -> Finding:
    """What is said of an effort that cannot be a torque, and whether it is left out.

    unit : of the effort.
    """
    effort, demand = suspect.error
    (joint,) = suspect.joints
    words = (
        f"the effort of '{joint}' cannot be its torque: it is {effort:.3g} {unit} (rms), and the "
        f"links of the robot file weigh {demand:.3g} {unit} there"
    )
    if evidence is not None:
        words += (
            f"; it is {'left out' if left_out else 'used'}: the other torques of left-out parts "
            f"are predicted with {evidence.left_out:.3g} times their noise without it, and with "
            f"{evidence.used:.3g} times with it"
        )
    words += "; record the torque of this joint, or leave its column out for good"
    return Finding(
        "warning",
        CODE,
        words,
        joints=suspect.joints,
        size=suspect.size,
        unit=suspect.unit,
        could_be=suspect.could_be,
        option="" if left_out else f"--without-torque {joint}",
        corrected=left_out,
    )


def unit_of(model: Model, joint: str) -> str:
    """The unit of a joint's effort."""
    return "N" if model.robot.joint(joint).kind == "prismatic" else "N m"
