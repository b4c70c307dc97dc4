"""From a robot and its logs to base parameters with error bars, in one call.

A plain composition: prepare each log, leave out torques inside the dead band, compress, merge,
estimate. Whoever needs something in between calls these functions directly.

The dead band is on by default (``Processing.dead_band`` is "auto");
:mod:`steelyard.signals.dead_band` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from steelyard.diagnosis.friction import smear_findings
from steelyard.diagnosis.sample_warnings import shortage_findings
from steelyard.errors import EstimationError, LogError, RobotError, described
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.estimator import DEFAULT_METHOD, EstimationOptions, Estimator
from steelyard.estimators.parallel.threads import available_threads
from steelyard.estimators.parallel.workers import Workers
from steelyard.estimators.prior_weight import MIN_GROUPS, Rule
from steelyard.estimators.registry import estimate_by, estimator_named, refuse_needless_prior
from steelyard.estimators.term_choice import compare_terms as compare_terms_of
from steelyard.estimators.term_choice import term_findings
from steelyard.findings import Finding
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.overlay.constraints import constraints_from_overlay
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.prior import Prior, Repair, prior_from_robot
from steelyard.logs.log import Log
from steelyard.logs.several import refuse_twins, with_unique_names
from steelyard.model.base_map import BaseMap, base_map
from steelyard.model.model import Model
from steelyard.model.term_kinds import Side
from steelyard.model.terms import Term
from steelyard.model.wider import widest
from steelyard.regression.fewer_terms import narrowed
from steelyard.regression.regression import Regression, compress, merge
from steelyard.robot.physical_links import file_findings
from steelyard.robot.robot import Robot
from steelyard.signals.dead_band import leave_out_slow
from steelyard.signals.prepare import Prepared, prepare
from steelyard.signals.processing import Processing

POOR_FIT = 0.5
"""Relative error above which a result warns that it explains little."""
PERIODS_PER_BLOCK = 1.5
"""Shortest time block, in periods of the low-pass filter's cutoff."""


@dataclass(frozen=True, eq=False)
class Identification:
    """What :func:`identify` found.

    estimate : parameters with intervals; its record says what was done to each run.
    regression : the compressed data, for another estimator or for merging with more runs.
    fit : the constrained fit, of which :func:`steelyard.prove` makes a certificate; None for the
        other methods.
    """

    model: Model
    estimate: Estimate
    regression: Regression
    fit: ConstrainedFit | None = None


