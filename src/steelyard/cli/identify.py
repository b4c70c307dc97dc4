"""Estimate the base parameters of a robot from logs of its motion and torques."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._files.access import refuse_overwriting
from steelyard.cli.constraints import add_constraint_arguments, constraints_from
from steelyard.cli.logs import add_column_arguments, columns_from, open_logs
from steelyard.cli.output import Output, output_folder, progress
from steelyard.cli.prior import (
    add_prior_arguments,
    gamma_from,
    parameter_columns,
    prior_from,
)
from steelyard.cli.processing import (
    add_friction_width_argument,
    add_processing_arguments,
    friction_width_from,
    processing_from,
)
from steelyard.cli.robot import add_robot_arguments, robot_for_logs
from steelyard.errors import EstimationError, ResultError
from steelyard.estimators.estimator import (
    CHOICES,
    DEFAULT_METHOD,
    EssentialLimits,
    EstimationOptions,
)
from steelyard.estimators.registry import all_estimators, estimator_named, method_names
from steelyard.model.term_kinds import SIDES, TERM_CLASSES
from steelyard.regression.equation import EQUATION_NAMES, KINDS, TORQUE

if TYPE_CHECKING:
    from steelyard.diagnosis.admitted_terms import AdmitOption
    from steelyard.knowledge.prior import Prior
    from steelyard.model.model import Model

NAME = "identify"
HELP = "estimate parameters, with intervals, from a robot file and logs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_robot_arguments(parser)
    parser.add_argument("logs", nargs="+", metavar="LOG", help="CSV or NPZ files")
    parser.add_argument(
        "--torque",
        choices=SIDES,
        help="where torque is measured, which decides the default terms of joints: at the motors "
        "(default), or at the links, behind the gears",
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="FOLDER",
        help="write result.json, report.html, tables, the certificate and the robot file with the "
        "identified parameters there",
    )
    parser.add_argument(
        "--model",
        choices=EQUATION_NAMES,
        default=TORQUE.name,
        help="what is fitted. "
        + "; ".join(f"{name}: {kind.description}" for name, kind in KINDS.items())
        + f" (default: {TORQUE.name})",
    )
    parser.add_argument(
        "--interval-s",
        type=float,
        metavar="S",
        help="length of the intervals of --model energy (default: 0.0625) or power (0.03125)",
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
        "--accept",
        default="",
        metavar="CODE,...",
        help="go on in spite of severe findings with these codes, such as time-unit; the message "
        "that stops a run names them",
    )
    parser.add_argument(
        "--admit",
        default="auto",
        metavar="CLASS,...",
        help="terms that enter the model where left-out parts of the first log are predicted "
        f"better with them by a clear margin: some of {', '.join(TERM_CLASSES)}; none; auto "
        "(default): all with the default method, none with the others",
    )
    parser.add_argument(
        "--no-term-comparison",
        action="store_true",
        help="do not compare other sets of joint terms on the data "
        f"({', '.join(one.name for one in all_estimators() if 'compare_terms' in one.options)})",
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=200,
        metavar="N",
        help="fits for the intervals of constrained methods: resamples of the time blocks or, with "
        "a prior, at most so many parts of them left out in turn (default: 200)",
    )
    parser.add_argument(
        "--no-ranges",
        action="store_true",
        help="do not compute the feasible range of each standard parameter (constrained methods)",
    )
    parser.add_argument(
        "--budget-s",
        type=float,
        metavar="S",
        help="stop the iterations of the fit after so many seconds; the parameters are physical "
        "then too, and a finding says whether they are the optimum "
        f"({', '.join(one.name for one in all_estimators() if 'budget_s' in one.options)})",
    )
    parser.add_argument(
        "--sweeps",
        type=int,
        metavar="N",
        help="refine the sequential fit by N sweeps, 0 for none (default: as many as prove it to "
        "be within 0.1 %% of the simultaneous optimum; "
        f"{', '.join(one.name for one in all_estimators() if 'sweeps' in one.options)})",
    )
    add_method_arguments(parser)
    parser.add_argument(
        "--write-anyway",
        action="store_true",
        help="write the robot file (with -o) even if the verdict is not to use the result",
    )
    add_constraint_arguments(parser)
    parser.add_argument(
        "--validate-on",
        nargs="+",
        action="extend",
        default=[],
        metavar="LOG",
        help="held-out logs: not used for the estimate, but to validate it",
    )
    parser.add_argument(
        "--level",
        type=float,
        default=0.95,
        metavar="P",
        help="confidence level of the intervals (default: 0.95)",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="number of threads (default: all)")
    able = " and ".join(one.name for one in all_estimators() if "columns" in one.options)
    add_column_arguments(
        parser,
        f"; for --method {able}, independent lets only the base columns differ from the prior, and "
        "all (default) every parameter",
    )
    add_friction_width_argument(add_processing_arguments(parser, sensing=True))


def add_method_arguments(parser: argparse.ArgumentParser) -> None:
    """Choices of single methods, which the others refuse."""

    def able(option: str) -> str:
        return ", ".join(one.name for one in all_estimators() if option in one.options)

    parser.add_argument(
        "--weighting",
        choices=CHOICES["weighting"],
        default=EstimationOptions.weighting,
        help="weights of the joints: ols, all alike; wls, each by its own noise (default; "
        f"{able('weighting')})",
    )
    parser.add_argument(
        "--towards",
        choices=CHOICES["towards"],
        help="values to which the weak pull draws what the data leave open: those of the robot "
        "file, or zero (default: zero for sequential-paper, file for the others; "
        f"{able('towards')})",
    )
    parser.add_argument(
        "--drive-terms",
        choices=tuple(name.replace(" ", "-") for name in CHOICES["drive_terms"]),
        default=EstimationOptions.drive_terms,
        help="friction and drive inertia of the prior: those that it states, and the others of a "
        "first fit (stated, default); the same, the stated ones kept in the result, too; all as "
        f"given, zero where nothing is stated; or all of the first fit ({able('drive_terms')})",
    )
    for name, metavar, words in (
        ("multiple", "X", "largest ratio of relative standard deviations that may remain"),
        ("ceiling", "P", "largest relative standard deviation that may remain"),
        ("significance", "P", "level of the F-test that ends the reduction, 0 for no test"),
    ):
        default = getattr(EssentialLimits(), name)
        parser.add_argument(
            f"--essential-{name}",
            type=float,
            default=default,
            metavar=metavar,
            help=f"{words} (default: {default:g}; {able('essential')})",
        )


def essential_from(arguments: argparse.Namespace) -> EssentialLimits:
    """When essential parameters are no longer removed."""
    return EssentialLimits(
        arguments.essential_multiple, arguments.essential_ceiling, arguments.essential_significance
    )


def run(arguments: argparse.Namespace) -> int:
    """Identify, validate if asked, print, and write files if asked.

    Exit code 1 if the verdict is not to use the result.
    """
    with progress() as shown:
        shown.step("starting")
        from steelyard.cli import results
        from steelyard.identification.identify import identify, with_findings
        from steelyard.identification.outputs import (
            FILES,
            document_of,
            leftovers,
            with_robot_file_finding,
            write_outputs,
        )
        from steelyard.identification.robot_file import file_names, robot_files
        from steelyard.knowledge.overlay.constraints import constraints_from_overlay
        from steelyard.knowledge.overlay.model import model_of
        from steelyard.knowledge.overlay.terms import terms_from_overlay, terms_to_identify
        from steelyard.model.weight_offsets import left_out_findings
        from steelyard.signals.processing import Processing

    if arguments.write_anyway and arguments.out is None:
        raise ResultError("--write-anyway is about the robot file in the folder of -o; give -o")
    level = checked_level(arguments.level)
    processing = processing_from(arguments, Processing())
    width = friction_width_from(arguments.friction_width, arguments.preset)
    changing = parameter_columns(arguments)
    columns = columns_from(arguments)
    files: dict[str, Path] = {}
    with progress() as shown:
        logs = open_logs(arguments.logs, shown, columns)
        robot, overlay, logs = robot_for_logs(arguments, logs)
        folder = None if arguments.out is None else output_folder(arguments.out)
        if folder is not None:
            inputs = [arguments.robot, *arguments.logs, *arguments.validate_on]
            inputs += [path for path in (arguments.prior, arguments.overlay) if path is not None]
            names = [*FILES.values(), *file_names(arguments.robot).values()]
            refuse_overwriting([folder / name for name in names], inputs, ResultError)
        terms = terms_to_identify(robot, overlay, torque=arguments.torque)
        stated, notes = constraints_from_overlay(model_of(robot, terms=terms), overlay)
        found = identify(
            robot,
            logs,
            validate_on=open_logs(arguments.validate_on, shown, columns),
            terms=terms,
            keep_angles=True,  # turned already, unless they are to be kept
            equation=arguments.model,
            interval_s=arguments.interval_s,
            method=arguments.method,
            prior=checked_prior(arguments),
            gamma=gamma_from(arguments),
            admit=admit_from(arguments.admit),
            compare_terms=not arguments.no_term_comparison,
            constraints=constraints_from(arguments, stated),
            attached=arguments.attached,
            n_resamples=checked_resamples(arguments.resamples),
            ranges=not arguments.no_ranges,
            budget_s=arguments.budget_s,
            sweeps=arguments.sweeps,
            columns=changing,
            weighting=arguments.weighting,
            towards=arguments.towards,
            drive_terms=arguments.drive_terms.replace("-", " "),
            essential=essential_from(arguments),
            level=level,
            keep_first_run=folder is not None and not arguments.validate_on,
            progress=lambda what, done, total: shown.step(f"{what}: {done} of {total}"),
            processing=processing,
            friction_width=width,
            accept=tuple(code.strip() for code in arguments.accept.split(",") if code.strip()),
            threads=arguments.threads,
        )
        default = terms_from_overlay(robot, overlay, torque=arguments.torque)
        found = with_findings(found, left_out_findings(default, terms))
        if folder is not None:
            shown.step("writing the report")
            anyway = arguments.write_anyway
            found = with_robot_file_finding(found, robot_files(found, write_anyway=anyway))
            files = write_outputs(found, folder, write_anyway=anyway)
    output = Output(arguments.json)
    results.show_identification(output, found, files, notes)
    for path in files.values():
        output.line(f"wrote {path}")
    for left in [] if folder is None else leftovers(folder, files.values()):
        output.line(f"note: {left} is from an earlier estimate, and does not belong to this one")
    written = files.get("result")
    output.document(document_of(found) if written is None else json.loads(written.read_bytes()))
    return 0 if found.verdict.usable else 1


def admit_from(given: str) -> AdmitOption:
    """The terms that may enter the model: auto, none, or their classes."""
    if given == "auto" or given == "none":
        return given
    return tuple(name.strip() for name in given.split(",") if name.strip())


def checked_prior(arguments: argparse.Namespace) -> Callable[[Model], Prior] | None:
    """A function that makes the prior, or None; refuses options that the method does not use."""
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
    if estimator.prior == "bodies" or arguments.prior or arguments.repair_prior == "floor-moments":
        return prior_from(arguments)
    return None


def checked_level(level: float) -> float:
    """A confidence level between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise EstimationError(f"--level is {level:g}; it must be between 0 and 1, such as 0.95")
    return level


def checked_resamples(count: int) -> int:
    """A number of resamples: none, or enough for an interval."""
    if count != 0 and not 20 <= count <= 100_000:
        raise EstimationError(f"--resamples is {count}; it must be 0, or 20 to 100000")
    return count
