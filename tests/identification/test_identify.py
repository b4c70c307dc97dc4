"""One call from logs to base parameters."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from given_signals import FEW, GIVEN, QUICK
from seeds import every
from small_arm import URDF, arm_log, true_theta

from steelyard.diagnosis.checked_log import check_log
from steelyard.errors import (
    EstimationError,
    InputRefusedError,
    LogError,
    ModelError,
    RobotError,
    SignalError,
    SteelyardError,
)
from steelyard.estimators.least_squares import ols, wls
from steelyard.excitation.motions.fourier import multisine
from steelyard.identification.identify import Identification, identify
from steelyard.knowledge.overlay.apply import apply_overlay
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.overlay.terms import terms_from_overlay
from steelyard.knowledge.overlay.toml_file import parse_overlay
from steelyard.logs.log import Log
from steelyard.logs.several import with_unique_names
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.model.terms import joint_terms
from steelyard.regression.compress import compress
from steelyard.regression.regression import merge
from steelyard.robot.inertia import is_physical
from steelyard.robot.robot import Robot
from steelyard.signals.dead_band import apply_dead_band, dead_bands
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.testing.random_robots import random_robot
from steelyard.validation.held_out import validate_logs

AS_MEASURED = Processing(
    cutoff_hz=None,
    torque_filter="none",
    velocity="measured",
    acceleration="measured",
    trim_s=(0.0, 0.0),
    decimate=1,
    dead_band="tenth",
)


@pytest.fixture(scope="module")
def arm() -> Robot:
    return Robot.from_urdf_text(URDF)


@pytest.fixture(scope="module")
def logs(arm: Robot) -> list[Log]:
    return [arm_log(arm, seed, name=f"run_{seed}") for seed in (1, 2)]


@pytest.fixture(scope="module")
def found(arm: Robot, logs: list[Log]) -> Identification:
    """The default."""
    return identify(arm, logs, threads=1)


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
@every("seed", range(4))
def test_exact_logs_give_the_true_base_parameters(method, seed):
    """Without noise, on random trees, the estimate is K theta and predicts without error."""
    rng = np.random.default_rng(seed)
    model = Model(random_robot(rng, 1 + seed))
    theta = model.prior_theta()
    terms = [column.kind != "rigid_body" for column in model.columns]
    theta[terms] = rng.uniform(0.2, 1.0, size=sum(terms))
    log = exact_log(model, theta, seed)
    found = identify(model.robot, [log], method=method, processing=AS_MEASURED, friction_width=0)
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
        run = prepare(log, arm, replace(GIVEN, dead_band=None))
        speed = np.sqrt(np.mean(run.motion.v**2, axis=0))
        band = dict(zip(arm.joint_names, 0.1 * speed, strict=True))
        used = apply_dead_band(model, run.motion, run.measurements, band)
        correlation_s = run.record.correlation_s
        parts.append(compress(model, run.motion, used, correlation_s=correlation_s))
    by_hand = estimator(merge(parts))
    found = identify(arm, logs, method=method, **QUICK)
    np.testing.assert_array_equal(found.estimate.beta, by_hand.beta)
    np.testing.assert_array_equal(found.estimate.spread.covariance, by_hand.spread.covariance)
    assert found.estimate.n_rows == by_hand.n_rows


def test_truth_lies_inside_the_intervals(found):
    """With noise on the torque nearly every true base parameter is inside its interval."""
    truth = found.estimate.base.K @ true_theta(found.model)
    inside = [
        parameter.lower <= value <= parameter.upper
        for parameter, value in zip(found.estimate.parameters(0.99), truth, strict=True)
    ]
    assert sum(inside) >= len(inside) - 1


@pytest.mark.parametrize("dead_band", [None, "tenth"])
def test_a_filter_does_not_bias_friction(arm, logs, dead_band):
    """Filtered torques give the same friction as others: the model's is filtered alike."""
    model = Model(arm)
    truth = base_map(model).K @ true_theta(model)
    columns = [k for k, name in enumerate(base_map(model).names) if name.endswith((".fv", ".fc"))]
    slow = replace(GIVEN, cutoff_hz=4.0, dead_band=dead_band)
    found = identify(arm, logs, method="wls", processing=slow, friction_width=0.0)
    error = np.abs(found.estimate.beta - truth)[columns]
    assert (error < 0.03).all()
    # sign(v) of the filtered motion instead, which is not filtered itself
    parts = []
    for log in logs:
        run = prepare(log, arm, slow)
        parts.append(compress(model, run.unfiltered_motion, run.measurements))
    assert (np.abs(wls(merge(parts)).beta - truth)[columns]).max() > 2.0 * error.max()


