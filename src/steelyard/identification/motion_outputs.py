"""Files of a designed motion: points for robots and other programs, coefficients, and a page."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard._files.access import made_folder, text_bytes, write_files
from steelyard.errors import ResultError, SignalError, listed, shown_path
from steelyard.excitation.designed import DesignedMotion
from steelyard.excitation.extremes import LimitCheck
from steelyard.excitation.files.interpolation import Interpolation
from steelyard.excitation.files.joint_trajectory import joint_trajectory_json, joint_trajectory_yaml
from steelyard.excitation.files.motion_file import motion_document, motion_text
from steelyard.excitation.files.motion_points import (
    MotionPoints,
    csv_text,
    motion_points,
    npz_bytes,
)
from steelyard.excitation.files.sent_points import Known, SentProof, sent_proof
from steelyard.excitation.motions.slowed import CAREFUL_SPEEDS, SlowedTrajectory
from steelyard.findings import Finding
from steelyard.model.model import Model
from steelyard.report.motion_page import MotionPage, WrittenFile, render_motion_page

Array = NDArray[np.float64]

ROS_RATE_HZ = 100.0
"""Highest rate of the points of a ROS 2 message; its controller interpolates between states."""
CSV, NPZ, JSON, PAGE = "motion.csv", "motion.npz", "motion.json", "motion.html"
ROS_YAML, ROS_JSON = "joint_trajectory.yaml", "joint_trajectory.json"
WHAT = {
    CSV: "points, also for steelyard simulate",
    NPZ: "the same points for NumPy",
    ROS_YAML: "ROS 2 JointTrajectory",
    JSON: "coefficients, limits and proofs",
}
KNOWN_WORDS: dict[Known, str] = {
    "positions": "through positions",
    "states": "between positions and their derivatives",
}


@dataclass(frozen=True, eq=False)
class MotionFiles:
    """Files of a motion, ready to be written.

    designed : the motion, with findings about what a controller makes of its points.
    contents : bytes by file name. proofs : what was proven of the interpolated points.
    """

    designed: DesignedMotion
    contents: dict[str, bytes]
    proofs: tuple[SentProof, ...]


def motion_files(
    model: Model,
    designed: DesignedMotion,
    *,
    theta: ArrayLike | None = None,
    reference: str = "the robot file",
    rate_hz: float | None = None,
    interpolation: Interpolation | None = None,
    only: Collection[str] | None = None,
) -> MotionFiles:
    """Everything that is written about a motion; nothing is written yet.

    theta : (n_columns,) reference parameters, whose torques the page shows; by default the file's.
    rate_hz : of the points; by default that of the design. The points of ROS 2 messages have
        100 Hz at most.
    interpolation : what the controller makes of the points, for which limits are proven too; by
        default that of the design's settings.
    only : names of the files that are needed; None for all.
    """
    rate = designed.settings.rate_hz if rate_hz is None else rate_hz
    interpolation = designed.settings.interpolation if interpolation is None else interpolation
    robot = model.robot
    points = motion_points(designed.trajectory, robot, rate_hz=rate, limits=designed.limits)
    ros_rate = min(rate, ROS_RATE_HZ)
    message = motion_points(designed.trajectory, robot, rate_hz=ros_rate, limits=designed.limits)
    proofs = (
        sent_proof(points.sent, interpolation, designed.limits, "positions"),
        sent_proof(message.sent, interpolation, designed.limits, "states"),
    )
    findings = sent_findings(proofs, ("CSV and NPZ", "ROS 2"), (rate, ros_rate))
    designed = replace(designed, findings=(*designed.findings, *findings))

    def slow(speed: float, rate: float) -> MotionPoints:
        slowed = SlowedTrajectory(designed.trajectory, speed)
        return motion_points(slowed, robot, rate_hz=rate, limits=designed.limits)

    makers: dict[str, Callable[[], bytes]] = {
        CSV: lambda: text_bytes(csv_text(points)),
        NPZ: lambda: npz_bytes(points),
        ROS_YAML: lambda: text_bytes(joint_trajectory_yaml(message)),
        ROS_JSON: lambda: text_bytes(joint_trajectory_json(message)),
        JSON: lambda: text_bytes(motion_text(motion_document(designed, robot))),
    }
    files = [WrittenFile(name, what) for name, what in WHAT.items()]
    for speed in CAREFUL_SPEEDS:
        table, yaml = (slower_name(name, speed) for name in (CSV, ROS_YAML))
        makers[table] = partial(lambda speed: text_bytes(csv_text(slow(speed, rate))), speed)
        # the same number of points as at full speed, further apart
        makers[yaml] = partial(
            lambda speed: text_bytes(joint_trajectory_yaml(slow(speed, speed * ros_rate))), speed
        )
        files += [WrittenFile(name, "the same path, slower", speed) for name in (table, yaml)]
    parameters = model.prior_theta() if theta is None else np.asarray(theta, dtype=float)
    page = MotionPage(model, designed, parameters, reference, tuple(files))
    makers[PAGE] = lambda: text_bytes(render_motion_page(page))
    contents = {name: make() for name, make in makers.items() if only is None or name in only}
    return MotionFiles(designed, contents, proofs)


def slower_name(name: str, speed: float) -> str:
    """The name of a file with the same path at a share of the speed."""
    stem, dot, ending = name.rpartition(".")
    return f"{stem}_{100 * speed:.0f}_percent{dot}{ending}"


def write_motion(files: MotionFiles, path: str | Path) -> dict[str, Path]:
    """Write all files into a folder, or one file by the ending of its name; whole or not at all.

    Returns the paths that were written, by the names of `MotionFiles.contents`.
    """
    path = Path(path)
    name = single_file(path)
    if name is None:
        folder = made_folder(path, ResultError)
        written = {kind: folder / kind for kind in files.contents}
        write_files({written[kind]: data for kind, data in files.contents.items()}, ResultError)
        return written
    write_files({path: files.contents[name]}, ResultError)
    return {name: path}


ENDINGS = {
    ".csv": CSV,
    ".npz": NPZ,
    ".json": JSON,
    ".yaml": ROS_YAML,
    ".yml": ROS_YAML,
    ".html": PAGE,
}


def single_file(path: Path) -> str | None:
    """Which file a path asks for, by its ending; None for a folder with all files."""
    if path.is_dir() or not path.suffix:
        return None
    if path.suffix.lower() not in ENDINGS:
        raise SignalError(
            f"{shown_path(path)}: there is no file of a motion with this ending; the endings are "
            f"{listed(ENDINGS)}, and a name without one is a folder with all files"
        )
    return ENDINGS[path.suffix.lower()]


def sent_findings(
    proofs: tuple[SentProof, ...], names: tuple[str, ...], rates_hz: tuple[float, ...]
) -> tuple[Finding, ...]:
    """What is proven, and what is not, of the motion that a controller makes of the points."""
    findings = []
    for proof, name, rate in zip(proofs, names, rates_hz, strict=True):
        how = f"{proof.interpolation} interpolation {KNOWN_WORDS[proof.known]}"
        if proof.interpolation == "linear":
            how = "linear interpolation"
        what = f"{how}, points at {rate:g} Hz ({name})"
        broken = [check for check in proof.checks if not check.holds and np.isfinite(check.bound)]
        unproven = [
            check for check in proof.checks if not check.holds and not np.isfinite(check.bound)
        ]
        quantities = list(dict.fromkeys(check.quantity for check in unproven))
        if broken:
            findings.append(
                Finding(
                    "warning",
                    "interpolated-points-beyond-limits",
                    f"{what}: {_worst(broken)}; send more points, with --rate-hz, or use less of "
                    "the limits, with --share",
                )
            )
        elif quantities:
            findings.append(
                Finding(
                    "info" if proof.interpolation == "linear" else "warning",
                    "interpolated-points-partly-proven",
                    f"{what}: position{'' if 'velocity' in quantities else ' and velocity'} "
                    f"proven within limits, {' and '.join(quantities)} not",
                )
            )
        else:
            findings.append(
                Finding(
                    "info",
                    "interpolated-points-proven",
                    f"{what}: proven within all limits at every time",
                )
            )
    return tuple(findings)


def _worst(broken: list[LimitCheck]) -> str:
    """The check that is missed by most, relative to its limit."""

    def by(check: LimitCheck) -> float:
        return abs(check.bound - check.limit) / max(abs(check.limit), 1e-9)

    worst = max(broken, key=by)
    quantity = (
        f"{worst.quantity} position" if worst.quantity in ("lower", "upper") else (worst.quantity)
    )
    return (
        f"the {quantity} of joint '{worst.joint}' may be {worst.bound:.6g}, beyond its limit "
        f"{worst.limit:.6g} by {by(worst):.2g} of it"
    )
