"""The benchmark `never-loses`: its logs follow from true robots, its figures from its runs."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from steelyard import Model, Robot, torque
from steelyard.diagnosis.hypotheses.search import suspects
from steelyard.diagnosis.signal_choice import choose_signals, signal_findings
from steelyard.signals.processing import Processing

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("never_loses")


@pytest.fixture
def logs(bench: ModuleType) -> ModuleType:
    """Its logs."""
    pytest.importorskip("mujoco")
    pytest.importorskip("pinocchio")  # with which the robot files come
    return importlib.import_module("never_loses_logs")


@pytest.fixture
def runs(logs: ModuleType) -> ModuleType:
    """Its runs."""
    return importlib.import_module("never_loses_runs")


def test_seeds_of_the_figures_cover_what_is_promised(bench: ModuleType, logs: ModuleType) -> None:
    """300 logs, all arms and laws, 60 of heavy drives; and none that is for tuning."""
    cases = [logs.case_of(seed) for seed in bench.FIGURE_SEEDS]
    assert len(cases) >= 300
    assert not set(bench.FIGURE_SEEDS) & set(bench.TUNING_SEEDS)
    assert {case.arm for case in cases} == set(logs.arms.ARMS)
    assert {case.law for case in cases} == set(logs.LAWS)
    assert sum(case.armature == "high" for case in cases) >= 60
    assert {case.rate_hz for case in cases} == set(logs.RATES_HZ)
    assert min(case.seconds for case in cases) < 7.0
    assert max(case.seconds for case in cases) > 900.0
    assert all(0.05 <= case.file_error <= 0.4 for case in cases)


@pytest.mark.parametrize("law", ["loss", "tanh", "stribeck", "dahl"])
def test_torques_follow_from_the_true_robot(logs: ModuleType, law: str) -> None:
    """Links, drive inertia and friction explain MuJoCo's torques where the joints move."""
    case = replace(logs.case_of(5), arm="panda", law=law, controller="stiff", file_error=0.3)
    world = logs.world_of(case, 0.9, np.random.default_rng(3))
    rng = np.random.default_rng(4)
    run = logs.simulated(world, law, "aperiodic", 4.0, 100.0, 1.5, 0.9, rng)
    text = logs.arms.true_text("panda", 0.3, np.random.default_rng(3))
    model = Model(Robot.from_urdf_text(text), terms=())
    assert model.robot.joint_names == logs.arms.ARMS["panda"].joints
    rest = run.tau - torque(model, model.prior_theta(), run.q, run.v, run.a)
    rest -= world.model.dof_armature * run.a + world.viscous * run.v
    size = np.sqrt(np.mean(run.tau**2, axis=0))
    for j, speed in enumerate(run.v.T):
        F_c, x = world.coulomb[j], world.shape[:, j]
        factor = 1.0
        if law == "stribeck":
            factor = 1.0 + (x[1] - 1.0) * np.exp(-((speed / x[2]) ** 2))
        turns = np.sign(speed) if law in ("loss", "dahl") else np.tanh(speed / x[0])
        away = abs(rest[:, j] - F_c * factor * turns)
        # Dahl's friction follows once the joint has moved on by some presliding distances
        part = 0.8 if law == "dahl" else 1.0
        fast = abs(speed) > 0.1 * np.sqrt(np.mean(speed**2))
        assert np.quantile(away[fast], part) < 0.01 * size[j]


def test_a_log_is_determined_by_its_seed(logs: ModuleType) -> None:
    """The same log and test motion twice, another one with another seed."""
    case = replace(logs.case_of(2), seconds=2.0, arm="finger")
    (log, test), (again, same) = logs.recorded(case), logs.recorded(case)
    other, _ = logs.recorded(replace(case, seed=6))
    for key, values in log.signals.items():
        np.testing.assert_array_equal(values, again.signals[key])
        assert np.any(values != other.signals[key])
    np.testing.assert_array_equal(test.tau, same.tau)


def test_every_method_is_measured_on_the_same_signals(
    bench: ModuleType, runs: ModuleType, tmp_path: Path
) -> None:
    """A short run has an error of each method, and a campaign takes it from the file."""
    run = runs.run_of(16, arm="finger", seconds=12.0, rate_hz=100.0)
    assert not run.refusal
    assert not run.traceback
    assert set(run.errors) == {runs.DEFAULT, *runs.OTHERS}
    assert all(0.0 < error < 0.2 for error in run.errors.values())
    assert runs.Run.from_dict(json.loads(json.dumps(run.to_dict()))) == run
    kept = replace(run, case=runs.case_of(16))
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps(kept.to_dict()) + '\n{"case": {"se', encoding="utf-8")
    assert bench.campaign([16], file) == [kept]