def test_logs_are_taken_one_at_a_time(arm, logs):
    """Logs may come from a generator; the next is read after the previous one is processed."""
    alive: list[str] = []

    def one_by_one():
        for log in logs:
            alive.append(log.name)
            yield log

    found = identify(arm, one_by_one(), method="ols")
    assert alive == ["run_1", "run_2"]
    assert [run.log for run in found.estimate.runs] == alive


def test_runs_that_share_a_name_stay_apart(arm, logs):
    """Two logs of one name give the same estimate as the same logs with different names."""
    twins = [replace(log, name="run") for log in logs]
    same, different = identify(arm, twins, **FEW), identify(arm, logs, **FEW)
    assert {run for run, _ in same.regression.keys} == {"run", "run_2"}
    np.testing.assert_allclose(same.estimate.beta, different.estimate.beta, rtol=1e-12)


def test_numbered_names_do_not_collide_with_given_ones(logs):
    """A numbered name is not used if another log already has it."""
    named = [replace(logs[0], name=name) for name in ("run", "run_2", "run", "run_2", "run")]
    names = [log.name for log in with_unique_names(named)]
    assert len(set(names)) == len(names)
    assert names[:2] == ["run", "run_2"]


def test_threads_do_not_change_the_result(arm, logs, found):
    """One and three threads give the same numbers to the last bit."""
    three = identify(arm, logs, threads=3)
    np.testing.assert_array_equal(found.estimate.beta, three.estimate.beta)
    np.testing.assert_array_equal(
        found.estimate.spread.covariance, three.estimate.spread.covariance
    )


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
    """Terms stated for a joint override those for all; couplings and gravity are applied too."""
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
    """Without an overlay, or with one that states no terms, the default terms are used."""
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
    run = prepare(logs[0], model, Processing(dead_band={"belt": 0.3, "shoulder": 0.2}))
    v = run.motion.v
    slow_belt = np.abs(v[:, 0] - v[:, 1]) < 0.3
    slow_shoulder = np.abs(v[:, 0]) < 0.2
    np.testing.assert_array_equal(
        np.isnan(run.measurements.tau), np.column_stack([slow_belt | slow_shoulder, slow_belt])
    )
    assert run.record.dead_band.samples == {
        "shoulder": int((slow_belt | slow_shoulder).sum()),
        "elbow": int(slow_belt.sum()),
    }


def test_the_automatic_band_is_a_tenth_of_the_speed(arm, logs):
    """The band of a coupling follows the root mean square of its own speed; "auto" is none."""
    model = model_of(arm, overlay=parse_overlay(OVERLAY))
    motion = prepare(logs[0], arm).motion
    bands = dead_bands(model, motion, "tenth")
    assert bands["belt"] == pytest.approx(0.1 * np.sqrt(np.mean((motion.v @ [1.0, -1.0]) ** 2)))
    assert set(bands) == {"belt", "shoulder"}
    assert dead_bands(model, motion, "auto") == {"belt": 0.0, "shoulder": 0.0}


