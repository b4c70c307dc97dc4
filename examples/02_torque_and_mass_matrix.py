"""Torque, mass matrix and regressor

The kernels take whole batches of states. Torque is linear in the parameters, tau = W theta, and
splits into M(q) a + b(q, v); this script checks both on the built-in arm.
"""

import numpy as np

from steelyard import Model, bias_torque, mass_matrix, torque, torque_regressor
from steelyard.model.random_states import random_states
from steelyard.simulation.builtin_arm import builtin_arm

model = Model(builtin_arm())
theta = model.prior_theta()
q, v, a = random_states(np.random.default_rng(0), model.robot, 1000)

tau = torque(model, theta, q, v, a)
W = torque_regressor(model, q, v, a)
M = mass_matrix(model, theta, q)
b = bias_torque(model, theta, q, v)
print("regressor:", W.shape)
print("largest |W theta - tau|:", np.abs(W @ theta - tau).max())
print("largest |M a + b - tau|:", np.abs(np.einsum("sij,sj->si", M, a) + b - tau).max())
print("smallest eigenvalue of M over all states:", np.linalg.eigvalsh(M).min())
