"""From a robot and its logs to parameters with error bars, validation and certificate, in one call.

A plain composition: prepare each log, leave out torques inside the dead band, compress, merge,
estimate, validate, certify. Whoever needs something in between calls these functions directly.

The dead band is on by default (``Processing.dead_band`` is "auto");
:mod:`steelyard.signals.dead_band` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from steelyard.certificates.certificate import Certificate, prove
from steelyard.diagnosis.fit_quality import poor_fit_findings, worse_than_file_findings
from steelyard.diagnosis.sample_warnings import shortage_findings
from steelyard.errors import EstimationError
from steelyard.estimators.constrained import ConstrainedFit
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.methods import (
    CONSTRAINED,
    DEFAULT,
    WITH_PRIOR,
    Method,
    Wishes,
    estimate_by,
)
from steelyard.estimators.parallel.threads import available_threads
from steelyard.estimators.prior_weight import MIN_GROUPS, Rule
from steelyard.findings import Finding
from steelyard.identification.arguments import (
    check_level,
    check_robot,
    prior_for_method,
    refuse_own_data,
)
from steelyard.identification.runs import FirstRun, compressed
from steelyard.identification.term_comparison import with_term_comparison
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.overlay.constraints import constraints_from_overlay
from steelyard.knowledge.overlay.model import model_of
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.prior import Prior, Repair
from steelyard.logs.log import Log
from steelyard.logs.several import check_logs, checked_logs
from steelyard.model.model import Model
from steelyard.model.terms import Side, Term
from steelyard.model.wider import widest
from steelyard.regression.fewer_terms import narrowed
from steelyard.regression.regression import Regression
from steelyard.robot.physical_links import file_findings
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.signals.run_record import processing_as_used, used_hashes
from steelyard.validation.held_out import HeldOut, validate_logs


@dataclass(frozen=True, eq=False)
class Identification:
    """What :func:`identify` found.

    estimate : parameters with intervals, and all findings; its record says what was done to each
        run.
    regression : the compressed data, for another estimator or for merging with more runs.
    fit : the constrained fit behind the estimate; None for the other methods.
    validation : errors on the logs that were held out; None where there were none.
    certificate : proof that the estimate meets its constraints; None for methods without
        constraints, and where nothing could be proven, which a finding says.
    first_run : the first run that the estimate was made from, for the report; None if it was not
        to be kept.
    level : of the intervals in the files that :func:`steelyard.write_outputs` writes.
    """

    model: Model
    estimate: Estimate
    regression: Regression
    fit: ConstrainedFit | None = None
    validation: HeldOut | None = None
    certificate: Certificate | None = None
    first_run: FirstRun | None = None
    level: float = 0.95

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the user should know about logs, estimate, validation and certificate."""
        return self.estimate.findings


