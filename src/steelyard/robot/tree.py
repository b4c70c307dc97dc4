"""The tree of links and joints: its root, its order, and the check that it is one tree."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.errors import RobotError, did_you_mean, listed, shown
from steelyard.robot.parts import Joint, Link


def root_link(links: Sequence[Link], joints: Sequence[Joint]) -> str:
    """Name of the first link that is not the child of a joint."""
    children = {joint.child for joint in joints}
    return next(link.name for link in links if link.name not in children)


def joints_from_root(root: str, joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """All joints in depth-first order from the root link, siblings in file order."""
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    ordered: list[Joint] = []
    stack = list(reversed(below.get(root, [])))
    while stack:
        joint = stack.pop()
        ordered.append(joint)
        stack.extend(reversed(below.get(joint.child, [])))
    return tuple(ordered)


def check_tree(robot: str, links: Sequence[Link], joints: Sequence[Joint]) -> None:
    """Refuse anything that is not one tree with unique names, naming the link or joint.

    robot : its name, for messages.
    """
    if not links:
        raise RobotError(f"robot '{robot}' has no links")
    for kind, names in (
        ("link", [link.name for link in links]),
        ("joint", [joint.name for joint in joints]),
    ):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise RobotError(f"robot '{robot}' has two {kind}s named {shown(name)}")
            seen.add(name)
    known = {link.name for link in links}
    parent_of: dict[str, str] = {}
    for joint in joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                raise RobotError(
                    f"joint '{joint.name}' has {role} link {shown(link)}, which does not exist"
                    f"{did_you_mean(link, known)}; the links are {listed(sorted(known))}"
                )
        if joint.child in parent_of:
            raise RobotError(
                f"link '{joint.child}' is the child of two joints, '{parent_of[joint.child]}' and "
                f"'{joint.name}': kinematic loops are not supported{_way_out(joint, joints)}"
            )
        parent_of[joint.child] = joint.name
    roots = [link.name for link in links if link.name not in parent_of]
    if len(roots) != 1:
        what = (
            f"{len(roots)} root links, {listed(roots)}"
            if roots
            else f"no root link: joints {listed(j.name for j in joints)} form loops"
        )
        raise RobotError(f"robot '{robot}' has {what}; it must be one tree")
    reached = {joint.name for joint in joints_from_root(roots[0], joints)}
    if len(reached) != len(joints):
        loop = [joint.name for joint in joints if joint.name not in reached]
        raise RobotError(
            f"joints {listed(loop)} form a loop that is not connected to root link '{roots[0]}'"
        )
    check_mimics(joints)


def _way_out(closing: Joint, joints: Sequence[Joint]) -> str:
    """What can still be identified of a robot with a loop, for a message; empty if nothing can.

    closing : the second joint of a link that has two. Forces inside the loop act in the torque rows
    of its joints alone; they cancel in all rows nearer to the root, and in those of a base.
    """
    above: dict[str, Joint] = {}
    for joint in joints:
        if joint is not closing:
            above.setdefault(joint.child, joint)

    def way(link: str) -> list[str]:
        names: list[str] = []
        while link in above and above[link].name not in names:
            names.append(above[link].name)
            link = above[link].parent
        return names

    one, other = way(closing.child), way(closing.parent)
    loop = {*one} ^ {*other} | {closing.name}
    named = [joint.name for joint in joints if joint.name in loop and joint.moves]
    cut = [joint.name for joint in joints if joint.moves and joint.name not in loop]
    if closing.parent == closing.child or not named:
        return ""
    seen = f"those of {listed(cut)}" if cut else "a measured wrench at a floating base"
    return (
        f". To identify the robot all the same, take '{closing.name}' out of the file, and the "
        f"torques of {listed(named)} out of the log, where the forces of the loop act: the "
        f"other rows ({seen}) are valid, with --torques recorded"
    )


def check_mimics(joints: Sequence[Joint]) -> None:
    """Refuse a mimic of a missing, fixed or mimicking joint."""
    by_name = {joint.name: joint for joint in joints}
    for joint in joints:
        if joint.mimic is None:
            continue
        master = by_name.get(joint.mimic.joint)
        if master is None or not master.moves or master.mimic is not None or master is joint:
            raise RobotError(
                f"joint '{joint.name}' mimics {shown(joint.mimic.joint)}, which is not a joint "
                "that moves independently; these are "
                f"{listed(j.name for j in joints if j.moves and j.mimic is None)}"
            )
