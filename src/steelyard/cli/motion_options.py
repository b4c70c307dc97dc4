"""Options of a designed motion: limits, search, poses and surroundings, for several commands."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import RobotError, SignalError, did_you_mean, listed, shown

if TYPE_CHECKING:
    from steelyard.excitation.collision.collision_distances import CollisionModel
    from steelyard.excitation.design_settings import DesignSettings
    from steelyard.excitation.limits import MotionLimits, PerJoint
    from steelyard.excitation.torque_noise import TorqueNoise
    from steelyard.findings import Finding
    from steelyard.model.model import Model
    from steelyard.robot.robot import Robot

BUDGET_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
CLEARANCE_M = 0.01


def add_motion_arguments(parser: argparse.ArgumentParser, *, budget: str) -> None:
    """Options of the design; ``budget`` is the default of --budget."""
    from steelyard.excitation.design_settings import BASES, COLUMN_SCALES, DesignSettings
    from steelyard.excitation.files.interpolation import INTERPOLATIONS
    from steelyard.excitation.points.point_design import MEASURES, OPTIMISERS
    from steelyard.excitation.search.criteria import CRITERIA, DEFAULT_CRITERION
    from steelyard.model.term_kinds import SIDES

    default = DesignSettings()
    search = parser.add_argument_group("the search")
    add = search.add_argument
    parser.set_defaults(default_budget=budget)
    add("--budget", metavar="TIME",
        help="time for search and proofs, such as 30s or 2min; the proofs' share is measured, at "
        "least half is searched, and writing files comes after it "
        f"(default: {budget})")  # fmt: skip
    add("--rounds", type=int, metavar="N",
        help="bases fourier and via: end the search after so many rounds, if its time has not "
        "ended before: the result then does not depend on the machine's speed")  # fmt: skip
    add("--basis", choices=BASES, default=default.basis,
        help="fourier: sums of sines; points: optimum points joined by polynomials; via: via "
        "points with trapezoidal acceleration; postures: rest at static postures "
        f"(default: {default.basis})")  # fmt: skip
    add("--criterion", choices=[one.name for one in CRITERIA],
        help="bases fourier and via: "
        + "; ".join(f"{one.name}: {one.description}" for one in CRITERIA)
        + f" (default: {DEFAULT_CRITERION})")  # fmt: skip
    add("--period", type=float, metavar="S",
        help="period of the sines, s; of via points and postures, about how long the motion takes "
        f"(default: {default.period_s:g})")  # fmt: skip
    add("--periods", type=int, metavar="N",
        help="basis fourier: how often the period is run "
        f"(default: {default.periods})")  # fmt: skip
    add("--harmonics", type=int, metavar="N",
        help=f"basis fourier: sines per joint (default: {default.harmonics})")  # fmt: skip
    add("--seed", type=int, default=default.seed, metavar="N",
        help=f"random seed of the search (default: {default.seed})")  # fmt: skip
    add("--rate-hz", type=float, default=default.rate_hz, metavar="F",
        help="rate of the points, and of the log for which precision is predicted "
        f"(default: {default.rate_hz:g})")  # fmt: skip
    add("--interpolation", choices=INTERPOLATIONS, default=default.interpolation,
        help="what the controller does between the points, for which limits are proven too "
        f"(default: {default.interpolation})")  # fmt: skip
    add(
        "--threads",
        type=int,
        metavar="N",
        help="number of threads; of design for the basis fourier alone (default: all)",
    )
    add("--torque-side", choices=SIDES,
        help="where torque is measured, which decides the default terms of joints, as --torque of "
        "identify")  # fmt: skip
    add("--torque-noise", action="append", default=[], metavar="VALUE|JOINT=VALUE",
        help="noise of the measured torque, rms, N m (N); may be repeated (default: 1 %% of each "
        "joint's torque range)")  # fmt: skip
    add("--torque-noise-bandwidth-hz", type=float, metavar="F",
        help="low-pass cutoff of that noise (default: white noise)")  # fmt: skip
    points = parser.add_argument_group(
        "optimum points",
        "Of --basis points alone: Gautier and Khalil (1992). W has one row for each difference of "
        "energy between neighbouring points, and one column for each base parameter of bodies and "
        "drive inertias.",
    )
    add = points.add_argument
    add("--measure", choices=MEASURES,
        help="what is made small. svd: condition number of W; qr: its estimate by QR with column "
        "pivoting; frobenius: condition of WᵀW in the Frobenius norm; balanced: lambda1 times the "
        "condition number plus lambda2 times S, the largest by the smallest entry of W "
        f"(default: {default.measure})")  # fmt: skip
    add("--condition-weight", type=float, metavar="LAMBDA1",
        help=f"of --measure balanced (default: {default.condition_weight:g})")  # fmt: skip
    add("--equilibrium-weight", type=float, metavar="LAMBDA2",
        help=f"of --measure balanced (default: {default.equilibrium_weight:g})")  # fmt: skip
    add("--column-scale", choices=COLUMN_SCALES,
        help="factors of the columns of W before it is measured, also for S: none; the typical "
        "size of each base parameter; prior, its value in the robot file "
        f"(default: {default.column_scale})")  # fmt: skip
    add("--rows", type=int, metavar="R", dest="n_rows",
        help="rows of W, one less than points (default: twice the base parameters of the "
        "model)")  # fmt: skip
    add("--optimiser", choices=OPTIMISERS,
        help="gradient: exact derivatives; the others are those of the paper, without them "
        f"(default: {default.optimiser})")  # fmt: skip
    add("--starts", type=int, metavar="N", dest="n_starts",
        help=f"random starts (default: {default.n_starts})")  # fmt: skip
    limits = parser.add_argument_group(
        "limits",
        "Those of the robot file and its overlay, unless given here; each may be repeated.",
    )
    for name, unit in (
        ("velocity", "rad/s (m/s)"),
        ("acceleration", "rad/s² (m/s²)"),
        ("jerk", "rad/s³ (m/s³)"),
        ("torque", "N m (N)"),
    ):
        limits.add_argument(f"--{name}", action="append", default=[], metavar="VALUE|JOINT=VALUE",
            help=f"largest {name} of all joints or of one, {unit}")  # fmt: skip
    limits.add_argument("--range", action="append", default=[], metavar="JOINT=LOWER:UPPER",
        help="positions of a joint, rad (m)")  # fmt: skip
    limits.add_argument("--share", type=float, default=default.share, metavar="P",
        help="share of the limits that the motion may use; ranges shrink about their middle "
        f"(default: {default.share:g})")  # fmt: skip
    limits.add_argument("--start", metavar="JOINT=POSITION,...",
        help="pose at which the motion begins, rad (m), all joints")  # fmt: skip
    limits.add_argument("--end", metavar="JOINT=POSITION,...",
        help="pose at which it ends (default: any)")  # fmt: skip
    limits.add_argument("--still", action="append", default=[], metavar="JOINT[=POSITION]",
        help="a joint that must stand still, at this position, or that of --start, or the middle "
        "of its range")  # fmt: skip
    around = parser.add_argument_group(
        "collision", "Needs pip install 'steelyard[collision]', and collision geometry in the URDF."
    )
    add = around.add_argument
    add("--no-collision", action="store_true", help="do not check collisions")
    add("--clearance", type=float, metavar="M",
        help="smallest distance between links, and to obstacles, "
        f"m (default: {CLEARANCE_M:g})")  # fmt: skip
    add("--ground", type=float, metavar="Z",
        help="height of a floor, m, in the frame of the root link")  # fmt: skip
    add("--obstacle", action="append", default=[], metavar="SHAPE:X,Y,Z:SIZE",
        help="box:X,Y,Z:LX,LY,LZ (centre and edges) or sphere:X,Y,Z:RADIUS, m; may be "
        "repeated")  # fmt: skip
    add("--srdf", metavar="FILE", help="SRDF that says which links need no check")
    add("--packages", action="append", default=[], metavar="FOLDER",
        help="folder in which package:// meshes are looked for; may be repeated")  # fmt: skip


SETTING_OPTIONS = {
    "period_s": "--period",
    "budget_s": "--budget",
    "n_rows": "--rows",
    "n_starts": "--starts",
}
"""Options whose name is not that of the setting."""
SETTINGS = (
    *("period", "periods", "harmonics", "criterion", "budget", "rounds", "threads", "measure"),
    *("condition_weight", "equilibrium_weight", "column_scale", "n_rows", "optimiser", "n_starts"),
)
"""Options that not every basis uses, as the parser stores them: None where not given."""


def settings_from(arguments: argparse.Namespace, also_used: Sequence[str] = ()) -> DesignSettings:
    """The settings of the search; an option without effect on it is refused by name.

    also_used : options that the command uses for something else, too.
    """
    from steelyard.excitation.design_settings import DesignSettings, without_effect

    basis, given = arguments.basis, {}
    for stored in SETTINGS:
        value = getattr(arguments, stored)
        if value is None:
            continue
        name = {"period": "period_s", "budget": "budget_s"}.get(stored, stored)
        reason = without_effect(name, basis, arguments.measure or DesignSettings.measure)
        if reason is None:
            given[name] = value
        elif name not in also_used:
            option = SETTING_OPTIONS.get(name, f"--{name.replace('_', '-')}")
            raise SignalError(f"{option} {reason}; leave it out, or choose another --basis")
    if without_effect("budget_s", basis, "") is None:
        given["budget_s"] = budget_seconds(arguments.budget or arguments.default_budget)
    return DesignSettings(
        basis=basis,
        seed=arguments.seed,
        rate_hz=arguments.rate_hz,
        share=arguments.share,
        interpolation=arguments.interpolation,
        **given,
    )


def budget_seconds(text: str) -> float:
    """Seconds of a text such as 30s, 2min or 45."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", text)
    try:
        seconds = float(match[1]) * BUDGET_UNITS[match[2]]  # type: ignore[index]
    except (TypeError, ValueError, KeyError):
        raise SignalError(
            f"--budget is {shown(text)}; it must be a time such as 30s, 2min or 1h"
        ) from None
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise SignalError(f"--budget is {shown(text)}; it must be positive")
    return seconds


