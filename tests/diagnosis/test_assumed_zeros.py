"""What a wrong zero of a last joint would cost; torques are Pinocchio's."""

from __future__ import annotations

import math
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from given_signals import FEW
from oracles import pinocchio_torque
from small_arm import URDF, arm_log

from steelyard.diagnosis.verdict.assumed_zeros import DEGREES, last_bodies, turned
from steelyard.diagnosis.verdict.verdict import AssumedZero, verdict_of
from steelyard.estimators.result_file import read_schema
from steelyard.identification.identify import identify
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_robot

ARM = Robot.from_urdf_text(URDF)


def test_a_last_body_that_is_turned_has_the_torques_of_another_zero():
    """Over random trees, for every last joint and any angle, from base parameters alone."""
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 83])
        model = Model(random_robot(rng, int(rng.integers(2, 7)), prismatic=0.2))
        base = base_map(model)
        beta = base.K @ model.prior_theta()
        q, v, a = (rng.uniform(-2.0, 2.0, size=(20, len(model.channels))) for _ in range(3))
        W = torque_regressor(model, q, v, a)[:, :, list(base.independent)]
        for body in last_bodies(model):
            angle = float(rng.uniform(-3.0, 3.0))
            shifted = q.copy()
            shifted[:, model.channels.index(model.mechanism.bodies[body].joint)] += angle
            torque = pinocchio_torque(model.robot, shifted, v, a)
            mine = W @ turned(model, base, beta, body, angle)
            assert np.allclose(mine, torque, atol=1e-8 * max(1.0, np.abs(torque).max()))
            seen += 1
    assert seen > 40


def test_last_bodies_carry_no_others_and_turn_by_themselves():
    """Of a tree, all its ends; slides, and joints that carry others, are left out."""
    for seed in range(30):
        rng = np.random.default_rng([seed, 84])
        robot = random_robot(rng, int(rng.integers(1, 8)), prismatic=0.3)

        def carries(link: str, robot: Robot = robot) -> bool:
            below = [joint for joint in robot.joints if joint.parent == link]
            return any(joint.moves or carries(joint.child) for joint in below)

        expected = {
            joint.name
            for joint in robot.joints
            if joint.moves and joint.kind != "prismatic" and not carries(joint.child)
        }
        model = Model(robot)
        assert {model.mechanism.bodies[k].joint for k in last_bodies(model)} == expected


@pytest.fixture(scope="module")
def found():
    return identify(ARM, arm_log(ARM, 1), certify=False, **FEW)


def test_the_cost_is_the_error_of_the_mended_zero(found):
    """Beside the prediction of the estimate at positions that are 10 degrees off."""
    (zero,) = found.verdict.zeros
    run = found.prepare(arm_log(ARM, 1))
    motion = run.motion
    q = motion.q.copy()
    k = found.model.channels.index(zero.joint)
    assert k == len(found.model.channels) - 1
    q[:, k] += np.radians(DEGREES)
    used = np.isfinite(run.measurements.tau[:, k])
    away = (found.predict(replace(motion, q=q)) - found.predict(motion))[used, k]
    share = np.linalg.norm(away) / np.linalg.norm(run.measurements.tau[used, k])
    assert zero.error == found.verdict.numbers.joints[k].error
    assert zero.error_if_wrong == pytest.approx(math.hypot(zero.error, share), rel=0.02)


def test_the_verdict_names_the_joint_and_the_cost(found):
    """In words and, for programs, in result.json; the level stays as it is."""
    (zero,) = found.verdict.zeros
    assert found.verdict.level == "usable"
    words = f"that the zero of '{zero.joint}' is right (were it 10 degrees off, the error of "
    assert words in found.verdict.assumed
    document = found.verdict.as_json()
    jsonschema.validate(document, read_schema()["properties"]["verdict"])
    assert document["assumed_zeros"] == [
        {
            "joint": zero.joint,
            "degrees": DEGREES,
            "error": zero.error,
            "error_if_wrong": zero.error_if_wrong,
        }
    ]


def test_no_zero_is_named_where_rows_are_of_no_joint():
    """Energies have no joints: the sentence speaks of the last joint in general."""
    of_energy = identify(ARM, arm_log(ARM, 1), equation="energy", certify=False, **FEW)
    assert of_energy.verdict.zeros == ()
    assert "that the zero of the last joint is right" in of_energy.verdict.assumed


def test_many_zeros_are_counted():
    """The two dearest are named."""
    zeros = tuple(AssumedZero(f"j{k}", 10.0, 0.01, 0.02 + 0.01 * k) for k in range(4))
    words = verdict_of(None, (), zeros).assumed
    assert "that the zero of 'j3' is right (were it 10 degrees off" in words
    assert "would be 5 % instead of 1 %), and that the zero of 'j2' is right" in words
    assert "'j1'" not in words
    assert "and that those of 2 more last joints are right: no log" in words
