"""The same robot with other link frames, or in other units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from experiments import chain_experiment
from prior_problems import body_difference, scattered

from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.robot.inertia import transform
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.motion import Measurements
from steelyard.testing.random_robots import random_pose


def with_other_frames(robot: Robot, rng: np.random.Generator) -> tuple[Robot, dict]:
    """The robot with random link frames, and each link's new frame in its old one (4, 4)."""
    T_old_new = {link.name: random_pose(rng) for link in robot.links}
    T_old_new[robot.links[0].name] = np.eye(4)
    links = tuple(
        replace(
            link,
            inertial=None
            if link.inertial is None
            else frozen_array(transform(link.inertial, np.linalg.inv(T_old_new[link.name])), (10,)),
        )
        for link in robot.links
    )
    joints = tuple(
        replace(
            joint,
            placement=frozen_array(
                np.linalg.inv(T_old_new[joint.parent]) @ joint.placement, (4, 4)
            ),
            child_offset=frozen_array(joint.child_offset @ T_old_new[joint.child], (4, 4)),
        )
        for joint in robot.joints
    )
    return replace(robot, links=links, joints=joints), T_old_new


def in_other_units(robot: Robot, mass: float, length: float) -> Robot:
    """The robot with its masses and lengths multiplied; its joints must turn, not slide."""
    body = mass * np.array([1.0] + [length] * 3 + [length**2] * 6)

    def longer(T):
        T = np.array(T)
        T[:3, 3] *= length
        return frozen_array(T, (4, 4))

    links = tuple(
        replace(
            link,
            inertial=None if link.inertial is None else frozen_array(body * link.inertial, (10,)),
        )
        for link in robot.links
    )
    joints = tuple(
        replace(joint, placement=longer(joint.placement), child_offset=longer(joint.child_offset))
        for joint in robot.joints
    )
    gravity = frozen_array(length * np.array(robot.gravity), (3,))
    return replace(robot, links=links, joints=joints, gravity=gravity)


def difference_when_reframed(
    seed: int, gamma: float, metric: str = "entropic", *, units: bool
) -> float:
    """How far bodies are from those of the same fit with other link frames, and other units.

    From the robot and its log on: a chain of two to five joints, its torques with noise, a prior
    scattered around the truth. units : whether the other robot is in grams and millimetres.
    """
    rng = np.random.default_rng([seed, 3])
    world = chain_experiment(seed, n_joints=2 + seed % 4, n_samples=400)
    model, first = world.model, world.model.first_column_of_body
    measured = world.measured(rng.normal(size=world.tau.shape) * 10.0 ** rng.uniform(-2, 1))
    prior = scattered(model, model.prior_theta(), rng, 0.3)
    regression = compress(model, world.motion, measured)
    one = fit_with_prior(model, regression, prior, gamma=gamma, metric=metric).theta

    robot, T_old_new = with_other_frames(model.robot, rng)
    mass, length = (1e3, 1e3) if units else (1.0, 1.0)
    other = Model(in_other_units(robot, mass, length))
    size = mass * np.array([1.0] + [length] * 3 + [length**2] * 6)
    names = [body.name for body in other.mechanism.bodies]
    theta = np.zeros(len(prior.theta))
    for name, start in zip(names, first, strict=True):
        own = slice(start, start + 10)
        theta[own] = size * transform(prior.theta[own], np.linalg.inv(T_old_new[name]))
    tau = mass * length**2 * measured.tau
    again = compress(other, world.motion, Measurements(other.channels, tau))
    there = replace(prior, theta=theta)
    found = fit_with_prior(other, again, there, gamma=gamma, metric=metric).theta
    back = found.copy()
    for name, start in zip(names, first, strict=True):
        own = slice(start, start + 10)
        back[own] = transform(found[own] / size, T_old_new[name])
    return body_difference(prior, first, one, back)
