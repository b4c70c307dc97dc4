"""What `identify` and `demo` have in common: tables of an estimate, and its three files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import Output, Progress
from steelyard.report.numbers import percent, significant, with_half_width

if TYPE_CHECKING:
    from steelyard.held_out import HeldOut
    from steelyard.identification import DeadBand, Identification
    from steelyard.logs import Log
    from steelyard.report import JointError, Reference, Report
    from steelyard.signals import Prepared

CSV_COLUMNS = (
    "name",
    "value",
    "unit",
    "lower",
    "upper",
    "sigma",
    "sigma_cluster",
    "relative_sigma_percent",
    "interval_kind",
    "combination",
)


def read_logs(paths: list[str], progress: Progress) -> Iterator[Log]:
    """The logs one after the other; each is read when the one before is done with."""
    from steelyard.logs import read_log

    for number, path in enumerate(paths, 1):
        of_all = f" ({number} of {len(paths)})" if len(paths) > 1 else ""
        progress.step(f"reading {path}{of_all}")
        log = read_log(path)
        progress.step(f"working on {path}{of_all}")
        yield log


def with_validation(found: Identification, held_out: HeldOut | None) -> Identification:
    """The identification, with a finding for each run that the file's own model predicts better."""
    from steelyard.findings import Finding

    runs = () if held_out is None else held_out.runs
    worse = tuple(
        Finding(
            "warning",
            "worse-than-prior",
            f"on run '{run.run}', which was not used, the estimate {run.verdict}; record motions "
            "that are more alike or more varied, and look at the residuals before using it",
        )
        for run in runs
        if not run.beats_prior
    )
    estimate = replace(found.estimate, findings=(*found.estimate.findings, *worse))
    return replace(found, estimate=estimate)


def show_estimate(output: Output, found: Identification, level: float) -> None:
    """Base parameters, fit per joint, condition, findings."""
    estimate = found.estimate
    rows = []
    for parameter in estimate.parameters(level):
        half = 0.5 * (parameter.upper - parameter.lower)
        value, shown_half = with_half_width(parameter.value, half)
        sigma = parameter.sigma if parameter.sigma_cluster is None else parameter.sigma_cluster
        relative = sigma / abs(parameter.value) if parameter.value else float("inf")
        rows.append(
            (
                parameter.name,
                value,
                shown_half,
                parameter.unit,
                percent(relative),
                parameter.combination,
            )
        )
    output.table(
        ("parameter", "value", f"± {100 * level:g} %", "unit", "sigma", "combination"),
        rows,
        title="Base parameters",
        left=("parameter", "unit", "combination"),
    )
    output.table(
        ("joint", "torque values", "residual rms", "torque rms", "relative error"),
        [
            (
                fit.name,
                str(fit.n_rows),
                significant(fit.rms, 3),
                significant(fit.torque_rms, 3),
                percent(fit.relative_error),
            )
            for fit in estimate.channels
        ],
        title="Fit of each joint (N m or N), on the data that was used",
        left=("joint",),
    )
    output.line(
        f"{estimate.method.upper()}: relative error {percent(estimate.relative_error)}, "
        f"{estimate.n_rows} torque values in {estimate.n_blocks} time blocks; condition number "
        f"{significant(estimate.condition)}, {significant(estimate.condition_scaled)} with "
        f"columns scaled to size one; {estimate.spread.kind} intervals"
    )


def show_findings(output: Output, found: Identification) -> None:
    """What the user should know about the result."""
    for finding in found.estimate.findings:
        style = "yellow" if finding.level == "warning" else None
        output.line(f"{finding.level}: {finding.words}", style)


