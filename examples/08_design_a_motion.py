"""Design the motion first, rehearse it, then record

Which parameters a log determines is decided by the motion. This script designs one for the small
arm of its own URDF within proven limits, writes the files that a robot needs, and tries them on a
virtual robot: would the friction of the elbow be recovered?
"""

from pathlib import Path

from steelyard import (
    DesignSettings,
    Model,
    Processing,
    Robot,
    design_motion,
    given_noise,
    motion_limits,
    rehearse,
    save_motion,
)

LINK = """
  <link name="{0}"><inertial><origin xyz="0.1 0.02 0.03"/><mass value="{1}"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial></link>"""
JOINT = """
  <joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/>
    <origin xyz="0.3 0 0.1" rpy="{3} 0 0"/>
    <limit lower="-2.5" upper="2.5" velocity="3" effort="50"/></joint>"""
URDF = f"""<robot name="two_links"><link name="ground"/>{LINK.format("upper_arm", 2.5)}
{LINK.format("forearm", 1.5)}{JOINT.format("shoulder", "ground", "upper_arm", 0)}
{JOINT.format("elbow", "upper_arm", "forearm", 1.2)}
</robot>
"""
Path("arm.urdf").write_text(URDF)

robot = Robot.from_urdf("arm.urdf")
model = Model(robot)
limits = motion_limits(robot, acceleration=8.0)  # what the file does not state
noise = given_noise(model, 0.2)  # of the torque sensors, N m

# one round of the search gives the same motion on every machine; without it, budget_s decides
settings = DesignSettings(period_s=6.0, harmonics=3, rounds=1, budget_s=120.0)
motion = design_motion(model, limits, settings, noise=noise)
print(motion)
for check in motion.checks:
    print(f"{check.joint:10s} {check.quantity:13s} {check.bound:8.3f} of {check.limit:8.3f}")
print(f"within limits at every time: {motion.holds}")

written = save_motion(motion, "motion")
print(f"run {written['motion_10_percent.csv']} first, then {written['motion.csv']}")

found = rehearse(
    model,
    motion.trajectory,
    limits,
    needs=["elbow.fc"],
    noise=noise,
    processing=Processing(cutoff_hz=20.0, dead_band=0.05),
    friction_width=0.0,
    n_resamples=20,
)
print(f"the friction of the elbow would be recovered: {found.met}")
