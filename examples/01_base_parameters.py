"""Base parameters

Joint torques do not determine every mass and inertia separately. This script takes the WAM arm as
a Denavit-Hartenberg table and prints the combinations that torques determine: the base
parameters. Each has the name of its first standard parameter.
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
print(f"{base.rank} of {len(model.columns)} parameters are identifiable, as combinations:")
for combination in base.combinations("papers")[:12]:
    print("  ", combination)

print("Whether some of the standard parameters can be identified:")
for fate in base.fates():
    if fate.name in ("link_1.m", "link_2.Ixy", "joint_1.Ia", "joint_3.fv"):
        print(f"   {fate.name}: {fate.words}")
