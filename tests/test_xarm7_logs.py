"""The simulated xArm7 of `benchmarks/run.py xarm7`: its logs follow from its true parameters."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from steelyard import Model, Robot, base_map, check_links, torque, torque_regressor
from steelyard.diagnosis.hypotheses.search import suspects

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def xarm7_robot(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The robot and its file."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("xarm7_robot")


@pytest.fixture
def xarm7_log(xarm7_robot: ModuleType) -> ModuleType:
    """The simulator."""
    pytest.importorskip("mujoco")
    return importlib.import_module("xarm7_log")


def test_file_is_physical_and_wrong_by_20_to_30_percent(xarm7_robot: ModuleType) -> None:
    """Every mass and coordinate of a centre of mass differs by that much, for any seed."""
    for seed in range(20):
        wrong = xarm7_robot.wrong_inertials(seed)
        verdicts = check_links(Robot.from_urdf_text(xarm7_robot.urdf_text(wrong)))
        assert [link.verdict for link in verdicts] == ["no inertial", *["physical"] * 7]
        for body, true in zip(wrong, xarm7_robot.true_inertials(), strict=True):
            moved = np.append(body.com, body.mass), np.append(true.com, true.mass)
            ratio = [a / b for a, b in zip(*moved, strict=True) if b]
            assert all(0.2 <= abs(r - 1.0) <= 0.3 for r in ratio)


def test_true_parameters_give_the_torques_of_sliding_joints(
    xarm7_robot: ModuleType, xarm7_log: ModuleType
) -> None:
    """MuJoCo's torques follow from the true parameters, except while a joint sticks."""
    model = Model(Robot.from_urdf_text(xarm7_robot.urdf_text(xarm7_robot.wrong_inertials())))
    run = xarm7_log.simulate(4, 3.0)
    predicted = torque(model, model.theta(xarm7_robot.true_values()), run.q, run.v, run.a)
    error = abs(predicted - run.tau)
    assert error[run.slides].max() < 1e-9
    assert 0.9 < run.slides.mean() < 1.0
    assert error[~run.slides].max() > 0.1


def test_log_determines_the_true_base_parameters(
    xarm7_robot: ModuleType, xarm7_log: ModuleType
) -> None:
    """Positions and torques of the log are those of the run, and its motion is a rich one."""
    log, truth = xarm7_log.simulate_log(4, 3.0)
    run = xarm7_log.simulate(4, 3.0)
    for k, joint in enumerate(xarm7_robot.JOINTS):
        off = log.signal(joint, "position") - run.q[:, k]
        assert 1e-6 < np.std(off) < 1e-4
        noise = np.std(log.signal(joint, "torque") - run.tau[:, k])
        assert noise == pytest.approx(xarm7_log.TORQUE_NOISE[k], rel=0.1)

    model = Model(Robot.from_urdf_text(xarm7_robot.urdf_text(xarm7_robot.wrong_inertials())))
    base = base_map(model)
    columns = [model.column_names.index(name) for name in base.names]
    W = torque_regressor(model, run.q, run.v, run.a)[..., columns][run.slides]
    beta = np.linalg.lstsq(W, run.tau[run.slides], rcond=None)[0]
    assert beta == pytest.approx(base.K @ model.theta(truth), abs=1e-6)


@pytest.mark.parametrize("seed", [3, 51])
def test_a_joint_that_sticks_is_not_late(
    seed: int, xarm7_robot: ModuleType, xarm7_log: ModuleType
) -> None:
    """No torque of these logs is late; after a low filter, that of a joint that sticks looks so."""
    model = Model(Robot.from_urdf_text(xarm7_robot.urdf_text(xarm7_robot.wrong_inertials())))
    log, _ = xarm7_log.simulate_log(seed)
    assert suspects(model, log) == ()

    key = xarm7_robot.JOINTS[1], "torque"
    late = replace(log, signals={**log.signals, key: np.roll(log.signals[key], 6)})
    (found,) = suspects(model, late)
    assert (found.code, found.joints) == ("delay", key[:1])
    assert found.size == pytest.approx(0.012, abs=1e-3)
