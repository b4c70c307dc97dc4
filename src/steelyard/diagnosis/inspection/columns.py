"""Columns as a whole: samples that are missing, columns that are copies, torques without sign."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from steelyard.findings import Finding
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.signals.recorded.recorded import Recorded

Array = NDArray[np.float64]

MISSING = 0.02
"""Share of missing samples above which they are more than a note."""
NEAR_ZERO, TOUCHES, TOUCHING = 0.03, 5, 0.002
"""A torque without sign comes below this share of its 99th percentile at least so many times, with
at least this share of its samples."""
ONE_SIDE, BY_WEIGHT = 0.05, 0.3
"""Weight that pulls a joint to the other side by at most this share of what it pulls to one side,
and that leaves at most this share of the torque (rms), holds its torque above zero."""


def missing_samples(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning for each quantity of which many samples were not recorded, a note for few."""
    findings = []
    for quantity in ("position", "velocity", "torque"):
        shares = {}
        for joint in recorded.joints:
            x = recorded.raw.get((joint.name, quantity))
            if x is not None:
                share = float(1.0 - np.count_nonzero(np.isfinite(x)) / len(x))
                if share > 0.0:
                    shares[joint.name] = share
        few = max(shares.values(), default=0.0) <= MISSING or quantity == "velocity"
        if shares:
            words = ", ".join(f"'{joint}' {100 * share:.3g} %" for joint, share in shares.items())
            findings.append(
                Finding(
                    "info" if few else "warning",
                    "missing-samples",
                    f"log '{recorded.name}': samples of the {quantity} were not recorded: {words}; "
                    "short gaps are interpolated, the log is cut at long ones",
                    joints=tuple(shares),
                    size=100.0 * max(shares.values()),
                    unit="% of samples",
                )
            )
    return tuple(findings)


def copied_channels(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning for each two columns of a quantity that hold the same signal."""
    findings = []
    for quantity in ("position", "torque"):
        seen: dict[bytes, str] = {}
        for joint in recorded.joints:
            x = recorded.raw.get((joint.name, quantity))
            if x is None or np.count_nonzero(np.abs(np.diff(x)) > 0.0) < 10:
                continue  # NaN, which is nowhere equal to itself, is no signal
            first = seen.setdefault(x.tobytes(), joint.name)
            if first != joint.name:
                findings.append(
                    Finding(
                        "warning",
                        "copied-channel",
                        f"log '{recorded.name}': the {quantity} of '{first}' and that of "
                        f"'{joint.name}' are the same in every row; one column is a copy of the "
                        "other: export the log anew",
                        joints=(first, joint.name),
                    )
                )
    return tuple(findings)


def unsigned_torques(recorded: Recorded) -> tuple[Finding, ...]:
    """A warning if torques are never negative and yet come back from zero again and again.

    Not of a joint whose links weigh to one side all the time, as those of an elbow may, if the file
    says that this is most of its torque.
    """
    lacking = {joint.name: tau for joint, tau in recorded.of_quantity("torque") if _lacks_sign(tau)}
    held = _held_by_weight(recorded, lacking)
    unsigned = [one for one in lacking if one not in held]
    if not unsigned:
        return ()
    names = ", ".join(f"'{joint}'" for joint in unsigned)
    return (
        Finding(
            "warning",
            "unsigned-torque",
            f"log '{recorded.name}': the torque of {names} is never negative, but comes down to "
            "zero and turns back again and again: only its size was recorded; record it with its "
            "sign",
            joints=tuple(unsigned),
        ),
    )


def _lacks_sign(tau: Array) -> bool:
    known = tau[np.isfinite(tau)]
    known = known[known != 0.0]
    if len(known) < 100 or known.min() < 0.0:
        return False
    low = known < NEAR_ZERO * float(np.percentile(known, 99.0))
    touches = np.count_nonzero(low[1:] & ~low[:-1])
    return bool(touches >= TOUCHES and np.mean(low) >= TOUCHING)


def _held_by_weight(recorded: Recorded, torques: Mapping[str, Array]) -> tuple[str, ...]:
    """Joints whose torque (n_samples,) is mostly weight that never changes its side.

    None where the file states no masses, or positions of some joints are not known.
    """
    robot = recorded.robot
    q = {joint.name: x for joint, x in recorded.of_quantity("position")}
    if not torques or robot.floating_base or set(robot.joint_names) - set(q):
        return ()
    model = Model(robot, ())
    at = np.column_stack([q[name] for name in robot.joint_names])
    rows = np.isfinite(at).all(axis=1)
    still = np.zeros_like(at[rows])
    weight = torque(model, model.prior_theta(), at[rows], still, still)
    held = []
    for name, tau in torques.items():
        known = np.isfinite(tau[rows])
        g, x = weight[known, robot.joint_names.index(name)], tau[rows][known]
        if not len(g) or g.max() <= 0.0 or g.min() < -ONE_SIDE * g.max():
            continue
        scale = float(g @ x / (g @ g))
        if scale > 0.0 and np.std(x - scale * g) <= BY_WEIGHT * np.sqrt(np.mean(x**2)):
            held.append(name)
    return tuple(held)
