"""Tell what differs between two robot files, link by link and joint by joint.

Compared are inertials, joints, limits, mimics, gravity, and damping, friction and armature of
joints; not visuals and collisions. Exit code 0 if the robots are equal, 1 if they differ.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import Output
from steelyard.robot.inertial_changes import DIGITS

if TYPE_CHECKING:
    from steelyard.model.body_differences import BodyDifference
    from steelyard.robot.differences import RobotDifferences
    from steelyard.robot.inertial_changes import Inertial, InertialChange
    from steelyard.robot.joint_changes import JointChange

NAME = "diff"
HELP = "what differs between two robot files"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "before", metavar="A", help="URDF or MJCF file, or Denavit-Hartenberg table (.toml)"
    )
    parser.add_argument(
        "after", metavar="B", help="URDF or MJCF file, or Denavit-Hartenberg table (.toml)"
    )
    parser.add_argument(
        "--digits",
        type=int,
        default=DIGITS,
        metavar="N",
        help=f"numbers that agree to this many digits are equal (default: {DIGITS})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare; exit code 1 if the robots differ."""
    from steelyard.knowledge.overlay.read_robot import read_robot
    from steelyard.model.body_differences import body_differences
    from steelyard.robot.differences import robot_differences
    from steelyard.robot.formats.dynamics import read_dynamics

    paths = (arguments.before, arguments.after)
    # as the files state them: rounded angles, too, may be what differs
    a, b = (read_robot(path, keep_angles=True) for path in paths)
    dynamics = (read_dynamics(paths[0]), read_dynamics(paths[1]))
    found = robot_differences(a, b, dynamics=dynamics, digits=arguments.digits)
    bodies = body_differences(a, b, found, digits=arguments.digits)
    output = Output(arguments.json)
    _show(output, paths, found, bodies, arguments.digits)
    output.document(
        {"a": paths[0], "b": paths[1], "digits": arguments.digits, **_document(found, bodies)}
    )
    return 1 if found.differ else 0


def _show(
    output: Output,
    paths: tuple[str, str],
    found: RobotDifferences,
    bodies: tuple[BodyDifference, ...],
    digits: int,
) -> None:
    output.line(f"a: {paths[0]}")
    output.line(f"b: {paths[1]}")
    for line in found.link_lines:
        output.line(line)
    for body in bodies:
        output.line(f"body '{body.name}' ({' + '.join(body.links)}): {body.words}")
    for line in found.other_lines:
        output.line(line)
    if found.different_robots:
        output.line(
            "note: fewer than half of the links have the same name in both files: these are "
            "different robots, or their links were renamed",
            "yellow",
        )
    links, joints = _count(found.n_links, "link"), _count(found.n_joints, "joint")
    if found.differ:
        counts = f"{len(found.links)} of {links} and {len(found.joints)} of {joints}"
        output.line(f"{counts} that both have differ", "bold")
    else:
        output.line(f"no difference in {links} and {joints}, to {_count(digits, 'digit')}", "bold")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _document(found: RobotDifferences, bodies: tuple[BodyDifference, ...]) -> dict[str, Any]:
    """The differences as plain data."""
    gravity = found.gravity
    return {
        "equal": not found.differ,
        "different_robots": found.different_robots,
        "links": [_inertial_change(change) for change in found.links],
        "bodies": [
            {"links": list(body.links), "equal": not body.change.differs}
            | _inertial_change(body.change)
            for body in bodies
        ],
        "joints": [_joint_change(change) for change in found.joints],
        "links_only_in_a": list(found.links_only_in_a),
        "links_only_in_b": list(found.links_only_in_b),
        "joints_only_in_a": list(found.joints_only_in_a),
        "joints_only_in_b": list(found.joints_only_in_b),
        "n_links": found.n_links,
        "n_joints": found.n_joints,
        "mass": list(found.mass),
        "gravity": None if gravity is None else gravity.tolist(),
        "floating_base": None if found.floating_base is None else list(found.floating_base),
    }


def _inertial_change(change: InertialChange) -> dict[str, Any]:
    distance = change.com_distance
    return {
        "name": change.name,
        "words": change.words,
        "appears": change.appears,
        "vanishes": change.vanishes,
        "mass_differs": change.mass_differs,
        "com_differs": change.com_differs,
        "inertia_differs": change.inertia_differs,
        "com_moved_mm": _millimetres(change.com_moved),
        "com_distance_mm": None if distance is None else 1e3 * distance,
        "inertia_relative": change.inertia_relative,
        "heaviest_axis_deg": change.heaviest_axis_deg,
        "lightest_axis_deg": change.lightest_axis_deg,
        "before": _inertial(change.before),
        "after": _inertial(change.after),
    }


def _inertial(body: Inertial | None) -> dict[str, Any] | None:
    if body is None:
        return None
    return {
        "mass": body.mass,
        "com": None if body.com is None else body.com.tolist(),
        "inertia_com": body.inertia_com.tolist(),
        "principal_moments": body.moments.tolist(),
    }


def _joint_change(change: JointChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "words": change.words,
        "origin_moved_mm": _millimetres(change.moved),
        "origin_turned_deg": change.turned_deg,
        "axis_turned_deg": change.axis_turned_deg,
        "axis_moved_mm": _millimetres(change.axis_moved),
        "changes": [
            *(asdict(text) for text in change.texts),
            *(asdict(number) for number in change.numbers),
        ],
    }


def _millimetres(vector: Any) -> list[float] | None:
    return None if vector is None else [1e3 * x for x in vector.tolist()]