def limits_from(arguments: argparse.Namespace, robot: Robot) -> MotionLimits:
    """Limits of the robot file, replaced by those that are given."""
    from steelyard.excitation.limits import motion_limits

    lower, upper = {}, {}
    for text in arguments.range:
        joint, _, ends = text.rpartition("=")
        low, colon, high = ends.partition(":")
        try:
            values = float(low), float(high)
        except ValueError:
            colon = ""
        if not (joint and colon):
            raise RobotError(
                f"--range is {shown(text)}; it must be JOINT=LOWER:UPPER, as in elbow=-1:2"
            )
        if joint in lower:
            raise RobotError(f"--range is given twice for joint {shown(joint)}; give it once")
        lower[joint], upper[joint] = values
    given: dict[str, Any] = {
        name: per_joint(getattr(arguments, name), robot.joint_names, f"--{name}")
        for name in ("velocity", "acceleration", "jerk", "torque")
    }
    return motion_limits(robot, lower=lower or None, upper=upper or None, **given)


def noise_from(arguments: argparse.Namespace, model: Model) -> TorqueNoise | None:
    """The noise that is given, or None."""
    from steelyard.excitation.torque_noise import given_noise

    value = per_joint(arguments.torque_noise, model.channels, "--torque-noise")
    return None if value is None else given_noise(model, value)