def show_validation(output: Output, held_out: HeldOut) -> None:
    """Errors per joint against the file's model and no model, then each run's verdict."""
    overall = held_out.overall
    output.table(
        ("joint", "rms", "relative error", "fit", "file's model", "zero model"),
        [
            (
                own.name,
                significant(own.rms, 3),
                percent(own.relative_error),
                f"{own.fit_percent:.1f} %",
                percent(prior.relative_error),
                percent(zero.relative_error),
            )
            for own, prior, zero in zip(
                overall.prediction.channels,
                overall.prior.channels,
                overall.zero.channels,
                strict=True,
            )
        ],
        title="Prediction of each joint (N m or N), on data that was not used",
        left=("joint",),
    )
    if len(held_out.runs) > 1:
        for run in held_out.runs:
            output.line(f"run {run.run}: {run.verdict}")
    output.line(f"The estimate {overall.verdict}.")


def write_outputs(
    folder: Path,
    found: Identification,
    document: dict[str, Any],
    *,
    level: float,
    held_out: HeldOut | None,
    training: Prepared | None = None,
    dead_band: DeadBand = "auto",
    reference: Reference | None = None,
) -> dict[str, str]:
    """Write result.json, parameters.csv and report.html; their paths by kind."""
    from steelyard.errors import ResultError
    from steelyard.files import write_text
    from steelyard.report import write_report
    from steelyard.result import write_result

    paths = {
        "result": folder / "result.json",
        "parameters": folder / "parameters.csv",
        "report": folder / "report.html",
    }
    write_result(paths["result"], document)
    write_text(paths["parameters"], parameters_csv(found, level), ResultError)
    write_report(
        paths["report"],
        report_of(found, level, held_out, training, dead_band, reference),
    )
    return {kind: str(path) for kind, path in paths.items()}


def parameters_csv(found: Identification, level: float) -> str:
    """The base parameters as a table that spreadsheets read; empty where there is no number."""
    from steelyard.result import finite

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for parameter in found.estimate.parameters(level):
        writer.writerow([finite(getattr(parameter, name)) for name in CSV_COLUMNS])
    return stream.getvalue()


def report_of(
    found: Identification,
    level: float,
    held_out: HeldOut | None,
    training: Prepared | None,
    dead_band: DeadBand,
    reference: Reference | None,
) -> Report:
    """The report, on held-out data where there is some, else on the run ``training``."""
    from steelyard.held_out import where_used
    from steelyard.identification import leave_out_slow
    from steelyard.report import JointError, Report, TorqueRun
    from steelyard.validation import predict_base

    model, estimate = found.model, found.estimate
    if held_out is not None:
        overall = held_out.overall
        return Report(
            model,
            estimate,
            level,
            run=TorqueRun(
                held_out.first.motion.run,
                True,
                held_out.first.motion.time,
                held_out.first.measurements.tau,
                held_out.predicted,
            ),
            errors=tuple(
                JointError(own.name, own.relative_error, prior.relative_error)
                for own, prior in zip(
                    overall.prediction.channels, overall.prior.channels, strict=True
                )
            ),
            errors_held_out=True,
            relative_error_held_out=overall.prediction.relative_error,
            relative_error_prior=overall.prior.relative_error,
            reference=reference,
        )
    run = None
    if training is not None:
        motion, measured = training.motion, training.measurements.tau
        used = leave_out_slow(model, training, dead_band)
        predicted = where_used(used, predict_base(model, estimate.base, estimate.beta, motion))
        run = TorqueRun(motion.run, False, motion.time, measured, predicted)
    return Report(
        model, estimate, level, run=run, errors=training_errors(found), reference=reference
    )


def training_errors(found: Identification) -> tuple[JointError, ...]:
    """Errors on the data that was used, the file's model included, from the factors alone."""
    import numpy as np

    from steelyard.estimators.least_squares import channel_fits
    from steelyard.report import JointError

    prior_beta = found.estimate.base.K @ found.model.prior_theta()
    priors = channel_fits(found.regression, prior_beta, np.ones(len(found.regression.groups)))
    return tuple(
        JointError(own.name, own.relative_error, prior.relative_error)
        for own, prior in zip(found.estimate.channels, priors, strict=True)
    )


def output_folder(path: str) -> Path:
    """The folder, made if it is not there, before any long work."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
