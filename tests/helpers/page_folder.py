"""The folder in which the code blocks of the documentation run, and how they run there.

Every page starts with the files that its commands name: the arm of the page on robots, logs of
it, a result, base parameters and a certificate; the built-in arm, and a log of it with a payload on
a sensor.
"""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from moving_frames import body_wrench, moving_frame, pose_log
from project import DOCS

from steelyard.cli import main
from steelyard.excitation.motions.fourier import multisine
from steelyard.identification.identify import identify
from steelyard.identification.outputs import write_outputs
from steelyard.knowledge.payload import Payload
from steelyard.logs.log import Log
from steelyard.logs.reading import read_log
from steelyard.logs.writer_csv import write_csv
from steelyard.model.model import Model
from steelyard.robot.inertia import transform
from steelyard.robot.robot import Robot
from steelyard.signals.processing import Processing
from steelyard.simulation.builtin_arm import arm_urdf
from steelyard.simulation.simulate import Controller, Sensors, simulate

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"(?:#|<!--) ([\w.]+\.(?:toml|urdf|xml|xacro))(?: -->)?$")
SIMULATE = (
    "simulate arm.urdf -o {} --rate-hz {} --duration-s 12 --friction 0.5 1.0 --drive-inertia 0.05 "
    "--set forearm.m=2.6 --torque-noise 0.1 --seed {}"
)
HELD = (
    "simulate arm7.urdf -o held.csv --rate-hz 250 --duration-s 10 --controller ideal --payload 1.2 "
    "--payload-com 0.02 -0.01 0.06 --sensor tool --sensor-noise 0.2 0.01"
)
PAYLOAD = Payload.of("flange", 2.0, (0.0, 0.0, 0.05), np.diag([0.004, 0.004, 0.003]))
ELSEWHERE = (
    "make ",
    "pip install ",
    "python benchmarks/",
    "python -m http.server",
    "steelyard demo",
    "sudo ",
)
"""Commands that other tests and the continuous integration run, or that no test can."""


