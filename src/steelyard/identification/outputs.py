"""Output files of an identification: result, tables, report and certificate."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from steelyard._files.access import made_folder, text_bytes, write_files
from steelyard._files.result_seal import file_hashes
from steelyard.certificates.files import with_files
from steelyard.certificates.writing import certificate_text
from steelyard.diagnosis.verdict.references import file_with_terms
from steelyard.errors import ResultError
from steelyard.estimators.least_squares import channel_fits
from steelyard.estimators.result_file import result_document, result_text
from steelyard.export.formats import IDENTIFIED, AttachedChoice
from steelyard.export.tables import parameters_csv, standard_csv
from steelyard.identification._found_fields import Found, FoundFields, with_findings
from steelyard.identification.robot_file import RobotFiles, robot_files
from steelyard.model.mechanism import row_words
from steelyard.report.content import JointError, Reference, Report, TorqueRun
from steelyard.report.page import render_report
from steelyard.report.processing import covered
from steelyard.validation.held_out import HeldOut, where_used
from steelyard.validation.scores import predict_base

FILES = {
    "result": "result.json",
    "parameters": "parameters.csv",
    "report": "report.html",
    "standard_parameters": "standard_parameters.csv",
    "certificate": "certificate.json",
}
"""Name of each file that :func:`write_outputs` may write."""
NOT_ALWAYS = ("standard_parameters", "certificate")
"""Files that only some methods give."""


def write_outputs(
    found: FoundFields,
    folder: str | Path,
    *,
    reference: Reference | None = None,
    robot_file: str | Path | None = None,
    attached: AttachedChoice | None = None,
    write_anyway: bool = False,
) -> dict[str, Path]:
    """Write result, tables, report, certificate and robot file, those that exist.

    Returns paths by kind: those of ``FILES``, and "identified_robot" and "joint_terms", whose
    names are made of that of the robot file.

    found : a :class:`steelyard.Identification`, which has this as its method ``save``.
    folder : created if missing. reference : values that the report compares with.
    robot_file, attached, write_anyway : see
        :func:`steelyard.identification.robot_file.robot_files`. If the robot file is not written,
        a finding says why, and the others are written. If the verdict is not to use it, one of an
        earlier run, which could be taken for it, gets the ending ".earlier".
    """
    # render everything first: if that fails, nothing is written
    own = robot_files(found, robot_file=robot_file, attached=attached, write_anyway=write_anyway)
    found = with_robot_file_finding(found, own)
    page = render_report(report_of(found, reference=reference))
    document = document_of(found)
    texts = {"parameters": parameters_csv(found.estimate, found.level), "report": page}
    if found.estimate.standard is not None:
        texts["standard_parameters"] = standard_csv(found.model, found.estimate, found.level)
    if found.certificate is not None:
        proven = found.certificate.document
        if own.certified is not None:
            proven = with_files(proven, [own.certified])
        texts["certificate"] = certificate_text(proven)
    contents = {kind: (FILES[kind], text_bytes(text)) for kind, text in texts.items()}
    for kind, named in own.content.items():
        contents[kind] = named
    # the result names all others, and replaces that of an earlier run as the last of them
    document["files"] = file_hashes(dict(contents.values()))
    contents["result"] = (FILES["result"], text_bytes(result_text(document)))
    folder = made_folder(folder, ResultError)
    write_files(
        {folder / name: data for name, data in contents.values()},
        ResultError,
        aside=[folder / name for name in own.withheld],
    )
    return {kind: folder / contents[kind][0] for kind in dict.fromkeys(("result", *contents))}


def with_robot_file_finding(found: Found, own: RobotFiles) -> Found:
    """``found`` with the findings about the robot file, if there are any, and only once."""
    said = {finding.code for finding in found.findings}
    new = [one for one in own.findings if one.code not in said]
    return with_findings(found, new) if new else found


def leftovers(folder: str | Path, written: Collection[Path]) -> list[Path]:
    """Files of an earlier identification in the folder that are not among those ``written``."""
    sometimes = [Path(folder) / FILES[kind] for kind in NOT_ALWAYS]
    sometimes += sorted(Path(folder).glob(f"*{IDENTIFIED}.*"))
    return [path for path in sometimes if path.exists() and path not in written]


def document_of(found: FoundFields) -> dict[str, Any]:
    """The content of ``result.json``, as plain data."""
    return result_document(
        found.model,
        found.estimate,
        level=found.level,
        validation=None if found.validation is None else found.validation.to_dict(),
        certificate=None if found.certificate is None else found.certificate.summary(),
        signals=None if found.signals is None else found.signals.as_json(),
        missing=[one.as_json() for one in found.missing],
        admission=None if found.admission is None else found.admission.as_json(),
        verdict=found.verdict.as_json(),
        file_with_terms=file_with_terms(found.model, found.regression),
    )


def report_of(found: FoundFields, *, reference: Reference | None = None) -> Report:
    """The content of the report: on held-out data where there is some, else on the first run.

    reference : values to compare with, such as the true parameters of a simulated robot.
    """
    if found.validation is None:
        return Report(
            found.model,
            found.estimate,
            found.level,
            run=_first_torques(found),
            errors=joint_errors(found),
            reference=reference,
            certificate=found.certificate,
            signals=found.signals,
            missing=found.missing,
            verdict=found.verdict,
        )
    overall = found.validation.overall
    return Report(
        found.model,
        found.estimate,
        found.level,
        run=_held_out_torques(found.validation),
        errors=joint_errors(found),
        errors_on=found.validation.data,
        prediction=overall.prediction,
        baseline=overall.prior,
        errors_cover=covered(found.validation.records),
        reference=reference,
        certificate=found.certificate,
        signals=found.signals,
        missing=found.missing,
        verdict=found.verdict,
    )


def joint_errors(found: FoundFields) -> tuple[JointError, ...]:
    """Errors of each joint on held-out data where there is some, else on the training data."""
    if found.validation is None:
        return training_errors(found)
    overall = found.validation.overall
    return tuple(
        JointError(row_words(own.name), own.relative_error, prior.relative_error)
        for own, prior in zip(overall.prediction.channels, overall.prior.channels, strict=True)
        if own.n_rows
    )


def training_errors(found: FoundFields) -> tuple[JointError, ...]:
    """Errors of the estimate and the file's inertials on the training data, from its factors."""
    prior_beta = found.estimate.base.K @ found.model.prior_theta()
    priors = channel_fits(found.regression, prior_beta, np.ones(len(found.regression.groups)))
    return tuple(
        JointError(row_words(own.name), own.relative_error, prior.relative_error)
        for own, prior in zip(found.estimate.channels, priors, strict=True)
        if own.n_rows
    )


def _first_torques(found: FoundFields) -> TorqueRun | None:
    """The torques of the first run, if it was kept, and those that the estimate predicts."""
    run = found.first_run
    if run is None:
        return None
    estimate = found.estimate
    predicted = predict_base(found.model, estimate.base, estimate.beta, run.motion)
    return TorqueRun(
        run.motion.run,
        False,
        run.motion.time,
        run.all_measurements.tau,
        where_used(run, predicted),
        run.record.torque_is_filtered,
    )


def _held_out_torques(held_out: HeldOut) -> TorqueRun:
    first = held_out.first
    return TorqueRun(
        first.motion.run,
        first.motion.run not in held_out.used,
        first.motion.time,
        first.all_measurements.tau,
        held_out.predicted,
        first.record.torque_is_filtered,
    )
