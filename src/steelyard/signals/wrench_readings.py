"""Whether measured forces on a floating robot are read in the right axes and with the right sign.

The forces on the robot accelerate all of it, weight included: their sum is near m a, with the
robot's mass m and the base's acceleration minus gravity, a. Weight is most of it. So the reading
of the forces (axes of the frame or of the world, on the robot or by it) that leaves most of them
unexplained by any one mass, or that gives a mass far from the robot file's, is probably not the
right one, or a contact is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import SignalError
from steelyard.findings import Finding
from steelyard.signals._base_recording import gravity_in
from steelyard.signals._pieces import Piece
from steelyard.signals._sensed import Sensed
from steelyard.signals.orientation import rotations_of
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import WrenchAxes

Array = NDArray[np.float64]
DOUBTFUL = 0.25
"""A share of the forces that one mass leaves unexplained, above which axes are doubted."""
UNEXPLAINED = 0.1
"""A share of the forces above which the order of quaternions is doubted."""
CLEARLY = 5.0
"""The other order must leave so many times less to be named."""
BETTER = 0.5
"""Other axes are named if they leave at most this share of what the stated ones leave."""
OTHER_MASS = 0.2
"""Share of the file's mass by which that of the forces may differ without a warning."""


@dataclass(frozen=True)
class MassFit:
    """Forces explained by one mass (kg): what is left of them, as a share."""

    mass: float
    left: float


@dataclass(frozen=True, eq=False)
class _Recorded:
    """One way to read a piece of a log; arguments as of `reading_findings`."""

    found: Sensed
    piece: Piece
    joints: tuple[str, ...]
    cutoff: float | None
    processing: Processing
    log: str

    def fit(self) -> MassFit | None:
        """The mass that explains the sum of all forces on the robot best."""
        found, piece, joints = self.found, self.piece, self.joints
        assert found.base is not None
        q, _, a = found.base.columns(piece.base, piece.even, self.cutoff, self.processing, self.log)
        a = a[:, :3] - gravity_in(rotations_of(q[:, 3:7]), found.base.gravity)
        q_joints = piece.columns(joints, "position") if joints else np.zeros((len(a), 0))
        lost = np.asarray(found.missing(piece, joints)[:, :3].any(axis=1))
        return _fit(found.torques(piece, joints, q_joints)[:, :3], a, lost)


def reading_findings(
    found: Sensed,
    piece: Piece,
    joints: tuple[str, ...],
    cutoff: float | None,
    processing: Processing,
    log: str,
) -> tuple[Finding, ...]:
    """A warning where the forces fit the motion of the base much better in another reading."""
    if found.base is None or not found.wrenches or found.sensing.base_wrench == "unmeasured":
        return ()
    recorded = _Recorded(found, piece, joints, cutoff, processing, log)
    stated = recorded.fit()
    if stated is None:
        return ()
    reordered = _other_order(recorded, stated)
    wrenches = tuple(one.stated for one in found.wrenches)
    own = sum(float(link.inertial[0]) for link in found.robot.links if link.inertial is not None)
    doubted = own > 0.0 and abs(stated.mass - own) > OTHER_MASS * own
    if len({one.axes for one in wrenches}) == 1 and (stated.left > DOUBTFUL or doubted):
        other: WrenchAxes = "world" if wrenches[0].axes == "frame" else "frame"
        if other == "frame" or found.base.orientation(piece.base, piece.even) is not None:
            turned = replace(
                found,
                wrenches=tuple(
                    replace(one, stated=replace(one.stated, axes=other)) for one in found.wrenches
                ),
            )
            better = replace(recorded, found=turned).fit()
            if (
                better is not None
                and _is_better(better, stated, own)
                and (reordered is None or better.left < BETTER * reordered.left)
            ):
                return (_axes_finding(log, wrenches[0].axes, other, stated, better),)
    if stated.mass < 0.0:
        words = (
            f"log '{log}': the measured forces pull the robot down, as if its mass were "
            f"{stated.mass:.3g} kg: {' '.join(_why_down(found, reordered))}"
        )
        return (Finding("warning", "wrench-sign", words),)
    if doubted:
        words = (
            f"log '{log}': the measured forces carry {stated.mass:.3g} kg, but the links of the "
            f"robot file weigh {own:.3g} kg: is a contact missing, are the forces in other axes "
            "(--wrench-axes) or units, or is the mass in the file wrong?"
        )
        return (Finding("warning", "forces-differ-from-weight", words),)
    return ()


