"""Coupled drives

On the Stäubli TX-40 motor 6 turns with joint 5 as well as with joint 6. A term may act along any
direction of joint space: it depends on the speed d·v and acts along d. With rotor 6 shared between
both rows, 60 combinations of the 86 parameters are identifiable.
"""

from math import pi

from steelyard import Model, Robot, base_map, coupled_terms, default_terms

ROWS = [
    {},
    {"alpha": -pi / 2, "theta": -pi / 2},
    {"a": 0.225, "theta": pi / 2, "d": 0.035},
    {"alpha": pi / 2, "d": 0.225},
    {"alpha": -pi / 2},
    {"alpha": pi / 2, "theta": pi},
]
robot = Robot.from_dh(ROWS, convention="modified", name="tx40")
own = [term for term in default_terms(robot) if term.name != "joint_6.Ia"]
shared = coupled_terms(
    "motor_6", {"joint_5": 1.0, "joint_6": 1.0}, ("drive_inertia", "viscous", "coulomb")
)
model = Model(robot, (*own, *shared))
base = base_map(model)
print(f"{base.rank} of {len(model.columns)}")
for name, combination in zip(base.names, base.combinations(), strict=True):
    if name.startswith(("joint_5", "joint_6", "motor_6")):
        print("  ", combination)