def test_what_was_done_is_recorded(arm, logs):
    """Each run's record names its log, its processing and its dead band."""
    processing = Processing(
        cutoff_hz=20.0,
        torque_filter="same",
        decimate=2,
        dead_band=0.05,
        velocity="differentiate",
        acceleration="differentiate",
    )
    runs = identify(arm, logs, method="ols", processing=processing).estimate.runs
    assert [run.log for run in runs] == ["run_1", "run_2"]
    for run in runs:
        assert run.processing == processing
        assert run.cutoff_hz == 20.0
        assert run.decimation == 2
        assert run.dead_band.asked == 0.05
        assert run.dead_band.speeds == {"shoulder": 0.05, "elbow": 0.05}


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"method": "magic"}, EstimationError, "magic.*ols, wls"),
        ({"threads": 0}, EstimationError, "threads is 0"),
        (
            {"processing": Processing(dead_band={"knee": 0.1})},
            SignalError,
            "knee.*shoulder, elbow",
        ),
        (
            {"overlay": parse_overlay(OVERLAY), "terms": joint_terms(["elbow"])},
            ModelError,
            "terms are given twice",
        ),
    ],
)
def test_refusals(arm, logs, changes, error, words):
    """Wrong arguments are refused in one line that says why."""
    with pytest.raises(error, match=words) as caught:
        identify(arm, logs, **changes)
    assert "\n" not in str(caught.value)


def test_no_log_is_refused(arm):
    """An empty list of logs is refused."""
    with pytest.raises(LogError, match="no log"):
        identify(arm, [])


# --- findings ---------------------------------------------------------------------------------


def codes(found) -> list[str]:
    return [finding.code for finding in found.estimate.findings]


def words(found, code: str) -> str:
    (finding,) = [f for f in found.estimate.findings if f.code == code]
    return finding.words


def test_the_same_log_twice_is_refused(arm, logs):
    """A copy of a log, under another name and in another order of columns, is named and refused."""
    copy = Log(logs[0].time, dict(reversed(logs[0].signals.items())), "copy", "elsewhere/copy.csv")
    expected = r"'run_1' and 'copy' \(elsewhere/copy.csv\) have the same content"
    with pytest.raises(LogError, match=expected):
        identify(arm, [logs[0], logs[1], copy], **QUICK)
    nearly = dict(logs[0].signals)
    nearly["elbow", "torque"] = nearly["elbow", "torque"] + 1e-9
    nearly_the_same = [logs[0], replace(logs[0], signals=nearly)]
    assert identify(arm, nearly_the_same, method="ols", **QUICK).estimate.n_rows


def test_the_record_holds_the_content_of_each_log(arm, logs):
    """The record has content hashes of the logs, so that validation can recognise them."""
    estimate = identify(arm, logs, method="ols", **QUICK).estimate
    assert [run.content_sha256 for run in estimate.runs] == [log.content_hash for log in logs]
    assert estimate.log_hashes == {log.content_hash for log in logs}


def test_a_test_on_the_training_log_is_called_a_fit(arm, logs):
    """validate_logs recognises logs that were used for the estimate."""
    found = identify(arm, logs[:1], method="ols", **QUICK)
    estimate = found.estimate
    arguments = (found.model, estimate.base, estimate.beta)
    used = estimate.log_hashes
    both = validate_logs(*arguments, logs, Processing(), used)
    assert both.used == ("run_1",)
    assert "1 of which were used" in both.data
    (finding,) = both.findings
    assert finding.words == (
        "log 'run_1' was used for the estimate: its error is a fit, not a test"
    )
    assert [run["used_for_the_estimate"] for run in both.to_dict()["runs"]] == [True, False]
    fresh = validate_logs(*arguments, logs[1], Processing(), used)
    assert (fresh.used, fresh.findings, fresh.data) == ((), (), "data that was not used")


def with_signal(log: Log, joint: str, quantity: str, values: np.ndarray) -> Log:
    return replace(log, signals={**log.signals, (joint, quantity): values})


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (1.0, None),
        (0.9, None),
        (180.0 / np.pi, r"joint 'elbow' is 57\.\d times .* in deg/s"),
        (-1.0, r"is -1\.0\d* times .*wrong sign"),
        (0.5, r"is 0\.5\d* times"),
    ],
)
def test_a_velocity_that_contradicts_the_position_is_found(arm, logs, factor, expected):
    """Noisy velocities in other units are recognised by their factor; right ones are not."""
    rng = np.random.default_rng(0)
    log = logs[0]
    v = np.gradient(log.signal("elbow", "position"), log.time)
    noisy = factor * (v + rng.normal(scale=0.2 * np.std(v), size=len(v)))
    found = identify(arm, with_signal(log, "elbow", "velocity", noisy), method="ols", **QUICK)
    if expected is None:
        assert "velocity-factor" not in codes(found)
    else:
        assert re.search(expected, words(found, "velocity-factor"))
    assert found.estimate.runs[0].velocity_factors == {"elbow": pytest.approx(factor, rel=0.05)}


