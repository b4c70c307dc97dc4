"""The verdict: its references against dense least squares, its rules on numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from small_arm import URDF

from steelyard.diagnosis.verdict.references import (
    file_beta,
    file_with_terms,
    fits,
    friction_alone,
    left_out_file_with_terms,
)
from steelyard.diagnosis.verdict.rules import found_by_judging, reasons_of
from steelyard.diagnosis.verdict.verdict import (
    JointNumbers,
    Numbers,
    Reason,
    Verdict,
    verdict_of,
)
from steelyard.estimators._pull_report import with_pull
from steelyard.estimators.constrained import weighted_system
from steelyard.estimators.drawn_fits import drawn_factors
from steelyard.estimators.intervals import with_intervals
from steelyard.estimators.least_squares import joint_noise
from steelyard.estimators.prior_fit import fit_with_prior
from steelyard.estimators.prior_weight import groups_of, parts_of, search_for
from steelyard.estimators.result_file import read_schema
from steelyard.findings import Finding
from steelyard.knowledge.prior import prior_from_robot
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.robot.robot import Robot
from steelyard.signals.motion import Measurements, Motion

GOOD = Numbers("other data", True, 0.02, noise=0.015, file=0.5, file_with_terms=0.1)
SEVERE = Finding("severe", "torque-sign", "the torque has the wrong sign")
WARNING = Finding("warning", "outliers", "some samples are far away")


@pytest.fixture(scope="module")
def data() -> tuple[Model, Regression, np.ndarray, np.ndarray, Motion]:
    """A model, its regression, its dense regressor (n, 2, n_columns), torques and motion."""
    robot = Robot.from_urdf_text(URDF)
    model = Model(robot)
    rng = np.random.default_rng(4)
    time = np.arange(1500) / 100.0
    waves = rng.normal(size=(2, 4, 2)) / np.arange(1, 5)[:, None]
    phase = 2.0 * np.pi * 0.2 * np.outer(time, np.arange(1, 5))
    rate = 2.0 * np.pi * 0.2 * np.arange(1, 5)[:, None]
    s, c = np.sin(phase), np.cos(phase)
    q = s @ waves[0] + c @ waves[1]
    v = c @ (rate * waves[0]) - s @ (rate * waves[1])
    a = -s @ (rate**2 * waves[0]) - c @ (rate**2 * waves[1])
    motion = Motion(time, q, v, a, "run")
    W = torque_regressor(model, q, v, a)
    theta = 1.2 * model.prior_theta() + 0.3 * np.array(
        [column.term_kind is not None for column in model.columns]
    )
    tau = W @ theta + rng.normal(size=(1500, 2)) * (0.2, 0.7)
    regression = compress(model, motion, Measurements(model.channels, tau), base=base_map(model))
    return model, regression, W, tau, motion


def dense_terms(model, W, tau, sigma, held, columns, rows=slice(None)) -> np.ndarray:
    """Errors (n, 2) of ``held`` with terms that are fitted to some samples."""
    left = (tau - W @ held) / sigma
    A = (W[:, :, columns] / sigma[:, None])[rows].reshape(-1, len(columns))
    x = np.linalg.lstsq(A, left[rows].reshape(-1), rcond=None)[0]
    return (left - (W[:, :, columns] / sigma[:, None]) @ x) * sigma


def term_columns(model, inertia: bool) -> list[int]:
    return [
        k
        for k, column in enumerate(model.columns)
        if column.term_kind is not None and (inertia or not column.term_kind.is_inertia)
    ]


def rms(errors: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(errors**2, axis=0))


def test_references_are_those_of_dense_least_squares(data):
    """From factors alone: the file, the file with terms fitted, friction alone."""
    model, regression, W, tau, _ = data
    sigma = joint_noise(regression)
    theta, nothing = model.prior_theta(), np.zeros(len(model.columns))
    expected = {
        "file": tau - W @ theta,
        "terms": dense_terms(model, W, tau, sigma, theta, term_columns(model, True)),
        "friction": dense_terms(model, W, tau, sigma, nothing, term_columns(model, False)),
    }
    found = {
        "file": file_beta(model, regression),
        "terms": file_with_terms(model, regression),
        "friction": friction_alone(model, regression),
    }
    for name, errors in expected.items():
        own = [fit.rms for fit in fits(regression, found[name])]
        np.testing.assert_allclose(own, rms(errors), rtol=1e-6, err_msg=name)


def test_left_out_terms_are_those_of_dense_least_squares(data):
    """Each part of the log is predicted with terms that were fitted to all others."""
    model, regression, W, tau, motion = data
    sigma, theta = joint_noise(regression), model.prior_theta()
    number = np.floor(motion.time / regression.block_s).astype(int)
    blocks = np.array([k for _, k in regression.keys])
    errors = np.zeros_like(tau)
    for part in parts_of(regression.counts.sum(axis=1)):
        inside = np.isin(number, blocks[part])
        own = dense_terms(
            model, W, tau, sigma, theta, term_columns(model, True), np.flatnonzero(~inside)
        )
        errors[inside] = own[inside]
    found = [fit.rms for fit in left_out_file_with_terms(model, regression)]
    np.testing.assert_allclose(found, rms(errors), rtol=1e-6)


def test_the_file_is_left_out_as_the_estimate_is(data):
    """Where the weight of a prior was chosen on stretches and regions, terms are fitted to the
    blocks outside of the same ones.
    """
    model, regression, *_ = data
    prior = prior_from_robot(model)
    fit = fit_with_prior(model, regression, prior)
    estimate = with_pull(with_intervals(regression, fit, n_resamples=0, ranges=False), fit.pull)
    system = weighted_system(model, regression)
    factors = drawn_factors(regression, system.weights, system.factor)
    counts = regression.counts.sum(axis=1).astype(float)
    K = regression.base.K[:, term_columns(model, True)]
    held = file_beta(model, regression)

    def left(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows[:, :-1] @ K, rows[:, -1] - rows[:, :-1] @ held])

    errors = []
    for group in groups_of(factors, counts, search_for(len(model.columns)).n_groups):
        inside = np.isin(np.arange(len(counts)), group)
        rest, own = (left(np.vstack(list(factors.small[one]))) for one in (~inside, inside))
        x = np.linalg.lstsq(rest[:, :-1], rest[:, -1], rcond=None)[0]
        errors.append(np.sum((own @ np.append(x, -1.0)) ** 2) / counts[inside].sum())
    found = left_out_file_with_terms(model, regression, estimate)
    whole = fits(regression, file_with_terms(model, regression))
    of_all = sum(
        one.n_rows * (w * one.rms) ** 2 for one, w in zip(whole, system.weights, strict=True)
    )
    growth = np.sqrt(np.mean(errors) / (of_all / counts.sum()))
    np.testing.assert_allclose(
        [one.rms for one in found], [max(growth, 1.0) * one.rms for one in whole], rtol=1e-6
    )


def test_a_file_without_masses_has_no_references(data):
    """Its links are unknown, and are not compared with."""
    model, regression, *_ = data
    bare = Model(
        replace(
            model.robot, links=tuple(replace(link, inertial=None) for link in model.robot.links)
        )
    )
    assert file_beta(bare, regression) is None
    assert file_with_terms(bare, regression) is None
    assert left_out_file_with_terms(bare, regression) is None


def level_of(numbers: Numbers, **given) -> str:
    return verdict_of(numbers, reasons_of(numbers, **given)).level


def codes_of(numbers: Numbers, **given) -> list[str]:
    return [one.code for one in verdict_of(numbers, reasons_of(numbers, **given)).reasons]


@pytest.mark.parametrize(
    ("numbers", "level"),
    [
        (GOOD, "usable"),
        # in degrees: far better than the file, and far from right
        (replace(GOOD, error=0.76, file=191.87, file_with_terms=0.9), "do not use"),
        # torques that are nothing but noise
        (replace(GOOD, error=1.0, noise=1.0, file=3.0, file_with_terms=1.0), "do not use"),
        (replace(GOOD, error=math.nan), "do not use"),
        (replace(GOOD, error=math.inf), "do not use"),
        # most of the torque is noise, and the estimate as good as that allows
        (replace(GOOD, error=0.6, noise=0.55, file=0.9, file_with_terms=0.7), "usable with care"),
        (replace(GOOD, error=0.6, noise=math.nan, file=0.9, file_with_terms=0.7), "do not use"),
        (replace(GOOD, error=0.2, file_with_terms=0.3), "usable with care"),
        # a share that could be borne, if a hundredth of it were not all that noise explains
        (replace(GOOD, error=0.43, noise=0.005, file=0.9, file_with_terms=0.7), "do not use"),
        # a Kinova Gen3
        (
            replace(GOOD, error=0.35, noise=0.0163, file=0.66, file_with_terms=0.37),
            "usable with care",
        ),
        (replace(GOOD, error=0.43, noise=0.03, file=0.9, file_with_terms=0.7), "usable with care"),
        (replace(GOOD, error=0.43, noise=1e-5, file=0.9, file_with_terms=0.7), "usable with care"),
        (replace(GOOD, error=0.29, noise=0.005, file=0.9, file_with_terms=0.7), "usable with care"),
        (replace(GOOD, error=0.08, noise=0.01, file_with_terms=0.3), "usable with care"),
        # no noise to be seen: simulated, or smoothed before it was recorded
        (replace(GOOD, error=0.05, noise=1e-9), "usable"),
        (replace(GOOD, error=1e-6, noise=1e-9, file=1e-6, file_with_terms=1e-7), "usable"),
        # simpler models
        (replace(GOOD, error=0.05, noise=0.04, file_with_terms=0.048), "usable"),
        (replace(GOOD, error=0.06, noise=0.04, file_with_terms=0.05), "usable with care"),
        (replace(GOOD, error=0.09, noise=0.04, file_with_terms=0.05), "do not use"),
        (replace(GOOD, error=0.09, noise=0.04, file=0.05, file_with_terms=0.2), "do not use"),
        # file and log contradict each other, unless only friction from a short log is far off
        (replace(GOOD, file=1.5, file_with_terms=1.2), "usable with care"),
        (replace(GOOD, file=23.0, file_with_terms=22.0), "do not use"),
        (replace(GOOD, file=0.6, file_with_terms=2.7), "usable"),
        (replace(GOOD, friction_alone=0.021), "usable with care"),
        (replace(GOOD, tested=False), "usable with care"),
        (replace(GOOD, file=math.nan, file_with_terms=math.nan), "usable"),
    ],
)
def test_levels(numbers, level):
    """What the numbers alone say."""
    assert level_of(numbers) == level


def test_a_worse_error_never_makes_a_better_verdict():
    """Monotonous: every other number as it is, a larger error is never judged milder."""
    order = ("usable", "usable with care", "do not use")
    rng = np.random.default_rng(0)
    for _ in range(300):
        noise, file, terms = 10.0 ** rng.uniform(-4, 0, 3)
        numbers = replace(GOOD, noise=noise, file=file, file_with_terms=terms)
        errors = np.sort(10.0 ** rng.uniform(-5, 1, 40))
        levels = [order.index(level_of(replace(numbers, error=float(one)))) for one in errors]
        assert levels == sorted(levels), (noise, file, terms)


def test_what_was_found_in_the_logs_counts():
    """A warning asks for care; a severe finding, accepted, needs other logs that confirm."""
    assert level_of(GOOD, input_findings=(WARNING,)) == "usable with care"
    assert level_of(GOOD, input_findings=(SEVERE,)) == "do not use"
    assert level_of(GOOD, input_findings=(SEVERE,), held_out=True) == "usable with care"
    both = {"input_findings": (SEVERE,), "validation_findings": (SEVERE,), "held_out": True}
    assert level_of(GOOD, **both) == "do not use"
    assert level_of(GOOD, validation_findings=(SEVERE,), held_out=True) == "usable with care"
    assert codes_of(GOOD, validation_findings=(SEVERE,)) == ["validation-log-wrong"]
    told = verdict_of(GOOD, reasons_of(GOOD, input_findings=(SEVERE,))).sentence
    assert "torque-sign" in told
    assert level_of(GOOD, input_findings=(replace(WARNING, level="info"),)) == "usable"


def test_a_corrected_delay_is_said_to_be_corrected():
    """It asks for care, and the log is not called wrong for it."""
    delay = replace(WARNING, code="delay", corrected=True)
    verdict = verdict_of(GOOD, reasons_of(GOOD, input_findings=(delay,)))
    assert (verdict.level, [one.code for one in verdict.reasons]) == (
        "usable with care",
        ["corrected"],
    )
    assert verdict.sentence == "usable with care: a delay of the torques was corrected (delay)"
    assert codes_of(GOOD, input_findings=(delay, WARNING)) == ["corrected", "input"]


def test_doubts_about_the_estimate_count():
    """Unphysical parameters and few samples ask for care; other warnings do not."""
    assert codes_of(GOOD, physical=False) == ["not-physical"]
    assert level_of(GOOD, findings=(replace(WARNING, code="few-samples"),)) == "usable with care"
    assert level_of(GOOD, findings=(replace(WARNING, code="prior-repaired"),)) == "usable"


def test_a_joint_that_is_not_explained_is_named():
    """The other joints may be good: care, with the name of the joint."""
    joints = (JointNumbers("elbow", 0.01, 0.01), JointNumbers("wrist", 0.8, 0.1))
    found = verdict_of(GOOD, reasons_of(replace(GOOD, joints=joints)))
    assert found.level == "usable with care"
    assert "'wrist'" in found.sentence
    noisy = (joints[0], JointNumbers("wrist", 0.8, 0.7))
    assert level_of(replace(GOOD, joints=noisy)) == "usable"


def test_logs_of_the_estimate_that_are_explained_far_worse_ask_for_care():
    """A good error on another log does not hide what is wrong with the own one; noise does."""
    own = Numbers("the logs that it was made from", False, 0.17, noise=0.01)
    assert codes_of(GOOD, held_out=True, training=own) == ["training-unexplained"]
    assert level_of(GOOD, held_out=True, training=own) == "usable with care"
    assert level_of(GOOD, held_out=True, training=replace(own, noise=0.15)) == "usable"
    assert level_of(GOOD, held_out=True, training=replace(own, error=0.07)) == "usable"
    large = replace(GOOD, error=0.1, file_with_terms=0.3)
    assert level_of(large, held_out=True, training=own) == level_of(large, held_out=True)


@pytest.mark.parametrize(
    ("error", "elsewhere", "held_out", "level"),
    [
        (0.02, 0.03, False, "usable"),
        (0.004, 0.045, False, "usable"),
        # far more than the log shows, and not small; or large
        (0.004, 0.07, False, "usable with care"),
        (0.06, 0.09, False, "usable"),
        (0.06, 0.12, False, "usable with care"),
        (0.02, 0.3, False, "do not use"),
        # another log confirms its own motion, so that the robot file may be used with care
        (0.02, 0.3, True, "usable with care"),
        (0.06, 0.12, True, "usable"),
        (0.02, math.nan, False, "usable"),
    ],
)
def test_what_is_to_be_expected_elsewhere_counts(error, elsewhere, held_out, level):
    """A small error on a short log is no reason to use a result on other motions."""
    numbers = replace(GOOD, error=error, elsewhere=elsewhere)
    assert level_of(numbers, held_out=held_out) == level
    if level != "usable":
        (reason,) = reasons_of(numbers, held_out=held_out)
        assert reason.code == "little-determined"
        assert reason.value > reason.limit
        assert f"{100 * elsewhere:.3g} % of the torque is to be expected" in reason.words
        (finding,) = found_by_judging([reason])
        assert finding.level == "warning"
        assert "record for longer" in finding.words


def test_a_model_that_misses_something_is_said_to():
    """Left-out parts with three times the error of the fit; not of a log that is too short."""
    assert codes_of(GOOD, left_out_score=2.9) == []
    assert codes_of(GOOD, left_out_score=4.9) == ["model-misses"]
    assert level_of(GOOD, left_out_score=4.9) == "usable with care"
    (reason,) = reasons_of(GOOD, left_out_score=4.94)
    assert "with 4.9 times the error" in reason.words
    short = replace(GOOD, elsewhere=0.5)
    assert codes_of(short, left_out_score=4.9) == ["little-determined"]


def test_shares_are_of_what_is_fitted():
    """Energy and power, where these are fitted; never torque then."""
    bad = replace(GOOD, error=0.4, noise=math.nan, file=5.0, file_with_terms=3.5)
    for quantity in ("energy", "power"):
        numbers = replace(bad, quantity=quantity, friction_alone=0.4)
        own = replace(bad, error=0.95, quantity=quantity)
        found = [
            *reasons_of(numbers, training=own),
            *reasons_of(replace(numbers, file=0.1, file_with_terms=0.1)),
            *reasons_of(replace(numbers, error=0.95)),
        ]
        codes = {one.code for one in found}
        assert codes >= {"large-error", "worse-than-file", "file-contradicted", "links-not-seen"}
        assert codes >= {"explains-nothing", "training-unexplained"}
        for one in found:
            assert "torque" not in one.words, one.words
            assert quantity in one.words, one.words
        assert f"of the {quantity} is unexplained" in verdict_of(numbers, ()).sentence


def joints_of(*errors: float, noise: float = 0.005) -> tuple[JointNumbers, ...]:
    return tuple(JointNumbers(f"j{k}", error, noise) for k, error in enumerate(errors))


@pytest.mark.parametrize(
    ("joints", "level"),
    [
        (joints_of(0.01, 0.011, 0.012, 0.2), "usable with care"),
        (joints_of(0.01, 0.011, 0.012, 0.047), "usable with care"),
        # four times the median of the others, six times the noise, 2 %: all three are needed
        (joints_of(0.01, 0.011, 0.012, 0.043), "usable"),
        (joints_of(0.01, 0.011, 0.012, 0.2, noise=0.04), "usable"),
        (joints_of(0.003, 0.003, 0.003, 0.019, noise=0.002), "usable"),
        # a torque that was smoothed has no noise to compare with
        (joints_of(0.01, 0.011, 0.012, 0.2, noise=1e-5), "usable"),
        (joints_of(0.01, 0.011, 0.012, 0.2, noise=math.nan), "usable"),
        # with one other joint nobody knows which of them is odd
        (joints_of(0.01, 0.2), "usable"),
    ],
)
def test_one_joint_that_stands_out_needs_care(joints, level):
    """A small torque that is wrong does not hide in the sum of all."""
    assert level_of(replace(GOOD, joints=joints)) == level


def test_a_joint_that_stands_out_is_named_with_its_error_and_the_others():
    """The worst of several; one that is hardly explained at all has its own reason."""
    (reason,) = reasons_of(replace(GOOD, joints=joints_of(0.01, 0.1, 0.012, 0.2, 0.011)))
    assert reason.code == "joint-stands-out"
    assert "20 % of the torque of 'j3' is unexplained, 40 times its noise" in reason.words
    codes = [one.code for one in reasons_of(replace(GOOD, joints=joints_of(0.01, 0.6, 0.012)))]
    assert codes == ["joint-not-explained"]


@pytest.mark.parametrize(("error", "words"), [(0.95, "hardly better"), (1.94, "worse")])
def test_more_error_than_torque_is_worse_than_no_prediction(error: float, words: str) -> None:
    """An error of 194 % is not "hardly better" than predicting no torque."""
    (reason, *_) = reasons_of(replace(GOOD, error=error))
    assert reason.words.endswith(f", {words} than predicting no torque")


def test_the_sentence_is_one_and_starts_with_the_level():
    """Gravest first, at most three reasons, the rest counted; the numbers where all is well."""
    numbers = replace(GOOD, error=0.2, tested=False, friction_alone=0.2)
    found = verdict_of(
        numbers,
        reasons_of(numbers, input_findings=(SEVERE,), physical=False, findings=(WARNING,)),
    )
    assert found.sentence.startswith("do not use: ")
    assert found.reasons[0].code == "worse-than-file-with-friction"
    assert "more" in found.sentence
    assert "\n" not in found.sentence
    good = verdict_of(GOOD, ())
    assert good.sentence.startswith("usable: 2 % of the torque is unexplained on other data")
    assert str(good) == good.sentence
    assert Verdict("usable").sentence == "usable"


def test_as_json_fits_the_schema():
    """Unknown numbers are null; the schema of result.json knows every field."""
    schema = read_schema()["properties"]["verdict"]
    reason = Reason("do not use", "large-error", "it is large", math.inf, 0.5)
    joints = (JointNumbers("elbow", 0.1, math.nan),)
    found = verdict_of(replace(GOOD, friction_alone=math.nan, joints=joints), [reason])
    document = json.loads(json.dumps(found.as_json(), allow_nan=False))
    jsonschema.validate(document, schema)
    assert document["numbers"]["friction_alone"] is None
    assert document["sentence"] == found.sentence
    assert document["assumed"]
