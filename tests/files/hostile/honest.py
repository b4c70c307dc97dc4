"""Honest files of the two-joint arm, from which hostile ones are made."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

import numpy as np
from small_arm import URDF, write_run
from stand_in_motion import stand_in
from weighed_payload import weighed

from steelyard.cli import main
from steelyard.excitation.files.motion_file import motion_document, motion_text
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.model import Model
from steelyard.payload.payload_file import payload_text
from steelyard.regression.compress import compress
from steelyard.regression.factor_file import write_regression
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare

OVERLAY = """\
gravity = [0.0, 0.0, -9.81]
terms = ["drive_inertia", "viscous", "coulomb", "offset"]
[joint.elbow]
velocity = 2.5
acceleration = 8.0
terms = ["drive_inertia", "viscous", "coulomb"]
torque = "link"
[[coupling]]
name = "belt"
direction = {shoulder = 1.0, elbow = -0.5}
terms = ["viscous"]
[constraints]
total_mass = [1.0, 9.0]
[constraints.mass]
upper = [0.5, 4.0]
"""
MJCF = """\
<mujoco model="arm"><compiler angle="radian"/><option gravity="0 0 -9.81"/>
<default><joint damping="0.1" armature="0.01"/></default>
<worldbody><body name="upper" pos="0 0 0.1">
<inertial pos="0.1 0 0" mass="2.5" diaginertia="0.02 0.03 0.025"/>
<joint name="shoulder" axis="0 1 0" range="-2 2" frictionloss="0.1"/>
<body name="fore" pos="0.3 0 0"><inertial pos="0.1 0 0" mass="1.5" diaginertia="0.02 0.03 0.025"/>
<joint name="elbow" axis="0 0 1"/></body></body></worldbody>
<equality><joint joint1="elbow" joint2="shoulder" polycoef="0 1 0 0 0" active="false"/></equality>
<actuator><motor joint="elbow" forcerange="-20 20"/></actuator></mujoco>
"""
QUANTITIES = ("position", "torque")
BOX = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
SRDF = """\
<robot name="small arm"><disable_collisions link1="upper" link2="fore" reason="Adjacent"/></robot>
"""


def make_honest(folder: Path) -> None:
    """Write a robot, logs, an overlay, a motion, a payload, a regression and a result there."""
    log = write_run(folder, seed=1)
    robot = Robot.from_urdf(folder / "arm.urdf")
    short = (folder / "run.csv").read_text("utf-8").splitlines()[:120]
    (folder / "short.csv").write_text("\n".join(short) + "\n", encoding="utf-8")
    write_csv(read_log(folder / "short.csv"), folder / "short.csv.gz")
    recorded = read_log(folder / "short.csv")
    names = recorded.joints
    tables = {q: np.stack([recorded.signal(j, q) for j in names], 1) for q in QUANTITIES}
    np.savez(folder / "short.npz", time=recorded.time, joint_names=np.array(names), **tables)
    (folder / "arm.toml").write_text(OVERLAY, encoding="utf-8")
    (folder / "arm.xml").write_text(MJCF, encoding="utf-8")
    solid = URDF.replace("</inertial>", f"</inertial>{BOX}")
    (folder / "solid.urdf").write_text(solid, encoding="utf-8")
    (folder / "arm.srdf").write_text(SRDF, encoding="utf-8")
    model = Model(robot)
    (folder / "motion.json").write_text(
        motion_text(motion_document(stand_in(model), robot)), encoding="utf-8"
    )
    (folder / "payload.json").write_text(payload_text(weighed(frame="fore")), encoding="utf-8")
    prepared = prepare(read_log(log), model)
    factors = compress(model, prepared.motion, prepared.measurements, record=prepared.record)
    write_regression(folder / "factors.npz", factors)
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet):
        code = main(
            ["identify", str(folder / "arm.urdf"), str(log), "-o", str(folder / "found"),
             "--no-ranges", "--threads", "1"]
        )  # fmt: skip
    assert code == 0
    result = json.loads((folder / "found" / "result.json").read_text("utf-8"))
    result.pop("hashes")
    (folder / "unsealed.json").write_text(json.dumps(result), encoding="utf-8")
