"""Logs of different sample rates: an automatic cutoff is lowered for the slow ones."""

from __future__ import annotations

import numpy as np
import pytest
from small_arm import URDF, true_theta

from steelyard.errors import SignalError
from steelyard.estimators.result_file import read_result, write_result
from steelyard.excitation.motions.fourier import multisine
from steelyard.identification.identify import Identification, identify
from steelyard.identification.outputs import document_of
from steelyard.logs.log import Log
from steelyard.model.model import Model
from steelyard.report.processing import processing_rows
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.simulation.simulate import Controller, Sensors, simulate
from steelyard.validation.saved_results import validate_result

ARM = Robot.from_urdf_text(URDF)
SLOW_HZ = 40.0


def log_at(rate_hz: float, seed: int) -> Log:
    """Seven seconds of the arm, sampled at this rate."""
    model = Model(ARM)
    return simulate(
        model,
        true_theta(model),
        multisine(ARM, period_s=5.0, seed=seed),
        duration_s=7.5,
        rate_hz=rate_hz,
        controller=Controller(kind="ideal"),
        sensors=Sensors(torque_noise=0.02),
        seed=seed,
        name=f"at {rate_hz:g} Hz",
    )


@pytest.fixture(scope="module")
def fast() -> Log:
    return log_at(200.0, 1)


@pytest.fixture(scope="module")
def slow() -> Log:
    return log_at(SLOW_HZ, 2)


@pytest.fixture(scope="module")
def found(fast: Log, slow: Log) -> Identification:
    return identify(
        ARM,
        [fast, slow],
        validate_on=log_at(SLOW_HZ, 3),
        method="wls",
        processing=Processing(torque_filter="same", dead_band="rest"),
        friction_width=0.0,
    )


def test_the_slow_log_is_filtered_lower_and_a_note_says_so(found: Identification) -> None:
    """At 0.4 times its rate; the other log keeps the cutoff that was chosen on it."""
    first, second = found.estimate.runs
    assert first.cutoff_hz > SLOW_HZ / 2  # half the rate: refused without lowering
    assert second.cutoff_hz == pytest.approx(0.4 * SLOW_HZ)
    notes = [finding for finding in found.findings if finding.code == "cutoff-lowered"]
    assert [note.level for note in notes] == ["info", "info"]  # its own, and the held-out log's
    assert "'at 40 Hz' is sampled at 40 Hz, too slowly for the cutoff of" in notes[0].words
    shown = dict(processing_rows(second, found.model.terms, found.signals))
    assert f"lowered from {first.cutoff_hz:.4g} Hz" in shown["low-pass"]
    assert "chosen" in dict(processing_rows(first, (), found.signals))["low-pass"]


def test_the_estimate_is_right(found: Identification, fast: Log) -> None:
    """The second log helps: base parameters are those of the arm, held-out torques predicted."""
    beta = found.estimate.base.K @ true_theta(found.model)
    inside = np.abs(found.estimate.beta - beta) <= 3.0 * found.estimate.spread.half_width(0.95)
    assert inside.all()
    assert found.validation is not None
    assert found.validation.overall.prediction.relative_error < 0.02


def test_later_logs_are_treated_alike(found: Identification, slow: Log, tmp_path) -> None:
    """As a log to predict, and for the saved result."""
    assert found.prepare(slow).record.cutoff_hz == pytest.approx(0.4 * SLOW_HZ)
    write_result(tmp_path / "result.json", document_of(found))
    saved = read_result(tmp_path / "result.json")
    assert saved.cutoff_is_automatic
    held_out = validate_result(ARM, saved, log_at(SLOW_HZ, 3))
    assert [finding.code for finding in held_out.findings] == ["cutoff-lowered"]
    given = saved.processing_as_used
    other = Processing(**{**vars(given), "cutoff_hz": 0.99 * given.cutoff_hz})
    with pytest.raises(SignalError, match="is not below 20 Hz"):
        validate_result(ARM, saved, log_at(SLOW_HZ, 3), processing=other)


def test_a_cutoff_that_was_given_is_refused_as_before(fast: Log, slow: Log) -> None:
    """What the user asked for is not changed."""
    processing = Processing(cutoff_hz=30.0, torque_filter="same", dead_band="rest")
    with pytest.raises(SignalError, match="'at 40 Hz': the cutoff of 30 Hz is not below 20 Hz"):
        identify(ARM, [fast, slow], method="wls", processing=processing, friction_width=0.0)
