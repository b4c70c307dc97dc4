"""The kernels against Pinocchio and MuJoCo."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from oracles import pinocchio_torque
from robot_files import example_urdfs
from seeds import every

from steelyard import Robot
from steelyard.errors import ModelError, RobotError
from steelyard.model.kernels import (
    bias_torque,
    fill_regressor,
    mass_matrix,
    torque,
    torque_regressor,
)
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.terms import coupled_terms, default_terms
from steelyard.testing.random_robots import random_robot


def deviation(tau: np.ndarray, truth: np.ndarray) -> float:
    """Largest error relative to 1 + |truth|."""
    return float(np.max(np.abs(tau - truth) / (1.0 + np.abs(truth)), initial=0.0))


def armature_of(model: Model, theta: np.ndarray) -> np.ndarray:
    """Drive inertia by torque row."""
    out = np.zeros(model.nv)
    for column, value in zip(model.columns, theta, strict=True):
        if column.kind == "drive_inertia":
            out[model.channels.index(column.owner)] = value
    return out


@every("batch", range(10))
def test_regressor_equals_rnea_on_random_trees(batch):
    """W theta is Pinocchio's rnea, armature included, over 50 random trees x 20 states."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(batch)
    for k in range(50):
        robot = random_robot(
            rng,
            int(rng.integers(1, 13)),
            chain=bool(rng.random() < 0.3),
            floating_base=k % 4 == 0,
            mimic=0.3 if k % 5 == 0 else 0.0,
        )
        model = Model(robot)
        q, v, a = random_states(rng, robot, 20)
        theta = model.prior_theta()
        for i, column in enumerate(model.columns):
            if column.kind == "drive_inertia":
                theta[i] = rng.uniform(0.0, 2.0)
        truth = pinocchio_torque(robot, q, v, a, armature_of(model, theta))
        assert deviation(torque_regressor(model, q, v, a) @ theta, truth) <= 1e-9
        assert deviation(torque(model, theta, q, v, a), truth) <= 1e-9


def test_friction_columns_follow_their_formulas():
    """Viscous, Coulomb, offset and coupled terms add d f(d·v) to the rows of d."""
    rng = np.random.default_rng(0)
    robot = random_robot(rng, 4, fixed=0.0, chain=True)
    direction = {"joint_2": 1.0, "joint_4": -0.5}
    terms = default_terms(robot) + coupled_terms(
        "wrist", direction, ("drive_inertia", "viscous", "coulomb", "offset")
    )
    model = Model(robot, terms)
    q, v, a = random_states(rng, robot, 30)
    theta = np.zeros(len(model.columns))
    names = list(model.column_names)
    values = rng.uniform(0.5, 2.0, size=8)
    for name, value in zip(
        ("joint_3.Ia", "joint_3.fv", "joint_3.fc", "joint_3.fo",
         "wrist.Ia", "wrist.fv", "wrist.fc", "wrist.fo"), values, strict=True,
    ):  # fmt: skip
        theta[names.index(name)] = value
    expected = np.zeros((30, 4))
    expected[:, 2] = values[0] * a[:, 2] + values[1] * v[:, 2]
    expected[:, 2] += values[2] * np.sign(v[:, 2]) + values[3]
    d = np.array([0.0, 1.0, 0.0, -0.5])
    along = values[4] * (a @ d) + values[5] * (v @ d) + values[6] * np.sign(v @ d) + values[7]
    expected += along[:, None] * d
    assert deviation(torque_regressor(model, q, v, a) @ theta, expected) < 1e-13
    assert deviation(torque(model, theta, q, v, a), expected) < 1e-13


def test_mass_matrix_and_bias_are_pinocchios():
    """M(q) is crba plus armature, b(q, v) the nonlinear effects, on 40 random trees."""
    pin = pytest.importorskip("pinocchio")
    from oracles import pinocchio_model, pinocchio_q, pinocchio_velocity_index

    rng = np.random.default_rng(5)
    for k in range(40):
        robot = random_robot(rng, int(rng.integers(1, 9)), floating_base=k % 3 == 0)
        model = Model(robot)
        q, v, _ = random_states(rng, robot, 5)
        theta = model.prior_theta()
        theta[[c.kind == "drive_inertia" for c in model.columns]] = 0.7
        M, b = mass_matrix(model, theta, q), bias_torque(model, theta, q, v)
        pin_model = pinocchio_model(robot)
        data = pin_model.createData()
        index = pinocchio_velocity_index(robot, pin_model)
        pin_q = pinocchio_q(robot, pin_model, q)
        for s in range(5):
            truth = pin.crba(pin_model, data, pin_q[s])
            truth = (np.triu(truth) + np.triu(truth, 1).T)[np.ix_(index, index)]
            truth = truth + np.diag(armature_of(model, theta))
            pin_v = np.zeros(pin_model.nv)
            pin_v[index] = v[s]
            bias = pin.nonLinearEffects(pin_model, data, pin_q[s], pin_v)[index]
            assert deviation(M[s], truth) < 1e-10
            assert deviation(b[s], bias) < 1e-10


def stripped(path: Path) -> str:
    """The URDF without meshes, with MuJoCo options that keep its links and inertials as stated."""
    root = ElementTree.parse(path).getroot()
    for link in root.findall("link"):
        for tag in ("visual", "collision"):
            for element in link.findall(tag):
                link.remove(element)
    for tag in ("transmission", "gazebo", "material"):
        for element in root.findall(tag):
            root.remove(element)
    extension = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(
        extension, "compiler", fusestatic="false", balanceinertia="false", strippath="true"
    )
    return ElementTree.tostring(root, encoding="unicode")


