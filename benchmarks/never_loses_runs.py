"""One run of the benchmark `never-loses`: a log through `identify`, and the other methods on the
signals that it chose.
"""

from __future__ import annotations

import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import never_loses_arms as arms
import numpy as np
from never_loses_arms import Array
from never_loses_logs import Case, Motion, case_of, recorded

from steelyard.diagnosis.verdict.references import file_with_terms
from steelyard.errors import SteelyardError
from steelyard.estimators.estimator import DEFAULT_METHOD, EstimationOptions
from steelyard.estimators.least_squares import joint_noise
from steelyard.estimators.prior_weight import parts_of
from steelyard.estimators.registry import estimate_by, estimator_named
from steelyard.identification.found import Identification
from steelyard.identification.identify import identify
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.prior import Prior, prior_from_robot
from steelyard.logs.log import Log
from steelyard.model.kernels import torque
from steelyard.model.model import Model
from steelyard.regression.regression import Regression

DEFAULT = "default"
FILE = "file-with-friction"
OTHERS = ("ols", "wls", "essential", "cad-essential", "feasible", "pullback", FILE)
MOVING = 0.1
"""A joint counts where it is faster than this share of its rms speed, as in the errors that
Steelyard reports: near standstill friction sticks, and no model of the torque is right."""
EQUAL = 0.001
"""Errors that differ by less than this share of the rms torque are equal."""
WITHIN = 0.05
PARTS = 5
"""Parts of the log that are left out in turn where the default lost."""


@dataclass(frozen=True)
class Run:
    """What came of one case.

    errors : by method, relative to the torque; of a method that failed, none.
    codes : of the warnings and severe findings, of the result or of the refusal.
    refusal, traceback : of the error that ended `identify`, or "".
    left_out : where the default lost, the mean square of left-out torques in units of their noise,
        of the default and of the method that won. spent : seconds by stage. chosen : what the
        default chose.
    """

    case: Case
    errors: dict[str, float] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    refusal: str = ""
    traceback: str = ""
    left_out: dict[str, float] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    chosen: dict[str, float | str | None] = field(default_factory=dict)

    @property
    def winner(self) -> str:
        """The best of the other methods; "" where there is none."""
        others = {name: error for name, error in self.errors.items() if name != DEFAULT}
        return min(others, key=others.__getitem__, default="")

    @property
    def ratio(self) -> float | None:
        """Error of the default over that of the best other method."""
        return self.over(self.winner) if DEFAULT in self.errors and self.winner else None

    def over(self, method: str) -> float:
        """Error of the default over that of a method; 1 where they are equal."""
        own, other = self.errors[DEFAULT], self.errors[method]
        return 1.0 if abs(own - other) <= EQUAL else own / other

    @property
    def lost(self) -> bool:
        """Whether the default is not within 5 % of the best, or there is no result."""
        return self.ratio is None or self.ratio > 1.0 + WITHIN

    @property
    def in_hindsight(self) -> bool:
        """Whether the default lost to a method that predicts left-out training data no better."""
        return len(self.left_out) == 2 and self.left_out[DEFAULT] <= self.left_out[self.winner]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Run:
        """The run that :meth:`to_dict` wrote."""
        known = {**values, "case": Case(**values["case"]), "codes": tuple(values["codes"])}
        return Run(**known)


def run_of(seed: int, **changes: Any) -> Run:
    """The run of a seed; ``changes`` of its case, for tests."""
    case = replace(case_of(seed), **changes)
    started = perf_counter()
    log, test = recorded(case)
    spent = {"simulate": perf_counter() - started}
    run = Run(case, spent=spent)
    started = perf_counter()
    try:
        found = identified(case, log)
    except SteelyardError as error:
        codes = tuple(one.code for one in getattr(error, "findings", ()) if one.level != "info")
        return replace(run, refusal=f"{type(error).__name__}: {error}"[:600], codes=codes)
    except Exception as error:
        return replace(run, traceback="".join(traceback.format_exception(error))[-2000:])
    finally:
        spent["identify"] = perf_counter() - started
    codes = tuple(dict.fromkeys(one.code for one in found.findings if one.level != "info"))
    run = replace(run, codes=codes, chosen=chosen_by(found))
    started = perf_counter()
    errors = {DEFAULT: error_of(found, found.estimate.beta, test)}
    for name in OTHERS:
        try:
            beta = beta_by(name, found.model, found.regression)
        except SteelyardError:
            continue
        if beta is not None:
            errors[name] = error_of(found, beta, test)
    run = replace(run, errors=errors)
    spent["methods"] = perf_counter() - started
    if run.lost and run.winner:
        started = perf_counter()
        run = replace(run, left_out=left_out(found, run.winner))
        spent["left out"] = perf_counter() - started
    return run


