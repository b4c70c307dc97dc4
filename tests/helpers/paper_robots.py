"""The robots of the papers, as Denavit-Hartenberg tables."""

from __future__ import annotations

import numpy as np

from steelyard.model.model import Model
from steelyard.model.terms import coupled_terms, default_terms
from steelyard.robot.robot import Robot

RIGHT = np.pi / 2


def wam() -> Robot:
    """The seven-joint WAM arm of Sousa and Cortesão (2014), Table 2 (standard convention)."""
    rows = [
        (-RIGHT, 0.0, 0.0),
        (RIGHT, 0.0, 0.0),
        (-RIGHT, 0.045, 0.55),
        (RIGHT, -0.045, 0.0),
        (-RIGHT, 0.0, 0.3),
        (RIGHT, 0.0, 0.0),
        (0.0, 0.0, 0.06),
    ]
    table = [{"alpha": alpha, "a": a, "d": d} for alpha, a, d in rows]
    return Robot.from_dh(table, convention="standard", name="wam")


def puma_arm() -> Robot:
    """The three-joint robot of Gautier and Khalil (1992), Table 1 (modified convention)."""
    rows = [{}, {"alpha": -RIGHT}, {"a": 0.5, "d": 0.2}]
    return Robot.from_dh(rows, convention="modified", name="gautier_khalil")


def tx40() -> Robot:
    """The Stäubli TX-40 of Gautier and Venture (2013) (modified convention)."""
    rows = [
        {},
        {"alpha": -RIGHT, "theta": -RIGHT},
        {"a": 0.225, "theta": RIGHT, "d": 0.035},
        {"alpha": RIGHT, "d": 0.225},
        {"alpha": -RIGHT},
        {"alpha": RIGHT, "theta": np.pi},
    ]
    return Robot.from_dh(rows, convention="modified", name="tx40")


def tx40_model(*, separate_coupling_inertia: bool) -> Model:
    """The TX-40 with rotor 6 turning with joints 5 and 6 (Gautier and Venture 2013, eqs 34-35).

    Sharing rotor 6's inertia between both rows leaves 86 columns; a coupling inertia of its
    own makes 87.
    """
    robot = tx40()
    terms = default_terms(robot)
    if not separate_coupling_inertia:
        terms = tuple(term for term in terms if term.name != "joint_6.Ia")
    coupling = coupled_terms(
        "motor_6", {"joint_5": 1.0, "joint_6": 1.0}, ("drive_inertia", "viscous", "coulomb")
    )
    return Model(robot, terms + coupling)


def panda() -> Robot:
    """The Franka Panda (modified convention), d and a in m."""
    d = (0.333, 0.0, 0.316, 0.0, 0.384, 0.0, 0.0)
    a = (0.0, 0.0, 0.0, 0.0825, -0.0825, 0.0, 0.088)
    alpha = (0.0, -RIGHT, RIGHT, RIGHT, -RIGHT, RIGHT, RIGHT)
    rows = [{"alpha": x, "a": y, "d": z} for x, y, z in zip(alpha, a, d, strict=True)]
    return Robot.from_dh(rows, convention="modified", name="panda")


# Sousa and Cortesão (2014), Table 1: the three-link robot of Yoshida and Khalil
BETA_T1 = np.array(
    [6.4, -5.48, 0.072, -0.087, 0.051, 5.6, 6.5, -0.00075,
     -0.72, -0.0098, -0.0098, -0.00045, 0.72, 0.95, 0.015]
)  # fmt: skip


BETA_T2 = BETA_T1 - np.eye(15)[0] * 0.2
CORRECTED_T2 = np.array(
    [6.200951, -5.479049, 0.071966, -0.086967, 0.050999, 5.6, 6.5, -0.00075,
     -0.719049, -0.009819, -0.009817, -0.00045, 0.72, 0.949999, 0.014966]
)  # fmt: skip


TX40 = """
[motor.motor_1]
ratio = { joint_1 = 32.0 }
[motor.motor_2]
ratio = { joint_2 = 32.0 }
[motor.motor_3]
ratio = { joint_3 = 45.0 }
[motor.motor_4]
ratio = { joint_4 = -48.0 }
[motor.motor_5]
ratio = { joint_5 = 45.0 }
[motor.motor_6]
ratio = { joint_5 = 32.0, joint_6 = 32.0 }
terms = ["drive_inertia", "viscous", "coulomb"]
[joint.joint_6]
terms = ["viscous", "coulomb", "offset"]
"""
