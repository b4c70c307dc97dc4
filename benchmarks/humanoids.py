"""Legged robots from log files: two humanoids and a quadruped, simulated by MuJoCo.

The robot file that is given to `steelyard identify` has inertials that are off by 20 %. Logs are
CSV files of 60 s and, held out, 20 s at 200 Hz; see humanoid_log for motion, friction and noise.
The command has no option but --floating-base. The estimate must be physical exactly, link by link,
and predict held-out wrenches and torques with at most half of the perturbed file's error.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from contender import HERE, PeerAbsentError, say
from goals import Goal
from humanoid_log import simulate_log
from humanoid_robots import G1, SOLO, TALOS, LeggedRobot, perturbed

from steelyard.logs.writer_csv import write_csv

NAME = "humanoid"
DESCRIPTION = "humanoids and a quadruped with floating bases: error, time and memory from files"

TRAIN_S, TEST_S = 60.0, 20.0
FILE_SEED, TRAIN_SEED, TEST_SEED = 9041, 9042, 9043
HALF = 0.5


@dataclass(frozen=True)
class Case:
    """A robot and the rows that were measured; torques : whether joints have torque sensors."""

    name: str
    robot: LeggedRobot
    torques: bool


CASES = (
    Case("talos_both", TALOS, True),
    Case("talos_base_wrench", TALOS, False),
    Case("g1_both", G1, True),
    Case("g1_base_wrench", G1, False),
    Case("solo12_feet", SOLO, True),
)
GOALS = tuple(
    goal
    for case in CASES
    for goal in (
        Goal(f"{case.name}_error_ratio", "<=", HALF),
        Goal(f"{case.name}_row_error_ratio", "<=", HALF),
        Goal(f"{case.name}_unphysical_links", "<=", 0.0),
        Goal(f"{case.name}_proven", ">=", 1.0),
    )
)
FIGURES = (
    "error",
    "prior_error",
    "error_ratio",
    "row_error_ratio",
    "unphysical_links",
    "proven",
    "s",
    "processor_s",
    "gb",
)


def measure() -> dict[str, float | None]:
    """Errors, seconds and gigabytes of every case, and whether the estimate is physical."""
    figures: dict[str, float | None] = {}
    for case in CASES:
        names = [f"{case.name}_{figure}" for figure in FIGURES]
        try:
            found = measured(case)
        except PeerAbsentError as absent:
            say(f"{case.name}: {absent}")
            figures |= dict.fromkeys(names)
            continue
        figures |= {f"{case.name}_{figure}": found[figure] for figure in FIGURES}
        say(f"{case.name}: " + ", ".join(f"{key} {value:.4g}" for key, value in found.items()))
    return figures


def measured(case: Case) -> dict[str, float]:
    """The figures of one case, from files to result."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        robot = folder / f"{case.robot.name}.urdf"
        robot.write_text(perturbed(case.robot.text(), FILE_SEED), encoding="utf-8")
        for log, seed, seconds in (("train", TRAIN_SEED, TRAIN_S), ("test", TEST_SEED, TEST_S)):
            write_log(case, seed, seconds, folder / f"{log}.csv")
        command = ["identify", robot.name, "train.csv", "--floating-base"]
        begin = time.perf_counter()
        text, used = run(folder, [*command, "--validate-on", "test.csv", "-o", "out", "--json"])
        elapsed = time.perf_counter() - begin
        found = json.loads(text)
        scores = found["validation"]["overall"]
        error, prior = (scores[one]["relative_error"] for one in ("prediction", "prior"))
        checked, _ = run(folder, ["check", f"out/{robot.stem}.identified.urdf", "--json"])
        verified, _ = run(folder, ["verify", "out/certificate.json", "--json"])
        return {
            "error": error,
            "prior_error": prior,
            "error_ratio": error / prior,
            "row_error_ratio": mean_of_rows(scores["prediction"]) / mean_of_rows(scores["prior"]),
            "unphysical_links": float(n_unphysical(json.loads(checked))),
            "proven": float(bool(json.loads(verified)["valid"])),
            "s": elapsed,
            "processor_s": used.ru_utime + used.ru_stime,
            "gb": used.ru_maxrss / 1e6,
        }


def write_log(case: Case, seed: int, seconds: float, path: Path) -> None:
    """One run as a file; without torques of joints where they have no sensor."""
    log = simulate_log(case.robot, seed, seconds, path.stem)
    if not case.torques:
        signals = {key: x for key, x in log.signals.items() if key[1] != "torque"}
        units = {key: unit for key, unit in log.units.items() if key in signals}
        log = replace(log, signals=signals, units=units)
    write_csv(log, path)


def run(folder: Path, command: list[str]) -> tuple[str, Any]:
    """Standard output of a Steelyard command in a folder, and the resources that it used."""
    source = HERE.parent / "src"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    with (folder / "out.txt").open("w+", encoding="utf-8") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "steelyard", *command], cwd=folder, env=environment, stdout=out
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if process.returncode not in (0, 1):
        raise RuntimeError(f"steelyard {' '.join(command)} failed")
    return text, used


def mean_of_rows(score: Mapping[str, Any]) -> float:
    """Mean over wrench components and joints of each one's own relative error."""
    rows = [one["relative_error"] for one in score["channels"] if one["n_rows"]]
    return float(np.mean(rows))


def n_unphysical(checked: Mapping[str, Any]) -> int:
    """Links of a written file that no body can have, by exact arithmetic on its digits."""
    return int(checked["bad_links"])
