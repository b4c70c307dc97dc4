"""More mistakes of new users, beyond the 17 of `mistake_kinds`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
from mistake_arms import Array, Recording, measured, rigid_torques
from mistake_kinds import Joints, Make, Mistake, each, joints_swapped

GRIPPER_KG, GRIPPER_AT = 0.9, (0.0, 0.0, 0.08)
PUSH_N, PUSH_S = 40.0, 3.0
LATE_S = 0.03


def changed_rigid(clean: Recording, model: Any) -> Recording:
    """The torques of another true robot along the same motion."""
    more = rigid_torques(model, clean.arm, *clean.motion)
    less = rigid_torques(clean.true, clean.arm, *clean.motion)
    return replace(clean, tau=clean.tau + more - less)


def gripper(clean: Recording, *_: object) -> Recording:
    """A gripper is mounted, and the file does not have it."""
    import pinocchio as pin

    model = clean.true.copy()
    ball = pin.Inertia(GRIPPER_KG, np.array(GRIPPER_AT), 1e-3 * np.eye(3))
    model.inertias[model.njoints - 1] += ball
    return changed_rigid(clean, model)


def mounted(gravity: tuple[float, float, float]) -> Make:
    """The robot is mounted so that gravity is this (m/s²) in its base frame."""

    def make(clean: Recording, *_: object) -> Recording:
        model = clean.true.copy()
        model.gravity.linear = np.array(gravity)
        return changed_rigid(clean, model)

    return make


def torques_held(clean: Recording, *_: object) -> Recording:
    """Torques come at half the rate and are repeated."""
    return replace(clean, tau=np.repeat(clean.tau[::2], 2, axis=0)[: len(clean.tau)])


def no_inertials(clean: Recording, *_: object) -> Recording:
    """A file for viewers: no link has an inertial."""
    tree = ElementTree.fromstring(clean.urdf)
    for link in tree.findall("link"):
        for inertial in link.findall("inertial"):
            link.remove(inertial)
    return replace(clean, urdf=ElementTree.tostring(tree, encoding="unicode"))


def pushed(clean: Recording, rng: np.random.Generator, _: Joints) -> Recording:
    """Somebody pushes at the last link for some seconds."""
    import pinocchio as pin

    model, n = clean.true, round(PUSH_S * clean.arm.rate_hz)
    data = model.createData()
    start = int(rng.integers(len(clean.time) // 4, len(clean.time) // 2))
    force = rng.normal(size=3)
    force *= PUSH_N / np.linalg.norm(force)
    tau = clean.tau.copy()
    for row in range(start, start + n):
        J = pin.computeJointJacobian(model, data, clean.motion[0][row], model.njoints - 1)
        tau[row] -= J[:3].T @ force * np.sin(np.pi * (row - start) / n)
    return replace(clean, tau=tau)


def concatenated(clean: Recording, *_: object) -> Recording:
    """Two logs in one file: time starts again at zero."""
    half = len(clean.time) // 2
    time = np.concatenate([clean.time[:half], clean.time[:half]])
    return replace(clean, time=time, q=clean.q[: 2 * half], tau=clean.tau[: 2 * half])


def all_signs(clean: Recording, *_: object) -> Recording:
    """Torques of the motors on the links with the other sign, at every joint."""
    return replace(clean, tau=-clean.tau)


def standing(clean: Recording, rng: np.random.Generator, _: Joints) -> Recording:
    """The robot stood still."""
    q, v, a = (np.repeat(one[:1], len(one), axis=0) for one in clean.motion)
    tau = rigid_torques(clean.true, clean.arm, q, 0 * v, 0 * a)
    q, tau = measured(clean.arm, rng, q, tau)
    return replace(clean, q=q, tau=tau)


def degrees(clean: Recording, *_: object) -> Recording:
    """Positions in degrees; the file has limits."""
    return replace(clean, q=np.round(np.degrees(clean.q), 3))


def row_numbers(clean: Recording, *_: object) -> Recording:
    """The number of the row in the column of time."""
    return replace(clean, time=np.arange(len(clean.time), dtype=float))


def scaled(factor: float) -> Make:
    """All torques times a factor."""

    def make(clean: Recording, *_: object) -> Recording:
        return replace(clean, tau=factor * clean.tau)

    return make


def share_of_rated(clean: Recording, *_: object) -> Recording:
    """Torques in percent of each drive's rated torque."""
    n = clean.tau.shape[1]
    rated = np.array([87.0, 87.0, 50.0, 50.0, 28.0, 12.0, 12.0])[:n]
    return replace(clean, tau=np.round(100.0 * clean.tau / rated, 2))


