"""From a log to base parameters

A virtual robot stands in for the real one: it follows a sum of sines under computed-torque
control, and its log (positions and torques, with noise) is all that identification sees. With a
robot of your own, replace the middle part by ``train = read_log("run.csv")``, and ``test`` likewise
by a log of another motion.
"""

from steelyard import Model, Processing, Sensors, identify, multisine, simulate, write_outputs
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth

robot = builtin_arm()
model = Model(robot)
truth = builtin_truth(model)
sensors = Sensors(torque_noise=0.1, position_noise=1e-5)
train, test = (
    simulate(
        model,
        truth,
        multisine(robot, seed=seed),
        duration_s=20.0,
        rate_hz=200.0,
        sensors=sensors,
        seed=seed,
    )
    for seed in (1, 2)
)

# near standstill friction has no sign: torques at less than 0.05 rad/s are left out, in the place
# of the automatic band, which is a tenth of each joint's speed
found = identify(robot, train, validate_on=test, processing=Processing(dead_band=0.05))
estimate = found.estimate
print(f"{estimate.base.rank} base parameters, condition number {estimate.condition:.0f}")
for parameter in estimate.parameters()[:8]:
    print(
        f"{parameter.name:24s} {parameter.value:9.4f}  "
        f"[{parameter.lower:9.4f}, {parameter.upper:9.4f}] {parameter.unit}"
    )

check = found.validation.overall
print(f"held-out relative error: {100 * check.prediction.relative_error:.2f} %")
for kind, path in write_outputs(found, "out").items():
    print(f"{kind}: {path}")
