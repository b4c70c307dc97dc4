"""The channels on which signals of robots with many joints are compared."""

from __future__ import annotations

import numpy as np

from steelyard.diagnosis.left_out import MOST_COLUMNS, compared_rows
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.regression.compress import compress
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot


def test_all_channels_of_usual_robots():
    """A robot with few parameters is compared on every joint, measured or not."""
    model = Model(random_robot(np.random.default_rng(0), 7, chain=True))
    found = compared_rows(model, base_map(model), [])
    assert found.rows == tuple(range(7))
    assert found.base is base_map(model)
    assert found.mixing is None


def test_outermost_measured_channels_of_large_ones():
    """The rows depend on few base parameters, all measured, and no joint that carries one of the
    chosen is chosen before it.
    """
    for seed, chain in ((1, True), (2, False)):
        rng = np.random.default_rng(seed)
        model = Model(random_robot(rng, 24, chain=chain, fixed=0.0))
        base = base_map(model)
        left_out = model.channels.index("joint_24")
        measured = [name for name in model.channels if name != "joint_24"]
        found = compared_rows(model, base, measured)
        assert 1 <= len(found.rows) < 24
        assert left_out not in found.rows
        assert found.base.rank <= MOST_COLUMNS
        mechanism = model.mechanism
        for row in found.rows:
            carried = [
                own
                for own in range(24)
                if row in mechanism.path[own, : mechanism.path_length[own]] and own != left_out
            ]
            assert set(carried) <= set(found.rows)


def test_compressed_rows_are_those_of_the_whole_model():
    """On their own base parameters the chosen rows predict the torques of the whole model."""
    rng = np.random.default_rng(3)
    model = Model(random_robot(rng, 24, chain=True, fixed=0.0))
    chosen = compared_rows(model, base_map(model), model.channels)
    q, v, a = random_states(rng, model.robot, 80)
    theta = rng.normal(size=len(model.columns))
    tau = torque_regressor(model, q, v, a) @ theta
    motion = Motion(np.arange(80) / 10.0, q, v, a, "run")
    found = compress(
        model,
        motion,
        Measurements(model.channels, tau),
        base=chosen.base,
        mixing=chosen.mixing,
        block_s=2.0,
    )
    assert [group.name for group in found.groups] == [model.channels[k] for k in chosen.rows]
    error = found.system() @ np.append(chosen.base.K @ theta, -1.0)
    assert np.linalg.norm(error) <= 1e-9 * np.linalg.norm(tau)
