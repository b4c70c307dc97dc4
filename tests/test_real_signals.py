"""Recorded logs through the same processing: published numbers come back."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from numpy.typing import NDArray
from robot_files import dataset

from steelyard.errors import LogError
from steelyard.logs import Log, read_log
from steelyard.robot.tree import Joint, Link, Robot
from steelyard.signals import Processing, prepare

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


def emps(name: str) -> tuple[Array, Array]:
    """Regressor (n, 4) and force (n,) of the one-axis drive, processed."""
    from scipy.io import loadmat

    raw = loadmat(dataset("emps") / name)
    log = log_of(raw["t"].ravel(), raw["qm"], raw["gtau"].item() * raw["vir"])
    done = prepare(log, chain("prismatic", 1), Processing(cutoff_hz=30.0, dead_band=0.002))
    v, a, force = done.motion.v[:, 0], done.motion.a[:, 0], done.measurements.tau[:, 0]
    used = np.isfinite(force)
    W = np.column_stack([a, v, np.sign(v), np.ones_like(v)])
    return W[used], force[used]


def test_emps_gives_the_published_parameters() -> None:
    """Mass, friction and offset of the drive, and both relative errors, as published."""
    W, force = emps("DATA_EMPS.mat")
    theta, *_ = np.linalg.lstsq(W, force, rcond=None)
    published = np.array([95.1089, 203.5034, 20.3935, -3.1648])
    deviation = np.abs(theta / published - 1.0)
    assert (deviation <= [0.01, 0.02, 0.02, 0.05]).all(), (theta, deviation)
    assert np.linalg.norm(force - W @ theta) / np.linalg.norm(force) <= 0.041
    W, force = emps("DATA_EMPS_PULSES.mat")
    assert np.linalg.norm(force - W @ theta) / np.linalg.norm(force) <= 0.060


def test_panda_stamps_are_resampled() -> None:
    """The jitter, repeated samples and holes of the Panda log are found and dealt with."""

    def numbers(name: str) -> Array:
        path = dataset("panda_gaz2019") / f"exciting_traj_{name}.txt.gz"
        return np.array(gzip.decompress(path.read_bytes()).split(), dtype=float)

    time, q, tau = (numbers(name) for name in ("time", "positions", "torques"))
    done = prepare(log_of(time, q.reshape(-1, 7), tau.reshape(-1, 7)), chain("revolute", 7))
    found = done.record["time"]
    assert isinstance(found, dict)
    assert found["recorded_rate_hz"] == pytest.approx(1000.0)
    assert found["mean_rate_hz"] == pytest.approx(978.28, abs=0.01)
    assert found["period_s"]["min"] == pytest.approx(0.0007)
    assert found["period_s"]["max"] == pytest.approx(0.00881)
    assert (found["holes"], found["resampled"]) == (4, True)
    # the motion has its highest harmonic at 0.375 Hz: the cutoff must leave it alone
    assert 2.0 < done.record["cutoff_hz"] < 8.0  # type: ignore[operator]
    velocity = numbers("velocity").reshape(-1, 7)
    for k in range(7):
        measured = np.interp(done.motion.time, time, velocity[:, k])
        error = np.linalg.norm(measured - done.motion.v[:, k]) / np.linalg.norm(measured)
        assert error < 0.02, (k, error)


def test_kuka_arrays_need_joint_names() -> None:
    """An NPZ file of another program is refused with what it lacks."""
    path = dataset("kuka_lwr4_flobaroid") / "measurements_1.npz"
    with pytest.raises(LogError, match="need 'joint_names'"):
        read_log(path)
