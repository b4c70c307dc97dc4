"""The built-in arm: physical, and identifiable from a simulated log."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from importlib.resources import files

import numpy as np
import pytest
from seeds import every

from steelyard.errors import ModelError
from steelyard.estimators.least_squares import wls
from steelyard.excitation.motions.fourier import multisine
from steelyard.model.base_map import base_map
from steelyard.model.kernels import body_parameters, mass_matrix
from steelyard.model.model import Model
from steelyard.model.terms import joint_terms
from steelyard.regression.compress import compress
from steelyard.robot.inertia import log_cholesky, to_com, violations
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import JOINTS, builtin_arm, builtin_truth
from steelyard.simulation.simulate import Sensors, simulate
from steelyard.testing.random_robots import random_robot
from steelyard.validation.scores import predict_base, validate


def test_every_link_is_strictly_physical():
    """Each link of the file has parameters that a body with volume can have."""
    for link in builtin_arm().links:
        assert violations(link.inertial, link.name) == ()
        assert np.isfinite(log_cholesky(link.inertial)).all()


def test_inertia_fits_the_shapes():
    """The stated centre of mass lies within the shapes that the file draws for the link."""
    root = ElementTree.parse(str(files("steelyard") / "simulation" / "arm7.urdf")).getroot()
    for link in root.findall("link"):
        com = np.array([float(x) for x in link.find("inertial/origin").get("xyz").split()])
        low, high = [], []
        for visual in link.findall("visual"):
            centre = [float(x) for x in visual.find("origin").get("xyz").split()]
            cylinder = visual.find("geometry/cylinder")
            box = visual.find("geometry/box")
            if cylinder is not None:
                reach = max(float(cylinder.get("radius")), float(cylinder.get("length")) / 2)
            else:
                reach = max(float(x) for x in box.get("size").split()) / 2
            low.append(np.array(centre) - reach)
            high.append(np.array(centre) + reach)
        assert np.all(com > np.min(low, axis=0))
        assert np.all(com < np.max(high, axis=0))


def test_the_arm_is_what_it_says():
    """Seven named joints with all their limits, and fixed links behind the last."""
    robot = builtin_arm()
    assert robot.name == "steelyard_arm"
    assert robot.joint_names == tuple(JOINTS)
    for joint in robot.free_joints:
        limits = joint.limits
        assert limits.lower < 0 < limits.upper
        assert limits.velocity > 0
        assert limits.effort > 0
    assert {"flange", "tool"} <= {link.name for link in robot.links}
    assert {name for name, _ in Model(robot).mechanism.bodies[-1].links} >= {"flange", "tool"}


def test_pinocchio_reads_the_same_arm():
    """Pinocchio finds the same joints and the same total mass in the file."""
    pin = pytest.importorskip("pinocchio")
    arm = pin.buildModelFromUrdf(str(files("steelyard") / "simulation" / "arm7.urdf"))
    robot = builtin_arm()
    assert tuple(arm.names)[1:] == robot.joint_names
    moving = sum(link.inertial[0] for link in robot.links if link.name != robot.root)
    assert sum(inertia.mass for inertia in list(arm.inertias)[1:]) == pytest.approx(moving)


@every("seed", range(20))
def test_truth_is_physical_and_differs_as_stated(seed):
    """Every true body is physical, and differs by 5 to 15 % in mass and by up to centimetres."""
    model = Model(builtin_arm())
    drawn, true = (
        body_parameters(model, theta)
        for theta in (model.prior_theta(), builtin_truth(model, seed=seed))
    )
    assert np.isfinite(log_cholesky(true)).all()
    change = np.abs(true[:, 0] / drawn[:, 0] - 1.0)
    assert change.min() >= 0.05
    assert change.max() <= 0.15
    shift = np.linalg.norm(to_com(true)[1] - to_com(drawn)[1], axis=1)
    assert shift.min() > 0.0
    assert shift.max() < 0.06
    M = mass_matrix(model, builtin_truth(model, seed=seed), np.zeros((1, 7)))[0]
    assert np.linalg.eigvalsh(M)[0] > 0.0


def test_truth_fills_the_terms_that_the_model_has():
    """Friction is set where the model has columns for it; links do not depend on the terms."""
    robot = builtin_arm()
    full, some = Model(robot), Model(robot, joint_terms(robot.joint_names, ("viscous",)))
    theta, less = builtin_truth(full), builtin_truth(some)
    for name, value in zip(full.column_names, theta, strict=True):
        owner, symbol = name.rsplit(".", 1)
        if owner in JOINTS:
            assert value == JOINTS[owner][symbol]
    by_name = dict(zip(full.column_names, theta, strict=True))
    assert less == pytest.approx([by_name[name] for name in some.column_names])


def test_truth_is_of_this_arm_only():
    """Another robot is refused by the names of its joints."""
    model = Model(random_robot(np.random.default_rng(0), 2))
    with pytest.raises(ModelError, match=r"has no joints joint_1, joint_2; .* shoulder_yaw"):
        builtin_truth(model)


def test_the_arm_can_be_identified_from_a_noisy_log():
    """From motion and noisy torque to base parameters that lie where the truth is.

    The intervals are those that let residuals depend on each other; held-out torque is
    predicted about as well as the truth predicts it, and far better than the file does.
    """
    robot = builtin_arm()
    model = Model(robot)
    truth = builtin_truth(model)
    sensors = Sensors(
        torque_noise={joint.name: joint.limits.effort / 200 for joint in robot.free_joints},
        position_noise=1e-5,
        encoder_step=1e-5,
    )
    runs = []
    for seed in (0, 1):
        log = simulate(
            model,
            truth,
            multisine(robot, seed=seed),
            duration_s=20.0,
            rate_hz=500.0,
            sensors=sensors,
            seed=seed,
        )
        runs.append(prepare(log, robot, Processing(torque_filter="same", dead_band=0.05)))
    estimate = wls(compress(model, runs[0].motion, runs[0].measurements))
    true_beta = base_map(model).K @ truth
    inside = np.abs(estimate.beta - true_beta) <= estimate.spread.half_width(0.95)
    assert inside.mean() > 0.85
    held_out = runs[1]
    scores = [
        validate(
            model,
            predict_base(model, estimate.base, beta, held_out.motion),
            held_out.motion,
            held_out.measurements,
        )
        for beta in (estimate.beta, true_beta)
    ]
    assert scores[0].beats_prior
    assert scores[0].prediction.relative_error < 0.03
    assert scores[0].prior.relative_error > 0.2
    assert scores[0].prediction.rms < 1.2 * scores[1].prediction.rms