def test_a_good_log_raises_no_doubt(found):
    """A clean experiment gives no warning about its data."""
    doubts = {"few-samples", "trimmed-away", "mostly-slow", "velocity-factor", "locked-joint-moves"}
    assert not doubts & set(codes(found))


def test_few_samples_are_said_with_what_took_them(arm, logs):
    """If few samples are left, the finding names the joint, each step's share, and the options."""

    def from_first(**changes):
        return identify(arm, logs[0], **{**FEW, "processing": replace(GIVEN, **changes)})

    few = from_first(cutoff_hz=15.0, decimate=30)
    said = words(few, "few-samples")
    assert re.search(r"shoulder \(\d+ for 1\d\)", said)
    assert "decimation kept one sample in 30" in said
    assert "--cutoff-hz" in said
    assert "--dead-band" in said
    cut = from_first(cutoff_hz=15.0, trim_s=(4.5, 4.0))
    assert re.search(r"trimming removed 8.5 of 10 s \(85%\)", words(cut, "trimmed-away"))
    v = np.abs(prepare(logs[0], arm, GIVEN).motion.v)
    slow = from_first(dead_band={"elbow": float(np.quantile(v[:, 1], 0.9))})
    said = words(slow, "mostly-slow")
    assert re.search(r"most torques of elbow \(9\d%\)", said)


def test_there_is_one_dead_band(arm, logs):
    """A dead band in the processing replaces the automatic one, by the friction's speed."""
    given = replace(GIVEN, dead_band=0.05)
    found = identify(arm, logs[0], method="ols", processing=given)
    run = prepare(logs[0], arm, replace(GIVEN, dead_band=None))
    kept = np.abs(run.motion.v) >= 0.05
    assert found.estimate.n_rows == kept.sum()
    record = found.estimate.runs[0]
    assert record.dead_band.samples == {
        "shoulder": int((~kept[:, 0]).sum()),
        "elbow": int((~kept[:, 1]).sum()),
    }
    assert record.processing.dead_band == 0.05
    for none in (None, 0.0):
        every = prepare(logs[0], arm, Processing(dead_band=none))
        assert not np.isnan(every.measurements.tau).any()


def test_prepare_leaves_out_what_identify_leaves_out(arm, logs):
    """The automatic dead band means the same in both, for a model with a coupling too."""
    accepted = ["gravity-direction"]  # the robot stood upright, unlike the overlay says
    overlay = parse_overlay(OVERLAY)
    for model, found in (
        (Model(arm), identify(arm, logs[0], method="ols", **QUICK)),
        (
            model_of(arm, overlay=overlay),
            identify(arm, logs[0], overlay=overlay, method="ols", accept=accepted, **QUICK),
        ),
    ):
        alone = prepare(logs[0], model, GIVEN)
        assert alone.record == found.estimate.runs[0]
        used = np.isfinite(alone.measurements.tau).sum(axis=0)
        assert 0 < used.sum() < alone.measurements.tau.size
        np.testing.assert_array_equal(used, found.regression.counts.sum(axis=0))


def test_a_robot_stands_for_its_default_model(arm, logs):
    """prepare gives the same for a robot as for the model with its default terms."""
    one, two = prepare(logs[0], arm, GIVEN), prepare(logs[0], Model(arm), GIVEN)
    np.testing.assert_array_equal(one.measurements.tau, two.measurements.tau)
    assert np.isnan(one.measurements.tau).any()
    assert one.record == two.record
    with pytest.raises(RobotError, match=r"a model or a robot is needed, not the str 'arm\.urdf'"):
        prepare(logs[0], "arm.urdf")


