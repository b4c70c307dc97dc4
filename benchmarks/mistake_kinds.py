"""Mistakes of new users, one function each: a right recording becomes what they hand over.

`MISTAKES` are the 17 that step 10 names. A mistake that is about joints takes their numbers, from
0; `Mistake.joints` lists the choices that make sense on an arm.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from mistake_arms import ARMS, Arm, Array, Recording, urdf_text

MOTOR_RATIO = 100.0
EPOCH_NS = 1_700_000_000_000_000_000
TORQUE_CONSTANT = np.array([12.7, 12.5, 11.9, 9.3, 9.1, 9.2, 8.8])
"""N m/A of each drive, on the joint's side of its gears."""

Joints = tuple[int, ...]
Make = Callable[[Recording, np.random.Generator, Joints], Recording]


@dataclass(frozen=True)
class Mistake:
    """What somebody did wrong.

    codes : findings that name it; any of them will do. joints : choices of joints for an arm;
    one empty choice where the mistake is about none. arms : on which it makes sense.
    refusal : words of an error's message that name it, where an error has no code.
    """

    name: str
    codes: tuple[str, ...]
    make: Make
    joints: Callable[[Arm], list[Joints]] = lambda arm: [()]
    arms: tuple[str, ...] = tuple(ARMS)
    refusal: tuple[str, ...] = ()