def identify(
    robot: Robot,
    logs: Log | Iterable[Log],
    *,
    validate_on: Log | Iterable[Log] = (),
    terms: Iterable[Term] | None = None,
    overlay: Overlay | None = None,
    torque: Side | None = None,
    method: Method = DEFAULT,
    prior: Prior | Callable[[Model], Prior] | None = None,
    repair_prior: Repair | None = None,
    gamma: float | Rule = "leave-blocks-out",
    constraints: Constraints | None = None,
    compare_terms: bool = True,
    n_resamples: int = 200,
    ranges: bool = True,
    certify: bool = True,
    level: float = 0.95,
    keep_first_run: bool = True,
    processing: Processing | None = None,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Identification:
    """Parameters of ``robot`` from logs of its motion and torques.

    logs : one or several, taken one at a time, and forgotten before the next; each only once.
    validate_on : logs that are not used for the estimate, to test it on; taken when the estimate
        is there.
    terms : what joint torque is made of besides the rigid bodies; by default drive inertia,
        viscous and Coulomb friction and an offset for each joint.
    overlay : changes the robot, names its terms and states constraints; see
        :mod:`steelyard.knowledge.overlay.overlay`.
    torque : where torque is measured, "motor" or "link", which decides the default terms; see
        :func:`steelyard.default_terms`. It goes before what the overlay says of all joints.
    method : "entropic" (default) keeps to what is physically possible, weighs each joint by its
        own noise, and is drawn to the prior as much as the data advise; "pullback" is the same
        with the prior's second-order part; "feasible" has no prior but to place what the data
        leave open; "essential", "cad" and "cad-essential" are those of Gautier and Venture
        (2013); "wls" weighs each joint by its noise, "ols" is unweighted: these five may return
        parameters that no physical robot has.
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
    certify : whether to prove that a constrained estimate meets its constraints.
    level : of the intervals in the files that :func:`steelyard.write_outputs` writes.
    keep_first_run : whether the first run stays in memory, to be shown by the report where no
        log is held out.
    processing : how logs become motion and torques, dead band included; the same for all.
    threads : by default as many as the machine offers; the result does not depend on it.
    progress : called with what is being done and how many of how many problems are solved.
    """
    check_robot(robot)
    check_level(level)
    check_logs(validate_on)
    wishes = Wishes(method, gamma, n_resamples, ranges)
    threads = available_threads() if threads is None else threads
    if threads < 1:
        raise EstimationError(f"threads is {threads}; at least one is needed")
    from threadpoolctl import threadpool_limits

    # matrices are small: LAPACK's own threads would only get in each other's way, and change
    # the last digits
    with threadpool_limits(limits=1, user_api="blas"):
        model = model_of(robot, terms=terms, overlay=overlay, torque=torque)
        # what can be refused is refused before any log is read
        known = prior_for_method(model, wishes.method, prior, repair_prior)
        findings: list[Finding] = []
        if constraints is None:
            constraints, notes = constraints_from_overlay(model, overlay)
            if method in CONSTRAINED:
                findings += [Finding("info", "constraints", note) for note in notes]
        processing = processing or Processing()
        compare = compare_terms and method in WITH_PRIOR
        wide = widest(model) if compare else model
        data = compressed(model, wide, logs, processing, threads, keep_first=keep_first_run)
        findings += data.findings
        refuse_own_data(known, data.regression)
        regression = narrowed(data.regression, wide, model)
        estimate, fit = estimate_by(
            wishes,
            model,
            regression,
            prior=known,
            constraints=constraints,
            threads=threads,
            progress=progress,
        )
        findings += poor_fit_findings(estimate)
        if compare and fit is not None and len(data.regression.keys) >= MIN_GROUPS:
            estimate = with_term_comparison(
                estimate, fit, model, wide, data.regression, constraints, threads, progress
            )
        findings += [*shortage_findings(regression), *file_findings(model.robot)]
        found = Identification(
            model,
            _with_findings(estimate, findings),
            regression,
            fit,
            first_run=data.first,
            level=level,
        )
        held_out = _first_taken(validate_on)
        if held_out is not None:
            found = with_validation(found, held_out, processing)
        return with_certificate(found, progress) if certify else found


def with_validation(
    found: Identification, logs: Log | Iterable[Log], processing: Processing
) -> Identification:
    """``found`` with its errors on logs that it was not made from.

    processing : as the estimate was made with. An automatic cutoff is the one that the estimate
        got, so that the errors of fit and test are about the same torques.
    """
    estimate = found.estimate
    held_out = validate_logs(
        found.model,
        estimate.base,
        estimate.beta,
        logs,
        processing_as_used(processing, estimate.record),
        used_hashes(estimate.record),
    )
    findings = (*held_out.findings, *worse_than_file_findings(held_out))
    return replace(found, validation=held_out, estimate=_with_findings(estimate, findings))


def with_certificate(
    found: Identification, progress: Callable[[str, int, int], None] | None = None
) -> Identification:
    """``found`` with the strongest certificate that can be made of its constrained fit."""
    if found.fit is None:
        return found
    if progress is not None:
        progress("certificate", 0, 1)
    certificate, findings = prove(found.model, found.regression, found.fit)
    if progress is not None:
        progress("certificate", 1, 1)
    estimate = _with_findings(found.estimate, findings)
    return replace(found, certificate=certificate, estimate=estimate)


def _with_findings(estimate: Estimate, findings: Iterable[Finding]) -> Estimate:
    return replace(estimate, findings=(*estimate.findings, *findings))


def _first_taken(logs: Log | Iterable[Log]) -> Iterator[Log] | None:
    """The logs, or None where there are none; only the first is taken from an iterator."""
    rest = checked_logs(logs)
    first = next(rest, None)
    return None if first is None else chain((first,), rest)
