"""Paths in, URDF out: five lines

The first part makes the files that you have already: a URDF, and two logs of the robot's motion
and torques. The last five lines are all that identification needs. In a notebook, ``found`` alone
in a cell shows its tables.
"""

from pathlib import Path

from steelyard import Model, Robot, Sensors, identify, multisine, simulate, write_csv

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

# the real robot is heavier than its file, and has friction
robot = Robot.from_urdf("arm.urdf")
model = Model(robot)
truth = 1.2 * model.prior_theta()
for k, column in enumerate(model.columns):
    truth[k] += {"fv": 0.4, "fc": 0.6}.get(column.symbol, 0.0)
for name, seed in (("run", 1), ("other", 2)):
    motion, sensors = multisine(robot, seed=seed), Sensors(torque_noise=0.05)
    log = simulate(model, truth, motion, duration_s=10.0, rate_hz=100.0, sensors=sensors, seed=seed)
    write_csv(log, f"{name}.csv")

found = identify("arm.urdf", "run.csv", validate_on="other.csv")
print(found)
print(found.summary())
found.save("out")
print(f"wrote {found.to_urdf('identified.urdf')}")
