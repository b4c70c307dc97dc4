"""Faults of names, signs, zeros and scales: right signals in wrong columns, axes or units.

Each function is a fault as `fault_codes` defines it; ``KINDS`` gives them their sizes and says what
the user did.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from fault_codes import FaultKind, Given, given, one_joint, two_joints, with_column
from fault_recordings import Recording

from steelyard.robot.rotations import frozen_array

KGF_CM, LBF_IN, MILLI = 10.19716, 8.850746, 1000.0
"""How many of these are a newton metre."""


def torque_sign(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The torque of one joint with the other sign."""
    joint = one_joint(clean, rng)
    return given(clean, tau=with_column(clean.tau, joint, -clean.tau[:, joint]))


def torque_sign_of_all(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All torques with the other sign."""
    return given(clean, tau=-clean.tau)


def position_sign(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The position of one joint with the other sign."""
    joint = one_joint(clean, rng)
    return given(clean, q=with_column(clean.q, joint, -clean.q[:, joint]))


def axis_sign(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The axis of one joint turned around in the robot file; the log is right."""
    name = clean.model.channels[one_joint(clean, rng)]
    joints = tuple(
        replace(joint, axis=frozen_array(-joint.axis, (3,))) if joint.name == name else joint
        for joint in clean.robot.joints
    )
    return Given(replace(clean.robot, joints=joints), clean.log())


def torque_gain(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The torque of one joint multiplied by ``size``."""
    joint = one_joint(clean, rng)
    return given(clean, tau=with_column(clean.tau, joint, size * clean.tau[:, joint]))


def exchanged(table: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    """A copy with two columns exchanged."""
    out = table.copy()
    out[:, list(pair)] = table[:, list(pair[::-1])]
    return out


def torques_swapped(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Torques of two neighbouring joints exchanged."""
    return given(clean, tau=exchanged(clean.tau, two_joints(clean, rng)))


def positions_swapped(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Positions of two neighbouring joints exchanged."""
    return given(clean, q=exchanged(clean.q, two_joints(clean, rng)))


def joints_swapped(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All columns of two neighbouring joints exchanged."""
    pair = two_joints(clean, rng)
    return given(clean, q=exchanged(clean.q, pair), tau=exchanged(clean.tau, pair))


def joints_reversed(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All joints in the order from tip to base."""
    return given(clean, q=clean.q[:, ::-1], tau=clean.tau[:, ::-1])


def joints_shifted(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Every joint under the name of the next (the last under that of the first)."""
    return given(clean, q=np.roll(clean.q, 1, axis=1), tau=np.roll(clean.tau, 1, axis=1))


def torques_scaled(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """All torques multiplied by ``size``."""
    return given(clean, tau=size * clean.tau)


def currents(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Currents: each torque divided by a constant of its drive, ``size`` N m/A within ± 50 %."""
    return given(clean, tau=clean.tau / (size * rng.uniform(0.5, 1.5, size=clean.tau.shape[1])))


def share_of_rated(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """Each torque in parts of ``size`` of its rated torque, twice the largest in the log."""
    rated = 2.0 * np.ceil(np.abs(clean.tau).max(axis=0))
    return given(clean, tau=size * clean.tau / rated)


def position_offset(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The zero of one joint is off by ``size`` degrees."""
    joint = one_joint(clean, rng)
    shifted = clean.q[:, joint] + np.radians(size)
    return given(clean, q=with_column(clean.q, joint, shifted))


def other_robot(clean: Recording, rng: np.random.Generator, size: float) -> Given:
    """The file of another arm with the same joints: a larger (size 1) or a smaller one (size 2)."""
    return Given(clean.siblings[int(size) - 1], clean.log())


KINDS = (
    FaultKind(
        "torque-sign",
        "Recorded the torque of one joint with the sign of its drive, not of its axis.",
        ("torque-sign",),
        torque_sign,
    ),
    FaultKind(
        "torque-sign-of-all",
        "Recorded torques that act on the drives instead of those that they exert.",
        ("torque-sign",),
        torque_sign_of_all,
    ),
    FaultKind(
        "position-sign",
        "Recorded the position of one joint with the wrong sign.",
        ("position-sign",),
        position_sign,
    ),
    FaultKind(
        "axis-sign",
        "Wrote the axis of one joint the wrong way round into the robot file.",
        ("axis-sign", "position-sign"),
        axis_sign,
    ),
    FaultKind(
        "torque-gain",
        "Took a wrong gear ratio or calibration for one torque.",
        ("torque-gain",),
        torque_gain,
        (1.2, 0.8, 1.5),
        "times",
    ),
    FaultKind(
        "torques-swapped",
        "Connected or named the torques of two joints the wrong way round.",
        ("torques-swapped",),
        torques_swapped,
    ),
    FaultKind(
        "positions-swapped",
        "Connected or named the positions of two joints the wrong way round.",
        ("positions-swapped",),
        positions_swapped,
    ),
    FaultKind(
        "joints-swapped",
        "Named two joints the wrong way round, as ROS does that sorts them by name.",
        ("joints-swapped",),
        joints_swapped,
    ),
    FaultKind(
        "joints-reversed",
        "Named the joints in reverse order.",
        ("joints-reversed",),
        joints_reversed,
    ),
    FaultKind(
        "joints-shifted",
        "Counted columns from 0 where joints count from 1.",
        ("joints-shifted",),
        joints_shifted,
    ),
    FaultKind(
        "motor-side-torque",
        "Recorded torques of the motors, before the gears.",
        ("torque-scale",),
        torques_scaled,
        (1 / 100.0, 1 / 50.0),
        "times",
    ),
    FaultKind(
        "torque-unit",
        "Recorded torques in mN m, kgf cm or lbf in.",
        ("torque-scale",),
        torques_scaled,
        (MILLI, KGF_CM, LBF_IN),
        "times",
    ),
    FaultKind(
        "currents",
        "Put currents into the torque columns.",
        ("currents", "torque-scale"),
        currents,
        (10.0, 0.1),
        "N m/A",
    ),
    FaultKind(
        "share-of-rated",
        "Recorded torques in percent or per mille of the rated torque, as drives report them.",
        ("torque-scale", "currents"),
        share_of_rated,
        (100.0, 1000.0),
        "parts of the rated torque",
    ),
    FaultKind(
        "position-offset",
        "Did not calibrate the zero of one joint, or the file has another zero.",
        ("position-offset",),
        position_offset,
        (5.0, 10.0, -20.0),
        "degrees",
    ),
    FaultKind(
        "other-robot",
        "Took the file of another arm of the same maker.",
        ("other-robot",),
        other_robot,
        (1.0, 2.0),
        "1: a larger, 2: a smaller one",
    ),
    FaultKind(
        "slight-torque-scale",
        "Took a gain for all torques that is wrong by some percent, with a file that is no better.",
        ("torque-scale", "torque-gain"),
        torques_scaled,
        (0.85, 1.15),
        "times",
        untellable=True,
    ),
)
