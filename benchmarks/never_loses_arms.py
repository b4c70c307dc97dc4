"""Arms of example-robot-data for the benchmark `never-loses`: the file that a user has, and the
true robot, which differs from it.

An arm is a part of the maker's URDF: the link that carries its first joint stands still, joints
that do not belong to the arm are fixed at zero, and shapes are left out. Nothing here is
Steelyard's.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

THINNEST = 1e-3
"""Least second moment of a true link, as a share of its largest: MuJoCo takes no flatter body."""
LIGHTEST = 1e-6
"""kg; a lighter link is a frame with a name, and massless in the true robot."""
FURTHEST, WIDEST = 1.5, 2.0 * np.pi
"""rad: of a range that is used, from its centre; of limits with a centre."""


@dataclass(frozen=True)
class Arm:
    """``joints`` of the URDF ``file``, from the base on."""

    file: str
    joints: tuple[str, ...]


def _numbered(form: str, first: int, last: int) -> tuple[str, ...]:
    return tuple(form.format(k) for k in range(first, last + 1))


def _named(form: str, names: str) -> tuple[str, ...]:
    return tuple(form.format(name) for name in names.split())


_UR = _named("{}_joint", "shoulder_pan shoulder_lift elbow wrist_1 wrist_2 wrist_3")
ARMS = {
    "ur3": Arm("ur3_robot.urdf", _UR),
    "ur5": Arm("ur5_robot.urdf", _UR),
    "ur10": Arm("ur10_robot.urdf", _UR),
    "panda": Arm("panda.urdf", _numbered("panda_joint{}", 1, 7)),
    "xarm7": Arm("xarm7.urdf", _numbered("joint{}", 1, 7)),
    "z1": Arm("z1.urdf", _numbered("joint{}", 1, 6)),
    "kinova": Arm("kinova.urdf", _numbered("j2s6s200_joint_{}", 1, 6)),
    "tiago": Arm("tiago.urdf", _numbered("arm_{}_joint", 1, 7)),
    "tiago_pro": Arm("tiago_pro.urdf", _numbered("arm_left_{}_joint", 1, 7)),
    "talos": Arm("talos_left_arm.urdf", _numbered("arm_left_{}_joint", 2, 7)),
    "baxter": Arm("baxter.urdf", _named("left_{}", "s0 s1 e0 e1 w0 w1 w2")),
    "pr2": Arm(
        "pr2.urdf",
        _named(
            "r_{}_joint",
            "shoulder_pan shoulder_lift upper_arm_roll elbow_flex forearm_roll wrist_flex "
            "wrist_roll",
        ),
    ),
    "so101": Arm(
        "so101.urdf",
        ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll"),
    ),
    "centauro": Arm("centauro.urdf", ("torso_yaw", *_numbered("j_arm1_{}", 1, 6))),
    "g1": Arm(
        "g1_29dof_rev_1_0.urdf",
        _named(
            "left_{}_joint",
            "shoulder_pitch shoulder_roll shoulder_yaw elbow wrist_roll wrist_pitch wrist_yaw",
        ),
    ),
    "romeo": Arm(
        "romeo.urdf",
        _named("L{}", "ShoulderPitch ShoulderYaw ElbowRoll ElbowYaw WristRoll WristYaw WristPitch"),
    ),
    "alex": Arm(
        "alex_nub_hands.urdf",
        (
            *("SpineRoll", "SpinePitch"),
            *_named(
                "Left{}",
                "ShoulderPitch ShoulderRoll ShoulderYaw ElbowPitch WristYaw WristRoll GripperYaw",
            ),
        ),
    ),
    "finger": Arm(
        "finger_edu.urdf",
        _named("finger_{}_joint", "base_to_upper upper_to_middle middle_to_lower"),
    ),
}


@dataclass(frozen=True, eq=False)
class Ranges:
    """Where the joints turn: centre and half of the range (n_joints,) rad."""

    centre: Array
    half: Array


@cache
def urdf_text(name: str) -> str:
    """The URDF of an arm of ``ARMS``, with the maker's inertials."""
    arm = ARMS[name]
    source = ET.parse(_path(arm.file)).getroot()
    links = {link.get("name"): link for link in source.findall("link")}
    joints = {joint.get("name"): joint for joint in source.findall("joint")}
    base = joints[arm.joints[0]].find("parent").get("link")
    robot = ET.Element("robot", name=name)
    ET.SubElement(robot, "link", name="standing")
    _standing_joint(robot, base, _pose_of(base, joints.values()))
    found = [base]
    for link in found:  # grows
        element = ET.SubElement(robot, "link", name=link)
        inertial = links[link].find("inertial")
        if inertial is not None and link != base:
            element.append(inertial)
        for joint in joints.values():
            if joint.find("parent").get("link") == link:
                _copy_joint(robot, joint, moves=joint.get("name") in arm.joints)
                found.append(joint.find("child").get("link"))
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode")


