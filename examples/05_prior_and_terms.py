"""A prior, and which terms to model

The estimate is drawn to a prior: a penalty keeps each body close to what is known of the robot,
with a weight that is chosen on left-out parts of the data. Torques that are measured on the link
side of the gears contain no drive inertia; if it is modelled all the same, a finding says that the
data do not need it.
"""

from functools import partial

from steelyard import (
    Controller,
    Model,
    Processing,
    Sensors,
    default_terms,
    identify,
    multisine,
    prior_from_mass,
    simulate,
)
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth

robot = builtin_arm()
link_side = Model(robot, default_terms(robot, "link"))
truth = builtin_truth(link_side)
log = simulate(
    link_side,
    truth,
    multisine(robot),
    duration_s=20.0,
    rate_hz=100.0,
    controller=Controller(kind="ideal"),
    sensors=Sensors(torque_noise=0.1),
)

# the motion is slow and its log is even: nothing about the signals has to be chosen from the data
processing = Processing(cutoff_hz=10.0, torque_filter="same", dead_band="tenth")
for name, how in {
    "the robot file as the prior": {},
    "18 kg are all that is known, and torque is behind the gears": {
        "prior": partial(prior_from_mass, total_mass=18.0),
        "torque": "link",
    },
}.items():
    found = identify(robot, log, processing=processing, n_resamples=0, ranges=False, **how)
    gamma = found.estimate.prior.gamma
    print(f"{name}: gamma {gamma:g}, relative error {found.estimate.relative_error:.2%}")
    for finding in found.estimate.findings:
        if finding.code.startswith("terms"):
            print("  ", finding.words)
