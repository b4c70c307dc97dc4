"""The legged robots of `benchmarks/run.py humanoid`: their logs follow from their true files."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from steelyard import Model, Processing, Robot, check_links, prepare, read_log, torque, write_csv

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def robots(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The robots and their wrong files."""
    pytest.importorskip("mujoco")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    found = importlib.import_module("humanoid_robots")
    try:
        found.robots_folder()
    except importlib.import_module("contender").PeerAbsentError as absent:
        pytest.skip(str(absent))
    return found


@pytest.mark.parametrize("name", ["TALOS", "G1", "SOLO"])
def test_files_are_physical_and_wrong_by_20_percent(robots: ModuleType, name: str) -> None:
    """Every mass differs by 20 %, and no link becomes unphysical."""
    text = getattr(robots, name).text()
    true, wrong = (Robot.from_urdf_text(one) for one in (text, robots.perturbed(text, 5)))
    pairs = zip(true.links, wrong.links, strict=True)
    masses = [(a.inertial[0], b.inertial[0]) for a, b in pairs if a.inertial is not None]
    ratios = [b / a for a, b in masses if a > 0.0]
    assert np.abs(np.array(ratios) - 1.0) == pytest.approx(0.2, abs=1e-6)
    assert {one.verdict for one in check_links(wrong)} <= {"physical", "massless", "no inertial"}


@pytest.mark.parametrize("name", ["G1", "SOLO"])
def test_logs_of_mujoco_are_met_by_the_true_robot(
    robots: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without noise and friction, every row that is read from a file is the true robot's."""
    logs = importlib.import_module("humanoid_log")
    for what in ("DRIVE_INERTIA", "VISCOUS", "COULOMB", "TORQUE_NOISE", "POSITION_NOISE",
                 "ROTATION_NOISE", "GYRO_NOISE", "ACCELEROMETER_NOISE"):  # fmt: skip
        monkeypatch.setattr(logs, what, 0.0)
    monkeypatch.setattr(logs, "ENCODER_STEP", 1e-12)
    legged = getattr(robots, name)
    write_csv(logs.simulate_log(legged, 3, 1.5, "run"), tmp_path / "run.csv")
    robot = Robot.from_urdf_text(legged.text(), floating_base=True)
    model = Model(robot, ())
    plain = Processing(cutoff_hz=None, decimate=1, dead_band=None, still_joints="keep")
    done = prepare(read_log(tmp_path / "run.csv"), model, plain)
    motion = done.motion
    ours = torque(model, model.prior_theta(), motion.q, motion.v, motion.a)
    size = np.abs(ours).max(axis=0)
    away = np.abs(done.measurements.tau - ours) / np.maximum(size, 1e-2 * size.max())
    assert np.isfinite(done.measurements.tau).all()
    assert away.max() < 1e-4
