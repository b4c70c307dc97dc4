"""All terms of a robot's joints and couplings as plain data, for a file beside its robot file."""

from __future__ import annotations

from typing import Any

from steelyard.export.identified_robot import IdentifiedRobot
from steelyard.model.terms import Term

SCHEMA = "steelyard.joints/1"
IN_URDF = {"viscous": "damping", "coulomb": "friction"}
"""Attribute of <dynamics> that holds a kind of term of one joint."""
MEANING = (
    "Each term adds its torque to the inverse dynamics of the rigid bodies. Speed and acceleration "
    "are those of the joint. For a coupling they are the sum of weight * joint over its direction, "
    "and its torque acts on each of these joints times its weight. The value of a term that was "
    "not estimated, since no measured torque depends on it, is null. Where a term has a travel, "
    "sign(speed) stands for a state z that goes to the sign of the motion as exp(-distance / "
    "travel). SI units."
)


def of_one_joint(term: Term) -> bool:
    """Whether the term acts along a single joint."""
    return len(term.direction) == 1


def joints_document(
    found: IdentifiedRobot, robot_file: str | None = None, sha256: str | None = None
) -> dict[str, Any]:
    """All terms of the joints, and how the robot differs from its file, as plain data.

    robot_file, sha256 : name and hash of the robot file that this belongs to.
    """
    robot = found.robot
    terms = found.model.terms
    own = {term.owner for term in terms if _is_of_owner(term)}
    others = dict.fromkeys(term.owner for term in terms if term.owner not in own)
    return {
        "schema": SCHEMA,
        "meaning": MEANING,
        "robot": robot.name,
        "robot_file": None if robot_file is None else {"name": robot_file, "sha256": sha256},
        "joints": [
            {"name": joint, "terms": _terms(found, joint)}
            for joint in robot.joint_names
            if joint in own
        ],
        "couplings": [
            {
                "name": owner,
                "direction": dict(
                    next(term.direction for term in terms if term.owner == owner),
                ),
                "terms": _terms(found, owner),
            }
            for owner in others
        ],
        "followers": [
            {
                "name": joint.name,
                "follows": joint.mimic.joint,
                "multiplier": joint.mimic.multiplier,
                "offset": joint.mimic.offset,
            }
            for joint in robot.moving_joints
            if joint.mimic is not None
        ],
        "locked": dict(robot.locked),
        "bodies_of_several_links": [
            {
                "body": one.body,
                "receiver": one.receiver,
                "kept": list(one.kept),
                "emptied": list(one.emptied),
            }
            for one in found.attached
        ],
    }


def _is_of_owner(term: Term) -> bool:
    return term.direction == ((term.owner, 1.0),)


def _terms(found: IdentifiedRobot, owner: str) -> list[dict[str, Any]]:
    columns = found.model.columns
    units = {column.name: column.unit for column in columns}
    values = dict(zip([column.name for column in columns], found.theta.tolist(), strict=True))
    out: list[dict[str, Any]] = []
    for term in found.model.terms:
        if term.owner != owner:
            continue
        kind = term.term_kind
        entry: dict[str, Any] = {
            "kind": kind.name,
            "value": None if term.name in found.not_estimated else values[term.name],
            "unit": units[term.name],
            "torque": kind.plain_formula,
        }
        if kind.jumps_at_zero_speed:
            entry["width"] = term.width
        if term.travel:
            entry["travel"] = term.travel
        if term.speed:
            entry["stribeck_speed"] = term.speed
        if term.load:
            entry["load_of_bodies"] = {body: list(phi) for body, phi in term.load}
        entry["in_urdf"] = IN_URDF.get(kind.name) if of_one_joint(term) else None
        out.append(entry)
    return out