def test_a_locked_joint_that_moves_is_found(arm, logs):
    """A joint that the overlay locks and the log moves is a warning with its range."""
    overlay = parse_overlay("[locked]\nelbow = 0.5")
    moving = identify(arm, logs[0], overlay=overlay, method="ols", **QUICK)
    said = words(moving, "locked-joint-moves")
    span = np.ptp(logs[0].signal("elbow", "position"))
    assert "joint 'elbow' is locked or fixed in the robot" in said
    assert f"moves by {span:.3g} rad" in said
    held = with_signal(logs[0], "elbow", "position", np.full(len(logs[0]), 0.5))
    still = identify(arm, held, overlay=overlay, method="ols", **QUICK)
    assert "locked-joint-moves" not in codes(still)


def test_links_that_are_no_bodies_are_repeated(arm, logs):
    """identify says how many links of the file are not physical, and which."""
    assert "unphysical-links" not in codes(identify(arm, logs[0], **FEW))
    bad = Robot.from_urdf_text(URDF.replace('izz="0.025"', 'izz="0.9"', 1))
    with pytest.raises(SteelyardError, match=r"not physical.*'upper' breaks.*'floor-moments'"):
        identify(bad, logs[0], repair_prior="none")
    found = identify(bad, logs[0], **FEW)
    assert words(found, "prior-repaired").startswith("the prior from the robot file was not phys")
    assert words(found, "unphysical-links").startswith(
        "1 of 3 links of the robot file are not physical: upper;"
    )
    (finding,) = [f for f in found.estimate.findings if f.code == "unphysical-links"]
    assert finding.level == "info"


@pytest.mark.parametrize("link", ["upper", "fore"])
def test_a_negative_mass_is_named_first_and_no_log_is_blamed(link, logs):
    """The warning about the file comes first, and the log is neither of another robot nor of a
    payload; the estimate can be used with care.
    """
    mass = {"upper": "2.5", "fore": "1.5"}[link]
    bad = Robot.from_urdf_text(URDF.replace(f'mass value="{mass}"', f'mass value="-{mass}"'))
    found = identify(bad, logs[0], **FEW)
    assert found.findings[0].code == "negative-mass"
    assert f"'{link}' (-{mass} kg)" in found.findings[0].words
    suspected = {"other-robot", "payload", "payload-change", "torque-gain", "gravity-direction"}
    assert not set(codes(found)) & suspected
    assert "negative-mass" in found.verdict.sentence
    assert found.verdict.level == "usable with care"
    assert check_log(logs[0], bad).findings[0].code == "negative-mass"


@pytest.mark.parametrize(
    ("robot", "given", "words"),
    [
        ("no.urdf", [], "'no.urdf' does not exist: there is no such file"),
        (7, [], r"robot is needed, not a int; pass the path of its file, or Robot.from_urdf"),
        (None, "run.csv", "'run.csv': no such file"),
        (None, ["run.csv"], "'run.csv': no such file"),
        (None, 7, r"logs are needed, not a int; pass a path, .* read_log\(path\)"),
        (None, [7], r"a log is needed, not a int; pass a path"),
    ],
)
def test_misuse_says_what_to_pass(arm, robot, given, words):
    """What is no robot or log, or a path of no file, is refused with what to pass."""
    with pytest.raises(SteelyardError, match=words):
        identify(robot or arm, given)  # type: ignore[arg-type]


def test_a_model_in_the_place_of_a_robot(arm, logs):
    """A model in place of a robot is refused, and the message says what to pass."""
    with pytest.raises(SteelyardError, match=r"pass model.robot, and terms=model.terms"):
        identify(Model(arm), logs)  # type: ignore[arg-type]


def test_one_log_is_enough(arm, logs):
    """A single log needs no list around it."""
    one, listed = identify(arm, logs[0], **FEW), identify(arm, logs[:1], **FEW)
    np.testing.assert_array_equal(one.estimate.beta, listed.estimate.beta)


