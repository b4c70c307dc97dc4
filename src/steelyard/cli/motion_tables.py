"""Tables of a designed motion and of the score of an existing one, for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import Output
from steelyard.cli.results import show_findings
from steelyard.report.numbers import duration, percent, significant

if TYPE_CHECKING:
    from steelyard.excitation.designed import DesignedMotion
    from steelyard.excitation.predicted import PredictedPrecision
    from steelyard.excitation.scored import ScoredMotion
    from steelyard.model.model import Model

SHOWN_WEAK = 10
"""Base parameters that are shown, those determined worst first."""


def show_design(output: Output, model: Model, designed: DesignedMotion) -> None:
    """Print proven limits, criterion, measures and predicted precision."""
    from steelyard.cli.limit_tables import show_bounds
    from steelyard.report.motion_page import MotionPage, limit_rows

    show_bounds(
        output,
        limit_rows(MotionPage(model, designed, model.prior_theta())),
        "Bounds that hold at every time, their limits, and the share that is used",
    )
    show_precision(output, designed.predicted, "this motion")
    measures = "; ".join(
        f"{measure.name} {significant(measure.value)}" for measure in designed.measures
    )
    output.line(
        f"{duration(designed.duration_s)} from rest to rest; {designed.criterion} "
        f"{significant(designed.value)} (best random start: {significant(designed.start_value)}) "
        f"after {duration(designed.seconds)} and {designed.evaluations} evaluations; {measures}"
    )


def show_motion_findings(output: Output, designed: DesignedMotion) -> None:
    """Print warnings and notes, what is proven of the clearance, and what to do first."""
    from steelyard.report.motion_conditions import condition_rows
    from steelyard.report.motion_page import clearance_words

    for name, value in condition_rows(designed):
        output.line(f"{name}: {value}")
    settings = designed.settings
    output.line(
        f"share of the limits: {percent(settings.share)}; seed: {settings.seed}; points at "
        f"{settings.rate_hz:g} Hz for {settings.interpolation} interpolation"
    )
    words = clearance_words(designed)
    if words:
        output.line(f"collision: {words}")
    show_findings(output, designed.findings)


def show_precision(output: Output, predicted: PredictedPrecision, what: str) -> None:
    """Print how many base parameters a log determines, and the weakest ones."""
    counts = predicted.counts
    weak = sorted(
        (one for one in predicted.parameters if one.verdict != "well"),
        key=lambda one: one.relative,
        reverse=True,
    )
    after = predicted.before is not None
    if weak:
        output.table(
            (
                "base parameter",
                "reference",
                *(("sigma before",) if after else ()),
                "sigma after" if after else "sigma",
                "unit",
                "± 95 %, relative",
                "determined",
            ),
            [
                (
                    one.name,
                    significant(one.reference),
                    *((_sigma(one.before),) if one.before is not None else ()),
                    _sigma(one.sigma),
                    one.unit,
                    percent(one.relative) if math.isfinite(one.relative) else "open",
                    {"well": "well", "roughly": "roughly", "not": "no"}[one.verdict],
                )
                for one in weak[:SHOWN_WEAK]
            ],
            title=f"Determined worst by {what}"
            + (f" ({SHOWN_WEAK} of {len(weak)})" if len(weak) > SHOWN_WEAK else ""),
            left=("base parameter", "unit", "determined"),
        )
    noise = predicted.noise
    values = ", ".join(
        f"{joint} {significant(rms, 3)}" for joint, rms in zip(noise.joints, noise.rms, strict=True)
    )
    output.line(f"Torque noise (rms, N m or N), {noise.source}: {values}")
    output.line(
        f"A log of {what} at {predicted.rate_hz:g} Hz determines {counts['well']} of "
        f"{predicted.base.rank} base parameters well, {counts['roughly']} roughly and "
        f"{counts['not']} not."
    )


def show_score(output: Output, model: Model, score: ScoredMotion) -> None:
    """Print the score of an existing motion alone."""
    from steelyard.cli.limit_tables import show_kept

    if score.kept is not None:
        show_kept(output, model, score.name, score.kept)
    show_precision(output, score.predicted, score.name)
    measures = "; ".join(f"{one.name} {significant(one.value)}" for one in score.measures)
    output.line(f"{score.name}: {duration(score.duration_s)}; {measures}")


def show_comparison(output: Output, designed: DesignedMotion, score: ScoredMotion) -> None:
    """Print measures of a design beside those of an existing motion."""
    rows = [("duration", duration(designed.duration_s), duration(score.duration_s))]
    theirs = {one.name: one.value for one in score.measures}
    rows += [
        (one.name, significant(one.value), significant(theirs.get(one.name)))
        for one in designed.measures
    ]
    for verdict, words in (("well", "well"), ("roughly", "roughly"), ("not", "not")):
        rows.append(
            (
                f"base parameters determined {words}",
                str(designed.predicted.counts[verdict]),  # type: ignore[index]
                str(score.predicted.counts[verdict]),  # type: ignore[index]
            )
        )
    ours, other = designed.predicted.mean_sigma, score.predicted.mean_sigma
    rows.append(("mean sigma, relative to sizes", _share(ours), _share(other)))
    output.table(
        ("measure", "design", score.name),
        rows,
        title=f"The design beside {score.name}",
        left=("measure",),
    )


def score_document(score: ScoredMotion) -> dict[str, Any]:
    """The score as plain data."""
    from dataclasses import asdict

    from steelyard.cli.limit_tables import kept_document
    from steelyard.excitation.files.motion_file import predicted_data

    return {
        "name": score.name,
        "duration_s": score.duration_s,
        "recorded": score.recorded,
        "measures": [asdict(measure) for measure in score.measures],
        "mean_sigma": score.predicted.mean_sigma,
        "predicted": predicted_data(score.predicted),
        "kept": None if score.kept is None else kept_document(score.kept),
    }


def _sigma(value: float) -> str:
    return significant(value, 2) if math.isfinite(value) else "infinite"


def _share(value: float) -> str:
    return percent(value) if math.isfinite(value) else "infinite"
