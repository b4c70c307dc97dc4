"""The error to expect on other motions, against robots whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from small_arm import URDF

from steelyard.diagnosis.verdict.elsewhere import (
    MotionSizes,
    expected_elsewhere,
    motion_sizes,
    over_runs,
)
from steelyard.estimators.least_squares import wls
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.robot.inertia import from_pseudo_inertia, pseudo_inertia
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Measurements, Motion

MODEL = Model(Robot.from_urdf_text(URDF))
NOISE = 0.02


def sines(duration_s: float, size: float, rng: np.random.Generator) -> Motion:
    """Both joints swing by ``size`` (rad) about places of their own."""
    time = np.arange(0.0, duration_s, 0.005)
    rate = rng.uniform(2.0, 4.0, size=(2, 3)) * np.array([1.0, 0.6, 0.3])
    phase = rng.uniform(0.0, 2.0 * np.pi, size=(2, 3))
    wave = np.einsum("jk,t->tjk", rate, time) + phase
    q = size * np.sin(wave).mean(axis=2) + rng.uniform(-1.0, 1.0, size=2)
    v = size * (rate * np.cos(wave)).mean(axis=2)
    a = -size * (rate**2 * np.sin(wave)).mean(axis=2)
    return Motion(time, q, v, a)


def drawn(rng: np.random.Generator, error: float) -> np.ndarray:
    """A robot whose links are those of the file, stretched, shifted and heavier by shares."""
    theta = MODEL.prior_theta()
    for first in MODEL.first_column_of_body:
        J = pseudo_inertia(theta[first : first + 10])
        T = np.eye(4)
        T[:3, :3] += rng.normal(scale=error, size=(3, 3))
        T[:3, 3] = rng.normal(scale=0.1 * error, size=3)
        theta[first : first + 10] = (1.0 + error * rng.normal()) * from_pseudo_inertia(T @ J @ T.T)
    sizes = {"Ia": 0.05, "fv": 0.4, "fc": 0.6, "fo": 0.1}
    for k, column in enumerate(MODEL.columns):
        theta[k] = sizes.get(column.symbol, theta[k]) * (1.0 + 0.3 * rng.normal())
    return theta


def expected_and_true(seed: int, duration_s: float, size: float) -> tuple[float, float]:
    """The error to be expected of least squares, and its true one on motions that go anywhere."""
    rng = np.random.default_rng(seed)
    theta, motion = drawn(rng, 0.15), sines(duration_s, size, rng)
    W = torque_regressor(MODEL, motion.q, motion.v, motion.a)
    tau = W @ theta + NOISE * rng.normal(size=(len(motion.time), 2))
    base = base_map(MODEL)
    data = compress(MODEL, motion, Measurements(MODEL.channels, tau), base=base)
    beta = wls(data).beta
    sizes = motion_sizes(motion)
    q = rng.uniform(-2.5, 2.5, size=(500, 2))
    v, a = rng.normal(size=(2, 500, 2))
    other = torque_regressor(MODEL, q, v * sizes.speed, a * sizes.acceleration)
    truth = other @ theta
    missed = other[:, :, list(base.independent)] @ beta - truth
    true = float(np.linalg.norm(missed) / np.linalg.norm(truth))
    return expected_elsewhere(MODEL, data, beta, sizes, 1.0), true


@pytest.mark.parametrize(("duration_s", "size"), [(10.0, 1.5), (3.0, 0.8), (2.0, 0.4)])
def test_the_expected_error_is_the_true_one(duration_s, size):
    """Of robots that are as wrong as files are, within a factor of 2.5 in the median, from long
    motions to short and small ones.
    """
    both = np.array([expected_and_true(seed, duration_s, size) for seed in range(12)])
    ratios = both[:, 0] / both[:, 1]
    assert 1.0 / 2.5 < np.median(ratios) < 2.5, ratios
    assert np.all(ratios < 12.0)
    assert np.all(ratios > 1.0 / 12.0)


def test_less_motion_leaves_more_to_expect():
    """From ten seconds through everything to a short swing."""
    errors = [
        np.median([expected_and_true(seed, *given)[0] for seed in range(5)])
        for given in ((10.0, 1.5), (3.0, 0.8), (2.0, 0.4), (0.6, 0.2))
    ]
    assert errors == sorted(errors)
    assert errors[0] < 0.02
    assert errors[-1] > 0.2


def test_a_joint_that_stood_still_stays_where_it_was():
    """What its own motion would need is not asked for: standing, it leaves less to expect."""
    rng = np.random.default_rng(3)
    theta, motion = drawn(rng, 0.15), sines(8.0, 1.5, rng)
    still = np.array([1.0, 0.0])
    motion = replace(motion, q=motion.q * still + 0.3, v=motion.v * still, a=motion.a * still)
    W = torque_regressor(MODEL, motion.q, motion.v, motion.a)
    tau = W @ theta + NOISE * rng.normal(size=(len(motion.time), 2))
    data = compress(MODEL, motion, Measurements(MODEL.channels, tau), base=base_map(MODEL))
    beta = wls(data).beta
    sizes = motion_sizes(motion)
    moved = replace(sizes, upper=sizes.upper + np.array([0.0, 0.5]))
    here, there = (expected_elsewhere(MODEL, data, beta, one, 1.0) for one in (sizes, moved))
    assert here < 0.5 * there


def test_sizes_of_several_runs_are_those_of_one():
    """Ranges are joined, and root mean squares weighted by samples."""
    rng = np.random.default_rng(1)
    one, two = sines(4.0, 1.0, rng), sines(2.0, 0.5, rng)
    joined = over_runs([motion_sizes(one), motion_sizes(two)])
    assert isinstance(joined, MotionSizes)
    q, v = np.vstack([one.q, two.q]), np.vstack([one.v, two.v])
    np.testing.assert_allclose(joined.lower, q.min(axis=0))
    np.testing.assert_allclose(joined.upper, q.max(axis=0))
    np.testing.assert_allclose(joined.speed, np.sqrt(np.mean(v**2, axis=0)))
    rms = np.sqrt(np.mean(one.a**2, axis=0))
    np.testing.assert_allclose(motion_sizes(one).acceleration, rms, rtol=0.02)
    assert over_runs([]) is None


def test_a_log_too_short_to_leave_parts_out_is_trusted_less():
    """Without a growth, each time block counts as one torque of each joint."""
    rng = np.random.default_rng(5)
    theta, motion = drawn(rng, 0.15), sines(2.0, 1.0, rng)
    W = torque_regressor(MODEL, motion.q, motion.v, motion.a)
    tau = W @ theta + NOISE * rng.normal(size=(len(motion.time), 2))
    data = compress(MODEL, motion, Measurements(MODEL.channels, tau), base=base_map(MODEL))
    beta, sizes = wls(data).beta, motion_sizes(motion)
    known = expected_elsewhere(MODEL, data, beta, sizes, 1.0)
    assert expected_elsewhere(MODEL, data, beta, sizes, math.nan) >= known
