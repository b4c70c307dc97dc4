"""Contender: `mujoco.sysid`, its parameters and its optimiser, on inverse dynamics.

Every body by its pseudo-inertia (`InertiaType.Pseudo`, which keeps it physical), damping,
frictionloss and armature of every joint, from the given file on; residuals are the torques of
`mj_inverse` minus the measured ones, each joint in units of its own torque. Positions are
filtered like in `xarm7_script.py`, torques brought to 50 Hz, slow samples left out. Its friction
is as stiff as that of the simulated robot, which a user would not know.
Usage: FILE.urdf LOG.csv MOTION.npz TORQUE.npy CUTOFF_HZ
"""

from __future__ import annotations

import contextlib
import json
import sys
from time import perf_counter
from typing import Any

import mujoco
import numpy as np
import xarm7_log
from mujoco import sysid
from scipy.signal import butter, sosfiltfilt
from xarm7_robot import JOINTS, LINKS, Array

EVERY = 10
MAX_ITERS = 20
"""The error hardly falls after 10, and more cost seconds each."""
SLOW = 0.05
"""rad/s."""
STARTS_AND_ENDS = {  # start, largest value
    "damping": (1.0, 20.0),
    "frictionloss": (1.0, 20.0),
    "armature": (0.05, 1.0),
}


def main(urdf: str, log: str, motion: str, out: str, cutoff_hz: float) -> None:
    """Fit and predict."""
    spec = mujoco.MjSpec.from_file(urdf)
    for name in JOINTS:
        joint = spec.joint(name)
        joint.solref_friction = [xarm7_log.FRICTION_TIME_CONSTANT_S, 1.0]
        joint.solimp_friction = [0.999, 0.999, 0.001, 0.5, 2.0]
    spec.option.timestep = xarm7_log.STEP_S
    params = parameters(spec)
    q, v, a, tau = samples(log, cutoff_hz)
    moves = abs(v) > SLOW
    scale = np.sqrt(np.mean(tau**2, axis=0))

    def residual(x: Array, params: sysid.ParameterDict) -> tuple[list[Array], list[Any], list[Any]]:
        columns = []
        for values in x.reshape(len(x), -1).T:
            params.update_from_vector(values)
            predicted = torques(sysid.apply_param_modifiers(params, spec), q, v, a)
            columns.append(((predicted - tau) / scale)[moves])
        stacked = np.array(columns).T
        return [stacked if x.ndim > 1 else stacked[:, 0]], [], []

    started = perf_counter()
    with contextlib.redirect_stdout(sys.stderr):  # its iterations
        best, found = sysid.optimize(
            params, residual, "scipy_parallel_fd", verbose=False, x_scale="jac", max_iters=MAX_ITERS
        )
    seconds = perf_counter() - started
    with np.load(motion) as held_out:
        model = sysid.apply_param_modifiers(best, spec)
        np.save(out, torques(model, held_out["q"], held_out["v"], held_out["a"]))
    friction = {name: best[name].value.tolist() for name in STARTS_AND_ENDS}
    json.dump({"seconds": seconds, "n_parameters": len(found.x), **friction}, sys.stdout)


def parameters(spec: mujoco.MjSpec) -> sysid.ParameterDict:
    """Every body's pseudo-inertia, and the three terms of the joints."""
    params = sysid.ParameterDict()
    model = spec.compile()
    for link in LINKS:

        def write_body(spec: mujoco.MjSpec, parameter: sysid.Parameter, link: str = link) -> None:
            sysid.apply_body_inertia(spec, link, parameter)
            # left undefined, which MuJoCo 4.0 refuses to compile
            spec.body(link).iquat = [1.0, 0.0, 0.0, 0.0]

        kind = sysid.InertiaType.Pseudo
        params.add(
            sysid.body_inertia_param(spec, model, link, inertia_type=kind, modifier=write_body)
        )
    n = len(JOINTS)
    for name, (start, end) in STARTS_AND_ENDS.items():

        def write(spec: mujoco.MjSpec, parameter: sysid.Parameter, name: str = name) -> None:
            for joint, value in zip(JOINTS, parameter.value, strict=True):
                # damping is a polynomial of the speed
                setattr(spec.joint(joint), name, [value, 0, 0] if name == "damping" else value)

        params.add(
            sysid.Parameter(name, np.full(n, start), np.zeros(n), np.full(n, end), modifier=write)
        )
    return params


def samples(log: str, cutoff_hz: float) -> tuple[Array, ...]:
    """q, v, a, tau (n, 7) at 50 Hz, without the ends."""
    table = np.genfromtxt(log, delimiter=",", names=True, deletechars="")
    names = table.dtype.names
    rate = 1.0 / np.median(np.diff(table[names[0]]))
    q, tau = (
        np.stack([table[name] for name in names if quantity in name], axis=1)
        for quantity in (".position", ".torque")
    )
    q = sosfiltfilt(butter(4, cutoff_hz, fs=rate, output="sos"), q, axis=0)
    v = np.gradient(q, 1.0 / rate, axis=0)
    a = np.gradient(v, 1.0 / rate, axis=0)
    inner = slice(round(rate / EVERY), -round(rate / EVERY))
    tau = sosfiltfilt(butter(4, 0.4 * rate / EVERY, fs=rate, output="sos"), tau, axis=0)
    return tuple(x[::EVERY][inner] for x in (q, v, a, tau))


def torques(model: mujoco.MjModel, q: Array, v: Array, a: Array) -> Array:
    """Torques (n, 7) that `mj_inverse` gives along the motion."""
    data = mujoco.MjData(model)
    qpos, qvel, qacc, inverse = data.qpos, data.qvel, data.qacc, data.qfrc_inverse
    found = np.empty_like(q)
    for k in range(len(q)):
        qpos[:], qvel[:], qacc[:] = q[k], v[k], a[k]
        mujoco.mj_inverse(model, data)
        found[k] = inverse
    return found


if __name__ == "__main__":
    main(*sys.argv[1:5], cutoff_hz=float(sys.argv[5]))
