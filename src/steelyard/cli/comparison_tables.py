"""Tables of two results side by side, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from steelyard.cli.output import STYLES, Output
from steelyard.report.numbers import percent, significant, with_half_width

if TYPE_CHECKING:
    from steelyard.estimators.estimate import ParameterEstimate, StandardEstimate
    from steelyard.findings import Finding
    from steelyard.validation.result_comparison import BodyPair, ResultComparison
    from steelyard.validation.result_settings import ErrorPair

WIDE = 100
"""Terminal width from which tables show intervals too."""
MODERATE_SIGMAS = 100.0


def show_comparison(output: Output, found: ResultComparison) -> None:
    """Print how the results were made, their errors and parameters, and the verdict."""
    wide = output.width >= WIDE
    if found.settings:
        output.table(
            ("setting", "A", "B"),
            [(pair.what, pair.a, pair.b) for pair in found.settings],
            title="Made differently",
            left=("setting", "A", "B"),
        )
    show_errors(output, found)
    show_base(output, found, wide)
    show_links(output, found, wide)
    show_terms(output, found, wide)
    for letter, findings in (("A", found.findings_only_in_a), ("B", found.findings_only_in_b)):
        show_findings(output, letter, findings)
    for note in found.notes:
        output.line(f"note: {note}")
    words = found.agreement.words
    output.line(f"{words[0].upper()}{words[1:]}.", "bold")


def show_errors(output: Output, found: ResultComparison) -> None:
    """Errors over all joints, then those of each joint."""
    output.table(
        ("data", "A", "B"),
        [
            (
                f"held-out, {pair.what}" if pair.held_out else pair.what,
                percent(pair.a),
                percent(pair.b),
            )
            for pair in found.errors
            if pair.joint is None
        ],
        title="Relative error of torque",
        left=("data",),
    )
    training, held_out = (
        {pair.joint: pair for pair in found.errors if pair.joint and pair.held_out is held}
        for held in (False, True)
    )
    columns = ("training A", "training B", *(("held-out A", "held-out B") if held_out else ()))
    rows = []
    for joint in dict.fromkeys((*training, *held_out)):
        pairs = [own.get(joint) for own in ((training, held_out) if held_out else (training,))]
        numbers = [number for pair in pairs for number in _both(pair)]
        rows.append((str(joint), *(percent(number) for number in numbers)))
    if rows:
        output.table(
            ("joint", *columns), rows, title="Relative error of each joint", left=("joint",)
        )


def show_base(output: Output, found: ResultComparison, wide: bool) -> None:
    """Base parameters with their difference in joint standard deviations."""
    if not found.base:
        return
    rows = []
    for pair in found.base:
        a, b = _with_interval(pair.a), _with_interval(pair.b)
        sigmas = _sigmas(pair.sigmas) if pair.same_combination else "other"
        rows.append(
            (
                pair.name,
                *((*a, *b) if wide else (a[0], b[0])),
                pair.a.unit,
                f"{sigmas} !" if pair.within is False else sigmas,
            )
        )
    columns = ("A", "±", "B", "±") if wide else ("A", "B")
    output.table(
        ("parameter", *columns, "unit", "sigmas"),
        rows,
        title="Base parameters; B - A in joint standard deviations",
        left=("parameter", "unit"),
    )
    if found.agreement.outside:
        output.line("! more than the ± of both together; a few are so by chance, see the last line")


def show_links(output: Output, found: ResultComparison, wide: bool) -> None:
    """Mass of each link, and how its centre of mass and inertia differ."""
    if not found.bodies:
        return
    masses = ("mass A", "range A", "mass B", "range B") if wide else ("mass A", "mass B")
    output.table(
        ("link", *masses, "com moved", "inertia", "axis turned"),
        [_body_row(pair, wide) for pair in found.bodies],
        title="Links: mass (kg), way of the centre of mass (mm), change of the inertia about it",
        left=("link",),
    )
    if any(pair.ranges_overlap is False for pair in found.bodies):
        output.line("! the ranges do not overlap")


def show_terms(output: Output, found: ResultComparison, wide: bool) -> None:
    """Terms that are no base parameter of their own: the others are in the table of these."""
    alone = {pair.name for pair in found.base}
    rows = [
        (
            pair.name,
            *(
                (
                    significant(pair.a.value),
                    _range(pair.a),
                    significant(pair.b.value),
                    _range(pair.b),
                )
                if wide
                else (significant(pair.a.value), significant(pair.b.value))
            ),
            pair.a.unit,
        )
        for pair in found.terms
        if pair.name not in alone
    ]
    if rows:
        columns = ("A", "range A", "B", "range B") if wide else ("A", "B")
        output.table(
            ("term", *columns, "unit"),
            rows,
            title="Friction and drive inertia that are part of combinations",
            left=("term", "unit"),
        )


def show_findings(output: Output, letter: str, findings: Iterable[Finding]) -> None:
    """Warnings and notes that only one of the results has."""
    for finding in findings:
        words = f"only in {letter}: {finding.level}: {finding.sentence} [{finding.code}]"
        output.line(words, STYLES[finding.level])


def _body_row(pair: BodyPair, wide: bool) -> tuple[str, ...]:
    change = pair.change
    heaviest, lightest = change.heaviest_axis_deg, change.lightest_axis_deg
    angle = lightest if heaviest is None else heaviest
    which = " (lightest)" if heaviest is None else ""
    distance = change.com_distance
    masses = [significant(mass.value) for mass in (pair.mass_a, pair.mass_b)]
    if pair.ranges_overlap is False:
        masses[1] += " !"
    return (
        pair.name,
        *((masses[0], _range(pair.mass_a), masses[1], _range(pair.mass_b)) if wide else masses),
        "?" if distance is None else significant(1e3 * distance, 3),
        percent(change.inertia_relative),
        "no axis" if angle is None else f"{angle:.1f} deg{which}",
    )


def _both(pair: ErrorPair | None) -> tuple[float | None, float | None]:
    return (None, None) if pair is None else (pair.a, pair.b)


def _with_interval(parameter: ParameterEstimate) -> tuple[str, str]:
    half = 0.5 * (parameter.upper - parameter.lower)
    value, shown_half = with_half_width(parameter.value, half)
    return value, "held" if parameter.interval_kind == "held" else shown_half


def _sigmas(sigmas: float | None) -> str:
    if sigmas is None:
        return "?"
    return f"{sigmas:+.1f}" if abs(sigmas) < MODERATE_SIGMAS else f"{sigmas:+.2g}"


def _range(parameter: StandardEstimate) -> str:
    if parameter.lower is None or parameter.upper is None:
        return "?"
    size = max(abs(parameter.lower), abs(parameter.upper))
    # a limit of 1e-11 kg is a zero that was moved inside
    ends = (0.0 if abs(end) < 1e-6 * size else end for end in (parameter.lower, parameter.upper))
    return " to ".join(significant(end, 3) for end in ends)
