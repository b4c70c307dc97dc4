"""Recorded logs through the same processing reproduce published numbers."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from numpy.typing import NDArray
from robot_files import dataset

from steelyard.logs.log import Log
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing

pytestmark = pytest.mark.dataset
Array = NDArray[np.float64]


def chain(kind: str, n_joints: int) -> Robot:
    links = tuple(Link(f"l{k}") for k in range(n_joints + 1))
    joints = tuple(
        Joint(f"j{k}", kind, f"l{k}", f"l{k + 1}")  # type: ignore[arg-type]
        for k in range(n_joints)
    )
    return Robot("chain", links, joints)


def log_of(time: Array, q: Array, tau: Array) -> Log:
    return Log(
        time,
        {
            (f"j{k}", name): table[:, k]
            for name, table in (("position", q), ("torque", tau))
            for k in range(q.shape[1])
        },
    )


def test_panda_stamps_are_resampled() -> None:
    """The jitter, repeated samples and holes of the Panda log are found and dealt with, with its
    stamps as they are; with even ones, samples are a millisecond apart.
    """

    def numbers(name: str) -> Array:
        path = dataset("panda_gaz2019") / f"exciting_traj_{name}.txt.gz"
        return np.array(gzip.decompress(path.read_bytes()).split(), dtype=float)

    time, q, tau = (numbers(name) for name in ("time", "positions", "torques"))
    log = log_of(time, q.reshape(-1, 7), tau.reshape(-1, 7))
    repaired = prepare(log, chain("revolute", 7)).record
    assert repaired.time is not None
    assert repaired.time.recorded_rate_hz == pytest.approx(1000.0, abs=0.02)
    assert repaired.time_repair.repeated_rows == pytest.approx(1255, rel=0.03)
    assert repaired.time_repair.closer > 10.0
    done = prepare(log, chain("revolute", 7), Processing(time_base="as-stamped"))
    found = done.record.time
    assert found is not None
    assert found.recorded_rate_hz == pytest.approx(1000.0)
    assert found.mean_rate_hz == pytest.approx(978.28, abs=0.01)
    assert found.period_s.min == pytest.approx(0.0007)
    assert found.period_s.max == pytest.approx(0.00881)
    assert (found.holes, found.resampled) == (4, True)
    # the motion has its highest harmonic at 0.375 Hz: the cutoff must be well above
    assert 2.0 < done.record.cutoff_hz < 8.0  # type: ignore[operator]
    velocity = numbers("velocity").reshape(-1, 7)
    for k in range(7):
        measured = np.interp(done.motion.time, time, velocity[:, k])
        error = np.linalg.norm(measured - done.motion.v[:, k]) / np.linalg.norm(measured)
        assert error < 0.02, (k, error)
