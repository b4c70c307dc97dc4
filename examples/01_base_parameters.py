"""Which combinations can be known

A joint's torque does not tell every mass and inertia apart. This script takes the WAM arm as a
Denavit-Hartenberg table and prints the combinations that torques determine: the base
parameters. Each keeps the name of its first parameter.
"""

from math import pi

from steelyard import Model, Robot, base_map

ARM = [
    {"alpha": -pi / 2},
    {"alpha": pi / 2},
    {"alpha": -pi / 2, "a": 0.045, "d": 0.55},
    {"alpha": pi / 2, "a": -0.045},
    {"alpha": -pi / 2, "d": 0.3},
    {"alpha": pi / 2},
    {"d": 0.06},
]

model = Model(Robot.from_dh(ARM, convention="standard", name="wam"))
base = base_map(model)
print(f"{base.rank} of {len(model.columns)} parameters can be known, as combinations:")
for combination in base.combinations("papers")[:12]:
    print("  ", combination)

print("What becomes of some of the standard parameters:")
for fate in base.fates():
    if fate.name in ("link_1.m", "link_2.Ixy", "joint_1.Ia", "joint_3.fv"):
        print(f"   {fate.name}: {fate.words}")
