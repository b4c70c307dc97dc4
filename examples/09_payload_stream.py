"""What does the gripper hold now?

A log is replayed sample by sample, as a control loop would see it: the arm picks up 0.5 kg after
8 s and puts it down after 14 s. Its parameters without payload are known; with a robot of your own
they are those of ``steelyard identify``, and the source is
``JointTorques.of_result(robot, "out/result.json", "tool", dead_band=0.02)``.

In a real control loop, the positions are not filtered forward and backward as ``prepare`` does it.
Give the stream the positions, speeds and accelerations that the controller itself uses.
"""

import numpy as np

from steelyard import (
    JointTorques,
    Log,
    Model,
    Payload,
    PayloadStream,
    Processing,
    multisine,
    prepare,
    read_log,
    write_csv,
)
from steelyard.model.kernels import torque
from steelyard.simulation.builtin_arm import builtin_arm, builtin_truth

robot = builtin_arm()
model = Model(robot)
theta = builtin_truth(model)
sigma = np.array([0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.1])

# the log: a motion at 500 Hz, with the payload for six seconds
motion = multisine(robot, seed=1).evaluate(np.arange(10_000) / 500.0)
tau = torque(model, theta, motion.q, motion.v, motion.a)
tau += sigma * np.random.default_rng(0).standard_normal(tau.shape)
held = (motion.time >= 8.0) & (motion.time < 14.0)
payload = Payload.of("tool", 0.5, com=(0.0, 0.02, 0.06), inertia_com=1e-3 * np.eye(3))
tau[held] += payload.torque(model, motion)[held]
write_csv(Log.from_arrays(motion.time, motion.q, tau, joints=robot.joint_names), "run.csv")

# the replay
prepared = prepare(read_log("run.csv"), model, Processing(cutoff_hz=30.0, decimate=1))
stream = PayloadStream(JointTorques(model, theta, "tool", sigma, dead_band=0.02))
shown = 0.0
for k, time in enumerate(prepared.motion.time):
    q, v, a = prepared.motion.q[k], prepared.motion.v[k], prepared.motion.a[k]
    change = stream.update(time, q, v, a, prepared.all_measurements.tau[k])
    if change is not None:
        verb = "picked up" if change.mass_change > 0.0 else "put down"
        print(
            f"{change.reported:6.2f} s  {verb} {abs(change.mass_change):.2f} kg "
            f"(± {2.0 * change.sigma:.2f}) at {change.time:.2f} s"
        )
    if time >= shown + 1.0:
        shown = time
        now = stream.estimate()
        print(f"{time:6.2f} s  {now.body.mass:.3f} kg (± {2.0 * now.mass_sigma:.3f})")


print(f"left out: {stream.skipped} samples")
