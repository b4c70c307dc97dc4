"""What was never measured replaces nothing in any robot file: friction, drive inertia, bodies."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from humanoid import humanoid_log, humanoid_text
from seeds import every

from steelyard.errors import SteelyardWarning
from steelyard.estimators.result_file import read_result
from steelyard.export.formats import ExportRequest, format_named
from steelyard.export.identified_robot import identified_robot
from steelyard.export.robot_file import RobotFile
from steelyard.identification.found import Identification
from steelyard.identification.identify import identify
from steelyard.identification.outputs import write_outputs
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.signals.sensing import Sensing
from steelyard.testing.random_robots import random_robot

JOINTS = ("left_shoulder", "right_shoulder", "left_hip", "right_hip")
SILENT = ("left_hip", "right_shoulder")
STATED = {"damping": "0.7", "friction": "1.5"}


def stated_robot(folder: Path) -> Robot:
    """The humanoid, whose file states friction of every joint."""
    text = re.sub(
        r'(type="revolute">)', r'\1<dynamics damping="0.7" friction="1.5"/>', humanoid_text()
    )
    path = folder / "humanoid.urdf"
    path.write_text(text, encoding="utf-8")
    return Robot.from_urdf(path, floating_base=True)


def identified(robot: Robot, log: Log, method: str, sensing: Sensing | None = None):
    """A quick identification, whose warnings are not the subject here."""
    processing = Processing(
        cutoff_hz=12.0, torque_filter="same", dead_band="tenth", sensing=sensing
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteelyardWarning)
        return identify(
            robot,
            log,
            method=method,
            processing=processing,
            friction_width=0.0,
            compare_terms=False,
            ranges=False,
            n_resamples=0,
            threads=1,
        )


def dynamics_in(data: bytes) -> dict[str, dict[str, str]]:
    """The attributes of <dynamics> by joint, read with ElementTree."""
    joints = ElementTree.fromstring(data).findall("joint")
    return {
        one.attrib["name"]: dict(one.find("dynamics").attrib)
        for one in joints
        if one.attrib["type"] != "fixed"
    }


def saved(found: Identification, folder: Path) -> dict[str, Path]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteelyardWarning)
        return write_outputs(found, folder / "out")


@pytest.mark.parametrize("method", ["entropic", "feasible", "sequential"])
def test_unmeasured_friction_keeps_what_the_file_states(method, tmp_path):
    """Joints without torque keep damping and friction; the others get the estimated ones."""
    robot = stated_robot(tmp_path)
    found = identified(robot, humanoid_log(1, without_torque=SILENT), method)
    kinds = {one.name: one.interval_kind for one in found.estimate.standard_parameters()}
    for joint in JOINTS:
        for symbol in ("Ia", "fv", "fc", "fo"):
            assert (kinds[f"{joint}.{symbol}"] == "prior only") == (joint in SILENT)
    files = saved(found, tmp_path)
    written = dynamics_in(files["identified_robot"].read_bytes())
    for joint in JOINTS:
        assert (written[joint] == STATED) == (joint in SILENT)
    terms = json.loads(files["joint_terms"].read_text())["joints"]
    for joint in terms:
        values = [term["value"] for term in joint["terms"]]
        assert (values == [None] * 4) == (joint["name"] in SILENT)
    result = read_result(files["result"])
    said = {one["code"]: one["words"] for one in result.document["findings"]}
    assert all(joint in said["kept-in-robot-file"] for joint in SILENT)
    request = ExportRequest(
        "x.urdf",
        result,
        found.model,
        RobotFile(Path(robot.source), Path(robot.source).read_bytes()),
    )
    again = format_named("urdf").render(request)
    assert again.data == files["identified_robot"].read_bytes()
    assert any("left_hip" in note and "not estimated" in note for note in again.notes)
    (code,) = format_named("numpy").render(request).notes
    assert "left_hip.fv" in code
    fresh = ElementTree.fromstring(format_named("sdf").render(request).data)
    stated = {
        joint.attrib["name"]
        for joint in fresh.iter("joint")
        if joint.find("axis/dynamics") is not None
    }
    assert stated == set(JOINTS) - set(SILENT)
    yaml = format_named("yaml").render(request).data.decode().split("joints:")[1]
    assert '"left_shoulder":' in yaml
    assert '"left_hip":' not in yaml


@pytest.mark.parametrize("method", ["entropic", "feasible"])
def test_a_base_that_nothing_measured_keeps_its_inertial(method, tmp_path):
    """Joint torques alone say nothing about the torso: its inertial is that of the file."""
    robot = stated_robot(tmp_path)
    found = identified(robot, humanoid_log(1), method, Sensing(base_wrench="unmeasured"))
    files = saved(found, tmp_path)
    new = Robot.from_urdf(files["identified_robot"])
    was, now = robot.link("torso").inertial, new.link("torso").inertial
    assert np.abs(now - was).max() < 1e-6 * np.abs(was).max()
    arm = "left_arm"
    # the file is right, so that hardly anything moves
    assert np.abs(new.link(arm).inertial - robot.link(arm).inertial).max() > 1e-5


@every("seed", range(10))
def test_only_what_was_estimated_is_written(seed):
    """Random robots, random sets of parameters that were not estimated: the file keeps these."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 5)
    model = Model(robot)
    names = [column.name for column in model.columns if column.term_kind is not None]
    lost = set(rng.choice(names, len(names) // 2, replace=False))
    body = model.mechanism.bodies[0].name
    lost |= {column.name for column in model.columns if column.owner == body}
    theta = model.prior_theta() * 1.5
    theta[[column.term_kind is not None for column in model.columns]] = 0.25
    found = identified_robot(model, theta, not_estimated=lost)
    assert found.kept_bodies == (body,)
    assert set(found.inertials) >= {one.name for one in model.mechanism.bodies[1:]}
    for kind, symbol in (("viscous", "fv"), ("coulomb", "fc")):
        values = found.term_values(kind)
        assert set(values) == {j for j in robot.joint_names if f"{j}.{symbol}" not in lost}