def test_torques_of_real_robots_are_mujocos():
    """The torques of real robots, from their files, are mj_inverse's."""
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(2)
    agreed = []
    for path in example_urdfs():
        try:
            robot = Robot.from_urdf(path)
            model = Model(robot)
            twin = mujoco.MjModel.from_xml_string(stripped(path))
        except (RobotError, ValueError):
            continue  # nothing moves, or MuJoCo refuses the inertials
        if any(joint.mimic for joint in robot.joints):
            continue  # MuJoCo frees mimic joints of a URDF
        twin.opt.gravity[:] = robot.gravity
        twin.dof_damping[:] = 0.0
        twin.dof_frictionloss[:] = 0.0
        twin.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        data = mujoco.MjData(twin)
        at_q = [twin.joint(name).qposadr[0] for name in robot.joint_names]
        at_v = [twin.joint(name).dofadr[0] for name in robot.joint_names]
        q, v, a = random_states(rng, robot, 20)
        truth = np.empty_like(v)
        for s in range(len(q)):
            data.qpos[at_q], data.qvel[at_v], data.qacc[at_v] = q[s], v[s], a[s]
            mujoco.mj_inverse(twin, data)
            truth[s] = data.qfrc_inverse[at_v]
        theta = model.prior_theta()
        assert deviation(torque_regressor(model, q, v, a) @ theta, truth) <= 1e-9, path.name
        assert deviation(torque(model, theta, q, v, a), truth) <= 1e-9, path.name
        agreed.append(path.name)
    assert len(agreed) >= 20


def test_inputs_are_unchanged_and_may_be_read_only():
    """Kernels take read-only, strided and integer arrays, and write to none of them."""
    rng = np.random.default_rng(3)
    robot = random_robot(rng, 3)
    model = Model(robot)
    q, v, a = random_states(rng, robot, 40)
    theta = model.prior_theta()
    truth = torque(model, theta, q, v, a)
    for array in (q, v, a, theta):
        array.setflags(write=False)
    assert np.array_equal(torque(model, theta, q, v, a), truth)
    wide = np.repeat(q, 2, axis=0)[::2]
    assert np.array_equal(torque(model, theta, wide, np.asfortranarray(v), a), truth)
    whole = torque(model, theta, np.ones((2, 3), dtype=int), [[0, 0, 0]] * 2, [[0, 0, 0]] * 2)
    assert np.isfinite(whole).all()


def test_wrong_shapes_are_refused_with_names():
    """Arrays with a missing joint are refused, naming the joints, not broadcast."""
    model = Model(random_robot(np.random.default_rng(0), 3, chain=True))
    with pytest.raises(ModelError, match=r"q has shape \(5, 2\).*joint_1, joint_2, joint_3"):
        torque_regressor(model, np.zeros((5, 2)), np.zeros((5, 3)), np.zeros((5, 3)))
    with pytest.raises(ModelError, match="5, 4 and 5 samples"):
        torque_regressor(model, np.zeros((5, 3)), np.zeros((4, 3)), np.zeros((5, 3)))
    with pytest.raises(ModelError, match="theta has shape"):
        torque(model, np.zeros(3), np.zeros((5, 3)), np.zeros((5, 3)), np.zeros((5, 3)))


@pytest.mark.parametrize(("n_joints", "chain"), [(120, True), (150, False)])
def test_regressor_of_many_joints_equals_rnea(n_joints, chain):
    """W theta is Pinocchio's rnea for a chain of 120 joints and a tree of 150."""
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(n_joints)
    robot = random_robot(rng, n_joints, chain=chain, prismatic=0.1, fixed=0.0)
    model = Model(robot)
    q, v, a = random_states(rng, robot, 3)
    # speeds add up along a chain of 120 joints: smaller ones keep torques of usual size
    v, a = 0.03 * v, 0.03 * a
    theta = model.prior_theta()
    truth = pinocchio_torque(robot, q, v, a, armature_of(model, theta))
    scale = np.max(np.abs(truth))
    assert np.max(np.abs(torque_regressor(model, q, v, a) @ theta - truth)) <= 1e-11 * scale
    assert np.max(np.abs(torque(model, theta, q, v, a) - truth)) <= 1e-11 * scale


def test_rows_that_are_not_wanted_do_not_change_the_others():
    """Entries of some rows are the same whether the rows of other joints are computed or not."""
    rng = np.random.default_rng(5)
    for chain in (True, False):
        robot = random_robot(rng, 12, chain=chain)
        model = Model(robot)
        q, v, a = random_states(rng, robot, 7)
        whole = torque_regressor(model, q, v, a)
        wanted = rng.random(model.nv) < 0.4
        n = len(model.columns)
        slot = np.full((model.nv, n), -1, dtype=np.int64)
        slot[wanted] = np.arange(wanted.sum() * n).reshape(-1, n)
        out = np.zeros(len(q) * wanted.sum() * n)
        fill_regressor(model, q, v, a, slot, 1, wanted.sum() * n, out)
        assert np.array_equal(out.reshape(len(q), -1, n), whole[:, wanted])


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e200])
def test_a_base_quaternion_without_a_direction_is_refused(size: float) -> None:
    """Sample and numbers are named by every function of the state; other norms are normalised."""
    rng = np.random.default_rng(3)
    robot = random_robot(rng, 3, floating_base=True)
    model = Model(robot)
    q, v, a = random_states(rng, robot, 5)
    theta = model.prior_theta()
    long = q.copy()
    long[:, 3:7] *= 2.0
    assert deviation(torque(model, theta, long, v, a), torque(model, theta, q, v, a)) < 1e-12
    q[2, 3:7] *= size
    for call in (
        lambda: torque(model, theta, q, v, a),
        lambda: torque_regressor(model, q, v, a),
        lambda: mass_matrix(model, theta, q),
    ):
        with pytest.raises(ModelError, match=r"quaternion of the base .* in sample 2"):
            call()