def ranges(name: str) -> Ranges:
    """Where the joints of an arm move, within the limits of its file."""
    root = ET.fromstring(urdf_text(name))
    joints = {joint.get("name"): joint for joint in root.findall("joint")}
    rows = []
    for joint in (joints[name] for name in ARMS[name].joints):
        limit = joint.find("limit")
        lower, upper = -WIDEST, WIDEST
        if joint.get("type") != "continuous" and limit is not None:
            lower, upper = float(limit.get("lower")), float(limit.get("upper"))
        half = min(0.45 * (upper - lower), FURTHEST)
        centre = 0.5 * (lower + upper) if upper - lower < WIDEST else 0.0
        rows.append((centre, half))
    centre, half = zip(*rows, strict=True)
    return Ranges(np.array(centre), np.array(half))


def true_text(name: str, error: float, rng: np.random.Generator) -> str:
    """The URDF of the true robot: every link's mass, centre of mass and second moments about it
    differ from the file's by about ``error``, and every link is physical.

    The mass and the square roots of the second moments S = trace(I)/2 1 - I are scaled; the centre
    of mass is moved by a share of its distance and of the link's size.
    """
    root = ET.fromstring(urdf_text(name))
    for link in root.findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        mass = float(inertial.find("mass").get("value"))
        if mass < LIGHTEST:
            link.remove(inertial)
            continue
        origin, entries = _origin(inertial), inertial.find("inertia")
        matrix = np.array([[float(entries.get(_ENTRY[i][j])) for j in range(3)] for i in range(3)])
        second = 0.5 * np.trace(matrix) * np.eye(3) - matrix
        values, axes = np.linalg.eigh(second)
        values = np.maximum(values, max(THINNEST * values[-1], 1e-6 * mass))
        values = values * _factors(rng, error, 3)
        D = np.eye(3) + 0.3 * error * rng.uniform(-1.0, 1.0, (3, 3))
        factor = float(_factors(rng, error, 1)[0])
        second = factor * D @ (axes * values) @ axes.T @ D.T
        matrix = np.trace(second) * np.eye(3) - second
        size = np.sqrt(np.trace(second) / (factor * mass))
        com = np.array([float(x) for x in origin.get("xyz", "0 0 0").split()])
        com = com * _factors(rng, error, 3) + error * size * rng.uniform(-0.5, 0.5, 3)
        origin.set("xyz", _words(com))
        inertial.find("mass").set("value", f"{factor * mass:.12g}")
        for i in range(3):
            for j in range(i, 3):
                entries.set(_ENTRY[i][j], f"{matrix[i, j]:.12g}")
    return ET.tostring(root, encoding="unicode")


_ENTRY = (("ixx", "ixy", "ixz"), ("ixy", "iyy", "iyz"), ("ixz", "iyz", "izz"))


def _factors(rng: np.random.Generator, error: float, n: int) -> Array:
    """Half to all of the error, up or down."""
    return np.asarray(1.0 + rng.choice([-1.0, 1.0], n) * error * rng.uniform(0.5, 1.0, n))


def _origin(element: ET.Element) -> ET.Element:
    found = element.find("origin")
    return ET.SubElement(element, "origin", xyz="0 0 0", rpy="0 0 0") if found is None else found


def _copy_joint(robot: ET.Element, joint: ET.Element, *, moves: bool) -> None:
    kind = joint.get("type") if moves else "fixed"
    new = ET.SubElement(robot, "joint", name=joint.get("name"), type=kind)
    for tag in ("origin", "parent", "child", *(("axis", "limit") if moves else ())):
        found = joint.find(tag)
        if found is not None:
            new.append(found)


def _standing_joint(robot: ET.Element, base: str, pose: Array) -> None:
    joint = ET.SubElement(robot, "joint", name="standing_joint", type="fixed")
    R = pose[:3, :3]
    pitch = np.arcsin(np.clip(-R[2, 0], -1.0, 1.0))
    rpy = np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])
    ET.SubElement(joint, "origin", xyz=_words(pose[:3, 3]), rpy=_words(rpy))
    ET.SubElement(joint, "parent", link="standing")
    ET.SubElement(joint, "child", link=base)


def _pose_of(link: str, joints: object) -> Array:
    """Pose (4, 4) of a link in the URDF's root, all joints at zero."""
    carriers = {joint.find("child").get("link"): joint for joint in joints}
    pose = np.eye(4)
    while link in carriers:
        joint = carriers[link]
        step, origin = np.eye(4), joint.find("origin")
        if origin is not None:
            step[:3, 3] = [float(x) for x in origin.get("xyz", "0 0 0").split()]
            r, p, y = (float(x) for x in origin.get("rpy", "0 0 0").split())
            step[:3, :3] = _turn(2, y) @ _turn(1, p) @ _turn(0, r)
        pose = step @ pose
        link = joint.find("parent").get("link")
    return pose


def _turn(axis: int, angle: float) -> Array:
    i, j = [(1, 2), (2, 0), (0, 1)][axis]
    R = np.eye(3)
    R[i, i] = R[j, j] = np.cos(angle)
    R[j, i], R[i, j] = np.sin(angle), -np.sin(angle)
    return R


def _words(values: object) -> str:
    return " ".join(f"{x:.12g}" for x in values)


@cache
def _path(file: str) -> Path:
    files = distribution("example-robot-data").files or ()
    return next(Path(str(one.locate())) for one in files if one.name == file)
