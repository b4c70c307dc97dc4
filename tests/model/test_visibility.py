"""What sensors see of each link: ranks and single parameters against Pinocchio's regressors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("pinocchio")

from oracles import pinocchio_model, pinocchio_q, pinocchio_velocity_index

from steelyard.errors import ModelError
from steelyard.model.mechanism import BASE_WRENCH
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.model.visibility import sensing_choices, unmeasured_words, visibility
from steelyard.robot.inertia import PARAMETERS
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.testing.random_robots import random_robot

SEEDS = range(6)


def tree(seed: int) -> Robot:
    """A random floating tree; every other one has axes and offsets along coordinate axes."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 2 + seed % 3, floating_base=True)
    if seed % 2:
        return robot
    joints = []
    for joint in robot.joints:
        T = np.eye(4)
        T[:3, 3] = rng.choice([0.0, 0.3], 3)
        joints.append(
            replace(
                joint,
                placement=frozen_array(T, (4, 4)),
                axis=frozen_array(np.eye(3)[rng.integers(3)], (3,)),
            )
        )
    return replace(robot, joints=tuple(joints))


def regressor(robot: Robot, n_samples: int = 80) -> np.ndarray:
    """Pinocchio's regressor (n_samples, nv, 10 n_bodies), rows and bodies in Steelyard's order."""
    import pinocchio as pin

    model = pinocchio_model(robot)
    data = model.createData()
    q, v, a = random_states(np.random.default_rng(1), robot, n_samples)
    places = pinocchio_q(robot, model, q)
    index = pinocchio_velocity_index(robot, model)
    bodies = Model(robot, ()).mechanism.bodies
    order = [
        10 * ((1 if body.joint is None else model.getJointId(body.joint)) - 1) + k
        for body in bodies
        for k in range(10)
    ]
    out = []
    for s in range(n_samples):
        speed, rate = np.zeros(model.nv), np.zeros(model.nv)
        speed[index], rate[index] = v[s], a[s]
        W = pin.computeJointTorqueRegressor(model, data, places[s], speed, rate)
        out.append(W[index][:, order])
    return np.array(out)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("choice", ["both", "base", "joints", "some"])
def test_what_rows_see_is_what_pinocchios_regressor_says(seed: int, choice: str) -> None:
    """Rank, parameters determined alone, and parameters without effect, for rows of each kind."""
    robot = tree(seed)
    model = Model(robot, ())
    rows = {
        "both": list(range(model.nv)),
        "base": list(range(6)),
        "joints": list(range(6, model.nv)),
        "some": [0, 5, model.nv - 1],
    }[choice]
    found = visibility(model, [model.channels[k] for k in rows])
    W = regressor(robot)
    seen = W[:, rows].reshape(-1, W.shape[2])
    size = np.linalg.norm(seen, axis=0)
    scale = np.where(size > 1e-9 * size.max(), size, 1.0)
    _, s, Vt = np.linalg.svd(seen / scale)
    rank = int(np.sum(s > 1e-8 * s[0]))
    assert found.rank == rank
    whole = W.reshape(-1, W.shape[2])
    assert found.whole_rank == np.linalg.matrix_rank(whole / np.linalg.norm(whole, axis=0).max())
    for k, link in enumerate(found.links):
        for symbol in PARAMETERS:
            column = 10 * k + PARAMETERS.index(symbol)
            alone = np.linalg.norm(Vt[rank:, column]) < 1e-6 if rank < len(Vt) else True
            if size[column] <= 1e-9 * size.max():
                assert symbol in link.not_seen, (link.name, symbol)
            elif alone:
                assert symbol in link.alone, (link.name, symbol)
            else:
                assert symbol in link.in_sums, (link.name, symbol)


def test_base_wrench_sees_all_bodies_and_no_friction() -> None:
    """The wrench at the base depends on every link and on no drive (Ayusawa et al. 2014)."""
    model = Model(tree(3))
    alone, both = (visibility(model, sensing_choices(model)[name]) for name in CHOICES[:2])
    assert alone.links == both.links
    n_terms = len(model.columns) - 10 * len(model.mechanism.bodies)
    assert both.rank - alone.rank == n_terms
    assert all(one.not_seen and not one.alone and not one.in_sums for one in alone.joints)


CHOICES = ("base wrench", "base wrench and joint torques", "joint torques")


def test_joint_torques_see_nothing_of_the_base() -> None:
    """No parameter of the base itself enters the torque of a joint."""
    model = Model(tree(2))
    found = visibility(model, sensing_choices(model)["joint torques"])
    base = found.links[0]
    assert (base.name, len(base.not_seen)) == ("base", 10)
    assert base.words == "all ten parameters not at all"


def test_words_say_what_is_lost() -> None:
    """With all rows there is nothing to say; without some, links are named with what is seen."""
    model = Model(tree(2))
    assert unmeasured_words(model, model.channels) is None
    words = unmeasured_words(model, BASE_WRENCH)
    assert words is not None
    assert "base wrench" in words
    assert "Ia, fv, fc, fo not at all" in words
    words = unmeasured_words(model, model.channels[6:])
    assert words is not None
    assert "of base: all ten parameters not at all" in words
    # a base wrench has all that rigid bodies show
    assert unmeasured_words(Model(tree(2), ()), BASE_WRENCH) is None


def test_choices_of_a_fixed_base_and_unknown_rows() -> None:
    """A fixed base has joint torques only; a row that does not exist is named."""
    fixed = Model(replace(tree(1), floating_base=False))
    assert list(sensing_choices(fixed)) == ["joint torques"]
    with pytest.raises(ModelError, match=r"no torque row base\.fx"):
        visibility(fixed, ["base.fx"])
    assert visibility(fixed, []).rank == 0