def never_recorded(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
    """The torque of a joint is zero in every row."""
    tau = clean.tau.copy()
    tau[:, joints[0]] = 0.0
    return replace(clean, tau=tau)


def velocities(clean: Recording, *_: object) -> Recording:
    """Velocities in the columns of torques."""
    return replace(clean, tau=np.round(clean.motion[1], 4))


def external(clean: Recording, *_: object) -> Recording:
    """The controller's estimate of external torques: its own model is taken out."""
    return replace(clean, tau=clean.tau - rigid_torques(clean.true, clean.arm, *clean.motion))


def gravity_taken_out(clean: Recording, *_: object) -> Recording:
    """Torques from which the controller took gravity out."""
    still = np.zeros_like(clean.q)
    weight = rigid_torques(clean.true, clean.arm, clean.motion[0], still, still)
    return replace(clean, tau=clean.tau - weight)


def quarter_turn(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
    """The zero of a joint is that of another convention, 90 degrees away."""
    q: Array = clean.q.copy()
    q[:, joints[0]] += np.pi / 2.0
    return replace(clean, q=q)


def geared(factor: float) -> Make:
    """Positions of a joint with a wrong gear ratio."""

    def make(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
        q: Array = clean.q.copy()
        q[:, joints[0]] *= factor
        return replace(clean, q=q)

    return make


def late_encoder(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
    """Positions of a joint come 30 ms later than those of the others."""
    q: Array = clean.q.copy()
    q[:, joints[0]] = np.interp(clean.time - LATE_S, clean.time, q[:, joints[0]])
    return replace(clean, q=q)


def by_alphabet(clean: Recording, rng: np.random.Generator, _: Joints) -> Recording:
    """Joints in the order of the alphabet: elbow, shoulder_lift, shoulder_pan, ..."""
    return joints_swapped(clean, rng, (0, 2))


MORE = (
    Mistake("gripper", ("payload",), gripper),
    Mistake("ceiling", ("gravity-direction",), mounted((0.0, 0.0, 9.81))),
    Mistake("wall", ("gravity-direction",), mounted((9.81, 0.0, 0.0))),
    Mistake("torques-held", ("held-samples",), torques_held),
    Mistake("no-inertials", (), no_inertials, refusal=("inertial", "mass")),
    Mistake("pushed", ("disturbance",), pushed),
    Mistake("concatenated", (), concatenated, refusal=("backwards", "increas")),
    Mistake("all-signs", ("torque-sign",), all_signs),
    Mistake("standing", (), standing, refusal=("moves", "still")),
    Mistake("degrees-with-limits", ("position-unit", "beyond-limits"), degrees),
    Mistake("row-numbers", ("time-unit",), row_numbers),
    Mistake("millinewtons", ("torque-scale",), scaled(1e3)),
    Mistake("share-of-rated", ("currents", "torque-scale"), share_of_rated),
    Mistake("torque-never-recorded", ("dead-channel",), never_recorded, lambda arm: each(arm)[1:3]),
    Mistake("velocities", ("unrelated-torque", "external-torque"), velocities),
    Mistake("external-torque", ("external-torque",), external),
    Mistake("gravity-removed", ("gravity-removed",), gravity_taken_out),
    Mistake("quarter-turn", ("position-offset",), quarter_turn, lambda arm: each(arm)[1:4:2]),
    Mistake("gear-ratio", ("position-factor",), geared(1.1), lambda arm: each(arm)[:-1]),
    Mistake("gear-ratio-half", ("position-factor",), geared(0.5), lambda arm: each(arm)[1:4]),
    Mistake("late-encoder", ("position-late",), late_encoder, lambda arm: each(arm)[:4]),
    Mistake("by-alphabet", ("joints-swapped",), by_alphabet, arms=("ur5",)),
)
