"""An identification in a few lines of text, as a terminal shows it."""

from __future__ import annotations

import textwrap

from steelyard.identification._found_fields import FoundFields
from steelyard.model.row_groups import group_words
from steelyard.report.numbers import duration, percent
from steelyard.report.processing import covered
from steelyard.report.total_mass import total_mass_words

WIDTH = 100
LABEL_WIDTH = 10
MOST_WARNINGS = 3
MOST_LINES = 2
"""Lines of one entry; what does not fit is cut."""


def overview(found: FoundFields) -> str:
    """Robot, verdict, data, error, mass, warnings and what to call next: about 25 lines."""
    lines = shortened(headline(found), "", "  ")
    lines += _entry("verdict", found.verdict.sentence, None)
    for label, words in _entries(found):
        lines += _entry(label, words)
    warnings = [finding.sentence for finding in found.findings if finding.alarming]
    lines += _entry("warnings", str(len(warnings)) + (":" if warnings else ""))
    for words in warnings[:MOST_WARNINGS]:
        lines += shortened(words, " " * LABEL_WIDTH + "- ", " " * LABEL_WIDTH + "  ")
    if len(warnings) > MOST_WARNINGS:
        lines += _entry("", f"and {len(warnings) - MOST_WARNINGS} more in .findings")
    return "\n".join([*lines, *_entry("next", _next_calls(found))])


def headline(found: FoundFields) -> str:
    """Which robot, and by which method."""
    robot = found.model.robot
    n_bodies, n_joints = len(found.model.mechanism.bodies), len(robot.joint_names)
    return (
        f"Identification of '{robot.name}' ({_count(n_joints, 'joint')}, "
        f"{_count(n_bodies, 'moving link')}) by the method '{found.estimate.method}'"
    )


def data_words(found: FoundFields) -> str:
    """The logs that were used, and what of them."""
    estimate = found.estimate
    seconds = duration(sum(run.duration_s for run in estimate.runs))
    logs = f"{_count(len(estimate.runs), 'log')}, {seconds}, " if estimate.runs else ""
    filtered = covered(estimate.runs)
    values = f"{logs}{estimate.n_rows} {estimate.equation.kind.values}"
    return f"{values} ({filtered})" if filtered else values


def error_words(found: FoundFields) -> str:
    """The torque error on held-out data, if there is some, else on the data that was used."""
    if found.validation is None:
        words = group_words(found.estimate.channels)
        groups = f" ({words})" if words else ""
        return (
            f"{percent(found.estimate.relative_error)} of the "
            f"{found.estimate.equation.kind.quantity}{groups}, on the data that was used; "
            "pass validate_on=... for the error on other logs"
        )
    overall = found.validation.overall
    return f"{overall.prediction.words}, on {found.validation.data}"


def baseline_words(found: FoundFields) -> str | None:
    """The error of the robot file's inertials on the held-out data."""
    if found.validation is None:
        return None
    return f"{found.validation.overall.prior.words}, by its inertials, without friction"


def added_words(found: FoundFields) -> str | None:
    """The terms that the first log asked for; None if there are none."""
    return None if found.admission is None else found.admission.words


def mass_words(found: FoundFields) -> str | None:
    """The mass of all moving links; None if the method gives none."""
    return total_mass_words(found.model, found.estimate, found.level)


def shortened(words: str, first: str, other: str, most: int | None = MOST_LINES) -> list[str]:
    """Words on at most ``most`` lines, cut where they do not fit; None for all of them."""
    one_line = " ".join(words.split())
    return textwrap.wrap(
        one_line,
        WIDTH,
        initial_indent=first,
        subsequent_indent=other,
        max_lines=most,
        placeholder=" ...",
    )


def _entries(found: FoundFields) -> list[tuple[str, str]]:
    proof = None if found.certificate is None else found.certificate.words
    entries = (
        ("data", data_words(found)),
        ("error", error_words(found)),
        ("added", added_words(found)),
        ("file", baseline_words(found)),
        ("mass", mass_words(found)),
        ("proven", proof),
    )
    return [(label, words) for label, words in entries if words is not None]


def _entry(label: str, words: str, most: int | None = MOST_LINES) -> list[str]:
    start = f"  {label}".ljust(LABEL_WIDTH + 2)
    return shortened(words, start, " " * len(start), most)


def _next_calls(found: FoundFields) -> str:
    file = ", .to_urdf('identified.urdf')" if found.estimate.standard is not None else ""
    return f".summary(), .plot(), .save('out'){file}, .predict(q, v, a)"


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
