"""Compression keeps everything that least squares needs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from experiments import chain_experiment, multisine_motion
from seeds import every

from steelyard.errors import ModelError, RegressionError
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.random_states import random_states
from steelyard.regression.compress import block_length, compress, compress_stream
from steelyard.regression.regression import merge
from steelyard.signals.motion import Measurements, Motion
from steelyard.testing.random_robots import random_robot


def whole_system(model, motion, measurements):
    """[W_b tau] of every usable row, with the row's channel and sample."""
    W = torque_regressor(model, motion.q, motion.v, motion.a)
    W = W[:, :, list(base_map(model).independent)]
    rows = np.concatenate([W, measurements.tau[:, :, None]], axis=2)
    return rows


def gram(R):
    """RᵀR."""
    return R.T @ R


def relative(one, other):
    """Largest difference relative to the largest entry."""
    return float(np.max(np.abs(one - other)) / np.max(np.abs(other)))


@every("seed", range(20))
def test_factors_hold_the_gram_matrix_of_all_rows(seed):
    """RᵀR equals that of the whole stacked system, for random trees and floating bases."""
    rng = np.random.default_rng(seed)
    robot = random_robot(
        rng, int(rng.integers(1, 7)), floating_base=seed % 3 == 0, mimic=0.2 if seed % 2 else 0.0
    )
    model = Model(robot)
    q, v, a = random_states(rng, robot, 300)
    motion = Motion(np.arange(300) * 0.01, q, v, a)
    measurements = Measurements(model.channels, rng.normal(scale=10.0, size=(300, model.nv)))
    regression = compress(model, motion, measurements)
    rows = whole_system(model, motion, measurements)
    assert relative(gram(regression.system()), gram(rows.reshape(-1, rows.shape[2]))) < 1e-13
    weights = rng.uniform(0.1, 3.0, size=model.nv)
    weighted = (rows * weights[:, None]).reshape(-1, rows.shape[2])
    assert relative(gram(regression.system(weights)), gram(weighted)) < 1e-13
    assert regression.n_rows == 300 * model.nv


def test_each_block_holds_its_own_time():
    """Block k holds the rows with k <= t / block_s < k + 1, group by group."""
    world = chain_experiment(0, n_samples=500)
    measurements = world.measured(np.zeros(1))
    regression = compress(world.model, world.motion, measurements, block_s=0.7)
    rows = whole_system(world.model, world.motion, measurements)
    number = np.floor(world.motion.time / 0.7).astype(int)
    assert [k for _, k in regression.keys] == sorted(set(number))
    for block, (_, k) in enumerate(regression.keys):
        mine = rows[number == k].reshape(-1, rows.shape[2])
        assert relative(gram(regression.block_rows(block, np.ones(3))), gram(mine)) < 1e-13


def test_chunks_do_not_change_a_single_bit():
    """Factors on a fixed grid do not depend on the sizes of chunks, nor on threads."""
    world = chain_experiment(1, n_samples=5000)
    measurements = world.measured(np.zeros(1))
    whole = compress(world.model, world.motion, measurements, block_s=8.0)
    threaded = compress(world.model, world.motion, measurements, block_s=8.0, threads=2)
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.choice(np.arange(1, 5000), size=37, replace=False))
    edges = [0, *cuts, 5000]
    pieces = [slice(i, j) for i, j in pairwise(edges)]
    chunks = [(world.motion[p], measurements[p]) for p in pieces]
    streamed = compress_stream(world.model, chunks, block_s=8.0)
    for other in (threaded, streamed):
        assert other.keys == whole.keys
        assert np.array_equal(other.counts, whole.counts)
        for one, two in zip(whole.factors, other.factors, strict=True):
            assert np.array_equal(one, two)


def test_stream_without_a_grid_keeps_a_bounded_number_of_blocks():
    """Blocks are joined as a stream grows; the total does not change."""
    world = chain_experiment(2, n_samples=6000)
    measurements = world.measured(np.zeros(1))
    chunks = [(world.motion[i : i + 100], measurements[i : i + 100]) for i in range(0, 6000, 100)]
    streamed = compress_stream(world.model, chunks)
    whole = compress(world.model, world.motion, measurements)
    assert 30 <= len(streamed.keys) <= 64
    assert streamed.block_s == whole.block_s
    assert relative(gram(streamed.system()), gram(whole.system())) < 1e-12
    assert np.array_equal(streamed.counts, whole.counts)


def test_merge_is_the_union_in_any_order():
    """Runs compressed apart and merged in any order are the same regression."""
    world = chain_experiment(3, n_samples=1000)
    rng = np.random.default_rng(7)
    parts = []
    for k, n_samples in enumerate((400, 900, 3000)):
        motion = multisine_motion(rng, 3, n_samples, 100.0, run=f"run {k}")
        tau = rng.normal(size=(n_samples, 3))
        parts.append(compress(world.model, motion, Measurements(world.model.channels, tau)))
    one = merge(parts)
    other = merge([parts[2], merge([parts[1], parts[0]])])
    assert one.keys == other.keys
    assert relative(gram(one.system()), gram(other.system())) < 1e-13
    assert relative(gram(one.system()), sum(gram(part.system()) for part in parts)) < 1e-13
    assert one.n_rows == 3 * (400 + 900 + 3000)


