"""From a robot and its logs to parameters with error bars, validation and certificate, in one call.

It calls one function per step: choose filters and friction widths on the first log, prepare each
log, compress, merge, estimate, validate, certify. For intermediate results, call these functions
directly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Literal

from steelyard.certificates.certificate import prove
from steelyard.conic.blas_threads import one_blas_thread
from steelyard.diagnosis.admitted_terms import AdmitOption, classes_to_admit
from steelyard.diagnosis.checked_log import (
    accepted_log,
    check_accepted,
    telling,
    validation_findings,
)
from steelyard.diagnosis.fit_quality import (
    poor_fit_findings,
    sample_warnings,
    worse_than_file_findings,
)
from steelyard.diagnosis.signal_choice import choose_signals, signal_findings
from steelyard.diagnosis.term_admission import admit_terms
from steelyard.diagnosis.verdict.judge import CheckedInput
from steelyard.diagnosis.verdict.references import file_with_terms
from steelyard.diagnosis.verdict.rules import found_by_judging
from steelyard.errors import EstimationError, LogError
from steelyard.estimators.attached_choice import estimate_with_attached
from steelyard.estimators.estimator import (
    DEFAULT_METHOD,
    Columns,
    DriveTerms,
    EssentialLimits,
    EstimationOptions,
    Towards,
)
from steelyard.estimators.least_squares import NOT_MEASURED
from steelyard.estimators.merged_bodies import with_merged_bodies
from steelyard.estimators.optimum_distance import CODES
from steelyard.estimators.parallel.threads import available_threads
from steelyard.estimators.prior_weight import MIN_GROUPS, GammaRule
from steelyard.estimators.registry import estimator_named, refuse_needless_options
from steelyard.estimators.solver_names import Weighting
from steelyard.findings import Finding
from steelyard.identification._arguments import (
    RobotLike,
    as_robot,
    check_attached,
    check_level,
    friction_widths,
    prior_for_method,
    refuse_own_data,
    robot_as_used,
)
from steelyard.identification._found_fields import with_findings as with_findings
from steelyard.identification._issued_warnings import issue_warnings
from steelyard.identification._term_comparison import with_term_comparison
from steelyard.identification.found import Identification as Identification
from steelyard.identification.runs import compressed
from steelyard.knowledge.constraints import Constraints
from steelyard.knowledge.overlay.constraints import constraints_from_overlay
from steelyard.knowledge.overlay.model import model_with_terms, refuse_contradictions
from steelyard.knowledge.overlay.overlay import Overlay
from steelyard.knowledge.overlay.terms import terms_from_overlay
from steelyard.knowledge.prior import Prior, RepairRule, prior_of_wider
from steelyard.logs.any_log import LogsLike, check_logs
from steelyard.logs.several import with_first_taken
from steelyard.logs.stored_log import selected
from steelyard.model.attached_links import AttachedOption
from steelyard.model.base_map import base_map
from steelyard.model.mechanism import BASE_WRENCH
from steelyard.model.model import Model
from steelyard.model.term_kinds import Side
from steelyard.model.terms import Term
from steelyard.model.visibility import unmeasured_words
from steelyard.model.weight_offsets import left_out_findings
from steelyard.model.wider import with_default_terms
from steelyard.regression.equation import Equation, EquationName, processing_for
from steelyard.regression.fewer_terms import with_fewer_terms
from steelyard.regression.regression import Regression
from steelyard.robot.file_changes import change_findings
from steelyard.robot.physical_links import file_findings, negative_masses
from steelyard.signals.processing import Processing
from steelyard.validation.held_out import validate_logs

NOT_SEEN = "not-seen"


def identify(
    robot: RobotLike,
    logs: LogsLike,
    *,
    validate_on: LogsLike = (),
    terms: Iterable[Term] | None = None,
    overlay: Overlay | None = None,
    torque: Side | None = None,
    lock: Mapping[str, float] | Literal["unrecorded"] | None = None,
    keep_angles: bool = False,
    equation: EquationName = "torque",
    interval_s: float | None = None,
    method: str = DEFAULT_METHOD,
    prior: Prior | Callable[[Model], Prior] | None = None,
    repair_prior: RepairRule | None = None,
    gamma: float | GammaRule = "leave-blocks-out",
    constraints: Constraints | None = None,
    attached: AttachedOption = "auto",
    admit: AdmitOption = "auto",
    compare_terms: bool = True,
    n_resamples: int = 200,
    ranges: bool = True,
    budget_s: float | None = None,
    sweeps: int | None = None,
    columns: Columns = "all",
    weighting: Weighting = "wls",
    towards: Towards | None = None,
    drive_terms: DriveTerms = "stated",
    essential: EssentialLimits | None = None,
    certify: bool = True,
    level: float = 0.95,
    keep_first_run: bool = True,
    processing: Processing | None = None,
    friction_width: float | Mapping[str, float] | Literal["auto"] = "auto",
    accept: Collection[str] | None = (),
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Identification:
    """Parameters of ``robot`` from logs of its motion and torques.

    robot : a robot, or the path of its URDF or MJCF file.
    logs : one or several; each is a path, a pandas or polars data frame, arrays by column name, or
        a :class:`steelyard.Log`. A file is read once, and only one at a time is kept in memory, of
        a long one only a part.
    validate_on : held-out logs: not used for the estimate but to validate it, and read after it.
    terms : contributions to the joint torque besides the rigid bodies; by default drive inertia,
        viscous and Coulomb friction and an offset for each joint, but no offset for a slide
        along which weight is constant; see :mod:`steelyard.model.weight_offsets`.
    overlay : changes the robot, names its terms and states constraints; see
        :mod:`steelyard.knowledge.overlay.overlay`.
    torque : where torque is measured, "motor" or "link", which decides the default terms; see
        :func:`steelyard.default_terms`. It overrides what the overlay states for all joints.
    lock : joints that do not move, with their positions (rad or m); "unrecorded" for all of which
        the first log has no column, see :func:`steelyard.signals.unrecorded.lock_unrecorded`.
    keep_angles : whether joint angles that the robot file rounds, such as 1.5708, stay as written;
        see :func:`steelyard.model.right_angles.with_right_angles`.
    equation : what is fitted: "torque"; or "energy" or "power", which need no accelerations; see
        :mod:`steelyard.regression.energy_rows`. Every method works with each.
    interval_s : length (s) of the intervals of energy (1/16 if not given) or power (1/32).
    method : an estimator by name, see :mod:`steelyard.estimators.registry`. "entropic" (default)
        gives physical parameters, weights each joint by its own noise, and is drawn to the prior
        with a weight chosen from the data; some other methods may give unphysical parameters.
    prior : for the methods that take one; or a function that makes it for the model, such as
        ``functools.partial(prior_from_mass, total_mass=18)``. By default the robot file's
        inertials. repair_prior : rule for a file that is not physical, see
        :mod:`steelyard.knowledge.prior`; "floor-moments" if not given, and a warning says what
        it changed. With "none" such a file is refused.
    gamma : weight of the prior, or "leave-blocks-out" or "l-curve" to choose it from the data.
    constraints : knowledge besides physics, for the constrained methods; replaces that of the
        overlay.
    attached : what happens to links that fixed or locked joints hold to a moving link. "keep":
        those with an inertial in the file keep it, and what is left for the moving link must be
        physical, which is a condition of the constrained methods. "lump": the moving link gets
        everything. "auto": "keep", unless "lump" predicts left-out parts of the logs clearly
        better. See :mod:`steelyard.model.attached_links`.
    admit : classes of terms that enter the model where left-out parts of the first log are
        predicted better with them by a clear margin: "travel", "load", "stribeck", "asymmetric",
        "spring", "counterbalance"; "none" for none; "auto" for all with the default method, and
        none with the others. See
        :mod:`steelyard.diagnosis.term_admission`.
    compare_terms : with a prior, whether to compare other sets of terms on the data.
    n_resamples, ranges : how intervals of constrained estimates are computed; see
        :func:`steelyard.estimators.intervals.with_intervals`.
    budget_s : time (s) after which the iterations of the fit end, for the method "manifold": the
        parameters are physical then too, and a finding says whether they are the optimum.
    sweeps : of the sequential methods towards the simultaneous optimum, 0 for none; by default as
        many as prove the fit to be within 0.1 % of it. A finding says how far it is.
    columns : of the methods "cad" and "cad-essential": whether all standard parameters may differ
        from the prior, or the "independent" base columns alone.
    weighting, towards, drive_terms, essential : options of single methods, see
        :class:`steelyard.estimators.estimator.EstimationOptions`.
    certify : whether to prove that a constrained estimate meets its constraints.
    level : of the intervals in the files that :func:`steelyard.write_outputs` writes.
    keep_first_run : whether the first run stays in memory, for the report to show if no log is
        held out.
    processing : how logs become motion and torques, dead band included; the same for all. What it
        leaves open ("auto") is chosen on the first log; see
        :mod:`steelyard.diagnosis.signal_choice`.
    friction_width : speed (rad/s or m/s) within which a straight line replaces the jump of Coulomb
        friction, for all or by joint; 0 for sign(v); "auto" chooses it on the first log.
    accept : codes of severe findings about the logs in spite of which to go on, None for none; any
        other severe finding raises :class:`steelyard.errors.InputRefusedError`.
    threads : by default as many as the machine offers; the result does not depend on it.
    progress : called with the name of the step, the number of problems solved, and their total.

    Each log is checked first, see `steelyard.diagnosis.inspection` and
    `steelyard.diagnosis.hypotheses`; an error that is raised later carries what was found, as
    ``findings``.

    ``verdict`` of what is returned says whether it can be used: on the logs of ``validate_on``,
    which are checked as well, or without any on left-out parts of ``logs``.

    Every finding of level "warning" or "severe" is issued as a :class:`steelyard.SteelyardWarning`.
    """
    robot = as_robot(robot)
    check_level(level)
    check_logs(logs)
    check_attached(attached)
    accept = accept or ()
    check_accepted(accept)
    check_logs(validate_on)
    # a method of a paper keeps the terms that are stated
    classes = classes_to_admit("none" if admit == "auto" and method != DEFAULT_METHOD else admit)
    estimator = estimator_named(method)
    fitted = Equation(equation, interval_s)
    options = EstimationOptions(
        *(method, gamma, n_resamples, ranges, budget_s, sweeps, columns),
        *(weighting, towards, drive_terms, essential or EssentialLimits()),
    )
    refuse_needless_options(estimator, options)
    threads = available_threads() if threads is None else threads
    if threads < 1:
        raise EstimationError(f"threads is {threads}; at least one is needed")

    def tell(step: str) -> None:
        if progress is not None:
            progress(step, 0, 1)

    # matrices are small: LAPACK's own threads would be slower, and change the last digits
    with one_blas_thread(), ExitStack() as until_the_end:
        refuse_contradictions(robot, terms, overlay, torque)
        robot, logs = robot_as_used(robot, logs, overlay, lock, keep_angles)
        model = model_with_terms(robot, terms, overlay, torque)
        # wrong arguments are refused before any log is read
        known = prior_for_method(model, estimator, prior, repair_prior)
        findings: list[Finding] = [*change_findings(model.robot)]
        if terms is None:
            stated = terms_from_overlay(model.robot, overlay, torque=torque)
            findings += left_out_findings(stated, model.terms)
        if constraints is None:
            constraints, notes = constraints_from_overlay(model, overlay)
            if "constraints" in estimator.options:
                findings += [Finding("info", "constraints", note) for note in notes]
        processing = processing_for(fitted, processing or Processing())
        compare = compare_terms and "compare_terms" in estimator.options
        taken = with_first_taken(logs)
        if taken is None:
            raise LogError("there is no log to identify from; give at least one")
        tell("check of the log")
        wrong_file = negative_masses(model.robot)
        until_the_end.enter_context(telling(wrong_file))
        delay_is_automatic = processing.torque_delay == "auto"
        windows = selected(taken[0])
        checked = accepted_log(taken[0], model, processing, accept)
        processing = checked.processing
        until_the_end.enter_context(telling(checked.findings))
        tell("base parameters")
        base_map(model)
        tell("signals")
        signals = choose_signals(
            model,
            windows,
            processing,
            widths=friction_widths(model, friction_width),
            threads=threads,
            progress=None if progress is None else partial(progress, "signals"),
            equation=fitted,
        )
        admission = admit_terms(
            model.with_widths(signals.widths), windows, signals, fitted, classes, threads=threads
        )
        if known is not None:
            known = prior_of_wider(known, model, admission.model)
        model, signals = admission.model, admission.signals or signals
        wide = with_default_terms(model).with_widths(signals.widths) if compare else model
        findings += [*signal_findings(signals), *admission.findings]
        logs = taken[1]
        del taken, windows
        tell("compression")
        data = compressed(
            model,
            wide,
            logs,
            signals.processing,
            threads,
            keep_first=keep_first_run,
            cutoff_is_automatic=signals.cutoff_is_automatic,
            delay_is_automatic=delay_is_automatic,
            equation=fitted,
            found_in_first=checked.findings,
            accept=accept,
            progress=None if progress is None else partial(progress, "compression"),
        )
        until_the_end.enter_context(telling(data.findings))
        added = {one.code for one in admission.findings}
        noted = [one for one in data.findings if one.alarming or one.code not in added]
        read = [*wrong_file, *noted, *_unseen_findings(model, data.regression)]
        refuse_own_data(known, data.regression)
        regression = with_fewer_terms(data.regression, wide, model)
        tell("estimate")
        found_rule = estimate_with_attached(
            options,
            model,
            regression,
            attached,
            prior=known,
            constraints=constraints,
            threads=threads,
            progress=progress,
        )
        estimate, fit, constraints = found_rule.estimate, found_rule.fit, found_rule.constraints
        findings += found_rule.findings
        estimate = with_merged_bodies(estimate, model, found_rule.rule, regression, fit)
        findings += poor_fit_findings(estimate)
        # of a base wrench alone, no term of a joint is needed, since none is seen
        compare = compare and not _measured_rows(data.regression) <= set(BASE_WRENCH)
        if compare and fit is not None and len(data.regression.keys) >= MIN_GROUPS:
            estimate = with_term_comparison(
                estimate, fit, model, wide, data.regression, constraints, threads, progress
            )
        findings += [*sample_warnings(regression), *file_findings(model.robot)]
        found = Identification(
            model,
            replace(estimate, findings=_in_order(read, estimate.findings, findings)),
            regression,
            fit,
            signals=signals,
            missing=checked.missing,
            admission=admission,
            first_run=data.first,
            level=level,
            checked=CheckedInput(
                data.findings, data.noise if fitted.of_joints else None, data.sizes
            ),
        )
        held_out = with_first_taken(validate_on)
        if held_out is not None:
            found = _validated(found, held_out[1])
        found = with_findings(found, found_by_judging(found.verdict.reasons))
        found = _certified(found, progress) if certify else found
    issue_warnings(found.findings)
    return found


def _in_order(
    read: Iterable[Finding], estimated: Iterable[Finding], others: Iterable[Finding]
) -> tuple[Finding, ...]:
    """All findings: first how logs were read, which may explain all others.

    What was not seen, link by link, says all that the estimator knows of unrecorded torques.
    """
    first = tuple(read)
    told = {NOT_MEASURED} if any(one.code == NOT_SEEN for one in first) else set()
    return (*first, *(one for one in estimated if one.code not in told), *others)


def _unseen_findings(model: Model, regression: Regression) -> tuple[Finding, ...]:
    """What cannot be identified since torques or wrenches were not recorded, link by link."""
    if not regression.equation.of_joints:
        return ()
    words = unmeasured_words(model, _measured_rows(regression))
    return () if words is None else (Finding("warning", NOT_SEEN, words),)


def _measured_rows(regression: Regression) -> set[str]:
    """Names of the rows that have data."""
    counts = regression.counts.sum(axis=0)
    return {one.name for one, n in zip(regression.groups, counts, strict=True) if n > 0}


def with_validation(found: Identification, logs: LogsLike) -> Identification:
    """``found`` with its errors on logs that were not used for it.

    Signals are processed like those of the estimate's first run, with the same cutoff, so that
    the errors of fit and validation are comparable; a log of another bandwidth is read with its
    own, and a finding says so. New warnings are issued.
    """
    validated = _validated(found, logs)
    issue_warnings(validated.findings[len(found.findings) :])
    return validated


def _validated(found: Identification, logs: LogsLike) -> Identification:
    estimate = found.estimate
    processing = estimate.runs[0].processing_as_used
    automatic = found.signals is not None and found.signals.cutoff_is_automatic
    held_out = validate_logs(
        found.model,
        estimate.base,
        estimate.beta,
        logs,
        processing,
        estimate.log_hashes,
        cutoff_is_automatic=automatic,
        proposed_hz=None if found.signals is None else found.signals.proposed_hz,
        file_with_terms=file_with_terms(found.model, found.regression),
        check=lambda log: validation_findings(
            log, found.model, processing, cutoff_is_automatic=automatic
        ),
    )
    findings = (*held_out.findings, *worse_than_file_findings(held_out))
    return with_findings(replace(found, validation=held_out), findings)


def with_certificate(
    found: Identification, progress: Callable[[str, int, int], None] | None = None
) -> Identification:
    """``found`` with the strongest certificate that can be made of its constrained fit.

    New warnings are issued.
    """
    certified = _certified(found, progress)
    issue_warnings(certified.findings[len(found.findings) :])
    return certified


def _certified(
    found: Identification, progress: Callable[[str, int, int], None] | None
) -> Identification:
    if found.fit is None:
        return found
    if progress is not None:
        progress("certificate", 0, 1)
    certificate, findings = prove(found.model, found.regression, found.fit)
    if progress is not None:
        progress("certificate", 1, 1)
    # the gap of an estimate with a prior is that of another objective
    of_fit = certificate is not None and not certificate.drawn
    found = _with_tighter_gap(found, certificate.gap if certificate and of_fit else None)
    return with_findings(replace(found, certificate=certificate), findings)


def _with_tighter_gap(found: Identification, gap: float | None) -> Identification:
    """``found`` with one statement about its distance from the optimum: the tightest bound."""
    distance = None if found.fit is None else found.fit.distance
    if distance is None or gap is None:
        return found
    said = distance.with_bound(gap).finding
    kept = [said if one.code in CODES else one for one in found.estimate.findings]
    return replace(found, estimate=replace(found.estimate, findings=tuple(kept)))
