"""Design a motion, simulate a robot that follows it, identify it, and say what was recovered."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.design import check_out, designed_motion, motion_files_of, what_is_known
from steelyard.cli.logs import add_column_arguments, columns_from
from steelyard.cli.motion_options import add_motion_arguments, collision_from, settings_from
from steelyard.cli.output import Output, progress
from steelyard.cli.robot import add_robot_arguments
from steelyard.errors import SignalError

if TYPE_CHECKING:
    from steelyard.excitation.limits import MotionLimits
    from steelyard.excitation.trajectory import Trajectory
    from steelyard.identification.rehearse import Recovery, Rehearsal

NAME = "rehearse"
HELP = "design, simulate and identify: would the motion recover what is needed?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    from steelyard.identification.rehearsal_defaults import RESAMPLES, TOLERANCE

    add_robot_arguments(parser)
    add = parser.add_argument
    add("--motion", metavar="FILE",
        help="motion.json of design -o, or CSV or NPZ file with positions over time (default: a "
        "motion that is designed)")  # fmt: skip
    add("-o", "--out", metavar="FILE|FOLDER",
        help="write the motion that was designed, as design -o does")  # fmt: skip
    add("--need", action="append", default=[], metavar="NAME",
        help="what must be recovered: a parameter such as forearm.m, forearm.cx or elbow.fc, or "
        "a link or joint for all of its own; may be repeated")  # fmt: skip
    add("--tolerance", type=float, default=TOLERANCE, metavar="P",
        help="largest error of what is needed, relative to its size "
        f"(default: {TOLERANCE:g})")  # fmt: skip
    add("--resamples", type=int, default=RESAMPLES, metavar="N",
        help=f"fits for the intervals, as for identify (default: {RESAMPLES})")  # fmt: skip
    add("--controller", choices=("computed_torque", "pd", "ideal"), default="computed_torque",
        help="ideal: the virtual robot follows exactly (default: computed_torque)")  # fmt: skip
    add_motion_arguments(parser, budget="10s")
    add_column_arguments(parser)
    parser.set_defaults(after=None, like=None)


def run(arguments: argparse.Namespace) -> int:
    """Rehearse and print; exit code 1 if what is needed would not be recovered."""
    from steelyard.cli.identify import checked_resamples
    from steelyard.cli.results import show_findings
    from steelyard.identification.motion_outputs import write_motion
    from steelyard.identification.rehearse import needed_names, rehearse
    from steelyard.simulation.simulate import Controller

    settings = settings_from(arguments, also_used=("threads",))
    known = what_is_known(arguments)
    needed_names(known.model, arguments.need)  # refuses a wrong name before any work
    if not arguments.tolerance > 0.0:
        raise SignalError(f"--tolerance is {arguments.tolerance:g}; it must be positive")
    if arguments.out is not None and arguments.motion is not None:
        raise SignalError(
            "-o writes the motion that is designed, but --motion gives one; leave one of them out"
        )
    check_out(arguments)
    written: dict[str, Path] = {}
    with progress() as shown:
        findings: tuple[Any, ...] = ()
        if arguments.motion is None:
            surroundings = collision_from(arguments, known.model.robot)
            designed = designed_motion(arguments, known, settings, surroundings, shown)
            if arguments.out is not None:
                files = motion_files_of(arguments, known, designed)
                designed = files.designed
                written = write_motion(files, arguments.out)
            trajectory, findings = designed.trajectory, designed.findings
        else:
            trajectory = given_motion(arguments, known.limits)
            refuse_beyond_limits(trajectory, known.limits, arguments.motion)
        found = rehearse(
            known.model,
            trajectory,
            known.limits,
            needs=arguments.need,
            tolerance=arguments.tolerance,
            noise=known.noise,
            rate_hz=arguments.rate_hz,
            controller=Controller(kind=arguments.controller),
            seed=arguments.seed,
            n_resamples=checked_resamples(arguments.resamples),
            threads=arguments.threads,
            progress=lambda what, done, total: shown.step(f"{what}: {done} of {total}"),
        )
    output = Output(arguments.json)
    show_rehearsal(output, found)
    show_findings(output, findings)
    for path in written.values():
        output.line(f"wrote {path}")
    if arguments.motion is None and not written:
        output.line(
            "The motion that was designed is not written; give -o FOLDER for its files, or run "
            "steelyard design with the same options."
        )
    document = found.to_dict()
    document["files"] = {name: str(path) for name, path in written.items()}
    output.document(document)
    return 0 if found.met else 1


def given_motion(arguments: argparse.Namespace, limits: MotionLimits) -> Trajectory:
    """The motion of a file."""
    from steelyard.excitation.files.motion_file import read_motion
    from steelyard.excitation.motions.sampled import trajectory_from_log
    from steelyard.logs.reading import read_log

    if arguments.motion.lower().endswith(".json"):
        found = read_motion(arguments.motion)
        if sorted(found.trajectory.joints) != sorted(limits.joints):
            raise SignalError(
                f"'{arguments.motion}' moves {', '.join(found.trajectory.joints)}, but the joints "
                f"are {', '.join(limits.joints)}"
            )
        return found.trajectory
    return trajectory_from_log(read_log(arguments.motion, columns=columns_from(arguments)))


def refuse_beyond_limits(trajectory: Trajectory, limits: MotionLimits, name: str) -> None:
    """An error where a motion is beyond a limit of the robot at any time."""
    from steelyard.excitation.extremes import check_limits

    if sorted(trajectory.joints) != sorted(limits.joints):
        return  # the simulation names what is missing
    for check in check_limits(trajectory.extremes(), limits.of_joints(trajectory.joints)):
        # the jerk of a motion through recorded positions says nothing about the robot, and an
        # acceleration limit that was assumed is no limit of its own
        assumed = check.quantity == "acceleration" and check.joint in limits.assumed
        if not check.holds and check.quantity != "jerk" and not assumed:
            raise SignalError(
                f"the motion of '{name}' is beyond a limit: {check.quantity} of joint "
                f"'{check.joint}' may be {check.bound:.4g}, its limit is {check.limit:.4g}; give "
                "another motion, or other limits (--range, --velocity, --acceleration)"
            )


def show_rehearsal(output: Output, found: Rehearsal) -> None:
    """Print what was recovered of links and joints, coverage, held-out error and the verdict."""
    from steelyard.cli.results import show_verdict
    from steelyard.report.numbers import percent

    by_owner: dict[str, list[Recovery]] = {}
    for one in found.recoveries:
        by_owner.setdefault(one.owner, []).append(one)
    links = {name: rows for name, rows in by_owner.items() if len(rows) == 10}
    output.table(
        ("link", "mass", "in the file", "centre of mass", "in the file", "inertia", "in the file"),
        [(name, *_link_cells(rows)) for name, rows in links.items()],
        title="Errors of links: of the estimate, and of the robot file beside it",
        left=("link",),
    )
    output.line(
        "How to read it: the virtual robot differs from its file; each error is the distance from "
        "its true value: of the mass relative to it, of the centre of mass in mm, of the inertia "
        "the largest entry relative to the largest moment. Where an error is as large as that of "
        "the file, the log says little about it: torques determine many of these only in "
        "combinations."
    )
    show_assumptions(output, found)
    joints = {name: rows for name, rows in by_owner.items() if name not in links}
    symbols = list(
        dict.fromkeys(one.name.rpartition(".")[2] for rows in joints.values() for one in rows)
    )
    output.table(
        ("joint", *symbols),
        [(name, *_joint_cells(rows, symbols)) for name, rows in joints.items()],
        title="Errors of joints, relative to the truth",
        left=("joint",),
    )
    if found.needed:
        named = {one.name: one for one in found.recoveries}
        output.table(
            ("needed", "truth", "estimate", "unit", "error", "recovered"),
            [_need_cells(named[name], found.tolerance) for name in found.needed if name in named],
            title=f"What is needed, within {found.tolerance:.3g} of its size",
            left=("needed", "unit", "recovered"),
        )
    coverage = found.coverage
    output.line(
        f"{coverage.inside} of {coverage.total} true base parameters lie inside their "
        f"{100 * coverage.level:g} % intervals."
    )
    show_labels(output, found)
    assert found.found.validation is not None
    overall = found.found.validation.overall
    output.line(f"Held-out motion: the estimate {overall.verdict}.")
    show_verdict(output, found.found.verdict)
    open_ones = [one.name for one in found.missed if not one.determined]
    wrong = [one.name for one in found.missed if one.determined]
    if open_ones:
        output.line(
            f"Not recovered: {', '.join(open_ones)}. Torques determine them only in combinations, "
            "and the rest of their value is from the robot file; a link that is weighed, given "
            "with --mass of identify, would help.",
            "yellow",
        )
    if wrong:
        output.line(
            f"Not recovered: {', '.join(wrong)}. Their errors are larger than the tolerance; a "
            "longer motion (--periods), wider limits or less torque noise would help.",
            "yellow",
        )
    if found.met:
        what = "Everything that is needed" if found.needed else "What torques determine"
        output.line(f"{what} would be recovered (torque error {percent(found.held_out_error)}).")


def show_assumptions(output: Output, found: Rehearsal) -> None:
    """Print noise, rate and seed of the simulated log."""
    from steelyard.report.numbers import significant

    noise = found.noise
    values = ", ".join(
        f"{joint} {significant(rms, 3)}" for joint, rms in zip(noise.joints, noise.rms, strict=True)
    )
    output.line(f"Torque noise (rms, N m or N), {noise.source}: {values}")
    output.line(f"Seed {found.seed}; log at {found.rate_hz:g} Hz.")


def show_labels(output: Output, found: Rehearsal) -> None:
    """Print how many base parameters the data determine, and how identify labels them."""
    from steelyard.identification.base_recovery import LABELS

    verdicts = {"well": "well", "roughly": "roughly", "not": "not"}
    rows = []
    for verdict, words in verdicts.items():
        ones = [one for one in found.base if one.verdict == verdict]
        by_data = [one for one in ones if one.kind == "confidence"]
        by_prior = [one for one in ones if one.kind == "mostly prior"]
        other = len(ones) - len(by_data) - len(by_prior)
        rows.append((words, *map(str, (len(ones), len(by_data), len(by_prior), other))))
    output.table(
        ("determined by data alone", "number", "by the data", "mostly from the prior", "neither"),
        rows,
        title="Base parameters: predicted for the motion, and as identify labels them",
        left=("determined by data alone",),
    )
    output.line(f"{LABELS[:1].upper()}{LABELS[1:]}.")


def _link_cells(rows: list[Recovery]) -> list[str]:
    """Errors of mass, centre of mass and inertia, each of the estimate and of the file."""
    from steelyard.report.numbers import percent, significant

    mass, com, inertia = rows[0], rows[1:4], rows[4:]

    def distance(values: list[float | None]) -> str:
        squares = [
            (one.truth - value) ** 2
            for one, value in zip(com, values, strict=True)
            if value is not None
        ]
        return f"{significant(1000.0 * sum(squares) ** 0.5, 3)} mm"

    def largest(values: list[float | None]) -> str:
        errors = [
            abs(one.truth - value) / one.size
            for one, value in zip(inertia, values, strict=True)
            if value is not None and one.size > 0.0
        ]
        return percent(max(errors, default=None))

    of_file = None if mass.from_file is None else abs(mass.from_file - mass.truth) / mass.size
    return [
        percent(mass.error),
        percent(of_file),
        distance([one.value for one in com]),
        distance([one.from_file for one in com]),
        largest([one.value for one in inertia]),
        largest([one.from_file for one in inertia]),
    ]


def _joint_cells(rows: list[Recovery], symbols: list[str]) -> list[str]:
    from steelyard.report.numbers import percent

    errors = {one.name.rpartition(".")[2]: one.error for one in rows}
    return [percent(errors[symbol]) if symbol in errors else "" for symbol in symbols]


def _need_cells(one: Recovery, tolerance: float) -> list[str]:
    from steelyard.report.numbers import percent, significant

    return [
        one.name,
        significant(one.truth),
        significant(one.value),
        one.unit,
        percent(one.error),
        "yes"
        if one.recovered(tolerance)
        else "close, but not by the data"
        if one.close(tolerance)
        else "no",
    ]
