"""Poses about which a robot may move: torque to hold them, and distances, within limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import CollisionError, SignalError
from steelyard.excitation.collision.clearance import refuse_collision
from steelyard.excitation.design_task import DesignTask
from steelyard.model.kernels import torque

Array = NDArray[np.float64]

RANDOM_POSES = 60
HOLD_SHARE = 0.9
"""Share of the torque limit that holding a pose may take."""


def allowed_poses(task: DesignTask) -> tuple[Array, ...]:
    """Poses (n_joints,) to move about: the middle of the ranges, the start, and random ones.

    Only those that the robot can hold and that keep their distances. An error says what is in the
    way where there is none; a start or an end that is not allowed is an error too.
    """
    limits = task.limits
    for name, pose in (("start", task.start), ("end", task.end)):
        if pose is not None:
            _check_pose(task, pose, name)
    rng = np.random.default_rng((task.settings.seed, 1))
    spread = rng.uniform(-0.6, 0.6, size=(RANDOM_POSES, len(limits.joints)))
    candidates = [limits.middle, *([] if task.start is None else [task.start])]
    zero = np.zeros(len(limits.joints))
    if ((limits.lower < zero) & (zero < limits.upper)).all():
        candidates.append(zero)
    poses = np.vstack([*candidates, limits.middle + spread * limits.half_range])
    for joint, position in task.still.items():
        poses[:, limits.joints.index(joint)] = position
    load = _holding(task, poses)
    allowed = (load <= HOLD_SHARE).all(axis=1)
    if not allowed.any():
        k = int(np.argmin(load.max(axis=1)))
        j = int(np.argmax(load[k]))
        needed = load[k, j] * limits.torque[j]
        raise SignalError(
            f"joint '{limits.joints[j]}' needs {needed:.4g} of torque to hold the robot still in "
            f"the best of {len(poses)} poses, but its limit is {limits.torque[j]:.4g}; correct "
            "the limit, with --torque, or the masses of the robot's file"
        )
    if task.collision is not None:
        clearance = task.collision.clearance_m
        distances = task.collision.distances(poses)
        distance = distances.min(axis=1, initial=np.inf)
        room = allowed & (distance > clearance)
        if not room.any():
            k = int(np.argmax(np.where(allowed, distance, -np.inf)))
            first, second = task.collision.pairs[int(np.argmin(distances[k]))].names
            raise CollisionError(
                f"no pose of {len(poses)} keeps a clearance of {clearance:g} m: in the best, "
                f"{first} and {second} are {distance[k]:.3g} m apart; give another --ground, "
                "--clearance or --range, or an SRDF file (--srdf) that names the pair"
            )
        allowed = room
    return tuple(poses[allowed])


def _holding(task: DesignTask, poses: Array) -> Array:
    """Torque to hold each pose (n_poses, n_joints) as a share of the limits."""
    rest = np.zeros_like(poses)
    return np.abs(torque(task.model, task.reference, poses, rest, rest)) / task.limits.torque


def _check_pose(task: DesignTask, pose: Array, name: str) -> None:
    """Refuse a start or end pose outside its limits, or too close to something."""
    limits = task.limits
    for joint, value, low, high in zip(
        limits.joints, pose, limits.lower, limits.upper, strict=True
    ):
        if not low <= value <= high:
            raise SignalError(
                f"the {name} pose has joint '{joint}' at {value:g}, outside its range of {low:g} "
                f"to {high:g}"
            )
    load = _holding(task, pose[None])[0]
    if (load > 1.0).any():
        j = int(np.argmax(load))
        raise SignalError(
            f"joint '{limits.joints[j]}' needs {load[j] * limits.torque[j]:.4g} of torque to hold "
            f"the {name} pose, but its limit is {limits.torque[j]:.4g}"
        )
    if task.collision is not None:
        refuse_collision(task.collision, pose, task.collision.clearance_m, f"the {name} pose")
