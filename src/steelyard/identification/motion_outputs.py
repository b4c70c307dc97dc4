"""Files of a designed motion: points for robots and other programs, coefficients, and a page."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard._files.access import (
    made_folder,
    refuse_overwriting,
    refuse_special,
    text_bytes,
    write_files,
)
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
from steelyard.excitation.files.sent_rate import broken_limits, lowest_rate_hz
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
    reference: str | None = None,
    rate_hz: float | None = None,
    interpolation: Interpolation | None = None,
    only: Collection[str] | None = None,
) -> MotionFiles:
    """Everything that is written about a motion; nothing is written yet.

    theta : (n_columns,) reference parameters, whose torques the page shows; by default those that
        the motion was designed with. reference : where they are from, for a sentence.
    rate_hz : of the points; by default that of the design. The points of ROS 2 messages have
        100 Hz at most, where these keep the limits.
    interpolation : what the controller makes of the points, for which limits are proven too; by
        default that of the design's settings. Points of which a controller would make a motion
        beyond the limits are an error that names a rate at which it would not; without files of
        points, they are a finding.
    only : names of the files that are needed; None for all.
    """
    rate = designed.settings.rate_hz if rate_hz is None else rate_hz
    interpolation = designed.settings.interpolation if interpolation is None else interpolation
    robot = model.robot
    points = motion_points(designed.trajectory, robot, rate_hz=rate, limits=designed.limits)
    proof = sent_proof(points.sent, interpolation, designed.limits, "positions")
    # a message has fewer points, unless only all of them keep the limits
    for ros_rate in (min(rate, ROS_RATE_HZ), rate):
        message = motion_points(
            designed.trajectory, robot, rate_hz=ros_rate, limits=designed.limits
        )
        ros_proof = sent_proof(message.sent, interpolation, designed.limits, "states")
        if not broken_limits(ros_proof):
            break
    proofs = (proof, ros_proof)
    for one, written, one_rate in zip(proofs, POINT_FILES, (rate, ros_rate), strict=True):
        if broken_limits(one) and (only is None or set(only) & set(written)):
            raise _limits_not_kept(designed, one, one_rate)
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
    parameters = designed.theta if theta is None else np.asarray(theta, dtype=float)
    source = designed.conditions.reference if reference is None else reference
    page = MotionPage(model, designed, parameters, source, tuple(files))
    makers[PAGE] = lambda: text_bytes(render_motion_page(page))
    contents = {name: make() for name, make in makers.items() if only is None or name in only}
    return MotionFiles(designed, contents, proofs)


def slower_name(name: str, speed: float) -> str:
    """The name of a file with the same path at a share of the speed."""
    stem, dot, ending = name.rpartition(".")
    return f"{stem}_{100 * speed:.0f}_percent{dot}{ending}"


POINT_FILES = (
    (CSV, NPZ, *(slower_name(CSV, speed) for speed in CAREFUL_SPEEDS)),
    (ROS_YAML, ROS_JSON, *(slower_name(ROS_YAML, speed) for speed in CAREFUL_SPEEDS)),
)
"""Files with points for positions, and with those of messages."""
FILE_NAMES = (
    *WHAT,
    ROS_JSON,
    PAGE,
    *(slower_name(name, speed) for speed in CAREFUL_SPEEDS for name in (CSV, ROS_YAML)),
)
"""All files of a motion."""


def save_motion(designed: DesignedMotion, path: str | Path) -> dict[str, Path]:
    """Write a designed motion into a folder, or as one file by the ending of its name.

    Returns the paths that were written, by name.
    """
    check_destination(path)
    name = single_file(Path(path))
    only = None if name is None else (name,)
    return write_motion(motion_files(designed.model, designed, only=only), path)


def check_destination(path: str | Path, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a folder or file that cannot be written, or that would overwrite an input; to be
    called before any long computation. Nothing is created.
    """
    path, given = Path(path), list(inputs)
    refuse_overwriting([path], given, ResultError)
    one_file = single_file(path) is not None
    if not one_file and path.exists() and not path.is_dir():
        raise ResultError(f"{shown_path(path)} is a file; give the name of a folder")
    files = [path] if one_file else [path / name for name in FILE_NAMES]
    refuse_overwriting(files, given, ResultError)
    for file in files:
        refuse_special(file, ResultError)
    if one_file and not path.parent.is_dir():
        raise ResultError(f"{shown_path(path.parent)}: there is no such folder; create it first")
    folder = path.parent if one_file else path
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise ResultError(f"{shown_path(folder)} is a file; give the name of a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ResultError(f"{shown_path(folder)}: nothing can be written to this folder")


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
        broken = broken_limits(proof)
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


def _limits_not_kept(designed: DesignedMotion, proof: SentProof, rate_hz: float) -> SignalError:
    """Why points cannot be written, and at which rate they could."""
    enough = lowest_rate_hz(
        designed.trajectory, designed.limits, rate_hz, proof.interpolation, proof.known
    )
    what_to_do = (
        f"send {enough:g} points a second or more, with --rate-hz"
        if enough is not None
        else "no rate up to 1000 Hz helps: use less of the limits, with --share"
    )
    return SignalError(
        f"{proof.interpolation} interpolation {KNOWN_WORDS[proof.known]} of points at "
        f"{rate_hz:g} Hz does not keep the limits: {_worst(broken_limits(proof))}; {what_to_do}"
    )


def _worst(broken: Sequence[LimitCheck]) -> str:
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
