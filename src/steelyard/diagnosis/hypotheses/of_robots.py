"""Hypotheses about the robot: its friction, springs, couplings and flexible joints, what it
carries, how it stands, and lengths and angles of its file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.hypothesis import (
    STEP,
    Candidate,
    Kind,
    Scene,
    Suspect,
    each_joint,
    norm,
    one_row,
    rms,
)
from steelyard.diagnosis.hypotheses.samples import Samples, term_columns
from steelyard.errors import listed
from steelyard.model.kernels import rigid_torque
from steelyard.model.mechanism import mechanism_of
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array

Array = NDArray[np.float64]

SPLITS = tuple(np.arange(0.1, 0.95, 0.02).round(2).tolist())
"""Shares of the log after which a payload may have changed."""
BRIEF = 0.33
"""Share of the log for which a tool may be there, or not."""
WINDOWS, WINDOW = 7, 0.25
"""Windows in which a brake may drag, and their share of the log."""


def _springs(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    q = scene.samples.q
    for k, name, n in each_joint(scene):
        size = 0.3 * scene.fit.size[k]
        x = (q[:, k] - q[:, k].mean()) / float(np.std(q[:, k]) + 1e-12)
        yield Candidate(kind, (name,), one_row(x, k, n), np.array([size]))
        both = np.stack([one_row(f(q[:, k]), k, n) for f in (np.sin, np.cos)], axis=2)
        yield Candidate(kind, (name,), both, np.full(2, size), None, 1.0)


def _cables(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    q = scene.samples.q
    for k, name, n in each_joint(scene):
        x = (q[:, k] - q[:, k].mean()) / float(np.std(q[:, k]) + 1e-12)
        columns = np.stack([one_row(x**power, k, n) for power in (1, 2, 3)], axis=2)
        yield Candidate(kind, (name,), columns, np.full(3, 0.1 * scene.fit.size[k]))


def _couplings(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    s, size = scene.samples, scene.fit.size
    v, a = rms(s.v), rms(s.a)
    for k, name, n in each_joint(scene):
        for i, other in enumerate(scene.model.channels):
            if i != k:
                laws = s.v[:, i] / v[i], s.jump[:, i], s.a[:, i] / a[i]
                columns = np.stack([one_row(law, k, n) for law in laws], axis=2)
                yield Candidate(kind, (other, name), columns, np.full(3, 0.2 * size[k]))
    # a motor that turns with a neighbour's joint carries its gear's torque there, too
    gear = scene.predicted - scene.friction
    viscous = scene.theta[term_columns(scene.model)[:, 1]]
    for k, name, n in each_joint(scene):
        for i in (k - 1, k + 1):
            if 0 <= i < n:
                column = one_row(viscous[k] * s.v[:, i], k, n) - one_row(gear[:, k], i, n)
                joints = scene.model.channels[i], name
                typical = np.array([0.3 * min(1.0, size[i] / size[k])])
                yield Candidate(kind, joints, column, typical, None, 1.0)


def _flexible(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    whole = scene.smoothed(scene.whole.rigid)
    faster = scene.derivative(whole)
    tau, slope, curve = (scene.thinned(one) for one in (whole, faster, scene.derivative(faster)))
    for k, name, _ in each_joint(scene):
        column = -scene.moved(k, tau[:, k], slope[:, k], curve[:, k])
        yield Candidate(kind, (name,), column, np.array([0.01 / scene.fit.size[k]]))


def _backlash(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    tau, still = scene.predicted, np.zeros_like(scene.samples.time)
    for k, name, _ in each_joint(scene):
        soft = np.tanh(tau[:, k] / (0.1 * scene.fit.size[k]))
        yield Candidate(kind, (name,), -scene.moved(k, soft, still, still), np.array([0.01]))


def _brakes(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    time = scene.samples.time
    for w, start in enumerate(np.linspace(0.0, 1.0 - WINDOW, WINDOWS)):
        within = (scene.shares >= start) & (scene.shares < start + WINDOW)
        span = time[0] + (time[-1] - time[0]) * np.array([start, start + WINDOW])
        for k, name, n in each_joint(scene):
            column = one_row(scene.samples.jump[:, k] * within, k, n)
            size = np.array([0.5 * scene.fit.size[k]])
            yield Candidate(kind, (name,), column, size, (float(span[0]), float(span[1])), w)


def _tilts(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    weight = _weight_by_axis(scene)
    g = np.array(scene.model.mechanism.gravity)
    if g.any():
        columns = [weight @ np.cross(axis, g) for axis in _across(g)]
        yield Candidate(kind, (), np.stack(columns, axis=2), np.full(2, 0.2))


def gravity_turned(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """The samples with gravity turned about two axes across it by angles (rad)."""
    g = np.array(samples.model.mechanism.gravity)
    turn = sum(size * axis for size, axis in zip(sizes, _across(g), strict=True))
    angle = float(np.linalg.norm(turn))
    if angle == 0.0:
        return samples
    turned = g * np.cos(angle) + np.cross(turn, g) * np.sin(angle) / angle
    return replace(samples, model=with_gravity(samples.model, turned))


def with_gravity(model: Model, gravity: Array) -> Model:
    """The model under another gravity (3,) m/s²."""
    return replace(model, robot=replace(model.robot, gravity=frozen_array(gravity, (3,))))


def _across(g: Array) -> tuple[Array, Array]:
    """Two unit vectors across a vector (3,) and each other."""
    along = np.asarray(g / np.max(np.abs(g)))
    first = np.cross(along, np.eye(3)[int(np.argmin(np.abs(along)))])
    first = first / np.linalg.norm(first)
    second = np.cross(along, first)
    return first, second / np.linalg.norm(second)


def _weight_by_axis(scene: Scene) -> Array:
    """Torques (n, n_joints, 3) of 1 m/s² of gravity along each axis."""
    still = np.zeros_like(scene.samples.v)
    axes = [scene.torque(v=still, a=still, gravity=axis) for axis in np.eye(3)]
    return np.stack(axes, axis=2)


def _rocking(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    g, model, s = np.array(scene.model.mechanism.gravity), scene.model, scene.samples
    if not g.any():
        return
    moment = _base_moment(model, scene.theta, s)
    up = g / np.max(np.abs(g))
    moment = moment - np.outer(moment @ up, up) / float(up @ up)
    size = float(np.sqrt(np.mean(np.sum((moment - moment.mean(axis=0)) ** 2, axis=1)))) + 1e-12
    turned = np.cross(moment / size, g)
    column = np.einsum("njk,nk->nj", _weight_by_axis(scene), turned)
    yield Candidate(kind, (), column, np.array([0.02]))


def _base_moment(model: Model, theta: Array, s: Samples) -> Array:
    """Moment (n, 3) with which the arm loads what it stands on."""
    free = Model(replace(model.robot, floating_base=True), ())
    n, n_joints = s.q.shape
    columns = {name: k for k, name in enumerate(model.column_names)}
    values = np.array(
        [theta[columns[name]] if name in columns else 0.0 for name in free.column_names]
    )
    pose = np.zeros((n, free.nq - n_joints))
    pose[:, -1] = 1.0
    still = np.zeros((n, 6))
    gravity = np.array(free.mechanism.gravity)
    q, v, a = np.hstack([pose, s.q]), np.hstack([still, s.v]), np.hstack([still, s.a])
    tau = rigid_torque(free, values, q, v, a, gravity)
    return np.asarray(tau[:, 3:6])


def _payloads(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    last = scene.model.first_column_of_body[-1]
    body, time, u = scene.W[:, :, last : last + 4], scene.samples.time, scene.shares
    spans = [(share, 1.0) for share in SPLITS]
    spans += [(share, share + BRIEF) for share in SPLITS if share + BRIEF < 0.95]
    for start, end in spans:
        within = ((u >= start) & (u <= end))[:, None, None]
        span = time[0] + (time[-1] - time[0]) * np.array([start, end])
        typical = np.array([2.0, 0.3, 0.3, 0.3])
        times = float(span[0]), float(span[1])
        yield Candidate(kind, (), body * within, typical, times, start + 10.0 * end)


def _lengths(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    for joint in scene.model.channels:
        columns = [_of_file(scene, joint, axis, 0) for axis in np.eye(3)]
        yield Candidate(kind, (joint,), np.stack(columns, axis=2), np.full(3, 0.03))


def _twists(kind: Kind, scene: Scene) -> Iterator[Candidate]:
    for joint in scene.model.channels:
        columns = [_of_file(scene, joint, axis, 1) for axis in _across_axis(scene.model, joint)]
        yield Candidate(kind, (joint,), np.stack(columns, axis=2), np.full(2, 0.05))


def _of_file(scene: Scene, joint: str, axis: Array, turned: int) -> Array:
    """Derivative (n, n_joints) of the torque by a shift or turn of a joint's place in the file."""
    shift, turn = ((axis, np.zeros(3)), (np.zeros(3), axis))[turned]
    robot = displaced(scene.model.robot, joint, STEP * shift, STEP * turn)
    return (scene.torque(mechanism=mechanism_of(robot)) - scene.rigid) / STEP


