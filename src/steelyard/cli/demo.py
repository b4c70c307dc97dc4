"""Design a motion for the built-in arm, simulate it, identify the arm from the noisy log, and
validate on another motion.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.output import Output, output_folder, progress
from steelyard.cli.processing import add_dead_band_argument, processing_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from steelyard.estimators.estimate import Estimate
    from steelyard.excitation.trajectory import Trajectory

NAME = "demo"
HELP = "simulate, identify and validate a built-in arm; needs no input"

ARM_FILE = "arm.urdf"
PERIOD_S, PERIODS, RATE_HZ, LEVEL = 10.0, 3, 500.0, 0.95
DESIGN_BUDGET_S = 300.0  # never reached: one round of the search, the same on every machine
TORQUE_NOISE, TORQUE_BANDWIDTH_HZ, ENCODER_STEP = 0.2, 50.0, 2e-5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "-o",
        "--out",
        default="steelyard-demo",
        metavar="FOLDER",
        help="where to write arm.urdf, log.csv, held_out.csv, and what identify -o writes "
        "(default: steelyard-demo)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed of motion and noise"
    )
    add_dead_band_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """Simulate, identify, validate, report."""
    from steelyard._files.access import write_text
    from steelyard.cli import results
    from steelyard.errors import RobotError
    from steelyard.excitation.design import design_motion
    from steelyard.excitation.design_settings import DesignSettings
    from steelyard.excitation.limits import motion_limits
    from steelyard.excitation.motions.fourier import multisine
    from steelyard.identification.identify import identify
    from steelyard.identification.outputs import (
        document_of,
        with_robot_file_finding,
        write_outputs,
    )
    from steelyard.identification.robot_file import robot_files
    from steelyard.logs.writer_csv import write_csv
    from steelyard.model.model import Model
    from steelyard.report.content import Reference
    from steelyard.signals.processing import Processing
    from steelyard.simulation.builtin_arm import arm_urdf, builtin_arm, builtin_truth
    from steelyard.simulation.simulate import Sensors, simulate

    processing = processing_from(arguments, Processing())
    folder = output_folder(arguments.out)
    output = Output(arguments.json)
    # the files must not depend on the folder in which the package is installed
    robot = replace(builtin_arm(), source=ARM_FILE)
    model = Model(robot)
    truth = builtin_truth(model)
    sensors = Sensors(
        torque_noise=TORQUE_NOISE,
        torque_noise_bandwidth_hz=TORQUE_BANDWIDTH_HZ,
        encoder_step=ENCODER_STEP,
    )
    with progress() as shown:
        shown.step("designing a motion that excites every parameter")
        settings = DesignSettings(
            period_s=PERIOD_S,
            periods=PERIODS,
            seed=arguments.seed,
            rounds=1,
            budget_s=DESIGN_BUDGET_S,
            rate_hz=RATE_HZ,
            share=1.0,
        )
        designed = design_motion(model, motion_limits(robot).scaled(0.9), settings)
        motions: list[tuple[str, Trajectory, float]] = [
            ("log", designed.trajectory, designed.duration_s),
            ("held_out", multisine(robot, seed=2 * arguments.seed + 1), PERIODS * PERIOD_S),
        ]
        logs = []
        for k, (name, motion, duration_s) in enumerate(motions):
            shown.step(f"simulating the arm (motion {k + 1} of 2)")
            logs.append(
                simulate(
                    model,
                    truth,
                    motion,
                    duration_s=duration_s,
                    rate_hz=RATE_HZ,
                    sensors=sensors,
                    seed=2 * arguments.seed + k,
                    name=name,
                )
            )
        inputs = {"robot": folder / ARM_FILE}
        write_text(inputs["robot"], arm_urdf(), RobotError)
        for log in logs:
            inputs[log.name] = folder / f"{log.name}.csv"
            write_csv(log, inputs[log.name])
        shown.step("identifying")
        found = identify(robot, logs[:1], validate_on=logs[1:], processing=processing, level=LEVEL)
        shown.step("writing the report")
        true_beta = found.estimate.base.K @ truth
        own = robot_files(found, robot_file=inputs["robot"])
        found = with_robot_file_finding(found, own)
        files = write_outputs(
            found,
            folder,
            reference=Reference("truth", true_beta),
            robot_file=inputs["robot"],
        )
    covered = coverage(found.estimate, true_beta)
    results.show_identification(output, found, files)
    output.line(
        f"{covered['inside']} of {covered['total']} true base parameters lie inside their "
        f"{100 * LEVEL:g} % intervals."
    )
    output.line(f"The report is {files['report']}", "bold")
    output.line("To identify from these files, as with your own robot:")
    output.line(next_command(inputs))
    output.document(
        {
            "coverage": covered,
            "files": {kind: str(path) for kind, path in {**files, **inputs}.items()},
            "result": document_of(found),
        }
    )
    return 0


def next_command(inputs: Mapping[str, Path]) -> str:
    """A shell command that identifies the arm from the files that were written."""
    robot, log, held_out = (str(inputs[kind]) for kind in ("robot", "log", "held_out"))
    words = [*program(), "identify", robot, log, "--validate-on", held_out, "-o", "out"]
    return shlex.join(words)


def program() -> list[str]:
    """How this program was called: by name if the shell finds it, else by path or as a module."""
    called = Path(sys.argv[0])
    if called.stem != "steelyard":
        return [sys.executable, "-m", "steelyard"]
    found = shutil.which("steelyard")
    if found is not None and Path(found).resolve() == called.resolve():
        return ["steelyard"]
    return [str(called)]


def coverage(estimate: Estimate, true_beta: NDArray[Any]) -> dict[str, Any]:
    """How many true base parameters (n_base,) lie inside their intervals."""
    inside = [
        parameter.lower <= truth <= parameter.upper
        for parameter, truth in zip(estimate.parameters(LEVEL), true_beta, strict=True)
        if parameter.interval_kind in ("confidence", "mostly prior")
    ]
    return {"inside": int(sum(inside)), "total": len(inside), "level": LEVEL}
