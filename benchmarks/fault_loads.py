"""Faults of what torques contain: gravity, friction, a payload, a hand, or a controller's model.

The robot moves as in the clean recording, and the torque that its load adds or lacks is computed
from the true parameters along the true motion. Each function is a fault as `fault_codes` defines
it; ``KINDS`` gives them their sizes and says what the user did.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from fault_codes import FaultKind, Given, given, rows_of
from fault_recordings import Recording

from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.inertia import from_com
from steelyard.robot.rotations import frozen_array, rotation_about
from steelyard.signals.wrench_torques import wrench_torques

PAYLOAD_AT_M = (0.02, -0.03, 0.10)
"""Centre of a payload in the frame of the last link."""
CONTACT_S = 2.0
WARMING_S = 8.0


def gravity_torque(clean: Recording, gravity: np.ndarray) -> np.ndarray:
    """Torque (n_samples, n_joints) of gravity (3,) m/s² on the true robot."""
    q = clean.motion.q
    still = np.zeros((len(q), clean.model.nv))
    with_it, without = (
        torque(replace_gravity(clean.model, one), clean.theta, q, still, still)
        for one in (gravity, np.zeros(3))
    )
    return np.asarray(with_it - without)


def replace_gravity(model: Model, gravity: np.ndarray) -> Model:
    """The model under another gravity (3,) m/s²."""
    return replace(model, robot=replace(model.robot, gravity=frozen_array(gravity, (3,))))


def friction_torque(clean: Recording) -> np.ndarray:
    """Torque (n_samples, n_joints) of the true friction, offsets not included."""
    kinds = [column.term_kind for column in clean.model.columns]
    friction = np.array([kind is not None and kind.is_friction for kind in kinds])
    return clean.torque_of(clean.theta) - clean.torque_of(np.where(friction, 0.0, clean.theta))


def payload_torque(clean: Recording, mass_kg: float) -> np.ndarray:
    """Torque (n_samples, n_joints) of a ball of this mass, 5 cm in radius, at the last link."""
    ball = 0.4 * mass_kg * 0.05**2 * np.eye(3)
    theta = clean.theta.copy()
    first = clean.model.first_column_of_body[-1]
    theta[first : first + 10] += from_com(mass_kg, np.array(PAYLOAD_AT_M), ball)
    return clean.torque_of(theta) - clean.torque_of(clean.theta)


def base_tilted(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The base is tilted by ``size`` degrees about a horizontal axis; the file says upright."""
    angle = rng.uniform(0.0, 2.0 * np.pi)
    axis = np.array([np.cos(angle), np.sin(angle), 0.0])
    g = clean.robot.gravity
    tilted = rotation_about(axis, np.radians(size)) @ g
    return given(clean, tau=clean.tau + gravity_torque(clean, tilted) - gravity_torque(clean, g))


def gravity_removed(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The controller has subtracted a share ``size`` of gravity."""
    return given(clean, tau=clean.tau - size * gravity_torque(clean, clean.robot.gravity))


def friction_removed(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The controller has subtracted a share ``size`` of friction."""
    return given(clean, tau=clean.tau - size * friction_torque(clean))


def external_torque(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Torques beside the file's model: friction left (size 1), or subtracted too (size 2)."""
    rest = clean.tau - clean.torque_of(clean.model.prior_theta())
    return given(clean, tau=rest - friction_torque(clean) if size > 1.0 else rest)


def commanded_positions(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The controller's reference in the place of measured positions."""
    return given(clean, q=clean.commanded.q)


def commanded_torques(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The feed-forward of the file's model along the reference in the place of torques."""
    motion, model = clean.commanded, clean.model
    return given(clean, tau=torque(model, model.prior_theta(), motion.q, motion.v, motion.a))


def payload(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """A payload of ``size`` kg that the file does not have."""
    return given(clean, tau=clean.tau + payload_torque(clean, size))


def payload_picked_up(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """A payload of ``size`` kg from the middle of the log on."""
    there = np.arange(len(clean.time)) >= len(clean.time) // 2
    return given(clean, tau=clean.tau + np.where(there[:, None], payload_torque(clean, size), 0.0))


def warming_up(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Friction is larger by a share ``size`` at the start, and falls to its value in 8 s (1/e)."""
    more = size * np.exp(-clean.time / WARMING_S)
    return given(clean, tau=clean.tau + more[:, None] * friction_torque(clean))


def touched(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """A force of ``size`` N at the last link, in a direction of its frame, for two seconds."""
    direction = rng.normal(size=3)
    n = rows_of(clean, CONTACT_S)
    start = int(rng.integers(len(clean.time) - n))
    force = np.zeros((len(clean.time), 3))
    force[start : start + n] = size * direction / np.linalg.norm(direction)
    last = clean.model.mechanism.bodies[-1].name
    pushed = wrench_torques(clean.robot, last, clean.motion.q, force, np.zeros_like(force))
    return given(clean, tau=clean.tau - pushed)


KINDS = (
    FaultKind(
        "base-tilted",
        "Mounted the robot on a slope, a wall or a ceiling, and left the file upright.",
        ("gravity-direction",),
        base_tilted,
        (10.0, 45.0, 180.0),
        "degrees",
    ),
    FaultKind(
        "gravity-removed",
        "Recorded torques from which the controller had taken gravity.",
        ("gravity-removed",),
        gravity_removed,
        (1.0, 0.9),
        "share",
    ),
    FaultKind(
        "friction-removed",
        "Recorded torques from which the controller had taken friction.",
        ("friction-removed",),
        friction_removed,
        (1.0, 0.8),
        "share",
    ),
    FaultKind(
        "external-torque",
        "Recorded the controller's estimate of external torque.",
        ("external-torque", "gravity-removed"),
        external_torque,
        (1.0, 2.0),
        "1: with friction, 2: without",
    ),
    FaultKind(
        "commanded-positions",
        "Recorded commanded instead of measured positions.",
        ("commanded-signals",),
        commanded_positions,
    ),
    FaultKind(
        "commanded-torques",
        "Recorded the controller's feed-forward instead of measured torques.",
        ("commanded-signals",),
        commanded_torques,
    ),
    FaultKind(
        "payload-picked-up",
        "Let the robot pick something up during the recording.",
        ("payload-change",),
        payload_picked_up,
        (1.0, 3.0),
        "kg",
    ),
    FaultKind(
        "warming-up",
        "Recorded a cold robot.",
        ("friction-change",),
        warming_up,
        (0.5, 1.5),
        "share",
    ),
    FaultKind(
        "touched",
        "Touched the robot, or let it touch something, while it was recorded.",
        ("disturbance",),
        touched,
        (30.0, 100.0),
        "N",
    ),
    FaultKind(
        "payload",
        "Left a gripper or a workpiece on that the file does not have.",
        ("payload",),
        payload,
        (0.5, 2.0),
        "kg",
        untellable=True,
    ),
)