@dataclass(frozen=True)
class PageBlock:
    """A fenced block of a page, and what stands between it and the one before."""

    language: str
    text: str
    before: str

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]

    @property
    def file_name(self) -> str | None:
        """The file that the block is, if its first line is a comment with a file name."""
        found = FILE_NAME.match(self.first_line)
        return None if found is None else found[1]

    @property
    def commands(self) -> list[list[str]]:
        """The Steelyard commands of a shell block, as arguments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        found = []
        for line in lines:
            line = line.strip().removeprefix(".venv/bin/")
            if not line or line.startswith(("#", *ELSEWHERE)):
                continue
            words = shlex.split(line, comments=True)
            if words[0] != "steelyard":
                raise ValueError(f"a command that no test runs: {line}")
            found.append(words[1:])
        return found


def blocks_of(page: Path) -> list[PageBlock]:
    """The fenced blocks of a page in order."""
    text, end, found = page.read_text(encoding="utf-8"), 0, []
    for match in BLOCK.finditer(text):
        found.append(PageBlock(match[1], match[2], text[end : match.start()]))
        end = match.end()
    return found


def fill() -> None:
    """Write the files that pages name into the working directory, which is empty."""
    for block in blocks_of(DOCS / "robots.md"):
        if block.file_name in ("arm.urdf", "arm.xml"):
            Path(block.file_name).write_text(block.text, encoding="utf-8")
    text = Path("arm.urdf").read_text(encoding="utf-8")
    bad = 'ixx="0.02" iyy="0.02" izz="0.004"', 'ixx="0.02" iyy="0.02" izz="0.05"'
    Path("bad.urdf").write_text(text.replace(*bad), encoding="utf-8")
    for name, rate_hz, seed in (
        ("run1.csv", 500, 1),
        ("run2.csv", 500, 2),
        ("run3.csv", 500, 3),
        ("other.csv", 1000, 2),
    ):
        assert main(shlex.split(SIMULATE.format(name, rate_hz, seed))) == 0
    for old, new in (
        ("arm.urdf", "robot.urdf"),
        ("arm.urdf", "other.urdf"),
        ("run1.csv", "run.csv"),
        ("run1.csv", "log.csv"),
        ("run2.csv", "another.csv"),
    ):
        shutil.copy(old, new)
    Path("demo").mkdir()
    for old, new in (
        ("arm.urdf", "arm.urdf"),
        ("run1.csv", "log.csv"),
        ("run2.csv", "held_out.csv"),
    ):
        shutil.copy(old, Path("demo") / new)
    Path("robot.toml").write_text('torque = "motor"\n', encoding="utf-8")
    robot = Robot.from_urdf("arm.urdf")
    found = identify(
        robot,
        read_log("run1.csv"),
        gamma=1.0,
        n_resamples=20,
        compare_terms=False,
        processing=Processing(cutoff_hz=10.0, torque_filter="same", dead_band="tenth"),
    )
    write_outputs(found, "out")
    shutil.copy(Path("out") / "certificate.json", "certificate.json")
    values = [(p.name, p.value) for p in found.estimate.parameters()]
    lines = [f"{name},{-0.05 if name == 'elbow.fv' else value!r}" for name, value in values]
    Path("beta.csv").write_text("\n".join(["name,value", *lines, ""]), encoding="utf-8")
    _write_motion()
    _write_payload_runs(robot)
    Path("arm7.urdf").write_text(arm_urdf(), encoding="utf-8")
    assert main(shlex.split(HELD)) == 0
    _write_other_names()
    _write_poses_and_wrenches()


def names_of_blocks() -> dict[str, Any]:
    """What the Python blocks take for granted: a recorded motion, a body, a table."""
    t = np.arange(0.0, 5.0, 0.01)
    q = np.sin(2.0 * np.outer(t, [0.7, 1.1]))
    return {
        "np": np,
        "t": t,
        "q": q,
        "tau": 3.0 * q,
        "phi": Robot.from_urdf("arm.urdf").link("forearm").inertial,
        "rows": [{"kind": "revolute", "a": 0.3, "alpha": 0.0, "d": 0.1}],
    }


def _write_motion() -> None:
    """Positions alone, to be followed by the virtual robot."""
    lines = Path("run1.csv").read_text(encoding="utf-8").splitlines()
    head = lines[0].split(",")
    kept = [k for k, name in enumerate(head) if name.startswith("time") or ".position" in name]
    rows = [",".join(line.split(",")[k] for k in kept) for line in lines]
    Path("motion.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")


def _write_payload_runs(robot: Robot) -> None:
    model = Model(robot)
    theta = model.theta({"shoulder.fv": 0.5, "shoulder.fc": 1.0, "elbow.fv": 0.5, "elbow.fc": 1.0})
    loaded = theta.copy()
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        for link, T_body_link in body.links:
            if link == PAYLOAD.link:
                loaded[first : first + 10] += transform(PAYLOAD.inertial, T_body_link)
    for seed, (name, values) in enumerate((("empty", theta), ("loaded", loaded))):
        log = simulate(
            model,
            values,
            multisine(robot, period_s=10.0, seed=seed),
            duration_s=20.0,
            rate_hz=200.0,
            controller=Controller("ideal"),
            sensors=Sensors(torque_noise=0.05),
            seed=seed,
            name=name,
        )
        write_csv(log, f"{name}.csv")


def _write_other_names() -> None:
    """The first run as another program writes it, with its names and without a line of names.

    Time is in ms and the elbow in degrees; an unnamed column, a temperature, is to be left out.
    """
    lines = Path("run1.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("time[s],shoulder.position[rad],shoulder.torque[N*m],elbow.position")
    rows = []
    for line in lines[1:]:
        time, q1, tau1, q2, tau2 = line.split(",")
        ms, degrees = 1000.0 * float(time), np.degrees(float(q2))
        rows.append(f"{ms!r},{q1},{tau1},{float(degrees)!r},31.5,{tau2}")
    head = "Zeit,shoulder.position,shoulder.torque,PosElbow,Temp,M3"
    Path("foreign.csv").write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    Path("bare.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")


def _write_poses_and_wrenches() -> None:
    """Two tables of one recording: poses for 8 s at 100 Hz, wrenches for 10 s at 500 Hz."""
    poses = moving_frame(np.random.default_rng(0), np.arange(100, 901) / 100.0)
    write_csv(pose_log(poses), "poses.csv")
    moved = moving_frame(np.random.default_rng(0), np.arange(5000) / 500.0)
    force, torque = body_wrench(
        moved, 1.5, np.array([0.0, 0.02, 0.08]), np.diag([0.02, 0.03, 0.01])
    )
    signals = {("", "force"): force, ("", "torque"): torque}
    write_csv(Log(moved.t, {}, frame_signals=signals), "wrenches.csv")