def per_joint(texts: Sequence[str], joints: Sequence[str], option: str) -> PerJoint | None:
    """One value for all joints, or values by joint; those of single joints come first."""
    for_all: float | None = None
    single: dict[str, float] = {}
    for text in texts:
        joint, equals, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            raise RobotError(
                f"{option} is {shown(text)}; it must be VALUE or JOINT=VALUE"
            ) from None
        if not equals:
            if for_all is not None:
                raise RobotError(f"{option} is given twice for all joints; give it once")
            for_all = value
            continue
        if joint not in joints:
            raise RobotError(
                f"{option} names {shown(joint)}{did_you_mean(joint, joints)}; the joints are "
                f"{listed(joints)}"
            )
        if joint in single:
            raise RobotError(f"{option} is given twice for joint {shown(joint)}; give it once")
        single[joint] = value
    if not single:
        return for_all
    return single if for_all is None else {**dict.fromkeys(joints, for_all), **single}


def pose_from(text: str | None, joints: Sequence[str], option: str) -> list[float] | None:
    """A pose (n_joints,) from a text such as shoulder=0.1,elbow=-1; None if not given."""
    if text is None:
        return None
    values: dict[str, float] = {}
    for entry in text.split(","):
        joint, equals, number = entry.strip().rpartition("=")
        try:
            value = float(number)
        except ValueError:
            equals = ""
        if not equals:
            raise RobotError(
                f"{option} has {shown(entry)}; it must be JOINT=POSITION,JOINT=POSITION,..."
            )
        if joint not in joints:
            raise RobotError(
                f"{option} names {shown(joint)}{did_you_mean(joint, joints)}; the joints are "
                f"{listed(joints)}"
            )
        if joint in values:
            raise RobotError(f"{option} names joint {shown(joint)} twice; name it once")
        values[joint] = value
    missing = [joint for joint in joints if joint not in values]
    if missing:
        raise RobotError(f"{option} has no position of {listed(missing)}; give all joints")
    return [values[joint] for joint in joints]


def still_from(
    arguments: argparse.Namespace, limits: MotionLimits, start: list[float] | None
) -> dict[str, float]:
    """Positions of joints that stand still."""
    still: dict[str, float] = {}
    for text in arguments.still:
        # a joint's name may contain an equals sign, but then it also has a position
        joint, equals, number = text.rpartition("=") if "=" in text else (text, "", "")
        if joint not in limits.joints:
            raise RobotError(
                f"--still names {shown(joint)}{did_you_mean(joint, limits.joints)}; the joints are "
                f"{listed(limits.joints)}"
            )
        j = limits.joints.index(joint)
        if not equals:
            still[joint] = float(limits.middle[j]) if start is None else start[j]
            continue
        try:
            still[joint] = float(number)
        except ValueError:
            raise RobotError(
                f"--still is {shown(text)}; it must be JOINT or JOINT=POSITION"
            ) from None
        if not limits.lower[j] <= still[joint] <= limits.upper[j]:
            raise RobotError(
                f"--still puts joint '{joint}' at {still[joint]:g}, outside its range of "
                f"{limits.lower[j]:g} to {limits.upper[j]:g}"
            )
    return still


