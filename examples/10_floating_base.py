"""A humanoid without torque sensors: its links from the wrench that holds its base.

A small humanoid hangs on a test stand that measures the force and torque on its torso. Motion
capture records the pose of the torso, encoders the joints. Its torso and its left leg are heavier
than the robot file says. With a robot of your own, record a log with the columns that this one has,
and run ``steelyard identify robot.urdf log.csv --floating-base -o out``.
"""

import numpy as np

from steelyard import (
    BaseSensors,
    Model,
    Robot,
    base_sines,
    floating_log,
    identify,
    multisine,
    visibility,
    whole_body_motion,
    write_csv,
)

LIMBS = {  # mass (kg), its joint on the torso (m), length (m)
    "left_arm": (1.2, (0.0, 0.2, 0.3), 0.36),
    "right_arm": (1.2, (0.0, -0.2, 0.3), 0.36),
    "left_leg": (2.5, (0.0, 0.1, 0.0), 0.40),
    "right_leg": (2.5, (0.0, -0.1, 0.0), 0.40),
}


def link(name: str, mass: float, height: float, inertia: tuple[float, float, float]) -> str:
    xx, yy, zz = inertia
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {height}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def joint(name: str, child: str, place: tuple[float, float, float]) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="torso"/><child link="{child}"/>'
        f'<origin xyz="{place[0]} {place[1]} {place[2]}"/><axis xyz="0 1 0"/>'
        '<limit lower="-1.2" upper="1.2" effort="60" velocity="4"/></joint>'
    )


parts = [link("torso", 6.0, 0.15, (0.12, 0.1, 0.05))]
for name, (mass, place, length) in LIMBS.items():
    slender = mass * length**2 / 12.0
    parts += [
        link(name, mass, -length / 2, (slender, slender, 0.01)),
        joint(f"{name}_joint", name, place),
    ]
urdf = f'<robot name="humanoid">{"".join(parts)}</robot>'
robot = Robot.from_urdf_text(urdf, floating_base=True)
model = Model(robot)

# what the sensors can see, before anything is recorded
for name in ("base wrench", "joint torques"):
    rows = [row for row in model.channels if row.startswith("base.") == (name == "base wrench")]
    seen = visibility(model, rows)
    print(f"{name}: {seen.rank} of {seen.whole_rank} combinations")
    print(f"  torso: {seen.links[0].words}")

# two logs of the true robot, one of them held out
truth = model.theta({"torso.m": 7.0, "left_leg.m": 3.0})
for log, seed in (("hang.csv", 1), ("other.csv", 2)):
    motion = whole_body_motion(
        robot,
        multisine(robot, period_s=4.0, seed=seed),
        base_sines(period_s=4.0, seed=seed),
        np.arange(800) / 100.0,
    )
    sensors = BaseSensors("pose", position_noise=1e-4, rotation_noise=1e-4, force_noise=0.5)
    recorded = floating_log(
        model, truth, motion, base=sensors, without_torque=robot.joint_names, seed=seed
    )
    write_csv(recorded, log)

# two warnings are right: nothing is seen of the joints' friction, and the torso is not the file's
found = identify(robot, "hang.csv", validate_on="other.csv", ranges=False)
scores = found.validation.overall
print(f"held-out error {scores.prediction.relative_error:.1%}, ", end="")
print(f"of the robot file {scores.prior.relative_error:.1%}")
whole = next(one for one in found.estimate.parameters() if one.name == "torso.m")
print(f"the whole robot weighs {whole.value:.2f} kg (truth: {7.0 + 3.0 + 2.5 + 2 * 1.2:.2f} kg)")
found.to_urdf("humanoid.identified.urdf")
