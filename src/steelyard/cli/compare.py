"""Put two results of identify side by side, and say whether they agree within their intervals.

Each is a folder that identify wrote, or its result.json. Parameters are compared by name.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import Output
from steelyard.cli.result_path import result_path

if TYPE_CHECKING:
    from steelyard.findings import Finding
    from steelyard.validation.result_comparison import ResultComparison

NAME = "compare"
HELP = "two results side by side"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("a", metavar="A", help="folder of identify, or its result.json")
    parser.add_argument("b", metavar="B", help="folder of identify, or its result.json")


def run(arguments: argparse.Namespace) -> int:
    """Compare; exit code 0 whatever the results are."""
    from steelyard.cli.comparison_tables import show_comparison
    from steelyard.estimators.result_entries import stored_verdict
    from steelyard.estimators.result_file import read_result
    from steelyard.validation.result_comparison import compare_results

    paths = [result_path(given) for given in (arguments.a, arguments.b)]
    results = [read_result(path) for path in paths]
    found = compare_results(*results)
    verdicts = [stored_verdict(result) for result in results]
    output = Output(arguments.json)
    for letter, path, verdict in zip("AB", paths, verdicts, strict=True):
        told = "" if verdict is None else f", whose verdict was: {verdict.sentence}"
        output.line(f"{letter}: {path}{told}")
    show_comparison(output, found)
    output.document(
        {
            "a": str(paths[0]),
            "b": str(paths[1]),
            "verdicts": [None if one is None else one.sentence for one in verdicts],
            **_document(found),
        }
    )
    return 0


def _document(found: ResultComparison) -> dict[str, Any]:
    """The comparison as plain data."""
    agreement = found.agreement
    return {
        "same_model": found.same_model,
        "agree": agreement.holds,
        "verdict": agreement.words,
        "n_compared": agreement.n,
        "outside": list(agreement.outside),
        "expected_outside": agreement.expected,
        "largest_half_widths": agreement.largest,
        "allowed_half_widths": agreement.allowed,
        "base": [
            {
                "name": pair.name,
                "unit": pair.a.unit,
                "a": pair.a.value,
                "b": pair.b.value,
                "same_combination": pair.same_combination,
                "sigmas": pair.sigmas,
                "half_widths": pair.half_widths,
                "within": pair.within,
            }
            for pair in found.base
        ],
        "links": [
            {
                "name": pair.name,
                "mass_a": asdict(pair.mass_a),
                "mass_b": asdict(pair.mass_b),
                "com_moved_mm": None
                if pair.change.com_moved is None
                else [1e3 * x for x in pair.change.com_moved.tolist()],
                "inertia_relative": pair.change.inertia_relative,
                "heaviest_axis_deg": pair.change.heaviest_axis_deg,
                "lightest_axis_deg": pair.change.lightest_axis_deg,
            }
            for pair in found.bodies
        ],
        "terms": [
            {"name": pair.name, "a": asdict(pair.a), "b": asdict(pair.b)} for pair in found.terms
        ],
        "errors": [asdict(pair) for pair in found.errors],
        "same_held_out": found.same_held_out,
        "settings": [asdict(pair) for pair in found.settings],
        "only_in_a": _only(
            found.base_only_in_a,
            found.bodies_only_in_a,
            found.terms_only_in_a,
            found.findings_only_in_a,
        ),
        "only_in_b": _only(
            found.base_only_in_b,
            found.bodies_only_in_b,
            found.terms_only_in_b,
            found.findings_only_in_b,
        ),
        "shared_logs": found.shared_logs,
        "notes": list(found.notes),
    }


def _only(
    base: Iterable[str], links: Iterable[str], terms: Iterable[str], findings: Iterable[Finding]
) -> dict[str, Any]:
    return {
        "base": list(base),
        "links": list(links),
        "terms": list(terms),
        "findings": [finding.as_json() for finding in findings],
    }