@dataclass(frozen=True, eq=False)
class CollisionCheck:
    """What a motion must keep away from.

    model : None where collisions are not checked. findings : why not, and what is missing.
    """

    model: CollisionModel | None
    findings: tuple[Finding, ...]


def collision_from(arguments: argparse.Namespace, robot: Robot) -> CollisionCheck:
    """The collision model, or None with a note that says why there is none."""
    from importlib.util import find_spec

    from steelyard.findings import Finding

    asked = {
        "--clearance": arguments.clearance,
        "--ground": arguments.ground,
        "--obstacle": arguments.obstacle or None,
        "--srdf": arguments.srdf,
        "--packages": arguments.packages or None,
    }
    given = [option for option, value in asked.items() if value is not None]
    if arguments.no_collision:
        if given:
            raise SignalError(f"--no-collision and {given[0]} are given; give one of them")
        return CollisionCheck(None, (_unchecked("--no-collision was given"),))
    if not given:
        reason = _why_unchecked(arguments.robot, find_spec("coal") is not None)
        if reason is not None:
            return CollisionCheck(None, (_unchecked(reason),))
    from steelyard.excitation.collision.collision import collision_model

    model = collision_model(
        arguments.robot,
        robot,
        srdf=arguments.srdf,
        ground=arguments.ground,
        obstacles=[_obstacle(text, number) for number, text in enumerate(arguments.obstacle, 1)],
        clearance_m=CLEARANCE_M if arguments.clearance is None else arguments.clearance,
        package_folders=arguments.packages,
    )
    if arguments.ground is not None:
        return CollisionCheck(model, ())
    words = "there is no floor among what was checked; give its height with --ground"
    return CollisionCheck(model, (Finding("info", "no-ground", words),))


def _why_unchecked(path: str, installed: bool) -> str | None:
    """Why collisions cannot be checked, or None if they can."""
    from steelyard.robot.formats.urdf_shapes import collision_shapes

    try:
        shapes = collision_shapes(Path(path))
    except RobotError:
        return "the robot file is not a URDF"
    if not shapes:
        return "the robot file has no collision geometry"
    if not installed:
        return "coal is not installed: pip install 'steelyard[collision]'"
    return None


def _unchecked(reason: str) -> Finding:
    from steelyard.findings import Finding

    return Finding(
        "warning",
        "collisions-not-checked",
        f"collisions are not checked: {reason}; make sure that the robot can reach nothing",
    )


def _obstacle(text: str, number: int) -> Any:
    """An obstacle from a text such as box:0.5,0,0.2:0.3,0.3,0.4."""
    import numpy as np

    from steelyard.excitation.collision.collision import Obstacle
    from steelyard.robot.formats.urdf_shapes import Primitive

    parts = [part.strip() for part in text.split(":")]
    kind = parts[0]
    n_sizes = {"box": 3, "sphere": 1}.get(kind)

    def refusal(what: str) -> SignalError:
        return SignalError(
            f"--obstacle is {shown(text)}; {what}; it must be box:X,Y,Z:LX,LY,LZ or "
            "sphere:X,Y,Z:RADIUS, in m, such as box:0.5,0,0.2:0.3,0.3,0.4"
        )

    if n_sizes is None:
        raise refusal(f"there is no shape {shown(kind)}")
    if len(parts) != 3:
        raise refusal(f"it has {len(parts)} parts between colons in place of 3")
    numbers = []
    for what, part, needed in (("centre", parts[1], 3), ("size", parts[2], n_sizes)):
        try:
            values = [float(x) for x in part.split(",")]
        except ValueError:
            raise refusal(f"its {what} is {shown(part)}, not numbers with commas") from None
        if len(values) != needed or not all(math.isfinite(x) for x in values):
            raise refusal(f"its {what} is {shown(part)}; {needed} finite numbers are needed")
        numbers.append(values)
    place, edges = numbers
    if min(edges) <= 0.0:
        raise refusal(f"its size is {shown(parts[2])}; sizes must be positive")
    pose = np.eye(4)
    pose[:3, 3] = place
    whole = np.array(edges) if kind == "box" else np.full(3, 2.0 * edges[0])
    return Obstacle(f"obstacle {number}", Primitive(kind, whole, pose))  # type: ignore[arg-type]
