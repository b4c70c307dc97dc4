"""Tables of an estimate and of its validation, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.output import STYLES, Output
from steelyard.errors import quoted_list
from steelyard.model.mechanism import row_words
from steelyard.model.row_groups import group_words
from steelyard.report.measurements import measurement_rows
from steelyard.report.numbers import percent, significant, with_half_width
from steelyard.report.processing import covered
from steelyard.report.standard_notes import OPEN_MASSES

if TYPE_CHECKING:
    from steelyard.certificates.certificate import Certificate
    from steelyard.diagnosis.verdict.verdict import Verdict
    from steelyard.findings import Finding
    from steelyard.identification.identify import Identification
    from steelyard.validation.held_out import HeldOut


VERDICT_STYLES = {
    "usable": "bold green",
    "usable with care": "bold yellow",
    "do not use": "bold red",
}
"""How a verdict of each level is printed."""
TABLE_WIDTH = 120
"""Terminal width from which the table shows combinations; if narrower, they follow the table."""


def show_identification(
    output: Output, found: Identification, files: Mapping[str, Path], notes: Iterable[str] = ()
) -> None:
    """Print the whole identification with its findings, and last the verdict.

    files : that were written, by kind. notes : about the overlay.
    """
    show_estimate(output, found)
    show_consistency(output, found)
    show_merged_bodies(output, found)
    show_measurements(output, found)
    if found.validation is not None:
        show_validation(output, found.validation)
    show_findings(output, found.findings)
    for note in notes:
        output.line(f"note: {note}")
    if found.certificate is not None:
        robot = found.model.robot.source
        show_certificate(output, found.certificate, files.get("certificate"), robot)
    show_verdict(output, found.verdict)


def show_verdict(output: Output, verdict: Verdict) -> None:
    """Whether the result can be used, in one sentence, and what that assumes."""
    show_verdict_sentence(output, verdict)
    output.line(f"Assumed: {verdict.assumed}.")


def show_verdict_sentence(output: Output, verdict: Verdict) -> None:
    """Print the verdict alone."""
    output.line(f"Verdict: {verdict.sentence}.", VERDICT_STYLES[verdict.level])


def show_certificate(
    output: Output, certificate: Certificate, path: Path | None, robot: str | None = None
) -> None:
    """What is proven, and how to verify it. robot : the path of its file."""
    output.line(f"Proven: {certificate.words}.")
    if path is not None:
        file = "" if robot is None else f" --robot {robot}"
        output.line(
            f"To verify the certificate: steelyard verify {path} --result {path.parent}{file}, "
            "with --overlay and options on constraints as given here"
        )


def show_estimate(output: Output, found: Identification) -> None:
    """Print base parameters, fit per joint and condition number."""
    estimate, level = found.estimate, found.level
    wide = output.width >= TABLE_WIDTH
    rows, combinations = [], []
    for parameter in estimate.parameters(level):
        half = 0.5 * (parameter.upper - parameter.lower)
        value, shown_half = with_half_width(parameter.value, half)
        sigma = parameter.sigma if parameter.sigma_cluster is None else parameter.sigma_cluster
        relative = sigma / abs(parameter.value) if parameter.value else float("inf")
        rows.append(
            (
                parameter.name + (" *" if parameter.interval_kind == "mostly prior" else ""),
                value,
                shown_half,
                parameter.unit,
                percent(relative),
                *((parameter.combination,) if wide else ()),
            )
        )
        if not wide and parameter.combination != parameter.name:
            combinations.append(parameter)
    columns = ("parameter", "value", f"± {100 * level:g} %", "unit", "sigma")
    output.table(
        (*columns, "combination") if wide else columns,
        rows,
        title="Base parameters",
        left=("parameter", "unit", "combination"),
    )
    if any(p.interval_kind == "mostly prior" for p in estimate.parameters(level)):
        output.line("* mostly from the prior")
    if combinations:
        output.line("Parameters that are combinations:", "bold")
    for parameter in combinations:
        output.line(f"{parameter.name}:")
        output.indented(parameter.combination)
    kind, what = estimate.equation.kind, "joint" if estimate.equation.of_joints else "equation"
    output.table(
        (what, kind.values, "residual rms", f"{kind.quantity} rms", "relative error"),
        [
            (
                row_words(fit.name),
                str(fit.n_rows),
                significant(fit.rms, 3),
                significant(fit.torque_rms, 3),
                percent(fit.relative_error),
            )
            for fit in estimate.channels
            if fit.n_rows
        ],
        title=f"Fit of {'each joint' if what == 'joint' else 'the ' + estimate.equation.words} "
        f"({kind.unit}), on the data that was used",
        left=(what,),
    )
    output.line(
        f"{estimate.method.upper()}: relative error {percent(estimate.relative_error)}"
        f"{_in_brackets(group_words(estimate.channels))}"
        f"{_in_brackets(covered(estimate.runs))}, "
        f"{estimate.n_rows} {kind.values} in {estimate.n_blocks} time blocks; condition number "
        f"{significant(estimate.condition)}, {significant(estimate.condition_scaled)} with "
        f"columns scaled to unit norm; {estimate.spread.kind} intervals"
    )


def show_consistency(output: Output, found: Identification) -> None:
    """Count the physical links of an estimate without constraints (Gautier and Venture 2013)."""
    from steelyard.estimators.physical_counts import consistency_of

    standard = found.estimate.standard
    if standard is None or standard.feasible:
        return
    report = consistency_of(found.model, standard.theta)
    n = len(report.bodies)
    rows = [
        (f"inertias positive definite, tolerance {tolerance:g} kg m²", f"{count} of {n}")
        for tolerance, count in zip(report.tolerances, report.counts, strict=True)
    ]
    rows.append(("physical bodies, in exact arithmetic", f"{report.n_physical} of {n}"))
    output.table(("test", "links"), rows, title="Are the bodies physical?", left=("test",))


def show_merged_bodies(output: Output, found: Identification) -> None:
    """Say how each body of several links is spread over them."""
    standard = found.estimate.standard
    if standard is None or standard.merged is None:
        return
    output.line(f"Bodies of several links (--attached {standard.merged.rule}):", "bold")
    for body in standard.merged.bodies:
        output.indented(body.words)


def show_measurements(output: Output, found: Identification) -> None:
    """Which one measurement would close most of the masses that the data leave open."""
    advice = found.estimate.measurement_advice
    if advice is None:
        return
    output.table(
        ("measurement", "all open masses, kg", "its own mass now, kg", "after, kg"),
        [(row.what, row.left, row.before, row.after) for row in measurement_rows(advice)],
        title="What to measure: torques leave the masses of "
        f"{quoted_list(one.body for one in advice.ranges)} open, with ranges that are "
        f"{significant(advice.summed_width, 3)} kg wide together",
        left=("measurement",),
    )
    output.line(OPEN_MASSES)


def show_findings(output: Output, findings: Iterable[Finding]) -> None:
    """Print warnings and notes about the result."""
    for finding in findings:
        output.line(f"{finding.level}: {finding.sentence} [{finding.code}]", STYLES[finding.level])


def show_validation(output: Output, held_out: HeldOut) -> None:
    """Print errors per joint, of the file's inertials and the zero model too, and verdicts."""
    from steelyard.validation.scores import BASELINE

    overall = held_out.overall
    output.table(
        ("joint", "rms", "relative error", "fit", BASELINE, "zero model"),
        [
            (
                row_words(own.name),
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
            if own.n_rows
        ],
        title=f"Prediction of each joint (N m or N), on {held_out.data}, "
        "without torques near standstill",
        left=("joint",),
    )
    if len(held_out.runs) > 1:
        for run in held_out.runs:
            output.line(f"run {run.run}: {run.verdict}")
    output.line(f"The estimate {overall.verdict}{_in_brackets(covered(held_out.records))}.")


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""
