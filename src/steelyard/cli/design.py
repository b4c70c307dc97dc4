"""Design a motion that excites a robot's parameters, with limits that are proven to hold."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.logs import add_column_arguments, columns_from
from steelyard.cli.motion_options import (
    CollisionCheck,
    add_motion_arguments,
    collision_from,
    limits_from,
    noise_from,
    pose_from,
    settings_from,
    still_from,
)
from steelyard.cli.output import Output, Progress, progress
from steelyard.cli.robot import add_robot_arguments, robot_from

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from steelyard.excitation.collision.collision_distances import CollisionModel
    from steelyard.excitation.designed import DesignedMotion
    from steelyard.excitation.files.motion_file import MotionFile
    from steelyard.excitation.limits import MotionLimits
    from steelyard.excitation.scored import ScoredMotion
    from steelyard.excitation.torque_noise import TorqueNoise
    from steelyard.findings import Finding
    from steelyard.identification.motion_outputs import MotionFiles
    from steelyard.logs.log import Log
    from steelyard.model.model import Model

NAME = "design"
HELP = "design an exciting motion within proven limits"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    add_robot_arguments(parser)
    add = parser.add_argument
    add("-o", "--out", metavar="FILE|FOLDER",
        help="motion.csv, .npz, .json (coefficients and proofs), .yaml (ROS 2 JointTrajectory) or "
        ".html (page) for one file; a folder for all of them and slower versions")  # fmt: skip
    add("--after", metavar="RESULT",
        help="result.json of an earlier identification: its parameters, residuals and variances "
        "decide what to record next")  # fmt: skip
    add("--like", metavar="LOG",
        help="score the motion of this log, file of positions or motion.json, and say whether it "
        "keeps the limits; beside the design, or alone without -o")  # fmt: skip
    add_motion_arguments(parser, budget="30s")
    add_column_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Design, score if asked, print, and write files if asked."""
    from steelyard.cli import motion_tables
    from steelyard.cli.limit_tables import show_kept
    from steelyard.cli.results import show_findings
    from steelyard.excitation.files.motion_file import motion_document
    from steelyard.identification.motion_outputs import write_motion

    output = Output(arguments.json)
    settings = settings_from(arguments)
    check_out(arguments)
    like = read_like(arguments)
    known = what_is_known(arguments, like)
    surroundings = collision_from(arguments, known.model.robot)
    with progress() as shown:
        score = None
        if like is not None:
            score = scored(arguments, known, like, surroundings.model, shown)
        if score is not None and arguments.out is None:
            motion_tables.show_score(output, known.model, score)
            show_findings(output, surroundings.findings)
            output.document({"like": motion_tables.score_document(score)})
            return 0
        designed = designed_motion(arguments, known, settings, surroundings, shown)
        shown.step("proving what a controller makes of the points, and drawing the page")
        files = motion_files_of(arguments, known, designed)
        designed = files.designed
        written = {} if arguments.out is None else write_motion(files, arguments.out)
    motion_tables.show_design(output, known.model, designed)
    if score is not None:
        motion_tables.show_comparison(output, designed, score)
        if score.kept is not None:
            show_kept(output, known.model, score.name, score.kept)
    motion_tables.show_motion_findings(output, designed)
    for path in written.values():
        output.line(f"wrote {path}")
    document: dict[str, Any] = motion_document(designed, known.model.robot)
    document["files"] = {name: str(path) for name, path in written.items()}
    if score is not None:
        document["like"] = motion_tables.score_document(score)
    output.document(document)
    return 0


@dataclass(frozen=True, eq=False)
class Known:
    """What the options say about the robot before a motion is designed.

    theta : (n_columns,) of an earlier result, or of the file with its friction; None where there
    is no file. parameters : theta, or the file's.
    reference : where they are from. information : (n_base, n_base) of earlier runs, or None.
    limits : of the robot.
    """

    model: Model
    limits: MotionLimits
    noise: TorqueNoise
    theta: NDArray[Any] | None
    information: NDArray[Any] | None
    reference: str
    findings: tuple[Finding, ...]

    @property
    def parameters(self) -> NDArray[Any]:
        """theta (n_columns,) of the reference model."""
        from steelyard.model.typical_sizes import known_parameters

        return known_parameters(self.model) if self.theta is None else self.theta


