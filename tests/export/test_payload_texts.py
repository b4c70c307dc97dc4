"""A weighed payload as URDF and MJCF, read by other programs."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from weighed_payload import weighed, without_inertia

from steelyard.errors import RobotError
from steelyard.export.payload_texts import (
    payload_mjcf,
    payload_mjcf_file,
    payload_urdf,
    payload_urdf_file,
)
from steelyard.export.physical import unphysical_links
from steelyard.robot.inertia import from_com
from steelyard.robot.robot import Robot

ARM = """<robot name="arm"><link name="base"/><link name="flange"/>
<joint name="j" type="revolute"><parent link="base"/><child link="flange"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
{}
</robot>"""
MUJOCO_ARM = """<mujoco><worldbody><body name="flange"><joint name="j" axis="0 0 1"/>
{}
</body></worldbody></mujoco>"""
EDGES = {
    "flat": from_com(0.7, [0.3, -0.2, 0.1], np.diag([0.001, 0.002, 0.003])),
    "rod": from_com(0.7, [0.3, -0.2, 0.1], np.diag([0.0, 0.002, 0.002])),
    "point": from_com(1.3, [1e-3, 2e-3, 0.5], np.zeros((3, 3))),
}


def bodies() -> list[np.ndarray]:
    return [*(weighed(seed=seed).phi for seed in range(20)), *EDGES.values()]


def test_the_pasted_link_is_the_body_in_pinocchio():
    """The moving body of a massless arm with the payload pasted in has its ten parameters."""
    pinocchio = pytest.importorskip("pinocchio")
    for phi in bodies():
        model = pinocchio.buildModelFromXML(ARM.format(payload_urdf(weighed(phi))))
        found = np.array(model.inertias[1].toDynamicParameters())
        assert found == pytest.approx(phi, rel=1e-9, abs=1e-11)


def test_the_pasted_body_is_the_body_in_mujoco():
    """Mass, centre of mass and inertia of the MJCF body, as MuJoCo compiles them."""
    mujoco = pytest.importorskip("mujoco")
    for phi in bodies():
        model = mujoco.MjModel.from_xml_string(MUJOCO_ARM.format(payload_mjcf(weighed(phi))))
        k = model.body("payload").id
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, model.body_iquat[k])
        R = R.reshape(3, 3)
        inertia = R @ np.diag(model.body_inertia[k]) @ R.T
        found = from_com(model.body_mass[k], model.body_ipos[k], inertia)
        assert found == pytest.approx(phi, rel=1e-6, abs=1e-9)


def test_the_files_load_and_are_exactly_physical(tmp_path):
    """Both files are robots by themselves; the digits of the URDF are physical as written."""
    for phi in bodies():
        estimate = weighed(phi)
        text = payload_urdf_file(estimate)
        assert unphysical_links(text.encode()) == ()
        (tmp_path / "payload.urdf").write_text(text, encoding="utf-8")
        robot = Robot.from_urdf(tmp_path / "payload.urdf")
        assert robot.root == "flange"
        assert robot.link("payload").inertial == pytest.approx(phi, rel=1e-9, abs=1e-11)
        root = ElementTree.fromstring(payload_mjcf_file(estimate))
        assert [one.get("name") for one in root.iter("body")] == ["flange", "payload"]


def test_what_is_not_determined_is_said_in_the_file():
    """A file with an inertia that the data leave open says so; another does not."""
    assert "Not determined" not in payload_urdf_file(weighed())
    for text in (payload_urdf_file, payload_mjcf_file):
        words = " ".join(text(without_inertia(weighed())).split())
        assert "Not determined by the data: Ixx_com, Ixy_com" in words


def test_a_payload_without_mass_has_no_inertial():
    """Neither format states a mass of zero."""
    nothing = weighed(np.zeros(10))
    assert "inertial" not in payload_urdf(nothing) + payload_mjcf(nothing)


def test_names_are_escaped_or_refused():
    """A frame may be called anything that XML can hold, 'payload' too."""
    text = payload_urdf(weighed(frame='<a "b"> & -- c'))
    joint = ElementTree.fromstring(f"<robot>{text}</robot>").find("joint/parent")
    assert joint is not None
    assert joint.get("link") == '<a "b"> & -- c'
    assert 'child link="payload_body"' in payload_urdf(weighed(frame="payload"))
    assert ElementTree.fromstring(payload_urdf_file(weighed(frame="a--b"))).tag == "robot"
    with pytest.raises(RobotError, match="characters that XML cannot"):
        payload_urdf(weighed(frame="a\x00b"))
