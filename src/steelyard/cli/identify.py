"""Estimate the base parameters of a robot from logs of its motion and torques."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard._files.access import refuse_overwriting
from steelyard.cli.constraints import add_constraint_arguments, constraints_from
from steelyard.cli.output import Output, progress
from steelyard.cli.prior import add_prior_arguments, gamma_from, prior_from
from steelyard.cli.processing import (
    add_processing_arguments,
    add_robot_arguments,
    processing_from,
)
from steelyard.errors import EstimationError, ResultError
from steelyard.estimators.estimator import DEFAULT_METHOD
from steelyard.estimators.registry import all_estimators, estimator_named, method_names
from steelyard.model.term_kinds import SIDES

if TYPE_CHECKING:
    from steelyard.knowledge.prior import Prior
    from steelyard.logs.log import Log
    from steelyard.model.model import Model

NAME = "identify"
HELP = "parameters with error bars, from a robot file and logs"
OUTPUTS = (
    "result.json",
    "report.html",
    "parameters.csv",
    "standard_parameters.csv",
    "certificate.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_robot_arguments(parser)
    parser.add_argument("logs", nargs="+", metavar="LOG", help="CSV or NPZ files")
    parser.add_argument(
        "--torque",
        choices=SIDES,
        help="where torque is measured, which decides the terms of the joints: at the motors "
        "(default), or behind the gears at the links",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FOLDER",
        help="write result.json, report.html, tables and the proof there",
    )
    parser.add_argument(
        "--method",
        choices=method_names(),
        default=DEFAULT_METHOD,
        help="; ".join(f"{one.name}: {one.description}" for one in all_estimators())
        + f" (default: {DEFAULT_METHOD})",
    )
    add_prior_arguments(parser)
    parser.add_argument(
        "--no-term-comparison",
        action="store_true",
        help="do not try which terms of the joints the data ask for "
        f"({', '.join(one.name for one in all_estimators() if 'compare_terms' in one.options)})",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=200,
        metavar="N",
        help="draws of the time blocks for intervals of constrained methods (default: 200)",
    )
    parser.add_argument(
        "--no-ranges",
        action="store_true",
        help="do not look for the range of each standard parameter (constrained methods)",
    )
    add_constraint_arguments(parser)
    parser.add_argument(
        "--validate-on",
        nargs="+",
        action="extend",
        default=[],
        metavar="LOG",
        help="logs that are not used for the estimate, to test it on",
    )
    parser.add_argument(
        "--level", type=float, default=0.95, metavar="P", help="of the intervals (default: 0.95)"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="default: all")
    add_processing_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Identify, validate if asked, print, and write files if asked.

    1 if the file's inertials predict the held-out logs better.
    """
    from steelyard.cli import result_files, results
    from steelyard.estimators.result_file import result_document
    from steelyard.identification.identify import identify
    from steelyard.knowledge.overlay.constraints import constraints_from_overlay
    from steelyard.knowledge.overlay.model import model_of
    from steelyard.knowledge.overlay.read_robot import read_robot
    from steelyard.knowledge.overlay.terms import terms_from_overlay
    from steelyard.knowledge.overlay.toml_file import read_overlay
    from steelyard.signals.prepare import prepare
    from steelyard.signals.processing import Processing
    from steelyard.signals.run_record import processing_as_used, used_hashes
    from steelyard.validation.held_out import validate_logs

    level = checked_level(arguments.level)
    processing = processing_from(arguments, Processing())
    overlay = None if arguments.overlay is None else read_overlay(arguments.overlay)
    robot = read_robot(arguments.robot, gravity=arguments.gravity, overlay=overlay)
    folder = None if arguments.out is None else result_files.output_folder(arguments.out)
    if folder is not None:
        inputs = [arguments.robot, *arguments.logs, *arguments.validate_on]
        inputs += [path for path in (arguments.prior, arguments.overlay) if path is not None]
        refuse_overwriting([folder / name for name in OUTPUTS], inputs, ResultError)
    first: list[Log] = []
    terms = terms_from_overlay(robot, overlay, torque=arguments.torque)
    stated, notes = constraints_from_overlay(model_of(robot, terms=terms), overlay)
    constraints = constraints_from(arguments, stated)
    with progress() as shown:
        logs = results.read_logs(arguments.logs, shown)
        found = identify(
            robot,
            # without held-out data the report shows the first run, which is otherwise forgotten
            logs if folder is None or arguments.validate_on else keep_first(logs, first),
            terms=terms,
            method=arguments.method,
            prior=checked_prior(arguments),
            gamma=gamma_from(arguments),
            compare_terms=not arguments.no_term_comparison,
            constraints=constraints,
            n_resamples=checked_resamples(arguments.resamples),
            ranges=not arguments.no_ranges,
            progress=lambda what, done, total: shown.step(f"{what}: {done} of {total}"),
            processing=processing,
            threads=arguments.threads,
        )
        held_out = None
        if arguments.validate_on:
            held_out = validate_logs(
                found.model,
                found.estimate.base,
                found.estimate.beta,
                results.read_logs(arguments.validate_on, shown),
                processing_as_used(processing, found.estimate.record),
                used_hashes(found.estimate.record),
            )
        found = results.with_validation(found, held_out)
        found, proof = results.with_proof(found, shown)
        document = result_document(
            found.model,
            found.estimate,
            level=level,
            validation=None if held_out is None else held_out.to_dict(),
            certificate=None if proof is None else proof.summary(),
        )
        files = {}
        if folder is not None:
            shown.step("writing the report")
            training = None
            if first:
                training = prepare(first[0], robot, replace(processing, dead_band=None))
            files = result_files.write_outputs(
                folder,
                found,
                document,
                level=level,
                held_out=held_out,
                training=training,
                dead_band=processing.dead_band,
                proof=proof,
            )
    output = Output(arguments.json)
    results.show_estimate(output, found, level)
    results.show_consistency(output, found)
    if held_out is not None:
        results.show_validation(output, held_out)
    results.show_findings(output, found.estimate.findings)
    for note in notes:
        output.line(f"note: {note}")
    if proof is not None:
        results.show_proof(output, proof, files.get("certificate"))
    for path in files.values():
        output.line(f"wrote {path}")
    for left in result_files.leftovers(folder, files):
        output.line(f"note: {left} is from an earlier estimate, and does not belong to this one")
    output.document(document)
    return 0 if held_out is None or held_out.overall.beats_prior else 1


