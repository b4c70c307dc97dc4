"""Columns that a payload on a link adds to the joint torques, and those of changed friction.

    tau = W beta + P pi + D delta

pi are the payload's ten inertial parameters in its link's frame, and delta changes of friction
terms while it is carried; P and D are zero in runs without the payload.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import EstimationError, RobotError, listed, shown
from steelyard.model.kernels import fill_regressor
from steelyard.model.model import Model
from steelyard.regression.extra_columns import ExtraColumns
from steelyard.robot.inertia import PARAMETERS, transform
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Motion

Array = NDArray[np.float64]

PAYLOAD_COLUMNS = tuple(f"payload.{symbol}" for symbol in PARAMETERS)


def last_link(robot: Robot) -> str:
    """The link at the end of the robot's chain, fixed links included; refused if there are several.

    A robot with several ends (a gripper's fingers, a branched tree) needs the frame stated.
    """
    parents = {joint.parent for joint in robot.joints}
    ends = [joint.child for joint in robot.joints_from_root if joint.child not in parents]
    if len(ends) != 1:
        raise RobotError(
            f"robot '{robot.name}' has {len(ends)} links at its ends, {listed(ends)}: state the "
            "link that carries the payload (frame)"
        )
    return ends[0]


def place_of_link(model: Model, link: str) -> tuple[int, Array]:
    """The moving body (by index) that a link belongs to, and T_body_link (4, 4).

    Refuses a link that is not in the robot, or that no joint moves.
    """
    for i, body in enumerate(model.mechanism.bodies):
        for name, T_body_link in body.links:
            if name == link:
                return i, T_body_link
    model.robot.link(link)
    bodies = [name for body in model.mechanism.bodies for name, _ in body.links]
    raise EstimationError(
        f"the payload is on link {shown(link)}, which does not move; the moving links are "
        f"{listed(bodies)}"
    )


@dataclass(frozen=True, eq=False)
class PayloadColumns:
    """The torque of a body on a link, per unit of each of its ten parameters.

    Called with a motion it returns P (n_samples, nv, 10), N m (N) over the unit of the parameter.
    """

    model: Model
    link: str

    def __post_init__(self) -> None:
        place_of_link(self.model, self.link)

    def __call__(self, motion: Motion) -> Array:
        """P (n_samples, nv, 10) of this motion."""
        model = self.model
        body, T_body_link = place_of_link(model, self.link)
        first = model.first_column_of_body[body]
        slot = np.full((model.nv, len(model.columns)), -1, dtype=np.int64)
        slot[:, first : first + 10] = np.arange(model.nv * 10).reshape(model.nv, 10)
        n = len(motion)
        out = np.zeros(n * model.nv * 10)
        q, v, a = (np.require(x, requirements=["C", "W"]) for x in (motion.q, motion.v, motion.a))
        fill_regressor(model, q, v, a, slot, 1, model.nv * 10, out)
        to_body = transform(np.eye(10), T_body_link).T
        return np.asarray(out.reshape(n, model.nv, 10) @ to_body)


@dataclass(frozen=True, eq=False)
class FrictionColumns:
    """Friction and offset terms of a model, row by row.

    Each torque row has few of these terms, mostly three of its own: the columns are shared by all
    rows, and column k of row j belongs to term ``of_row[j][k]``.
    """

    model: Model

    @property
    def terms(self) -> tuple[int, ...]:
        """Indices of the terms: all but inertias."""
        inertia = {
            int(member)
            for group in self.model.term_arrays.groups
            if group.kind.is_inertia
            for member in group.members
        }
        return tuple(k for k in range(len(self.model.terms)) if k not in inertia)

    @property
    def of_row(self) -> tuple[tuple[int, ...], ...]:
        """For each torque row, the terms that act on it."""
        arrays = self.model.term_arrays
        rows: list[list[int]] = [[] for _ in range(self.model.nv)]
        for k in self.terms:
            for row in arrays.row[arrays.start[k] : arrays.start[k + 1]]:
                rows[row].append(k)
        return tuple(tuple(row) for row in rows)

    @property
    def width(self) -> int:
        """Number of columns: the largest number of terms in a row."""
        return max((len(row) for row in self.of_row), default=0)

    def __call__(self, motion: Motion) -> Array:
        """D (n_samples, nv, width), in N m (N) over the unit of the term's parameter."""
        arrays = self.model.term_arrays
        values = arrays.values(motion.v, motion.a, motion.friction)
        out = np.zeros((len(motion), self.model.nv, self.width))
        place = [0] * self.model.nv
        for k in self.terms:
            for entry in range(arrays.start[k], arrays.start[k + 1]):
                row = arrays.row[entry]
                out[:, row, place[row]] = arrays.weight[entry] * values[k]
                place[row] += 1
        return out


def loaded_columns(
    payload: PayloadColumns, friction: FrictionColumns | None, *, loaded: bool
) -> ExtraColumns:
    """The extra columns of a run, the payload's ten first; zero unless it was ``loaded``."""
    width = 0 if friction is None else friction.width
    names = (*PAYLOAD_COLUMNS, *(f"friction.{k}" for k in range(width)))

    def values(motion: Motion) -> Array:
        if not loaded:
            return np.zeros((*motion.v.shape, len(names)))
        parts = [payload(motion)]
        if friction is not None:
            parts.append(friction(motion))
        return np.concatenate(parts, axis=2)

    return ExtraColumns(names, values)