def test_left_out_parts_are_predicted_where_the_default_lost(runs: ModuleType) -> None:
    """The mean square is about that of the noise, a little more than of the fit."""
    case = replace(runs.case_of(16), arm="finger", seconds=12.0, rate_hz=100.0)
    log, _ = runs.recorded(case)
    scores = runs.left_out(runs.identified(case, log), "wls")
    assert set(scores) == {runs.DEFAULT, "wls"}
    assert all(0.9 < score < 3.0 for score in scores.values())


def test_figures_count_refusals_as_misses_and_small_differences_as_equal(
    bench: ModuleType, runs: ModuleType
) -> None:
    """Four runs: equal, won, lost in hindsight, refused."""
    others = dict.fromkeys(runs.OTHERS, 0.2)
    case = runs.case_of(0)
    given = [
        runs.Run(case, {**others, "default": 0.0209, "wls": 0.02}),
        runs.Run(case, {**others, "default": 0.1}),
        runs.Run(
            case, {**others, "default": 0.06, "ols": 0.05}, left_out={"default": 1.0, "ols": 1.1}
        ),
        runs.Run(case, refusal="a wrong clock", codes=("time-rate",)),
    ]
    figures = bench.figures(given)
    assert figures["within_5pct"] == 0.5
    assert figures["worst_ratio"] == pytest.approx(1.2)
    assert figures["median_ratio"] == 1.0
    assert (figures["refused"], figures["tracebacks"], figures["misses"]) == (1.0, 0.0, 1.0)
    assert figures["hindsight"] == 1.0
    assert figures["over_feasible"] == pytest.approx(1.0 / 0.3)
    assert "a wrong clock" in bench.tables(given)


@pytest.mark.parametrize(("seed", "law"), [(12, "loss"), (9, "tanh")])
def test_the_law_is_sharp_where_only_the_log_is_not(logs: ModuleType, seed: int, law: str) -> None:
    """MuJoCo's frictionloss jumps, and tanh does not. Both logs want a width around reversals; it
    belongs to the law of the second robot alone.
    """
    case = logs.case_of(seed)
    assert case.law == law
    log, _ = logs.recorded(case)
    model = Model(Robot.from_urdf_text(logs.arms.urdf_text(case.arm)))
    choice = choose_signals(model, log, Processing())
    assert choice.shares is not None
    assert sum(share > 0.0 for share in choice.shares.values()) >= 4
    wide = [name for name, width in choice.widths.items() if width > 0.0]
    smear = choice.processing.friction_smear
    (said,) = (one.words for one in signal_findings(choice) if one.code == "signals-chosen")
    if law == "tanh":
        assert len(wide) == len(choice.widths)
        assert smear is None
        assert "friction that saturates at 2 to 5 %" in said or "saturates at 5 %" in said
    else:
        assert wide == []
        assert smear is not None
        assert all(smear[name] > 0.0 for name, share in choice.shares.items() if share)
        assert "sign(v) for friction, smeared up to 2 % of the speed" in said


@pytest.mark.parametrize(("seed", "law"), [(179, "dahl"), (232, "loss")])
def test_friction_that_builds_up_is_no_delay(logs: ModuleType, seed: int, law: str) -> None:
    """Presliding, and joints that stick: beside friction that jumps both look 20 to 80 ms late."""
    case = logs.case_of(seed)
    assert case.law == law
    log, _ = logs.recorded(case)
    model = Model(Robot.from_urdf_text(logs.arms.urdf_text(case.arm)))
    assert [one.code for one in suspects(model, log) if one.code == "delay"] == []


def test_a_delay_is_found_beside_presliding(logs: ModuleType) -> None:
    """Of one joint, whose torque is 30 ms late."""
    log, _ = logs.recorded(logs.case_of(10191))
    model = Model(Robot.from_urdf_text(logs.arms.urdf_text("so101")))
    key = model.channels[0], "torque"
    tau = np.interp(log.time - 0.03, log.time, log.signals[key])
    (found,) = suspects(model, replace(log, signals={**log.signals, key: tau}))
    assert (found.code, found.joints) == ("delay", key[:1])
    assert found.size == pytest.approx(0.03, abs=2e-3)
