"""The files of an estimate: result, tables, report and proof."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.certificates.certificate import Proof
    from steelyard.identification.identify import Identification
    from steelyard.report.content import JointError, Reference, Report
    from steelyard.signals.prepare import Prepared
    from steelyard.validation.held_out import HeldOut

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

STANDARD_COLUMNS = ("name", "value", "unit", "lower", "upper", "interval_kind", "at_boundary")


def write_outputs(
    folder: Path,
    found: Identification,
    document: dict[str, Any],
    *,
    level: float,
    held_out: HeldOut | None,
    training: Prepared | None = None,
    reference: Reference | None = None,
    proof: Proof | None = None,
) -> dict[str, str]:
    """Write what there is; paths by kind."""
    from steelyard._files.access import write_text
    from steelyard.certificates.writing import write_certificate
    from steelyard.errors import ResultError
    from steelyard.estimators.result_file import write_result
    from steelyard.report.page import render_report

    paths = {
        "result": folder / "result.json",
        "parameters": folder / "parameters.csv",
        "report": folder / "report.html",
    }
    # what can fail fails before anything is written
    report = report_of(found, level, held_out, training, reference)
    page = render_report(replace(report, proof=proof))
    write_result(paths["result"], document)
    write_text(paths["parameters"], parameters_csv(found, level), ResultError)
    if found.estimate.standard is not None:
        paths["standard_parameters"] = folder / "standard_parameters.csv"
        write_text(paths["standard_parameters"], standard_csv(found, level), ResultError)
    if proof is not None:
        paths["certificate"] = folder / "certificate.json"
        write_certificate(paths["certificate"], proof.document)
    write_text(paths["report"], page, ResultError)
    return {kind: str(path) for kind, path in paths.items()}


def leftovers(folder: Path | None, files: Mapping[str, str]) -> list[Path]:
    """Files of an earlier estimate in the folder that this one did not write anew."""
    if folder is None:
        return []
    written = set(files.values())
    sometimes = [folder / "standard_parameters.csv", folder / "certificate.json"]
    return [path for path in sometimes if path.exists() and str(path) not in written]


def parameters_csv(found: Identification, level: float) -> str:
    """The base parameters as a table that spreadsheets read; empty where there is no number."""
    from steelyard._files.json_data import finite

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for parameter in found.estimate.parameters(level):
        writer.writerow([finite(getattr(parameter, name)) for name in CSV_COLUMNS])
    return stream.getvalue()


def standard_csv(found: Identification, level: float) -> str:
    """The standard parameters as a table, with what follows from them for each body."""
    from steelyard._files.json_data import finite
    from steelyard.estimators.bodies import all_parameters

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(STANDARD_COLUMNS)
    for parameter in all_parameters(found.model, found.estimate, level):
        writer.writerow([_cell(finite(getattr(parameter, name))) for name in STANDARD_COLUMNS])
    return stream.getvalue()


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def report_of(
    found: Identification,
    level: float,
    held_out: HeldOut | None,
    training: Prepared | None,
    reference: Reference | None,
) -> Report:
    """The report, on held-out data where there is some, else on the run ``training``."""
    from steelyard.report.content import JointError, Report, TorqueRun
    from steelyard.report.processing import covered
    from steelyard.validation.held_out import where_used
    from steelyard.validation.scores import predict_base

    model, estimate = found.model, found.estimate
    if held_out is not None:
        overall = held_out.overall
        return Report(
            model,
            estimate,
            level,
            run=TorqueRun(
                held_out.first.motion.run,
                held_out.first.motion.run not in held_out.used,
                held_out.first.motion.time,
                held_out.first.all_measurements.tau,
                held_out.predicted,
                held_out.first.record.torque_is_filtered,
            ),
            errors=tuple(
                JointError(own.name, own.relative_error, prior.relative_error)
                for own, prior in zip(
                    overall.prediction.channels, overall.prior.channels, strict=True
                )
            ),
            errors_on=held_out.data,
            relative_error_held_out=overall.prediction.relative_error,
            relative_error_prior=overall.prior.relative_error,
            errors_cover=covered(held_out.records),
            reference=reference,
        )
    run = None
    if training is not None:
        motion, measured = training.motion, training.all_measurements.tau
        predicted = where_used(training, predict_base(model, estimate.base, estimate.beta, motion))
        filtered = training.record.torque_is_filtered
        run = TorqueRun(motion.run, False, motion.time, measured, predicted, filtered)
    return Report(
        model, estimate, level, run=run, errors=training_errors(found), reference=reference
    )


def training_errors(found: Identification) -> tuple[JointError, ...]:
    """Errors on the data that was used, the file's inertials included, from the factors alone."""
    import numpy as np

    from steelyard.estimators.least_squares import channel_fits
    from steelyard.report.content import JointError

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