def identify(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    terms: Iterable[Term] | None = None,
    overlay: Overlay | None = None,
    torque: Side | None = None,
    method: str = DEFAULT_METHOD,
    prior: Prior | Callable[[Model], Prior] | None = None,
    repair_prior: Repair | None = None,
    gamma: float | Rule = "leave-blocks-out",
    constraints: Constraints | None = None,
    compare_terms: bool = True,
    n_resamples: int = 200,
    ranges: bool = True,
    processing: Processing | None = None,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Identification:
    """Parameters of ``robot`` from logs of its motion and torques.

    logs : one or several, taken one at a time, and forgotten before the next; each only once.
    terms : what joint torque is made of besides the rigid bodies; by default drive inertia,
        viscous and Coulomb friction and an offset for each joint.
    overlay : changes the robot, names its terms and states constraints; see
        :mod:`steelyard.knowledge.overlay.overlay`.
    torque : where torque is measured, "motor" or "link", which decides the default terms; see
        :func:`steelyard.default_terms`. It goes before what the overlay says of all joints.
    method : an estimator by name, see :mod:`steelyard.estimators.registry`. "entropic" (default)
        keeps to what is physical, weights each joint by its own noise, and is drawn to the prior
        as much as the data advise; not all others promise physical parameters.
    prior : for the methods that take one; or a function that makes it for the model, such as
        ``functools.partial(prior_from_mass, total_mass=18)``. By default what the robot file
        states. repair_prior : rule for a file that is not physical, see
        :mod:`steelyard.knowledge.prior`; without one it is refused.
    gamma : weight of the prior, or "leave-blocks-out" or "l-curve" to let the data choose.
    constraints : what is known besides physics, for the constrained methods; in place of the
        overlay's.
    compare_terms : with a prior, whether to try other sets of terms and say what the data ask for.
    n_resamples, ranges : how intervals of constrained estimates are found; see
        :func:`steelyard.estimators.intervals.with_intervals`.
    processing : how logs become motion and torques, dead band included; the same for all.
    threads : by default as many as the machine offers; the result does not depend on it.
    progress : called with what is being done and how many of how many problems are solved.
    """
    check_robot(robot)
    estimator = estimator_named(method)
    options = EstimationOptions(method, gamma, n_resamples, ranges)
    threads = available_threads() if threads is None else threads
    if threads < 1:
        raise EstimationError(f"threads is {threads}; at least one is needed")
    from threadpoolctl import threadpool_limits

    # matrices are small: LAPACK's own threads would only get in each other's way, and change
    # the last digits
    with threadpool_limits(limits=1, user_api="blas"):
        model = model_of(robot, terms=terms, overlay=overlay, torque=torque)
        # what can be refused is refused before any log is read
        known = _prior(model, estimator, prior, repair_prior)
        findings: list[Finding] = []
        if constraints is None:
            constraints, notes = constraints_from_overlay(model, overlay)
            if "constraints" in estimator.options:
                findings += [Finding("info", "constraints", note) for note in notes]
        compare = compare_terms and "compare_terms" in estimator.options
        wide = widest(model) if compare else model
        data, of_logs = compressed(model, wide, logs, processing or Processing(), threads)
        findings += of_logs
        _refuse_own_data(known, data)
        regression = narrowed(data, wide, model)
        estimate, fit = estimate_by(
            options,
            model,
            regression,
            prior=known,
            constraints=constraints,
            threads=threads,
            progress=progress,
        )
        findings += poor_fit_findings(estimate)
        if compare and fit is not None and len(data.keys) >= MIN_GROUPS:
            estimate = _with_term_comparison(
                estimate, fit, model, wide, data, constraints, threads, progress
            )
        findings += [*shortage_findings(regression), *file_findings(model.robot)]
        estimate = replace(estimate, findings=(*estimate.findings, *findings))
        return Identification(model, estimate, regression, fit)


def compressed(
    model: Model, wide: Model, logs: Log | Iterable[Log], processing: Processing, threads: int
) -> tuple[Regression, list[Finding]]:
    """The factors of all logs for the model ``wide``, prepared as ``model`` needs it."""
    base = base_map(wide)
    parts: list[Regression] = []
    findings: list[Finding] = []
    seen: dict[str, str] = {}
    for log in with_unique_names(logs):
        refuse_twins(log, seen)
        prepared = prepare_run(model, log, processing)
        findings.extend((*prepared.findings, *smear_findings(model, prepared)))
        parts.append(compress_run(wide, base, prepared, threads))
    if not parts:
        raise LogError("there is no log to identify from; give at least one")
    record = {"runs": [dict(part.record) for part in parts]}
    return replace(merge(parts), record=record), findings


def _prior(
    model: Model,
    estimator: Estimator,
    prior: Prior | Callable[[Model], Prior] | None,
    repair: Repair | None,
) -> Prior | None:
    """The prior of the methods that take one."""
    if repair is not None and (prior is not None or not estimator.takes_prior):
        why = "a prior is given, which is repaired where it is made"
        raise EstimationError(
            "repair_prior is given, but "
            + (why if prior is not None else f"the method '{estimator.name}' takes no prior")
        )
    refuse_needless_prior(estimator, prior)
    if not estimator.takes_prior:
        return None
    if prior is not None:
        return _made(prior, model)
    if estimator.prior == "bodies" or repair is not None:
        return prior_from_robot(model, repair=repair)
    theta = model.prior_theta()
    return Prior(theta, np.ones(len(model.first_column_of_body)), "the robot file")


def _made(prior: Prior | Callable[[Model], Prior], model: Model) -> Prior:
    if not isinstance(prior, Prior) and not callable(prior):
        raise EstimationError(
            f"a prior is needed, not {described(prior)}; prior_from_mass(model, 12) makes one, or "
            "pass functools.partial(prior_from_mass, total_mass=12)"
        )
    return prior if isinstance(prior, Prior) else prior(model)


def poor_fit_findings(estimate: Estimate) -> tuple[Finding, ...]:
    """Say that an estimate explains little of the torques it was made from."""
    if not estimate.relative_error > POOR_FIT:
        return ()
    return (
        Finding(
            "warning",
            "poor-fit",
            f"the estimate leaves {100 * estimate.relative_error:.3g} % of the torques that it was "
            "made from unexplained: check units, signs and the order of joints, the masses of the "
            "robot file if they count as a prior, and the log for outliers",
        ),
    )


def _refuse_own_data(prior: Prior | None, data: Regression) -> None:
    """Refuse a prior that was estimated from one of these logs."""
    if prior is None or not prior.made_from:
        return
    for run in data.record["runs"]:
        if run.get("content_sha256") in prior.made_from:
            raise EstimationError(
                f"the prior {prior.source} was estimated from the log '{run.get('log')}' that is "
                "given: the same data twice would only make the intervals look tighter; give "
                "other logs, or another prior"
            )


def _with_term_comparison(
    estimate: Estimate,
    fit: ConstrainedFit,
    model: Model,
    wide: Model,
    data: Regression,
    constraints: Constraints,
    threads: int,
    progress: Callable[[str, int, int], None] | None,
) -> Estimate:
    """The estimate with what other sets of terms would give, in its record and findings."""
    assert fit.pull is not None
    prior = fit.pull.prior
    values = dict(zip(model.column_names, prior.theta, strict=True))
    theta = np.array([values.get(name, 0.0) for name in wide.column_names])
    with Workers(threads) as workers:
        found = compare_terms_of(
            wide,
            data,
            replace(prior, theta=theta),
            constraints,
            gamma=fit.pull.gamma,
            metric=fit.pull.metric,
            stated=[term.name for term in model.terms],
            workers=workers,
            progress=None if progress is None else partial(progress, "terms"),
        )
    return replace(
        estimate,
        findings=(*estimate.findings, *term_findings(found)),
        record={**estimate.record, "terms": found.to_dict()},
    )


def prepare_run(model: Model, log: Log, processing: Processing) -> Prepared:
    """Motion and torques of one log, as :func:`identify` uses them."""
    whole = prepare(log, model.robot, replace(processing, dead_band=None))
    return leave_out_slow(model, whole, processing.dead_band)


def compress_run(model: Model, base: BaseMap, prepared: Prepared, threads: int) -> Regression:
    """The factors of one prepared run, with its record.

    A low-pass filter makes neighbouring residuals alike: time blocks shorter than that would
    not be independent, and their error bars too small.
    """
    cutoff = prepared.record.get("cutoff_hz")
    return compress(
        model,
        prepared.motion,
        prepared.measurements,
        base=base,
        correlation_s=PERIODS_PER_BLOCK / cutoff if isinstance(cutoff, float) else 0.0,
        threads=threads,
        record=prepared.record,
    )


def check_robot(robot: object) -> None:
    """Refuse what is no robot, with what to pass."""
    if isinstance(robot, Model):
        raise RobotError("a robot is needed, not a model; pass model.robot, and terms=model.terms")
    if not isinstance(robot, Robot):
        raise RobotError(
            f"a robot is needed, not {described(robot)}; Robot.from_urdf(path) reads one"
        )