def test_merge_joins_a_run_cut_inside_a_block():
    """The two halves of a block merge into the block."""
    world = chain_experiment(4, n_samples=1000)
    measurements = world.measured(np.zeros(1))
    whole = compress(world.model, world.motion, measurements, block_s=1.0)
    halves = [
        compress(world.model, world.motion[part], measurements[part], block_s=1.0)
        for part in (slice(0, 555), slice(555, None))
    ]
    merged = merge(halves)
    assert merged.keys == whole.keys
    assert np.array_equal(merged.counts, whole.counts)
    for one, two in zip(merged.factors, whole.factors, strict=True):
        for a, b in zip(one, two, strict=True):
            assert relative(gram(a), gram(b)) < 1e-13


def test_missing_torques_are_left_out():
    """NaN torques of a joint drop that joint's rows and no others."""
    world = chain_experiment(5, n_samples=600)
    noise = np.zeros((600, 3))
    noise[100:250, 1] = np.nan
    regression = compress(world.model, world.motion, world.measured(noise))
    kept = np.ones(600, dtype=bool)
    kept[100:250] = False
    only = compress(
        world.model,
        Motion(*(getattr(world.motion, n)[kept] for n in ("time", "q", "v", "a"))),
        Measurements(("joint_2",), world.tau[kept, 1:2]),
    )
    assert regression.counts.sum(axis=0).tolist() == [600, 450, 600]
    assert only.counts.sum(axis=0).tolist() == [0, 450, 0]
    assert relative(gram(regression.group_factors[1]), gram(only.group_factors[1])) < 1e-13


def test_channels_are_matched_by_name():
    """Reordered torque columns give the same factors."""
    world = chain_experiment(6, n_samples=300)
    one = compress(world.model, world.motion, world.measured(np.zeros(1)))
    back = Measurements(world.model.channels[::-1], world.tau[:, ::-1])
    other = compress(world.model, world.motion, back)
    assert all(np.array_equal(a, b) for a, b in zip(one.factors, other.factors, strict=True))


def test_a_group_has_only_the_parameters_that_affect_it():
    """The last joint of a chain involves its own link and friction alone."""
    world = chain_experiment(7)
    regression = compress(world.model, world.motion, world.measured(np.zeros(1)))
    names = regression.base.names
    last = {names[i].split(".")[0] for i in regression.groups[-1].columns}
    assert last == {"link_3", "joint_3"}
    assert len(regression.groups[0].columns) > len(regression.groups[2].columns)


def test_block_length_gives_32_to_64_blocks():
    """This holds for any duration."""
    for duration in np.exp(np.random.default_rng(0).uniform(np.log(1e-3), np.log(1e6), 500)):
        assert 32 <= duration / block_length(duration) <= 64


def test_bad_data_are_refused_with_the_place():
    """NaN in the motion, backward time, unknown joints, empty and all-missing data."""
    world = chain_experiment(8, n_samples=50)
    model, motion = world.model, world.motion
    good = world.measured(np.zeros(1))
    v = motion.v.copy()
    v[17, 1] = np.nan
    with pytest.raises(RegressionError, match="v is not a number at sample 17"):
        compress(model, Motion(motion.time, motion.q, v, motion.a), good)
    with pytest.raises(RegressionError, match="time does not increase"):
        compress(model, Motion(motion.time[::-1], motion.q, motion.v, motion.a), good)
    with pytest.raises(ModelError, match="names elbow, but the joints are joint_1"):
        compress(model, motion, Measurements(("elbow",), good.tau[:, :1]))
    with pytest.raises(RegressionError, match="no torque value of joint_1"):
        compress(model, motion, world.measured(np.full((50, 3), np.nan)))
    noise = np.zeros((50, 3))
    noise[3, 0] = np.inf
    with pytest.raises(RegressionError, match="infinite at sample 3"):
        compress(model, motion, world.measured(noise))
    with pytest.raises(RegressionError, match="50 samples of motion, but 49 of torque"):
        compress(model, motion, good[:49])
    with pytest.raises(RegressionError, match="no samples"):
        compress_stream(model, [])
    with pytest.raises(RegressionError, match="positive time"):
        compress(model, motion, good, block_s=0.0)
    other = chain_experiment(9, n_samples=50)
    with pytest.raises(RegressionError, match="different models"):
        merge([compress(model, motion, good), compress(other.model, other.motion, good)])


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_numbers_of_threads_are_checked(threads):
    """A number of threads that is none is refused; one of NumPy is a number."""
    made = chain_experiment(2, n_joints=2, n_samples=50)
    model, motion = made.model, made.motion
    measurements = Measurements(model.channels, np.ones((50, 2)))
    with pytest.raises(RegressionError, match=r"threads is .*; a whole number from 1 on is needed"):
        compress(model, motion, measurements, threads=threads)
    assert compress(model, motion, measurements, threads=np.int64(2)).n_rows == 100


def test_blocks_are_no_shorter_than_the_correlation_time():
    """Filtered residuals need longer blocks, on the same grid of powers of two."""
    assert block_length(5.0) == 0.125
    assert block_length(5.0, 0.5) == 0.5
    assert block_length(5.0, 0.6) == 1.0
    assert block_length(500.0, 0.5) == 8.0
