"""Poses about which a robot may move: torque to hold them, and distances, within limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import CollisionError, SignalError
from steelyard.excitation.collision.body_poses import joints_between
from steelyard.excitation.collision.clearance import refuse_collision
from steelyard.excitation.collision.collision_distances import CollisionModel
from steelyard.excitation.design_task import DesignTask
from steelyard.model.kernels import torque

Array = NDArray[np.float64]

RANDOM_POSES = 60
FEW_POSES = 6
"""Fewer poses that keep their distances are not enough to move about: others are drawn."""
MORE_POSES = 2000
MORE_SPREAD = 0.95
"""Share of the ranges that these are drawn from."""
SLOW_SHARE = 1e-3
"""Share of the largest speed at which friction is that of Coulomb alone."""
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
    poses = _with_still(task, np.vstack([*candidates, limits.middle + spread * limits.half_range]))
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
    _refuse_stuck(task, poses[allowed])
    if task.collision is None:
        return tuple(poses[allowed])
    room = allowed & _apart(task.collision, poses)
    if room.sum() >= FEW_POSES:
        return tuple(poses[room])
    # where links are crowded, few of all poses keep their distances
    spread = rng.uniform(-MORE_SPREAD, MORE_SPREAD, size=(MORE_POSES, len(limits.joints)))
    more = _with_still(task, limits.middle + spread * limits.half_range)
    more = more[(_holding(task, more) <= HOLD_SHARE).all(axis=1)]
    found = np.vstack([poses[room], more[_apart(task.collision, more)][:RANDOM_POSES]])
    if len(found) == 0:
        _refuse_crowded(task.collision, np.vstack([poses[allowed], more]))
    return tuple(found)


def _refuse_stuck(task: DesignTask, poses: Array) -> None:
    """Refuse a joint whose friction, with the torque that holds it, leaves no torque to move it.

    One that stands still, too: bounds of torque count the friction that may hold it.
    """
    limits, model = task.limits, task.model.with_widths({})
    rest, slow = np.zeros_like(poses), np.full_like(poses, SLOW_SHARE) * limits.velocity
    both = [np.abs(torque(model, task.reference, poses, v, rest)) for v in (slow, -slow)]
    load = (np.maximum(*both) / limits.torque).min(axis=0)
    for joint, share, limit in zip(limits.joints, load, limits.torque, strict=True):
        if share >= 1.0:
            raise SignalError(
                f"joint '{joint}' needs {share * limit:.4g} of torque to move both ways, however "
                f"slowly, in the best of {len(poses)} poses, mostly against its friction, but its "
                f"limit is {limit:.4g}; correct the limit, with --torque, or the friction of the "
                "robot's file"
            )


def kept_poses(task: DesignTask, poses: Array) -> Array:
    """Poses that keep their distances, with joints that stand still where they stand."""
    poses = _with_still(task, poses)
    return poses if task.collision is None else poses[_apart(task.collision, poses)]


def _with_still(task: DesignTask, poses: Array) -> Array:
    """The poses with joints that stand still where they stand."""
    for joint, position in task.still.items():
        poses[:, task.limits.joints.index(joint)] = position
    return poses


def _apart(collision: CollisionModel, poses: Array) -> NDArray[np.bool_]:
    """Which poses (n_poses,) keep their distances."""
    clearance = collision.clearance_m
    distances = collision.distances(poses, within_m=clearance)
    return np.asarray(distances.min(axis=1, initial=np.inf) > clearance)


def _refuse_crowded(collision: CollisionModel, poses: Array) -> None:
    """Refuse a task none of whose poses keeps its distances, and name the pair in the way."""
    distances = collision.distances(poses)
    k = int(np.argmax(distances.min(axis=1)))
    pair = collision.pairs[int(np.argmin(distances[k]))]
    bodies = joints_between(
        collision.mechanism, collision.bodies[pair.first], collision.bodies[pair.second]
    )
    columns = {int(collision.mechanism.coordinate[body]) for way in bodies for body in way}
    moved = [collision.joints[j] for j in sorted(columns)]
    first, second = pair.names
    hold = f" (only joint '{moved[0]}' changes that)" if len(moved) == 1 else ""
    raise CollisionError(
        f"no pose of {len(poses)} keeps a clearance of {collision.clearance_m:g} m: in the best, "
        f"{first} and {second} are {distances[k].min():.3g} m apart{hold}; give another --ground, "
        "--clearance or --range, or an SRDF file (--srdf) that names the pair"
    )


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