def what_is_known(arguments: argparse.Namespace, existing: Log | MotionFile | None = None) -> Known:
    """Model, limits, noise and earlier knowledge, as the options state them.

    existing : the motion to score; a log says which joints were recorded.
    """
    from steelyard.estimators.result_file import read_result
    from steelyard.excitation.earlier_result import earlier_knowledge
    from steelyard.excitation.stated_parameters import stated_parameters
    from steelyard.excitation.torque_noise import assumed_noise
    from steelyard.findings import Finding
    from steelyard.knowledge.overlay.model import model_of
    from steelyard.knowledge.overlay.terms import terms_to_identify
    from steelyard.logs.log import Log
    from steelyard.model.typical_sizes import known_parameters
    from steelyard.robot.formats.dynamics import read_dynamics

    theta = information = None
    noise: TorqueNoise | None
    reference, findings = "the robot file", []
    if arguments.after is not None:
        result = read_result(arguments.after)
        robot, _ = robot_from(arguments, for_result=True)
        model = result.model_for(robot)
        earlier = earlier_knowledge(result, model)
        theta, information = earlier.theta, earlier.information
        noise = noise_from(arguments, model) or earlier.noise
        reference = "the earlier result" if theta is not None else reference
        words = (
            f"{earlier.n_known} of {len(information)} base parameters are known from "
            f"{arguments.after}, "
            + (
                "by their covariance"
                if earlier.correlated
                else "by their variances only: it is of an older version, which stated no "
                "correlations; identify again for a better design"
            )
        )
        findings.append(Finding("info", "earlier-result", words))
    else:
        robot, overlay = robot_from(arguments, existing if isinstance(existing, Log) else None)
        model = model_of(
            robot, terms=terms_to_identify(robot, overlay, torque=arguments.torque_side)
        )
        noise = noise_from(arguments, model)
    if theta is None and model.robot.source is not None:
        theta = stated_parameters(model, read_dynamics(arguments.robot))
    limits = limits_from(arguments, model.robot)
    if noise is None:
        noise = assumed_noise(model, known_parameters(model), limits)
    noise = replace(noise, bandwidth_hz=arguments.torque_noise_bandwidth_hz)
    return Known(model, limits, noise, theta, information, reference, tuple(findings))


def designed_motion(
    arguments: argparse.Namespace,
    known: Known,
    settings: Any,
    surroundings: CollisionCheck,
    shown: Progress,
) -> DesignedMotion:
    """The design with these options."""
    from steelyard.excitation.design import design_motion

    limits = known.limits
    joints = limits.joints
    start = pose_from(arguments.start, joints, "--start")
    end = pose_from(arguments.end, joints, "--end")

    def tell(now: Any) -> None:
        shown.step(
            f"searching: round {now.round}, {settings.goal} {now.value:.4g} after "
            f"{now.seconds:.0f} s; search and proofs have {settings.budget_s:g} s"
        )

    shown.step(f"searching; search and proofs have {settings.budget_s:g} s")
    designed = design_motion(
        known.model,
        limits,
        settings,
        theta=known.theta,
        noise=known.noise,
        start=start,
        end=end,
        still=still_from(arguments, limits.scaled(settings.share), start),
        collision=surroundings.model,
        known=known.information,
        progress=tell,
    )
    findings = (*known.findings, *designed.findings, *surroundings.findings)
    conditions = replace(designed.conditions, reference=known.reference, after=arguments.after)
    return replace(designed, findings=findings, conditions=conditions)


def scored(
    arguments: argparse.Namespace,
    known: Known,
    existing: Log | MotionFile,
    collision: CollisionModel | None,
    shown: Progress,
) -> ScoredMotion:
    """The score of the motion of a log or of a motion file."""
    from steelyard.excitation.scored import scored_log, scored_trajectory
    from steelyard.logs.log import Log

    shown.step(f"scoring the motion of {arguments.like}")
    given: dict[str, Any] = {
        "reference": known.parameters,
        "known": known.information,
        "limits": known.limits,
        "collision": collision,
    }
    if isinstance(existing, Log):
        return scored_log(known.model, existing, known.noise, **given)
    return scored_trajectory(
        known.model,
        existing.trajectory,
        known.noise,
        rate_hz=arguments.rate_hz,
        name=Path(arguments.like).name,
        **given,
    )


def read_like(arguments: argparse.Namespace) -> Log | MotionFile | None:
    """The log or motion file that is to be scored, or None."""
    from steelyard.excitation.files.motion_file import read_motion
    from steelyard.logs.reading import read_log

    if arguments.like is None:
        return None
    if arguments.like.lower().endswith(".json"):
        return read_motion(arguments.like)
    return read_log(arguments.like, columns=columns_from(arguments))


def asked_files(arguments: argparse.Namespace) -> tuple[str, ...] | None:
    """Names of the files to make: none without -o, one for a file, None (all) for a folder."""
    from steelyard.identification.motion_outputs import single_file

    if arguments.out is None:
        return ()
    name = single_file(Path(arguments.out))
    return None if name is None else (name,)


def check_out(arguments: argparse.Namespace) -> None:
    """Refuse a place that cannot be written, before any long computation; nothing is created."""
    from steelyard.identification.motion_outputs import check_destination

    if arguments.out is None:
        return
    inputs = [arguments.robot, arguments.overlay, arguments.after, arguments.like, arguments.srdf]
    check_destination(arguments.out, [name for name in inputs if name is not None])


def motion_files_of(
    arguments: argparse.Namespace, known: Known, designed: DesignedMotion
) -> MotionFiles:
    """The files that -o asks for."""
    from steelyard.identification.motion_outputs import motion_files

    return motion_files(known.model, designed, only=asked_files(arguments))