@pytest.mark.parametrize("method", [None, "pullback", "feasible"])
def test_constrained_methods_give_standard_parameters(arm, logs, method):
    """Every body of the default result is physical, exactly, with labelled intervals."""
    chosen = {} if method is None else {"method": method}
    found = identify(arm, logs[:1], **{**FEW, "ranges": True}, **chosen)
    assert found.estimate.method == (method or "entropic")
    # with a prior by leaving out blocks, without by resampling them
    assert found.estimate.spread.kind == ("resampling" if method == "feasible" else "cluster")
    for first in found.model.first_column_of_body:
        assert is_physical(found.estimate.standard.theta[first : first + 10])
    kinds = {p.interval_kind for p in found.estimate.standard_parameters()}
    assert kinds <= {"confidence", "mostly prior", "feasible range", "prior only"}
    assert ("prior-weight" in codes(found)) == (method != "feasible")


def test_a_robot_without_masses_has_no_prior(capsys):
    """Bodies without a mass in the file have no prior, and the result says so."""
    robot, log = pendulum_log(0)
    found = identify(robot, [log], n_resamples=20, ranges=False, **QUICK)
    assert "no-prior" in codes(found)
    assert found.estimate.prior.rule == "no prior"
    assert is_physical(found.estimate.standard.theta[:10])


def pendulum_log(seed, *, noise=1e-3):
    """A pendulum with friction whose positions are noisy, so that the automatic filter is slow."""
    robot = Robot.from_dh([{"alpha": np.pi / 2, "name": "j"}], convention="modified")
    rng = np.random.default_rng(seed)
    time = np.arange(6000) / 200
    q, v, a = (np.zeros(len(time)) for _ in range(3))
    for k in range(1, 6):
        w, size, phase = 0.2 * np.pi * k, 0.5 * rng.normal(), rng.uniform(0, 6.3)
        q = q + size * np.sin(w * time + phase)
        v = v + size * w * np.cos(w * time + phase)
        a = a - size * w * w * np.sin(w * time + phase)
    tau = 0.35 * a + 7.8 * np.cos(q) + 0.5 * v + 0.8 * np.sign(v)
    signals = {
        ("j", "position"): q + noise * rng.normal(size=len(time)),
        ("j", "torque"): tau + 0.05 * rng.normal(size=len(time)),
    }
    return robot, Log(time, signals)


def test_a_slow_filter_does_not_smear_friction():
    """The default says what it chose, and finds friction although its filter is slow."""
    robot, log = pendulum_log(1)
    found = identify(robot, [log], method="wls")
    assert words(found, "signals-chosen").startswith("a cutoff of")
    values = {p.name: p for p in found.estimate.parameters(0.999)}
    for name, truth in (("j.fc", 0.8), ("j.fv", 0.5)):
        assert values[name].lower < truth < values[name].upper
        assert values[name].value == pytest.approx(truth, rel=0.05)


def test_a_torque_of_zeros_is_refused_by_name():
    """A torque that is zero throughout is treated as not measured, also if that is accepted."""
    robot, log = pendulum_log(2)
    zero = Log(log.time, {**log.signals, ("j", "torque"): np.zeros(len(log.time))})
    with pytest.raises(InputRefusedError, match="torque of 'j' is zero in all"):
        identify(robot, [zero], **QUICK)
    for method in ("wls", "ols", "feasible"):
        with pytest.raises(EstimationError, match="torque of 'j' is zero in all"):
            identify(robot, [zero], method=method, accept=["dead-channel"], **QUICK)


def test_a_spike_beyond_arithmetic_is_left_out():
    """One torque of 1e300 is named, and the result is that without it."""
    robot, log = pendulum_log(3)
    tau = np.array(log.signals["j", "torque"])
    betas = []
    for value in (1e300, np.nan):
        tau[1000] = value
        spiked = Log(log.time, {**log.signals, ("j", "torque"): tau})
        processing = Processing(torque_filter="none", cutoff_hz=5.0)
        found = identify(robot, [spiked], processing=processing)
        betas.append(found.estimate.beta)
        assert ("outliers" in [one.code for one in found.findings]) == (value == 1e300)
    np.testing.assert_array_equal(*betas)