def identified(case: Case, log: Log) -> Identification:
    """The plain result, without what changes no parameter: ranges, certificate, resamples, and the
    comparison of terms.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"{case.arm}.urdf"
        path.write_text(arms.urdf_text(case.arm), encoding="utf-8")
        return identify(
            path,
            log,
            ranges=False,
            certify=False,
            n_resamples=0,
            compare_terms=False,
            keep_first_run=False,
            threads=1,
        )


def chosen_by(found: Identification) -> dict[str, float | str | None]:
    """What the default chose, and its verdict."""
    prior, run = found.estimate.prior, found.estimate.runs[0]
    return {
        "gamma": None if prior is None else prior.gamma,
        "cutoff_hz": run.processing_as_used.cutoff_hz,  # type: ignore[dict-item]
        "verdict": found.verdict.level,
    }


def beta_by(name: str, model: Model, regression: Regression) -> Array | None:
    """Base parameters by a method, without intervals."""
    if name == FILE:
        return file_with_terms(model, regression)
    method = DEFAULT_METHOD if name == DEFAULT else name
    use = estimator_named(method).prior
    prior = None
    if use == "bodies":
        prior = prior_from_robot(model, repair="floor-moments")
    elif use == "values":
        prior = Prior(model.prior_theta(), np.ones(len(model.first_column_of_body)), "the file")
    options = EstimationOptions(method, n_resamples=0, ranges=False)
    constraints = replace(Constraints(), keep_attached=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate, _ = estimate_by(
            options, model, regression, prior=prior, constraints=constraints, threads=1
        )
    return estimate.beta


def error_of(found: Identification, beta: Array, test: Motion) -> float:
    """|tau - tau_hat| / |tau| over all joints where they move, on a motion without noise."""
    model = found.model
    names = list(arms_joints(found))
    columns = [names.index(channel) for channel in model.channels]
    q, v, a, tau = (table[:, columns] for table in (test.q, test.v, test.a, test.tau))
    theta = np.zeros(len(model.columns))
    theta[list(found.estimate.base.independent)] = beta
    moving = np.abs(v) > MOVING * np.sqrt(np.mean(v**2, axis=0))
    away = torque(model, theta, q, v, a) - tau
    return float(np.linalg.norm(away[moving]) / np.linalg.norm(tau[moving]))


def arms_joints(found: Identification) -> tuple[str, ...]:
    """Joints of the arm, in the order of its recordings."""
    return arms.ARMS[found.model.robot.name].joints


def left_out(found: Identification, winner: str) -> dict[str, float]:
    """Mean square of the torques of left-out parts of the log, in units of their noise."""
    regression = found.regression
    try:
        parts = parts_of(regression.counts.sum(axis=1), most=PARTS)
    except SteelyardError:
        return {}
    of: dict[str, Callable[[Regression], Array | None]] = {
        name: partial(beta_by, name, found.model) for name in (DEFAULT, winner)
    }
    sigma = joint_noise(regression)
    scores = dict.fromkeys(of, 0.0)
    for part in parts:
        rest = without(regression, part)
        for name, fit in of.items():
            try:
                beta = fit(rest)
            except SteelyardError:
                return {}
            assert beta is not None
            for group, blocks, noise in zip(
                regression.groups, regression.factors, sigma, strict=True
            ):
                error = blocks[part] @ np.append(beta[list(group.columns)], -1.0)
                scores[name] += float(np.sum(error**2)) / noise**2
    return {name: float(score / regression.n_rows) for name, score in scores.items()}


def without(regression: Regression, part: Any) -> Regression:
    """The regression without some of its time blocks."""
    kept = np.setdiff1d(np.arange(len(regression.keys)), part)
    return replace(
        regression,
        keys=tuple(regression.keys[k] for k in kept),
        factors=tuple(blocks[kept] for blocks in regression.factors),
        counts=regression.counts[kept],
    )
