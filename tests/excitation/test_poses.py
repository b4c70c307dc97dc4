"""Poses to move about: those that can be held, moved from, and that keep their distances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from crowded_arm import CLEARANCE_M, crowded_task

from steelyard.errors import CollisionError, SignalError
from steelyard.excitation._poses import allowed_poses

pytest.importorskip("coal")


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    return crowded_task(tmp_path_factory.mktemp("arm"))


def test_the_few_poses_of_a_crowded_robot_are_found(crowded):
    """The floor is so high that the upper arm must point up: one pose of many."""
    places = crowded.collision.placements.copy()
    floor = [k for k, shape in enumerate(crowded.collision.shapes) if not shape.is_bounded]
    places[floor, 2, 3] = 0.65
    pairs = {pair.names: pair for pair in crowded.collision.pairs}
    high = replace(crowded.collision, placements=places, pairs=(pairs["ground", "upper"],))
    poses = np.array(allowed_poses(replace(crowded, collision=high)))
    assert len(poses) > 1
    height = 0.3 - 0.4 * np.sin(poses[:, 1]) - 0.02
    assert (height > 0.65 + CLEARANCE_M - 1e-9).all()


def test_no_pose_at_all_names_the_pair_and_the_only_joint_that_moves_it(crowded):
    pairs = {pair.names: pair for pair in crowded.collision.pairs}
    stiff = replace(crowded.collision, pairs=(pairs["shoulder", "bracket"],), clearance_m=0.0141)
    with pytest.raises(CollisionError, match=r"shoulder and bracket .*only joint 'lift' changes"):
        allowed_poses(replace(crowded, collision=stiff))


def test_a_joint_whose_friction_takes_all_torque_is_named(crowded):
    """As the gripper of TALOS, whose file states 1 N m for both; in no time, before any search."""
    theta = crowded.model.prior_theta()
    names = [column.name for column in crowded.model.columns]
    friction = 2.0
    theta[names.index("turn.fc")] = friction
    for limit, kept in ((2.1, True), (1.9, False)):
        limits = replace(crowded.limits, torque=np.array([limit, 200.0, 100.0]))
        task = replace(crowded, limits=limits, theta=theta, collision=None)
        if kept:
            assert allowed_poses(task)
            continue
        with pytest.raises(SignalError, match=r"joint 'turn' needs 2 of torque .*its limit is 1.9"):
            allowed_poses(task)
