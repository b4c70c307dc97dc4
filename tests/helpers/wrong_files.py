"""Simulated arms whose files are right or wrong in known ways, and how often intervals hold.

The true links are those of a robot file; what is given to `identify` is that file with the density
of some links changed. A virtual robot with friction, drives and noise moves along a multisine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.motions.fourier import multisine
from steelyard.identification.identify import Identification
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.robot.inertia import from_com
from steelyard.robot.parts import Joint, Limits, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth
from steelyard.simulation.sensors import Sensors
from steelyard.simulation.simulate import simulate
from steelyard.testing.random_robots import random_rotation

Array = NDArray[np.float64]

WAYS = ("right", "one link", "alternating", "all")
OFF = 0.3
"""By how much the density of a wrong link differs."""
RATE_HZ = 500.0


def arm(number: int) -> tuple[Robot, Array]:
    """Arm 0 is the built-in one, others are random; with its true parameters."""
    if number == 0:
        robot = builtin_arm()
        model = Model(robot)
        truth = builtin_truth(model)
        bodies = model.prior_theta()
        for first in model.first_column_of_body:
            truth[first : first + 10] = bodies[first : first + 10]
        return robot, truth
    rng = np.random.default_rng([number, 17])
    robot = random_arm(rng, int(rng.integers(4, 7)))
    model = Model(robot)
    truth = model.prior_theta()
    size = np.geomspace(1.0, 0.15, len(robot.joint_names))
    sizes = dict(zip(robot.joint_names, size, strict=True))
    typical = {"Ia": 0.3, "fv": 2.0, "fc": 4.0, "fo": 0.3}
    for i, column in enumerate(model.columns):
        if column.symbol in typical:
            value = typical[column.symbol] * sizes[column.owner] * rng.uniform(0.5, 1.5)
            truth[i] = value * rng.choice([-1.0, 1.0]) if column.symbol == "fo" else value
    return robot, truth


def random_arm(rng: np.random.Generator, n_joints: int) -> Robot:
    """A chain of turning joints whose links get lighter towards the tip."""
    links, joints = [Link("base", None)], []
    for k in range(n_joints):
        share = 0.7**k
        radii = rng.uniform(0.03, 0.12, size=3) * share**0.3
        sigma = np.diag(radii**2)
        turn = random_rotation(rng)
        inertia = turn @ (np.trace(sigma) * np.eye(3) - sigma) @ turn.T
        mass = 6.0 * share * rng.uniform(0.6, 1.4)
        com = rng.uniform(-0.1, 0.1, size=3) * share**0.3
        links.append(
            Link(f"link_{k + 1}", frozen_array(from_com(mass, com, mass * inertia), (10,)))
        )
        pose = np.eye(4)
        pose[:3, :3] = random_rotation(rng)
        pose[:3, 3] = rng.uniform(-0.3, 0.3, size=3)
        joints.append(
            Joint(
                f"joint_{k + 1}",
                "revolute",
                links[-2].name,
                links[-1].name,
                placement=frozen_array(pose, (4, 4)),
                axis=frozen_array((0.0, 0.0, 1.0), (3,)),
                limits=Limits(-2.5, 2.5, 2.0, None),
            )
        )
    return Robot(f"arm_{n_joints}", tuple(links), tuple(joints))


def with_wrong_links(robot: Robot, way: str) -> tuple[Robot, tuple[str, ...]]:
    """The robot with other densities of some links, and the names of these links."""
    moving = [link.name for link in robot.links if link.inertial is not None]
    moving = [name for name in moving if name != robot.links[0].name]
    factors = {
        "right": {},
        "one link": {moving[len(moving) // 2]: 1.0 + OFF},
        "alternating": {name: 1.0 + (OFF if k % 2 else -OFF) for k, name in enumerate(moving)},
        "all": dict.fromkeys(moving, 1.0 + OFF),
    }[way]
    links = tuple(
        replace(link, inertial=frozen_array(factors[link.name] * link.inertial, (10,)))
        if link.name in factors
        else link
        for link in robot.links
    )
    return replace(robot, links=links), tuple(factors)


def recorded(robot: Robot, truth: Array, seconds: float, seed: int) -> Log:
    """A log of the true robot."""
    size = np.geomspace(1.0, 0.15, len(robot.joint_names))
    noise = dict(zip(robot.joint_names, 0.3 * size, strict=True))
    return simulate(
        Model(robot),
        truth,
        multisine(robot, seed=seed),
        duration_s=seconds,
        rate_hz=RATE_HZ,
        sensors=Sensors(torque_noise=noise, torque_noise_bandwidth_hz=100.0, encoder_step=2e-5),
        seed=seed,
        name=f"run {seed}",
    )


@dataclass(frozen=True)
class Held:
    """One base parameter: the kind of its interval, its owner's kind, and whether it held.

    touches : whether it depends on a link that is wrong in the file.
    miss : distance of the truth from the value, in half widths.
    """

    name: str
    kind: str
    term: str
    touches: bool
    miss: float

    @property
    def inside(self) -> bool:
        return self.miss <= 1.0


def held(found: Identification, truth: Array, wrong: tuple[str, ...]) -> list[Held]:
    """How each interval of an estimate did."""
    base, columns = found.estimate.base, found.model.columns
    beta = base.K @ truth
    out = []
    for k, parameter in enumerate(found.estimate.parameters(0.95)):
        owners = {columns[j].owner for j in np.flatnonzero(base.K[k])}
        half = 0.5 * (parameter.upper - parameter.lower)
        away = abs(float(beta[k]) - parameter.value)
        miss = away / half if half > 0.0 else (0.0 if away == 0.0 else np.inf)
        column = columns[base.independent[k]]
        out.append(
            Held(
                parameter.name,
                parameter.interval_kind,
                column.kind,
                bool(owners & set(wrong)),
                miss,
            )
        )
    return out
