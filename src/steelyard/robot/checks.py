"""What makes links and joints one tree; a robot exists only if these checks pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import RobotError
from steelyard.wording import did_you_mean, listed, shown

if TYPE_CHECKING:
    from steelyard.robot.tree import Robot


def check_tree(robot: Robot) -> None:
    """Refuse anything that is not one tree with unique names, naming the culprit."""
    if not robot.links:
        raise RobotError(f"robot '{robot.name}' has no links")
    for kind, names in (
        ("link", [link.name for link in robot.links]),
        ("joint", [joint.name for joint in robot.joints]),
    ):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise RobotError(f"robot '{robot.name}' has two {kind}s named {shown(name)}")
            seen.add(name)
    known = {link.name for link in robot.links}
    parent_of: dict[str, str] = {}
    for joint in robot.joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                raise RobotError(
                    f"joint '{joint.name}' has {role} link {shown(link)}, which does not exist"
                    f"{did_you_mean(link, known)}; the links are {listed(sorted(known))}"
                )
        if joint.child in parent_of:
            raise RobotError(
                f"link '{joint.child}' is the child of two joints, '{parent_of[joint.child]}' and "
                f"'{joint.name}': kinematic loops are not supported"
            )
        parent_of[joint.child] = joint.name
    roots = [link.name for link in robot.links if link.name not in parent_of]
    if len(roots) != 1:
        what = (
            f"{len(roots)} root links, {listed(roots)}"
            if roots
            else f"no root link: joints {listed(j.name for j in robot.joints)} form loops"
        )
        raise RobotError(f"robot '{robot.name}' has {what}; it must be one tree")
    if len(robot.joints_from_root) != len(robot.joints):
        reached = {joint.name for joint in robot.joints_from_root}
        loop = [joint.name for joint in robot.joints if joint.name not in reached]
        raise RobotError(f"joints {listed(loop)} form a loop apart from root link '{robot.root}'")
    check_mimics(robot)


def check_mimics(robot: Robot) -> None:
    """Refuse a mimic of a missing, fixed or mimicking joint."""
    by_name = {joint.name: joint for joint in robot.joints}
    for joint in robot.joints:
        if joint.mimic is None:
            continue
        master = by_name.get(joint.mimic.joint)
        if master is None or not master.moves or master.mimic is not None or master is joint:
            raise RobotError(
                f"joint '{joint.name}' mimics {shown(joint.mimic.joint)}, which is not a joint "
                "that moves by itself; these are "
                f"{listed(j.name for j in robot.joints if j.moves and j.mimic is None)}"
            )
