"""One call from logs to base parameters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_arm import URDF, arm_log, true_theta

from steelyard.deadband import apply_dead_band
from steelyard.errors import EstimationError, LogError, ModelError, SignalError
from steelyard.estimators import ols, wls
from steelyard.excitation import multisine
from steelyard.identifiability import base_map
from steelyard.identification import dead_bands, identify, model_of, prepare_run, with_unique_names
from steelyard.kernels import torque
from steelyard.logs import Log
from steelyard.model import Model
from steelyard.overlay_terms import terms_from_overlay
from steelyard.regression import compress, merge
from steelyard.robot.overlay import apply_overlay
from steelyard.robot.overlay_toml import parse_overlay
from steelyard.robot.tree import Robot
from steelyard.robot.urdf import parse_urdf
from steelyard.signals import Processing, prepare
from steelyard.terms import joint_terms
from steelyard.testing import random_robot

AS_MEASURED = Processing(
    cutoff_hz=None, velocity="measured", acceleration="measured", trim_s=(0.0, 0.0), decimate=1
)


@pytest.fixture(scope="module")
def arm() -> Robot:
    return parse_urdf(URDF)


@pytest.fixture(scope="module")
def logs(arm: Robot) -> list[Log]:
    return [arm_log(arm, seed, name=f"run_{seed}") for seed in (1, 2)]


def exact_log(model: Model, theta: np.ndarray, seed: int) -> Log:
    """Position, velocity, acceleration and torque as they are, without noise."""
    motion = multisine(model.robot, seed=seed).evaluate(np.arange(2000) / 100.0)
    tau = torque(model, theta, motion.q, motion.v, motion.a)
    columns = {"position": motion.q, "velocity": motion.v, "acceleration": motion.a, "torque": tau}
    signals = {
        (joint, quantity): values[:, i]
        for i, joint in enumerate(model.robot.joint_names)
        for quantity, values in columns.items()
    }
    return Log(motion.time, signals, "exact")


@pytest.mark.parametrize("method", ["wls", "ols"])
@pytest.mark.parametrize("seed", range(4))
def test_exact_logs_give_the_true_base_parameters(method, seed):
    """Without noise, on random trees, the estimate is K theta and predicts without error."""
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, 1 + seed))
    theta = model.prior_theta()
    terms = [column.kind != "rigid_body" for column in model.columns]
    theta[terms] = rng.uniform(0.2, 1.0, size=sum(terms))
    log = exact_log(model, theta, seed)
    found = identify(model.robot, [log], method=method, processing=AS_MEASURED)
    truth = base_map(model).K @ theta
    determined = found.estimate.determined
    assert determined.any()
    np.testing.assert_allclose(
        found.estimate.beta[determined], truth[determined], atol=1e-6 * np.abs(truth).max()
    )
    assert found.estimate.relative_error < 1e-8


@pytest.mark.parametrize(("method", "estimator"), [("wls", wls), ("ols", ols)])
def test_the_call_is_the_composition_it_documents(arm, logs, method, estimator):
    """identify gives what prepare, dead band, compress, merge and the estimator give by hand."""
    model = Model(arm)
    parts = []
    for log in logs:
        run = prepare(log, arm)
        speed = np.sqrt(np.mean(run.motion.v**2, axis=0))
        band = dict(zip(arm.joint_names, 0.1 * speed, strict=True))
        used = apply_dead_band(model, run.motion, run.measurements, band)
        parts.append(compress(model, run.motion, used))
    by_hand = estimator(merge(parts))
    found = identify(arm, logs, method=method)
    np.testing.assert_array_equal(found.estimate.beta, by_hand.beta)
    np.testing.assert_array_equal(found.estimate.spread.covariance, by_hand.spread.covariance)
    assert found.estimate.n_rows == by_hand.n_rows


def test_truth_lies_inside_the_intervals(arm, logs):
    """With noise on the torque nearly every true base parameter is inside its interval."""
    found = identify(arm, logs)
    truth = found.estimate.base.K @ true_theta(found.model)
    inside = [
        parameter.lower <= value <= parameter.upper
        for parameter, value in zip(found.estimate.parameters(0.99), truth, strict=True)
    ]
    assert sum(inside) >= len(inside) - 1


def test_the_dead_band_keeps_friction_honest(arm, logs):
    """The friction of filtered torques is closer to the truth with the automatic dead band."""
    model = Model(arm)
    truth = base_map(model).K @ true_theta(model)
    columns = [k for k, name in enumerate(base_map(model).names) if name.endswith((".fv", ".fc"))]
    error = {
        band: np.abs(identify(arm, logs, dead_band=band).estimate.beta - truth)[columns].max()
        for band in ("auto", 0.0)
    }
    assert error["auto"] < 0.5 * error[0.0]


def test_logs_are_taken_one_at_a_time(arm, logs):
    """A generator of logs is enough, and none is asked for before the one before is done."""
    alive: list[str] = []

    def one_by_one():
        for log in logs:
            alive.append(log.name)
            yield log

    found = identify(arm, one_by_one())
    assert alive == ["run_1", "run_2"]
    assert [run["log"] for run in found.estimate.record["runs"]] == alive


def test_runs_that_share_a_name_stay_apart(arm, logs):
    """Two logs of one name give the same estimate as the same logs with different names."""
    twins = [replace(log, name="run") for log in logs]
    same, different = identify(arm, twins), identify(arm, logs)
    assert {run for run, _ in same.regression.keys} == {"run", "run_2"}
    np.testing.assert_allclose(same.estimate.beta, different.estimate.beta, rtol=1e-12)


def test_numbered_names_do_not_collide_with_given_ones(logs):
    """A log that is really called run_2 keeps the numbered one from taking its name."""
    named = [replace(logs[0], name=name) for name in ("run", "run_2", "run", "run_2", "run")]
    names = [log.name for log in with_unique_names(named)]
    assert len(set(names)) == len(names)
    assert names[:2] == ["run", "run_2"]


def test_threads_do_not_change_the_result(arm, logs):
    """One and three threads give the same numbers to the last bit."""
    one, three = (identify(arm, logs, threads=n).estimate for n in (1, 3))
    np.testing.assert_array_equal(one.beta, three.beta)


OVERLAY = """
gravity = [0.0, 9.81, 0.0]
terms = ["viscous", "coulomb"]
[joint.elbow]
terms = ["offset"]
[[coupling]]
name = "belt"
direction = { shoulder = 1.0, elbow = -1.0 }
terms = ["coulomb", "drive_inertia"]
"""


def test_an_overlay_names_the_terms_and_gravity(arm):
    """Terms are the joint's own, else the overlay's for all; couplings follow; gravity changes."""
    overlay = parse_overlay(OVERLAY)
    model = model_of(arm, overlay=overlay)
    assert [term.name for term in model.terms] == [
        "shoulder.fv",
        "shoulder.fc",
        "elbow.fo",
        "belt.fc",
        "belt.Ia",
    ]
    assert model.terms[-1].direction == (("shoulder", 1.0), ("elbow", -1.0))
    np.testing.assert_array_equal(model.robot.gravity, [0.0, 9.81, 0.0])


def test_an_overlay_without_terms_means_all_of_them(arm):
    """An overlay that says nothing of terms leaves the default ones; so does no overlay."""
    overlay = parse_overlay("gravity = [0.0, 0.0, 0.0]")
    everything = joint_terms(arm.joint_names)
    assert terms_from_overlay(arm, overlay) == everything
    assert terms_from_overlay(arm, None) == everything


def test_a_locked_joint_has_no_terms(arm):
    """Terms are those of the joints that are left after the overlay locked one."""
    overlay = parse_overlay('terms = ["viscous"]\n[locked]\nelbow = 0.5')
    locked = apply_overlay(arm, overlay)
    assert [term.name for term in terms_from_overlay(locked, overlay)] == ["shoulder.fv"]
    assert model_of(arm, overlay=overlay).channels == ("shoulder",)


def test_a_coupling_has_a_dead_band_of_its_own(arm, logs):
    """Rows are dropped exactly where a Coulomb term that acts on them is inside its band."""
    model = model_of(arm, overlay=parse_overlay(OVERLAY))
    run = prepare_run(model, logs[0], Processing(), {"belt": 0.3, "shoulder": 0.2})
    v = run.motion.v
    slow_belt = np.abs(v[:, 0] - v[:, 1]) < 0.3
    slow_shoulder = np.abs(v[:, 0]) < 0.2
    np.testing.assert_array_equal(
        np.isnan(run.measurements.tau), np.column_stack([slow_belt | slow_shoulder, slow_belt])
    )
    counts = run.record["friction_dead_band"]["samples"]
    assert counts == {
        "shoulder": int((slow_belt | slow_shoulder).sum()),
        "elbow": int(slow_belt.sum()),
    }


def test_the_automatic_band_is_a_tenth_of_the_speed(arm, logs):
    """The band of a coupling follows the root mean square of its own speed."""
    model = model_of(arm, overlay=parse_overlay(OVERLAY))
    motion = prepare(logs[0], arm).motion
    bands = dead_bands(model, motion, "auto")
    assert bands["belt"] == pytest.approx(0.1 * np.sqrt(np.mean((motion.v @ [1.0, -1.0]) ** 2)))
    assert set(bands) == {"belt", "shoulder"}


def test_what_was_done_is_recorded(arm, logs):
    """Each run's record names its log, its processing and its dead band."""
    processing = Processing(cutoff_hz=20.0, decimate=2)
    record = identify(arm, logs, processing=processing, dead_band=0.05).estimate.record
    assert [run["log"] for run in record["runs"]] == ["run_1", "run_2"]
    for run in record["runs"]:
        assert run["processing"] == processing.as_record()
        assert run["cutoff_hz"] == 20.0
        assert run["decimation"] == 2
        assert run["friction_dead_band"]["asked"] == 0.05
        assert run["friction_dead_band"]["speeds"] == {"shoulder": 0.05, "elbow": 0.05}


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"method": "magic"}, EstimationError, "magic.*wls, ols"),
        ({"threads": 0}, EstimationError, "threads is 0"),
        ({"dead_band": -1.0}, SignalError, "dead band of 'shoulder'"),
        ({"dead_band": {"knee": 0.1}}, SignalError, "knee.*shoulder, elbow"),
        (
            {"overlay": parse_overlay(OVERLAY), "terms": joint_terms(["elbow"])},
            ModelError,
            "terms are given twice",
        ),
    ],
)
def test_refusals(arm, logs, changes, error, words):
    """What cannot be done is refused in one line that says why."""
    with pytest.raises(error, match=words) as caught:
        identify(arm, logs, **changes)
    assert "\n" not in str(caught.value)


def test_no_log_is_refused(arm):
    """An empty list of logs is no experiment."""
    with pytest.raises(LogError, match="no log"):
        identify(arm, [])
