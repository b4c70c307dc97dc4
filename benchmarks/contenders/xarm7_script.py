"""Contender: what people write with Pinocchio, SciPy and CVXPY.

Fourth-order Butterworth forward and backward, central differences, slow samples left out, each
joint weighted by its own noise, pseudo-inertias positive semidefinite.
Usage: FILE.urdf LOG.csv MOTION.npz TORQUE.npy CUTOFF_HZ same|none (filter of the torque)
"""

import json
import sys
from time import perf_counter

import cvxpy as cp
import numpy as np
import pinocchio as pin
from scipy.signal import butter, sosfiltfilt

urdf, log, motion, out, cutoff, torque_filter = sys.argv[1:]
started = perf_counter()
model = pin.buildModelFromUrdf(urdf)
data, n = model.createData(), model.nv


def regressor(q, v, a):
    """Inertial parameters, then drive inertia, viscous, Coulomb and offset of each joint."""
    rigid = [pin.computeJointTorqueRegressor(model, data, *qva).copy() for qva in zip(q, v, a)]
    terms = [np.einsum("tj,jk->tjk", x, np.eye(n)) for x in (a, v, np.sign(v), np.ones_like(v))]
    return np.concatenate([np.array(rigid), *terms], axis=2)


columns = np.genfromtxt(log, delimiter=",", names=True, deletechars="")
names = columns.dtype.names
rate = 1.0 / np.median(np.diff(columns[names[0]]))
q = np.stack([columns[x] for x in names if ".position" in x], axis=1)
tau = np.stack([columns[x] for x in names if ".torque" in x], axis=1)
low_pass = butter(4, float(cutoff), fs=rate, output="sos")
q = sosfiltfilt(low_pass, q, axis=0)
v = np.gradient(q, 1.0 / rate, axis=0)
a = np.gradient(v, 1.0 / rate, axis=0)
if torque_filter == "same":
    tau = sosfiltfilt(low_pass, tau, axis=0)
inner = slice(int(rate), -int(rate))  # the filter's ends
W, tau, moves = regressor(q, v, a)[inner], tau[inner], abs(v[inner]) > 0.05

weight = np.ones(n)
for _ in range(2):
    rows, rhs = (W * weight[:, None])[moves], (tau * weight)[moves]
    free = np.linalg.lstsq(rows, rhs, rcond=1e-9)[0]
    weight = 1.0 / np.sqrt([np.mean((tau - W @ free)[moves[:, j], j] ** 2) for j in range(n)])
R = np.linalg.qr(np.column_stack([(W * weight[:, None])[moves], (tau * weight)[moves]]), mode="r")
theta = cp.Variable(W.shape[2])
physical = [theta[10 * n : 13 * n] >= 0]
for k in range(n):
    m, x, y, z, xx, xy, yy, xz, yz, zz = (theta[10 * k + i] for i in range(10))
    half = (xx + yy + zz) / 2
    J = [[half - xx, -xy, -xz, x], [-xy, half - yy, -yz, y], [-xz, -yz, half - zz, z], [x, y, z, m]]
    physical.append(cp.bmat(J) >> 0)
cp.Problem(cp.Minimize(cp.sum_squares(R[:, :-1] @ theta - R[:, -1])), physical).solve("CLARABEL")
seconds, held_out = perf_counter() - started, np.load(motion)
np.save(out, regressor(held_out["q"], held_out["v"], held_out["a"]) @ theta.value)
json.dump({"theta": theta.value.tolist(), "seconds": seconds}, sys.stdout)
