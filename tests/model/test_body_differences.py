"""Totals of bodies that consist of several links, by clouds of point masses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from seeds import every

from steelyard.model.body_differences import body_differences
from steelyard.robot.differences import robot_differences
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.testing.random_robots import random_pose, random_robot


def cloud(points: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """The ten parameters of point masses, summed up one by one."""
    phi = np.zeros(10)
    for (x, y, z), m in zip(points, masses, strict=True):
        phi += m * np.array(
            [1, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y]
        )
    return phi


def arm_with_hand(T_arm_hand: np.ndarray, arm: np.ndarray, hand: np.ndarray) -> Robot:
    """A hinge that moves an arm, with a hand fixed to it."""
    return Robot(
        "arm",
        tuple(
            Link(name, None if phi is None else frozen_array(phi, (10,)))
            for name, phi in (("ground", None), ("arm", arm), ("hand", hand))
        ),
        (
            Joint("hinge", "revolute", "ground", "arm"),
            Joint("mount", "fixed", "arm", "hand", frozen_array(T_arm_hand, (4, 4))),
        ),
    )


@every("seed", range(100))
def test_mass_that_moves_between_links_of_a_body_leaves_the_body(seed):
    """Point masses that go from the hand to the arm, at the same place: both links differ, their
    body does not; where one is moved on the way, the body's centre of mass moves with it.
    """
    rng = np.random.default_rng(seed)
    T = random_pose(rng)
    in_arm, in_hand = rng.normal(scale=0.2, size=(2, 6, 3))
    m_arm, m_hand = rng.uniform(0.1, 1.0, size=(2, 6))
    seen_from_arm = in_hand @ T[:3, :3].T + T[:3, 3]
    before = arm_with_hand(T, cloud(in_arm, m_arm), cloud(in_hand, m_hand))
    way = rng.normal(scale=0.1, size=3)
    for shift in (np.zeros(3), way):
        moved = seen_from_arm[:2] + shift
        after = arm_with_hand(
            T,
            cloud(np.vstack([in_arm, moved]), np.concatenate([m_arm, m_hand[:2]])),
            cloud(in_hand[2:], m_hand[2:]),
        )
        found = robot_differences(before, after)
        assert [change.name for change in found.links] == ["arm", "hand"]
        assert not found.mass_differs
        (body,) = body_differences(before, after, found)
        assert body.links == ("arm", "hand")
        assert not body.change.mass_differs
        if not shift.any():
            assert not body.change.differs
            assert body.words == "unchanged"
        else:
            total = m_arm.sum() + m_hand.sum()
            assert body.change.com_moved == pytest.approx(way * m_hand[:2].sum() / total)


def test_a_mount_that_moves_changes_the_body():
    """The links are equal, but where one is fixed is not: the body differs."""
    rng = np.random.default_rng(3)
    T = random_pose(rng)
    arm, hand = (cloud(rng.normal(size=(5, 3)), np.ones(5)) for _ in range(2))
    before = arm_with_hand(T, arm, hand)
    shifted = np.array(T)
    shifted[:3, 3] += (0.0, 0.0, 0.02)
    after = arm_with_hand(shifted, arm, hand)
    found = robot_differences(before, after)
    assert found.links == ()
    (body,) = body_differences(before, after, found)
    assert body.words.startswith("centre of mass moved 10 mm (x 0, y 0, z 10)")


def test_a_link_that_only_one_robot_has():
    """A hand that is missing in one robot belongs to the body's links, and to its change."""
    rng = np.random.default_rng(4)
    arm, hand = (cloud(rng.normal(size=(5, 3)), np.ones(5)) for _ in range(2))
    whole = arm_with_hand(np.eye(4), arm, hand)
    without = replace(whole, links=whole.links[:2], joints=whole.joints[:1])
    found = robot_differences(whole, without)
    (body,) = body_differences(whole, without, found)
    assert body.links == ("arm", "hand")
    assert body.words.startswith("mass 10.0 -> 5.0 kg")


def test_bodies_of_one_link_and_robots_that_stand_still_have_no_totals():
    """A body of one link is told by that link; without moving joints there are no bodies."""
    rng = np.random.default_rng(5)
    robot = random_robot(rng, 3, fixed=0.0)
    other = replace(robot, links=tuple(Link(link.name) for link in robot.links))
    assert body_differences(robot, other, robot_differences(robot, other)) == ()
    still = Robot("still", (Link("a"), Link("b", robot.links[1].inertial)),
                  (Joint("mount", "fixed", "a", "b"),))  # fmt: skip
    empty = replace(still, links=(Link("a"), Link("b")))
    assert body_differences(still, empty, robot_differences(still, empty)) == ()