def _other_order(recorded: _Recorded, stated: MassFit) -> MassFit | None:
    """The fit with quaternions in the other order; refuses a log that fits clearly better so.

    None where the stated order is not doubted, or where there are no quaternions.
    """
    base, motion, piece = recorded.found.base, recorded.found.sensing.base, recorded.piece
    if base is None or motion is None or ("", "quaternion_x") not in base.needed:
        return None
    if stated.left <= UNEXPLAINED and stated.mass > 0.0:
        return None
    order = motion.quaternion_order
    # the four numbers were taken for x, y, z, w in the stated order: w, x, y, z in the other
    numbers = "wxyz" if order == "w-first" else "xyzw"
    meant = "xyzw" if order == "w-first" else "wxyz"
    even = dict(piece.even) | {
        ("", f"quaternion_{is_}"): piece.even["", f"quaternion_{was}"]
        for was, is_ in zip(numbers, meant, strict=True)
    }
    fit = replace(recorded, piece=replace(piece, even=even)).fit()
    if fit is None or fit.mass <= 0.0:
        return None
    if stated.left > UNEXPLAINED and fit.left * CLEARLY <= stated.left:
        other = "w-first" if order == "x-first" else "x-first"
        raise SignalError(
            f"log '{recorded.log}': quaternions of the base are read {order}, and then "
            f"{stated.left:.0%} of the measured forces do not fit the weight and the acceleration "
            f"of one mass ({stated.mass:.3g} kg); read {other}, {fit.left:.0%} do not "
            f"({fit.mass:.3g} kg): state --base-quaternion {other} "
            f"(quaternion_order='{other}' of BaseMotion)"
        )
    return fit


def _why_down(found: Sensed, reordered: MassFit | None) -> list[str]:
    """What may be wrong where forces pull the robot down, as questions; most likely first."""
    why = ["are they those that the robot exerts (--wrench-sign by-robot)?"]
    if found.base is not None and found.base.source.kind == "imu":
        why.append(
            "Or does the accelerometer have the opposite sign? At rest it must show an "
            "acceleration upward; if it shows gravity, downward, change the sign of its columns "
            "and not that of the forces."
        )
    if reordered is not None:
        why.append(
            "Or are the quaternions of the base in another order (--base-quaternion)? In the other "
            f"one, the mass is {reordered.mass:.3g} kg."
        )
    return why


def _is_better(other: MassFit, stated: MassFit, own: float) -> bool:
    """Whether another reading explains more of the forces, or gives the file's mass much better.

    own : the mass in the robot file, kg; 0 where it states none.
    """
    if stated.left > DOUBTFUL and other.left < BETTER * stated.left:
        return True
    nearer = abs(other.mass - own) < BETTER * abs(stated.mass - own)
    return own > 0.0 and nearer and other.left < stated.left


def _axes_finding(
    log: str, axes: WrenchAxes, other: WrenchAxes, stated: MassFit, better: MassFit
) -> Finding:
    names = {"frame": "the axes of their links", "world": "the axes of the world"}
    return Finding(
        "warning",
        "wrench-axes",
        f"log '{log}': read in {names[axes]}, {stated.left:.0%} of the measured forces do not fit "
        f"the weight and the acceleration of one mass ({stated.mass:.3g} kg); in {names[other]} "
        f"{better.left:.0%} do not ({better.mass:.3g} kg). Is --wrench-axes {other} meant?",
    )


def _fit(force: Array, a: Array, lost: NDArray[np.bool_]) -> MassFit | None:
    """The mass that explains forces (n_samples, 3) N best; None where nothing was measured."""
    known = np.isfinite(a).all(axis=1) & np.isfinite(force).all(axis=1) & ~lost
    force, a = force[known], a[known]
    size, square = float(np.linalg.norm(force)), float(np.sum(a * a))
    if not (size > 0.0 and square > 0.0):
        return None
    mass = float(np.sum(force * a)) / square
    return MassFit(mass, float(np.linalg.norm(force - mass * a)) / size)
