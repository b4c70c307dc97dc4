"""A prior, and the terms that the data ask for

The estimate is drawn to what is known of the robot, by as much as left-out parts of the data
advise. Torques of a sensor behind the gears hold no drive inertia; whoever models it all the same
is told that the data do not need it.
"""

from functools import partial

from steelyard import (
    Controller,
    Model,
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

for name, how in {
    "the robot file as the prior": {},
    "18 kg are all that is known": {"prior": partial(prior_from_mass, total_mass=18.0)},
    "and torque is behind the gears": {"torque": "link"},
}.items():
    found = identify(robot, log, n_resamples=20, ranges=False, **how)
    gamma = found.estimate.prior.gamma
    print(f"{name}: gamma {gamma:g}, relative error {found.estimate.relative_error:.2%}")
    for finding in found.estimate.findings:
        if finding.code.startswith("terms"):
            print("  ", finding.words)
