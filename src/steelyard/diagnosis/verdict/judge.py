"""The verdict on an estimate, from its data, its validation and its findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
    left_out = left_out_fits(model, regression, estimate)
    alone = balanced_error(fits(regression, friction_alone(model, regression)))
    training = None
    if validation is None or not held_out:
        numbers = training_numbers(model, estimate, regression, checked.noise, left_out, alone)
    else:
        training = _numbers(
            fits(regression, estimate.beta),
            checked.noise,
            data="the logs that it was made from",
            tested=False,
            quantity=regression.equation.kind.quantity,
        )
        numbers = held_out_numbers(validation, alone)
    if checked.sizes is not None:
        growth = left_out_growth(regression, estimate.beta, left_out)
        open_share = expected_elsewhere(model, regression, estimate.beta, checked.sizes, growth)
        numbers = replace(numbers, elsewhere=float(np.hypot(open_share, numbers.error)))
    standard = estimate.standard
    found = reasons_of(
        numbers,
        input_findings=checked.findings,
        validation_findings=() if validation is None else validation.checked,
        findings=estimate.findings,
        physical=standard is None or standard.feasible,
        held_out=held_out,
        training=training,
        left_out_score=best_left_out(estimate),
    )
    zeros = assumed_zeros(model, regression, estimate.beta, numbers.joints)
    return verdict_of(numbers, found, zeros)


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
    alone: float,
) -> Numbers:
    """Errors on left-out parts of the training logs, where these can be left out.

    noise : see `CheckedInput`. alone : the error of friction alone.
    """
    where = f"left-out parts of the {'logs' if len(estimate.runs) > 1 else 'log'}"
    stated = file_beta(model, regression)
    with_terms = left_out_file_with_terms(model, regression, estimate)
    return _numbers(
        fits(regression, estimate.beta) if left_out is None else left_out,
        noise,
        data="the data that was used" if left_out is None else where,
        tested=left_out is not None,
        file=np.nan if stated is None else balanced_error(fits(regression, stated)),
        file_with_terms=np.nan if with_terms is None else balanced_error(with_terms),
        friction_alone=alone,
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
    """Errors on held-out logs. alone : the error of friction alone on the training logs."""
    overall, fitted = validation.overall, validation.overall.file_with_terms
    return _numbers(
        overall.prediction.channels,
        validation.noise,
        data=validation.data,
        tested=True,
        file=balanced_error(overall.prior.channels) if validation.file_has_masses else np.nan,
        file_with_terms=np.nan if fitted is None else balanced_error(fitted.channels),
        friction_alone=alone,
    )


def _numbers(rows: Sequence[RowError], noise: Array | None, **others: Any) -> Numbers:
    """Numbers of these rows, whose noise (n_rows,) is in N m or N; None where it is not known.

    others : fields of `Numbers`.
    """
    known = noise if noise is not None and len(noise) == len(rows) else np.full(len(rows), np.nan)
    pairs = [(row, float(one)) for row, one in zip(rows, known, strict=True) if row.n_rows]
    return Numbers(
        error=balanced_error(rows),
        noise=balanced_error([_Noise(r.name, r.n_rows, one, r.torque_rms) for r, one in pairs]),
        joints=tuple(
            JointNumbers(row.name, row.rms / row.torque_rms, one / row.torque_rms)
            for row, one in pairs
            if row.torque_rms > 0.0
        ),
        **others,
    )