def keep_first(logs: Iterable[Log], kept: list[Log]) -> Iterator[Log]:
    """The logs, the first of them kept."""
    for log in logs:
        if not kept:
            kept.append(log)
        yield log


def checked_prior(arguments: argparse.Namespace) -> Callable[[Model], Prior] | None:
    """How to make the prior, for the methods that take one; the others refuse one."""
    estimator = estimator_named(arguments.method)
    needless = {
        "--prior": None if estimator.takes_prior else arguments.prior,
        "--repair-prior": None if estimator.takes_prior else arguments.repair_prior,
        "--gamma": None if "gamma" in estimator.options else arguments.gamma,
        **{
            f"--{name}": getattr(arguments, name.replace("-", "_")) or None
            for name in ("consistency", "total-mass", "mass")
            if "constraints" not in estimator.options
        },
    }
    for option, given in needless.items():
        if given is not None:
            raise EstimationError(
                f"{option} is given, but the method '{estimator.name}' does not use it"
            )
    if estimator.prior == "bodies" or arguments.prior or arguments.repair_prior:
        return prior_from(arguments)
    return None


def checked_level(level: float) -> float:
    """A confidence level between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise EstimationError(f"--level is {level:g}; it must be between 0 and 1, such as 0.95")
    return level


def checked_resamples(count: int) -> int:
    """A number of resamples: none, or enough to say something."""
    if count != 0 and not 20 <= count <= 100_000:
        raise EstimationError(f"--resamples is {count}; it must be 0, or 20 to 100000")
    return count
