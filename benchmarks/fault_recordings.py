"""The virtual robots of the fault campaign, and clean recordings of them.

- Robots: the demo's arm (7 joints), a UR5 (6) and a Panda (7, fingers locked) from
  example-robot-data. A user has their files; the true robot differs from its file as
  `steelyard.simulation.likely_truth` says: every mass by 5 to 15 % up or down, every body stretched
  and sheared by up to 8 % and shifted by up to 15 mm along each axis (so inertias by about 20 to
  30 %), always physical. This is the prior error, drawn anew for every seed. Drives, friction and
  offsets, which no file has, are those of a torque range twice as large (``FRICTION``): Coulomb
  friction is 16 % of a joint's range, as is viscous friction at full speed, within ± 30 %.
- Noise of torque: 0.5 % of each joint's torque range, low-passed at 100 Hz; encoder step 2e-5 rad.
  Positions and torques are recorded, velocities are not.
- Motion: random sums of sines within 90 % of the limits, under a computed-torque controller of the
  simulation, so that the robot lags its reference by 0.01 to 0.07 rad.
- A recording is 20 s at 500 Hz. Each case has three of different motions: training, validation, and
  the one on which harm is judged, which no run ever sees.
- Clean logs for false alarms: random arms of 4 to 7 turning joints (`random_recording`) with the
  same prior error, noise, length and rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard.excitation.limits import motion_limits
from steelyard.excitation.motions.fourier import multisine
from steelyard.excitation.torque_noise import NOISE_SHARE, assumed_noise
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.robot.inertia import from_com
from steelyard.robot.parts import Joint, Limits, Link
from steelyard.robot.robot import Robot
from steelyard.robot.rotations import frozen_array
from steelyard.signals.motion import Motion
from steelyard.simulation.builtin_arm import builtin_arm
from steelyard.simulation.likely_truth import likely_truth
from steelyard.simulation.sensors import Sensors, record
from steelyard.simulation.simulate import followed
from steelyard.testing.random_robots import random_rotation

Array = NDArray[np.float64]

SECONDS, RATE_HZ = 20.0, 500.0
FRICTION, NOISE, SHARE_OF_LIMITS = 2.0, 0.005, 0.9
TORQUE_BANDWIDTH_HZ, ENCODER_STEP, VELOCITY_NOISE = 100.0, 2e-5, 2e-3
ROBOTS = ("arm", "ur5", "panda")
MOTIONS = ("training", "validation", "unseen")


@dataclass(frozen=True, eq=False)
class Recording:
    """A clean log of a virtual robot, with everything that a fault may need to know.

    robot : the file that the user has. siblings : files of robots that have the same joints.
    model, theta : the model of that file and the true parameters (n_columns,).
    time : (n_samples,) s. q, tau : measured positions and torques (n_samples, n_joints), with
    noise, columns as ``model.channels``. v : velocities as a drive would report them, with noise.
    motion, true_tau : without noise. commanded : the controller's reference.
    """

    robot: Robot
    siblings: tuple[Robot, ...]
    model: Model
    theta: Array
    time: Array
    q: Array
    v: Array
    tau: Array
    motion: Motion
    true_tau: Array
    commanded: Motion
    name: str = "training"

    @property
    def rate_hz(self) -> float:
        """Samples per second."""
        return 1.0 / float(self.time[1] - self.time[0])

    def log(
        self,
        *,
        time: Array | None = None,
        q: Array | None = None,
        tau: Array | None = None,
        v: Array | None = None,
    ) -> Log:
        """The log with some signals replaced; without arguments, the clean one."""
        return Log.from_arrays(
            self.time if time is None else time,
            self.q if q is None else q,
            self.tau if tau is None else tau,
            v=v,
            joints=self.model.channels,
            name=self.name,
        )

    def torque_of(self, theta: Array) -> Array:
        """Torque (n_samples, n_joints) of other parameters along the true motion."""
        return torque(self.model, theta, self.motion.q, self.motion.v, self.motion.a)


@dataclass(frozen=True, eq=False)
class Case:
    """The three recordings of one robot and seed."""

    training: Recording
    validation: Recording
    unseen: Recording


def case_of(name: str, seed: int) -> Case:
    """The recordings of one of the three robots."""
    return Case(*(recordings(robot_named(name), siblings_of(name), seed)))


def random_recording(seed: int) -> Recording:
    """The training recording of a random arm, for false alarms."""
    rng = np.random.default_rng([seed, 23])
    return recordings(random_arm(rng, int(rng.integers(4, 8))), (), seed, MOTIONS[:1])[0]


def recordings(
    robot: Robot, siblings: tuple[Robot, ...], seed: int, names: tuple[str, ...] = MOTIONS
) -> tuple[Recording, ...]:
    """Clean recordings of a true robot that is drawn for this file, one of each motion."""
    model = Model(robot)
    limits = motion_limits(robot)
    order = [limits.joints.index(joint) for joint in model.channels]
    assumed = assumed_noise(model, model.prior_theta(), limits)
    torque_range = assumed.rms / NOISE_SHARE
    theta = likely_truth(
        model,
        torque_range=FRICTION * torque_range,
        velocity=limits.velocity[order],
        acceleration=limits.acceleration[order],
        seed=seed,
    )
    sensors = Sensors(
        torque_noise=dict(zip(assumed.joints, (NOISE * torque_range).tolist(), strict=True)),
        torque_noise_bandwidth_hz=TORQUE_BANDWIDTH_HZ,
        encoder_step=ENCODER_STEP,
        velocity=True,
        velocity_noise=VELOCITY_NOISE,
    )
    made = []
    for number, name in enumerate(names):
        own = len(MOTIONS) * seed + number
        trajectory = multisine(robot, share=SHARE_OF_LIMITS, seed=own)
        motion, tau = followed(model, theta, trajectory, duration_s=SECONDS, rate_hz=RATE_HZ)
        log = record(robot, motion.time, motion.q, motion.v, tau, sensors, own, name)
        q, v, measured = (
            np.column_stack([log.signal(joint, quantity) for joint in model.channels])
            for quantity in ("position", "velocity", "torque")
        )
        made.append(
            Recording(
                robot=robot,
                siblings=siblings,
                model=model,
                theta=theta,
                time=motion.time,
                q=q,
                v=v,
                tau=measured,
                motion=motion,
                true_tau=tau,
                commanded=trajectory.evaluate(motion.time),
                name=name,
            )
        )
    return tuple(made)


@cache
def robot_named(name: str) -> Robot:
    """The file of one of ``ROBOTS``, as the user has it."""
    if name == "arm":
        return builtin_arm()
    if name == "ur5":
        return Robot.from_urdf(_file("ur5_robot.urdf"))
    return Robot.from_urdf(_file("panda.urdf")).lock({"panda_finger_joint1": 0.02})


@cache
def siblings_of(name: str) -> tuple[Robot, ...]:
    """Files that somebody could take for that of this robot: the same joints, another size.

    Of the UR5, the UR10 and the UR3; of the others, arms of the same shape, larger or smaller.
    """
    if name == "ur5":
        return tuple(Robot.from_urdf(_file(f"{other}_robot.urdf")) for other in ("ur10", "ur3"))
    return tuple(resized(robot_named(name), factor) for factor in (1.4, 0.7))


def resized(robot: Robot, factor: float) -> Robot:
    """The robot built larger by a factor of every length, of the same materials.

    Mass grows with factor³, its first moment with factor⁴, its second with factor⁵.
    """
    powers = np.array([3.0] + [4.0] * 3 + [5.0] * 6)
    links = tuple(
        replace(
            link,
            inertial=None
            if link.inertial is None
            else frozen_array(link.inertial * factor**powers, (10,)),
            inertia_com=None,
        )
        for link in robot.links
    )
    joints = []
    for joint in robot.joints:
        placement = joint.placement.copy()
        placement[:3, 3] *= factor
        joints.append(replace(joint, placement=frozen_array(placement, (4, 4)), origin=None))
    return replace(robot, links=links, joints=tuple(joints), source=None, source_sha256=None)


def random_arm(rng: np.random.Generator, n_joints: int) -> Robot:
    """A chain of turning joints: links get shorter and lighter towards the tip, neighbouring axes
    are perpendicular or parallel, as those of real arms.
    """
    links, joints = [Link("base")], []
    for k in range(n_joints):
        share = 0.75**k
        length = rng.uniform(0.15, 0.4) * share**0.5
        mass = rng.uniform(4.0, 10.0) * share
        radii = np.sort(rng.uniform(0.03, 0.08, size=3)) * share**0.3
        radii[2] += length / 4.0
        turn = random_rotation(rng)
        second = turn @ np.diag(radii**2) @ turn.T
        com = rng.uniform(-0.25, 0.25, size=3) * length + np.array([0.0, 0.0, 0.3 * length])
        inertia = mass * (np.trace(second) * np.eye(3) - second)
        links.append(Link(f"link_{k + 1}", frozen_array(from_com(mass, com, inertia), (10,))))
        pose = np.eye(4)
        pose[:3, 3] = (0.0, 0.0, 0.2) if k == 0 else rng.permutation([length, 0.0, 0.05])
        axis = np.eye(3)[2 if k == 0 else int(rng.integers(3))] * rng.choice([-1.0, 1.0])
        speed = rng.uniform(1.5, 3.0)
        joints.append(
            Joint(
                f"joint_{k + 1}",
                "revolute",
                links[-2].name,
                links[-1].name,
                placement=frozen_array(pose, (4, 4)),
                axis=frozen_array(axis, (3,)),
                limits=Limits(-2.6, 2.6, speed, 300.0 * share, 3.0 * speed),
            )
        )
    return Robot(f"random_{n_joints}", tuple(links), tuple(joints))


def _file(name: str) -> Path:
    files = distribution("example-robot-data").files or ()
    return next(Path(str(one.locate())) for one in files if one.name == name)