def axis_flipped(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
    """The file's axis of a joint points the other way."""
    tree = ElementTree.fromstring(clean.urdf)
    axis = _joint(tree, clean.arm.joints[joints[0]]).find("axis")
    assert axis is not None
    axis.set("xyz", " ".join(f"{-float(one):g}" for one in axis.attrib["xyz"].split()))
    return replace(clean, urdf=ElementTree.tostring(tree, encoding="unicode"))


def motor_side(clean: Recording, *_: object) -> Recording:
    """Torques of the motors, before gears of 1:100; a driver reports tenths of mN m."""
    return replace(clean, tau=np.round(clean.tau / MOTOR_RATIO, 4))


def file_of(file: str) -> Make:
    """The file of another arm."""

    def make(clean: Recording, *_: object) -> Recording:
        return replace(clean, urdf=urdf_text(file))

    return make


def torque_late(seconds: float) -> Make:
    """All torques are late by a time."""

    def make(clean: Recording, *_: object) -> Recording:
        n = clean.time - seconds
        late = np.column_stack([np.interp(n, clean.time, one) for one in clean.tau.T])
        return replace(clean, tau=late)

    return make


def torque_gain(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
    """The torque of a joint is 20 % too large."""
    tau = clean.tau.copy()
    tau[:, joints[0]] *= 1.2
    return replace(clean, tau=tau)


def zero_off(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
    """The zero of a joint is off by 10 degrees."""
    q = clean.q.copy()
    q[:, joints[0]] += np.radians(10.0)
    return replace(clean, q=q)


def joints_swapped(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
    """All columns of two joints are exchanged."""
    return replace(clean, q=_swapped(clean.q, joints), tau=_swapped(clean.tau, joints))


def torques_swapped(clean: Recording, _: np.random.Generator, joints: Joints) -> Recording:
    """The torques of two joints are exchanged."""
    return replace(clean, tau=_swapped(clean.tau, joints))


def currents(clean: Recording, *_: object) -> Recording:
    """Motor currents, A, in the columns of torques."""
    return replace(clean, tau=np.round(clean.tau / TORQUE_CONSTANT[: clean.tau.shape[1]], 4))


def time_in_ms(clean: Recording, *_: object) -> Recording:
    """Time in milliseconds, without a unit in the column's name."""
    return replace(clean, time=1e3 * clean.time)


def time_in_ns(clean: Recording, *_: object) -> Recording:
    """Nanoseconds since 1970, without a unit in the column's name."""
    return replace(clean, time=EPOCH_NS + 1e9 * clean.time)


def spikes(clean: Recording, rng: np.random.Generator, _: Joints) -> Recording:
    """Thirty torques of ± 500 N m."""
    tau = clean.tau.copy()
    where = rng.choice(tau.size, 30, replace=False)
    tau.ravel()[where] = 500.0 * rng.choice([-1.0, 1.0], 30)
    return replace(clean, tau=tau)


def frozen(clean: Recording, rng: np.random.Generator, joints: Joints) -> Recording:
    """The torque of a joint stands still for ten seconds."""
    rows = round(10.0 * clean.arm.rate_hz)
    start = int(rng.integers(len(clean.time) // 10, len(clean.time) - rows - 1))
    tau = clean.tau.copy()
    tau[start : start + rows, joints[0]] = tau[start, joints[0]]
    return replace(clean, tau=tau)


def degrees_without_limits(clean: Recording, *_: object) -> Recording:
    """Positions in degrees; the file states no limits of positions."""
    tree = ElementTree.fromstring(clean.urdf)
    for name in clean.arm.joints:
        joint = _joint(tree, name)
        joint.set("type", "continuous")
        limit = joint.find("limit")
        if limit is not None:
            joint.remove(limit)
    return replace(
        clean,
        urdf=ElementTree.tostring(tree, encoding="unicode"),
        q=np.round(np.degrees(clean.q), 3),
    )


def joints_reversed(clean: Recording, *_: object) -> Recording:
    """All joints in the order from tip to base."""
    return replace(clean, q=clean.q[:, ::-1], tau=clean.tau[:, ::-1])


def each(arm: Arm) -> list[Joints]:
    """Every joint."""
    return [(k,) for k in range(len(arm.joints))]


def pairs(arm: Arm) -> list[Joints]:
    """Neighbours."""
    return [(k, k + 1) for k in range(len(arm.joints) - 1)]


def loaded(arm: Arm) -> list[Joints]:
    """Every joint that carries weight: not the first, whose axis is vertical, nor the last."""
    return [(k,) for k in range(1, len(arm.joints) - 1)]


MISTAKES = (
    Mistake("axis-flipped", ("axis-sign",), axis_flipped, loaded),
    Mistake("motor-side", ("torque-scale", "currents"), motor_side),
    Mistake("ur10-file", ("other-robot",), file_of("ur10_robot.urdf"), arms=("ur5",)),
    Mistake("ur3-file", ("other-robot",), file_of("ur3_robot.urdf"), arms=("ur5",)),
    Mistake("late-8-ms", ("delay",), torque_late(0.008)),
    Mistake("late-20-ms", ("delay",), torque_late(0.02)),
    Mistake("torque-20-percent", ("torque-gain",), torque_gain, each),
    Mistake("zero-off", ("position-offset",), zero_off, loaded),
    Mistake("joints-swapped", ("joints-swapped", "beyond-limits"), joints_swapped, pairs),
    Mistake("currents", ("currents", "torque-scale"), currents),
    Mistake("time-in-ms", ("time-unit",), time_in_ms),
    Mistake("time-in-ns", ("time-unit",), time_in_ns),
    Mistake("torques-swapped", ("torques-swapped",), torques_swapped, pairs),
    Mistake("spikes", ("outliers",), spikes),
    Mistake("frozen", ("frozen",), frozen, each),
    Mistake("degrees", ("position-unit",), degrees_without_limits),
    Mistake("reversed", ("joints-reversed", "beyond-limits"), joints_reversed),
)


def write(handed: Recording, folder: Path) -> tuple[Path, Path]:
    """The robot file and the log as files."""
    robot, log = folder / "robot.urdf", folder / "log.csv"
    robot.write_text(re.sub(r"<\?xml[^>]*\?>", "", handed.urdf), encoding="utf-8")
    n = handed.q.shape[1]
    stamps = "%d" if handed.time[-1] > 1e12 else "%.6f"
    np.savetxt(
        log,
        handed.rows(),
        fmt=[stamps] + ["%.9g"] * n + ["%.6g"] * n,
        delimiter=",",
        header=",".join(handed.header),
        comments="",
    )
    return robot, log


def _swapped(table: Array, joints: Joints) -> Array:
    order = np.arange(table.shape[1])
    order[list(joints)] = order[list(joints)[::-1]]
    return table[:, order]


def _joint(tree: ElementTree.Element, name: str) -> ElementTree.Element:
    return next(one for one in tree.findall("joint") if one.get("name") == name)