def _across_axis(model: Model, joint: str) -> tuple[Array, Array]:
    """Unit vectors across a joint's axis, in its own frame: a turn about the axis is its zero."""
    return _across(np.array(model.robot.joint(joint).axis, dtype=float))


def displaced(robot: Robot, joint: str, shift: Array, turn: Array) -> Robot:
    """The robot with one joint shifted (3,) m and turned (3,) rad, in the joint's own frame."""
    angle = float(np.linalg.norm(turn))
    R = np.eye(3)
    if angle > 0.0:
        x, y, z = turn / angle
        C = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        R = R + np.sin(angle) * C + (1.0 - np.cos(angle)) * C @ C
    moved = np.eye(4)
    moved[:3, :3], moved[:3, 3] = R, shift
    joints = tuple(
        replace(one, placement=frozen_array(one.placement @ moved, (4, 4)), origin=None)
        if one.name == joint
        else one
        for one in robot.joints
    )
    return replace(robot, joints=joints, source=None, source_sha256=None)


def length_mended(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """The samples with the file's joint where it is on the robot."""
    name = samples.model.channels[joints[0]]
    robot = displaced(samples.model.robot, name, sizes, np.zeros(3))
    return replace(samples, model=replace(samples.model, robot=robot))


def twist_mended(samples: Samples, joints: tuple[int, ...], sizes: Array) -> Samples:
    """The samples with the file's joint turned as it is on the robot."""
    name = samples.model.channels[joints[0]]
    turn = sum(
        size * axis for size, axis in zip(sizes, _across_axis(samples.model, name), strict=True)
    )
    robot = displaced(samples.model.robot, name, np.zeros(3), np.asarray(turn))
    return replace(samples, model=replace(samples.model, robot=robot))


def _payload_words(one: Suspect) -> str:
    when = f"at about {(one.span_s or (0.0,))[0]:.3g} s"
    what = "picked up" if one.size > 0 else "put down"
    return f"a mass of {abs(one.size):.3g} kg at the last link is {what} {when}"


KINDS = (
    Kind(
        "spring",
        "robot",
        lambda one: (
            f"a spring or counterbalance acts on '{listed(one.joints)}', with about "
            f"{one.size:.3g} N m, which the file lacks"
        ),
        unit="N m",
        to_do="state it as a term, or record its torque",
        columns=_springs,
        told=norm,
        severity="never",
    ),
    Kind(
        "cable-drag",
        "robot",
        lambda one: (
            f"a torque of about {one.size:.3g} N m that depends on the position of "
            f"'{listed(one.joints)}' is not in the model: a cable, a hose or a spring"
        ),
        unit="N m",
        columns=_cables,
        told=norm,
        severity="never",
    ),
    Kind(
        "coupled-joints",
        "robot",
        lambda one: (
            f"the torque of '{one.joints[1]}' depends on the motion of '{one.joints[0]}': "
            "their drives are coupled"
        ),
        unit="N m",
        to_do="state the transmission in an overlay",
        columns=_couplings,
        told=norm,
        severity="never",
    ),
    Kind(
        "joint-elasticity",
        "robot",
        lambda one: (
            f"'{listed(one.joints)}' is flexible: it turns by {one.size:.3g} rad under "
            "1 N m behind its encoder"
        ),
        unit="rad/(N m)",
        to_do="record positions behind the gear",
        columns=_flexible,
        positive=True,
        severity="never",
    ),
    Kind(
        "backlash",
        "robot",
        lambda one: (
            f"'{listed(one.joints)}' has a play of about {np.degrees(2 * one.size):.2g} "
            "degrees behind its encoder"
        ),
        unit="rad",
        to_do="record positions behind the gear",
        columns=_backlash,
        positive=True,
        least=2e-4,
        most=0.1,
        severity="never",
    ),
    Kind(
        "base-rocks",
        "robot",
        lambda one: (
            f"what the robot stands on gives way: it tilts by about "
            f"{np.degrees(one.size):.2g} degrees under the robot's motion"
        ),
        unit="rad",
        to_do="fix the base, or record its motion",
        columns=_rocking,
        least=5e-4,
        severity="never",
    ),
    Kind(
        "brake",
        "log",
        lambda one: f"something drags on '{listed(one.joints)}' from {one.when}, as a brake does",
        unit="N m",
        to_do="leave this part out of the log",
        columns=_brakes,
        positive=True,
    ),
    Kind(
        "gravity-direction",
        "file",
        lambda one: (
            f"gravity is turned by {one.size:.3g} degrees against the robot file: the base "
            "is tilted"
        ),
        unit="degrees",
        to_do="state gravity as it is in the frame of the base",
        could_be=("a wrong base frame in the robot file",),
        columns=_tilts,
        told=lambda sizes: float(np.degrees(norm(sizes))),
        least=2.5,
        mended=gravity_turned,
    ),
    Kind(
        "payload-change",
        "log",
        _payload_words,
        unit="kg",
        to_do="cut the log at this time, and use one part",
        could_be=("a lasting contact",),
        columns=_payloads,
        least=0.02,
    ),
    Kind(
        "link-length",
        "file",
        lambda one: (
            f"the place of '{listed(one.joints)}' in the robot file is "
            f"{100 * one.size:.2g} cm off: a link has another length"
        ),
        unit="m",
        to_do="correct the origin of this joint in the file",
        columns=_lengths,
        told=norm,
        least=0.004,
        mended=length_mended,
    ),
    Kind(
        "link-twist",
        "file",
        lambda one: (
            f"the axis of '{listed(one.joints)}' in the robot file is turned by "
            f"{one.size:.2g} degrees"
        ),
        unit="degrees",
        to_do="correct the orientation of this joint in the file",
        columns=_twists,
        told=lambda sizes: float(np.degrees(norm(sizes))),
        least=0.3,
        mended=twist_mended,
    ),
)
