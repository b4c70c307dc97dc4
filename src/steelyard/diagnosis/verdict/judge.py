"""The verdict on an estimate, from its data, its validation and its findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.verdict.assumed_zeros import assumed_zeros
from steelyard.diagnosis.verdict.elsewhere import MotionSizes, expected_elsewhere
from steelyard.diagnosis.verdict.references import (
    file_beta,
    fits,
    friction_alone,
    left_out_file_with_terms,
    left_out_fits,
)
from steelyard.diagnosis.verdict.rules import reasons_of
from steelyard.diagnosis.verdict.verdict import JointNumbers, Numbers, Verdict, verdict_of
from steelyard.estimators.estimate import ChannelFit, Estimate
from steelyard.findings import Finding
from steelyard.model.model import Model
from steelyard.model.row_groups import RowError, balanced_error
from steelyard.regression.regression import Regression
from steelyard.validation.held_out import HeldOut
from steelyard.validation.scores import Score

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CheckedInput:
    """What is known of the logs that an estimate was made from.

    findings : about them, of all levels. noise : (n_channels,) of their torques, N m or N, NaN
    where not known; None where the rows are no torques. sizes : where and how fast joints moved.
    """

    findings: tuple[Finding, ...] = ()
    noise: Array | None = None
    sizes: MotionSizes | None = None


@dataclass(frozen=True)
class _Noise:
    """The noise of one channel in the place of an error."""

    name: str
    n_rows: int
    rms: float
    torque_rms: float


def judge(
    model: Model,
    estimate: Estimate,
    regression: Regression,
    validation: HeldOut | None = None,
    checked: CheckedInput | None = None,
) -> Verdict:
    """The verdict: on held-out logs where there are some, else on left-out parts of the logs."""
    checked = checked or CheckedInput()
    held_out = validation is not None and not validation.used
    training = None
    left_out = left_out_fits(model, regression, estimate)
    if validation is None or not held_out:
        numbers = training_numbers(model, estimate, regression, checked.noise, left_out)
    else:
        training = training_error(estimate, regression, checked.noise)
        numbers = held_out_numbers(
            validation, balanced_error(fits(regression, friction_alone(model, regression)))
        )
    if checked.sizes is not None:
        growth = left_out_growth(regression, estimate.beta, left_out)
        open_share = expected_elsewhere(model, regression, estimate.beta, checked.sizes, growth)
        numbers = replace(numbers, elsewhere=float(np.hypot(open_share, numbers.error)))
    standard = estimate.standard
    return verdict_of(
        numbers,
        reasons_of(
            numbers,
            input_findings=checked.findings,
            validation_findings=() if validation is None else validation.checked,
            findings=estimate.findings,
            physical=standard is None or standard.feasible,
            held_out=held_out,
            training=training,
            left_out_score=best_left_out(estimate),
        ),
        assumed_zeros(model, regression, estimate.beta, numbers.joints),
    )


def judge_held_out(validation: HeldOut, findings: Iterable[Finding] = ()) -> Verdict:
    """The verdict on a saved result, on logs alone."""
    numbers = held_out_numbers(validation)
    found = reasons_of(
        numbers,
        validation_findings=validation.checked,
        findings=(*validation.findings, *findings),
        held_out=True,
    )
    return verdict_of(numbers, found)


def training_numbers(
    model: Model,
    estimate: Estimate,
    regression: Regression,
    noise: Array | None,
    left_out: Sequence[ChannelFit] | None,
) -> Numbers:
    """Errors on left-out parts of the training logs, where these can be left out."""
    own = fits(regression, estimate.beta) if left_out is None else left_out
    many = len(estimate.runs) > 1
    where = f"left-out parts of the {'logs' if many else 'log'}"
    stated = file_beta(model, regression)
    with_terms = left_out_file_with_terms(model, regression, estimate)
    known = noise if noise is not None and len(noise) == len(own) else np.full(len(own), np.nan)
    return Numbers(
        data="the data that was used" if left_out is None else where,
        tested=left_out is not None,
        error=balanced_error(own),
        noise=_noise_share(own, known),
        file=np.nan if stated is None else balanced_error(fits(regression, stated)),
        file_with_terms=np.nan if with_terms is None else balanced_error(with_terms),
        friction_alone=balanced_error(fits(regression, friction_alone(model, regression))),
        joints=_joints(own, known),
        quantity=regression.equation.kind.quantity,
    )


def training_error(estimate: Estimate, regression: Regression, noise: Array | None) -> Numbers:
    """The error of the fit itself, beside the noise of its logs."""
    own = fits(regression, estimate.beta)
    known = noise if noise is not None and len(noise) == len(own) else np.full(len(own), np.nan)
    return Numbers(
        data="the logs that it was made from",
        tested=False,
        error=balanced_error(own),
        noise=_noise_share(own, known),
        quantity=regression.equation.kind.quantity,
    )


def left_out_growth(
    regression: Regression, beta: Array, left_out: Sequence[ChannelFit] | None
) -> float:
    """Squared error of left-out parts over that of the fit, channels weighted by their noise; NaN
    where no parts can be left out.
    """
    if left_out is None:
        return float("nan")
    used, left = (
        sum(one.n_rows * (one.rms / one.sigma) ** 2 for one in rows if one.sigma > 0.0)
        for rows in (fits(regression, beta), left_out)
    )
    return left / used if used > 0.0 else 1.0


def best_left_out(estimate: Estimate) -> float:
    """The smallest error of left-out parts, of all weights of the prior that were tried, over that
    of a fit without one to all of them; NaN where none were tried.
    """
    prior = estimate.prior
    if prior is None or prior.score is None:
        return float("nan")
    scores = [one.score for one in (*prior.trials, *prior.term_trials) if one.score >= 0.0]
    return float(np.sqrt(min(scores))) if scores else float("nan")


def held_out_numbers(validation: HeldOut, alone: float = float("nan")) -> Numbers:
    """Errors on held-out logs."""
    overall = validation.overall
    own = overall.prediction.channels
    noise = validation.noise if validation.noise is not None else np.full(len(own), np.nan)
    fitted: Score | None = overall.file_with_terms
    return Numbers(
        data=validation.data,
        tested=True,
        error=balanced_error(own),
        noise=_noise_share(own, noise),
        file=balanced_error(overall.prior.channels) if validation.file_has_masses else np.nan,
        file_with_terms=np.nan if fitted is None else balanced_error(fitted.channels),
        friction_alone=alone,
        joints=_joints(own, noise),
    )


def _noise_share(rows: Sequence[RowError], noise: Array) -> float:
    named = [
        _Noise(row.name, row.n_rows, float(one), row.torque_rms)
        for row, one in zip(rows, noise, strict=True)
        if row.n_rows
    ]
    return float(balanced_error(named))


def _joints(rows: Sequence[RowError], noise: Array) -> tuple[JointNumbers, ...]:
    return tuple(
        JointNumbers(row.name, row.rms / row.torque_rms, float(one) / row.torque_rms)
        for row, one in zip(rows, noise, strict=True)
        if row.n_rows and row.torque_rms > 0.0
    )
