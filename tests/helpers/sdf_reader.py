"""A second reading of SDF texts, by the rules of SDFormat 1.9, into a model of Pinocchio.

Pinocchio's wheel comes without SDF, and Drake, whose parser reads these texts in
``benchmarks/run.py export``, is not installed for the tests. Only what the writer uses is read.
"""

from __future__ import annotations

from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np


def pinocchio_model_of_sdf(text: str, *, floating: bool):
    """Pinocchio's model of an SDF with every joint free; joints have their names in the SDF."""
    import pinocchio as pin

    model_element = ElementTree.fromstring(text).find("model")
    assert model_element is not None
    frames = {e.attrib["name"]: e for tag in ("link", "frame") for e in model_element.iter(tag)}
    absolute: dict[str, np.ndarray] = {"world": np.eye(4)}

    def pose_of(name: str) -> np.ndarray:
        """Pose of a link or frame in the model at rest."""
        if name not in absolute:
            element = frames[name]
            pose = element.find("pose")
            default = element.attrib.get("attached_to", "world")
            anchor = default if pose is None else pose.attrib.get("relative_to", default)
            absolute[name] = pose_of(anchor) @ matrix(pose)
        return absolute[name]

    def carrier(name: str) -> str:
        """The link that a frame is attached to."""
        while name in frames and frames[name].tag == "frame":
            name = frames[name].attrib["attached_to"]
        return name

    model = pin.Model()
    joint_of = {"world": (0, np.eye(4))}  # joint that carries a link, and its pose at rest
    joints = {carrier(j.findtext("child", "")): j for j in model_element.findall("joint")}
    for link in model_element.findall("link"):
        name = link.attrib["name"]
        joint = joints.get(name)
        if joint is None:
            assert floating
            kind, where, parent = pin.JointModelFreeFlyer(), pose_of(name), (0, np.eye(4))
            index = model.addJoint(0, kind, pin.SE3(where), "free")
            joint_of[name] = (index, where)
        else:
            parent = joint_of[carrier(joint.findtext("parent", ""))]
            where = pose_of(name) @ matrix(joint.find("pose"))
            if joint.attrib["type"] == "fixed":
                joint_of[name] = parent
            else:
                axis = np.array(joint.findtext("axis/xyz", "").split(), dtype=float)
                slides = joint.attrib["type"] == "prismatic"
                kinds = pin.JointModelPrismaticUnaligned, pin.JointModelRevoluteUnaligned
                kind = kinds[0 if slides else 1](axis)
                placement = pin.SE3(np.linalg.inv(parent[1]) @ where)
                index = model.addJoint(parent[0], kind, placement, joint.attrib["name"])
                joint_of[name] = (index, where)
        index, where = joint_of[name]
        body = pin.SE3(np.linalg.inv(where) @ pose_of(name))
        model.appendBodyToJoint(index, inertia_of(link), body)
    return model


def matrix(pose: Element | None) -> np.ndarray:
    """The homogeneous matrix of a <pose>: x y z roll pitch yaw."""
    import pinocchio as pin

    T = np.eye(4)
    if pose is not None:
        values = np.array((pose.text or "").split(), dtype=float)
        T[:3, 3], T[:3, :3] = values[:3], pin.rpy.rpyToMatrix(values[3:])
    return T


def inertia_of(link: Element):
    """Pinocchio's inertia of a <link>, which must state one: a missing one means 1 kg."""
    import pinocchio as pin

    inertial = link.find("inertial")
    assert inertial is not None
    at = matrix(inertial.find("pose"))
    entries = {e.tag: float(e.text or "") for e in inertial.find("inertia") or ()}
    tensor = np.array([[entries["i" + "".join(sorted(a + b))] for b in "xyz"] for a in "xyz"])
    rotated = at[:3, :3] @ tensor @ at[:3, :3].T
    return pin.Inertia(float(inertial.findtext("mass", "")), at[:3, 3], rotated)
