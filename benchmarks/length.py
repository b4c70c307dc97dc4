"""One motion recorded for a minute to two hours: cutoff, error, time and memory of `identify`.

The arm is that of `xarm7_robot`, the file with wrong masses; 7 joints at 1 kHz, positions and
torques. Torques are Pinocchio's inverse dynamics of the true links with armature, and viscous and
Coulomb friction; positions and torques get the noise of `xarm7_log`. One motion repeats every 10 s,
the other, a spline through random postures, never does. A shorter log is the start of the longest.
Every `identify` and `logs check` is a process of its own, whose peak memory the kernel counts.

    memory_gb_2h         largest peak memory of `identify` and `logs check` at two hours, NPZ or CSV
    cutoff_ratio         largest over smallest chosen cutoff of one motion, over all lengths
    error_ratio          largest error on another, noise-free motion over that of any shorter log
    seconds_per_million  time of `identify` per million samples at two hours, NPZ or CSV
    time_ratio           time per sample at two hours over that at 20 minutes
    error_percent        largest error at two hours, of the rms torque
    KIND_LENGTH_FORMAT_s, _gb, _cutoff_hz, _error_percent   of each run
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import xarm7_log
import xarm7_robot
from contender import say
from goals import Goal
from numpy.lib import format as npy
from xarm7_robot import Array

NAME = "length"
DESCRIPTION = "one motion for a minute to two hours: cutoff, error, time and memory"
RATE_HZ = 1000
LENGTHS_S = (60.0, 180.0, 600.0, 1200.0, 3600.0, 7200.0)
QUICK_LENGTHS_S = (60.0, 300.0)
REPEATING, UNIQUE = "repeating", "unique"
MOTIONS = (REPEATING, UNIQUE)
PERIOD_S = 10.0
POSTURE_S = 1.5
"""Time from posture to posture of the motion that never repeats."""
CHUNK = 100_000
NOISE_SEED = 5
TEST_SEED = 11
TEST_S = 20.0
GOALS = (
    Goal("memory_gb_2h", "<=", 1.0),
    Goal("cutoff_ratio", "<=", 1.5),
    Goal("error_ratio", "<=", 1.05),
    Goal("time_ratio", "<=", 1.3),
)
QUICK_GOALS = (
    Goal("cutoff_ratio", "<=", 1.5),
    Goal("error_ratio", "<=", 1.05),
)


class Motion:
    """q, v, a (n, 7) of a motion at times (n,) s."""

    def __init__(self, kind: str, seconds: float, seed: int) -> None:
        rng = np.random.default_rng((3, seed))
        n = xarm7_robot.N_JOINTS
        self.kind = kind
        if kind == REPEATING:
            order = np.arange(1, 7)
            self.omega = 2.0 * np.pi / PERIOD_S * order
            self.size = rng.normal(size=(6, n)) / np.sqrt(order)[:, None]
            self.phase = rng.uniform(0.0, 2.0 * np.pi, (6, n))
            q, v, _ = self._sines(np.linspace(0.0, PERIOD_S, 2000))
            reach = abs(q).max(axis=0), abs(v).max(axis=0)
            self.size *= np.minimum(xarm7_log.HALF_RANGE / reach[0], xarm7_log.TOP_SPEED / reach[1])
            return
        from scipy.interpolate import CubicSpline

        stamps = np.arange(0.0, seconds + 4.0 * POSTURE_S, POSTURE_S)
        points = 0.7 * xarm7_log.HALF_RANGE * rng.uniform(-1.0, 1.0, (len(stamps), n))
        self.spline = CubicSpline(stamps, points)

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """q, v, a."""
        if self.kind == REPEATING:
            q, v, a = self._sines(t)
        else:
            q, v, a = (self.spline(t, order) for order in range(3))
        return xarm7_log.CENTRE + q, v, a

    def _sines(self, t: Array) -> tuple[Array, Array, Array]:
        angle = np.multiply.outer(t, self.omega)[:, :, None] + self.phase
        size, fast = self.size, self.size * self.omega[:, None]
        return (
            np.einsum("hj,thj->tj", size, np.sin(angle)),
            np.einsum("hj,thj->tj", fast, np.cos(angle)),
            -np.einsum("hj,thj->tj", fast * self.omega[:, None], np.sin(angle)),
        )


class TrueArm:
    """The torque of the true arm, by Pinocchio."""

    def __init__(self) -> None:
        import pinocchio

        text = xarm7_robot.urdf_text(xarm7_robot.true_inertials())
        self.model = pinocchio.buildModelFromXML(text)
        self.model.armature = xarm7_robot.DRIVE_INERTIA
        self.data = self.model.createData()
        self.rnea = pinocchio.rnea

    def torque(self, q: Array, v: Array, a: Array) -> Array:
        """tau (n, 7), N m."""
        model, data, rnea = self.model, self.data, self.rnea
        tau = np.array([rnea(model, data, *one) for one in zip(q, v, a, strict=True)])
        return tau + xarm7_robot.VISCOUS * v + xarm7_robot.COULOMB * np.sign(v)


def chunks(kind: str, seconds: float) -> Iterator[tuple[Array, Array, Array]]:
    """Time (n,), q and tau (n, 7) with noise, chunk by chunk."""
    motion, arm, rng = Motion(kind, seconds, 1), TrueArm(), np.random.default_rng(NOISE_SEED)
    n_samples = int(seconds * RATE_HZ)
    period = np.arange(int(PERIOD_S * RATE_HZ)) / RATE_HZ
    one = motion(period) if kind == REPEATING else None
    once = None if one is None else (one[0], arm.torque(*one))
    for start in range(0, n_samples, CHUNK):
        rows = np.arange(start, min(start + CHUNK, n_samples))
        t = rows / RATE_HZ
        if once is None:
            q, v, a = motion(t)
            tau = arm.torque(q, v, a)
        else:
            q, tau = (table[rows % len(period)] for table in once)
        q = q + xarm7_log.ENCODER_NOISE * rng.normal(size=q.shape)
        tau = tau + xarm7_log.TORQUE_NOISE * rng.normal(size=tau.shape)
        yield t, xarm7_log.ENCODER_STEP * np.round(q / xarm7_log.ENCODER_STEP), tau


def write_logs(kind: str, folder: Path, lengths: Sequence[float]) -> dict[float, Path]:
    """One NPZ file for each length, all starts of the longest."""
    n = [int(one * RATE_HZ) for one in lengths]
    paths = [folder / f"{kind}_{one:g}s.npz" for one in lengths]
    raw = {key: folder / f"{kind}.{key}" for key in ("time", "position", "torque")}
    with (
        raw["time"].open("wb") as t,
        raw["position"].open("wb") as q,
        raw["torque"].open("wb") as u,
    ):
        for parts in chunks(kind, max(lengths)):
            for file, part in zip((t, q, u), parts, strict=True):
                part.astype("<f8").tofile(file)
    for path, rows in zip(paths, n, strict=True):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for key, source in raw.items():
                columns = 1 if key == "time" else xarm7_robot.N_JOINTS
                shape = (rows,) if key == "time" else (rows, columns)
                with (
                    archive.open(f"{key}.npy", "w", force_zip64=True) as out,
                    source.open("rb") as f,
                ):
                    npy.write_array_header_1_0(
                        out, {"descr": "<f8", "fortran_order": False, "shape": shape}
                    )
                    _copy(f, out, 8 * columns * rows)
            with archive.open("joint_names.npy", "w") as out:
                npy.write_array(out, np.array(xarm7_robot.JOINTS))
    for source in raw.values():
        source.unlink()
    return dict(zip(lengths, paths, strict=True))


def _copy(source: IO[bytes], out: IO[bytes], n_bytes: int) -> None:
    while n_bytes > 0:
        part = source.read(min(n_bytes, 2**22))
        out.write(part)
        n_bytes -= len(part)


def write_csv(npz: Path) -> Path:
    """The same log as text."""
    path = npz.with_suffix(".csv")
    names = [f"{joint}.{what}" for what in ("position", "torque") for joint in xarm7_robot.JOINTS]
    form = ",".join(["%.3f", *["%.8f"] * 7, *["%.4f"] * 7]) + "\n"
    with zipfile.ZipFile(npz) as archive, path.open("w", encoding="ascii") as out:
        streams = [archive.open(f"{key}.npy") for key in ("time", "position", "torque")]
        for stream in streams:
            npy.read_magic(stream)
            npy.read_array_header_1_0(stream)
        out.write(",".join(["time", *names]) + "\n")
        while data := streams[0].read(8 * 10_000):
            n = len(data) // 8
            tables = [np.frombuffer(one.read(56 * n)).reshape(n, 7) for one in streams[1:]]
            table = np.column_stack([np.frombuffer(data), *tables])
            out.write((form * n) % tuple(table.ravel().tolist()))
    return path


@dataclass(frozen=True, eq=False)
class Run:
    """One command on one log. document : what it printed."""

    kind: str
    seconds: float
    form: str
    command: str
    s: float
    gb: float
    document: dict[str, Any]

    @property
    def cutoff_hz(self) -> float:
        """That of `identify`."""
        return float(self.document["record"]["runs"][0]["cutoff_hz"])


def run(kind: str, seconds: float, command: list[str], robot: Path, log: Path) -> Run:
    """One command of Steelyard in a process of its own.

    The kernel counts the memory of this process too, up to the moment in which it becomes that of
    the command: nothing large may be loaded here before.
    """
    begin = time.perf_counter()
    words = [sys.executable, "-m", "steelyard", *command, str(robot), str(log), "--json"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(words, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        spent = time.perf_counter() - begin
        out.seek(0)
        err.seek(0)
        text, said = out.read().decode(), err.read().decode()
    if child.returncode not in (0, 1) or not text:
        raise RuntimeError(f"{' '.join(words)} ended with {child.returncode}:\n{said[-3000:]}")
    gb = usage.ru_maxrss / (1e9 if sys.platform == "darwin" else 1e9 / 1024.0)
    form = log.suffix.removeprefix(".")
    say(f"{kind}, {seconds:g} s, {form}, {' '.join(command)}: {spent:.1f} s, {gb:.2f} GB")
    return Run(kind, seconds, form, command[0], spent, gb, json.loads(text))


def runs_of(kind: str, lengths: Sequence[float], folder: Path, *, with_csv: bool) -> Iterator[Run]:
    """`identify` on every length, and `logs check` on the longest; CSV at the longest and at a
    sixth of it.
    """
    robot = xarm7_robot.write_file(folder)
    for seconds, npz in write_logs(kind, folder, lengths).items():
        logs = [npz]
        if with_csv and seconds in (max(lengths), max(lengths) / 6.0):
            logs.append(write_csv(npz))
        for log in logs:
            yield run(kind, seconds, ["identify"], robot, log)
            if seconds == max(lengths):
                yield run(kind, seconds, ["logs", "check"], robot, log)
            log.unlink()


def prediction_errors(runs: Sequence[Run], folder: Path) -> dict[Run, float]:
    """Error on another, noise-free motion, as a share of its rms torque."""
    from steelyard import Motion as Recorded
    from steelyard import Robot
    from steelyard.estimators.result_file import read_result
    from steelyard.model.base_map import base_map
    from steelyard.validation.scores import predict_base

    robot = Robot.from_urdf(xarm7_robot.write_file(folder))
    t = np.arange(0.0, TEST_S, 0.01)
    q, v, a = Motion(UNIQUE, TEST_S, TEST_SEED)(t)
    tau, path = TrueArm().torque(q, v, a), folder / "result.json"
    found = {}
    for one in runs:
        path.write_text(json.dumps(one.document), encoding="utf-8")
        result = read_result(path)
        model = result.model_for(robot)
        predicted = predict_base(model, base_map(model), result.beta, Recorded(t, q, v, a))
        found[one] = float(np.linalg.norm(predicted - tau) / np.linalg.norm(tau))
    return found


def figures_of(runs: Sequence[Run], errors: dict[Run, float]) -> dict[str, float | None]:
    """All figures, from those of each run."""
    fits = [one for one in runs if one.command == "identify"]
    longest = max(one.seconds for one in runs)
    at_end = [one for one in fits if one.seconds == longest]
    cutoffs = [[one.cutoff_hz for one in fits if one.kind == kind] for kind in MOTIONS]
    error_ratio = max(
        errors[one] / errors[other]
        for one in fits
        for other in fits
        if one.kind == other.kind and other.seconds < one.seconds
    )
    slower = [
        (one.s / one.seconds) / (other.s / other.seconds)
        for one in at_end
        for other in fits
        if (one.kind, one.form) == (other.kind, other.form) and other.seconds == longest / 6.0
    ]
    figures: dict[str, float | None] = {
        "memory_gb_2h": max(one.gb for one in runs if one.seconds == longest),
        "cutoff_ratio": max(max(some) / min(some) for some in cutoffs if some),
        "error_ratio": error_ratio,
        "seconds_per_million": max(1e6 * one.s / (RATE_HZ * one.seconds) for one in at_end),
        "time_ratio": max(slower, default=None),
        "error_percent": 100.0 * max(errors[one] for one in at_end),
    }
    for one in runs:
        name = f"{one.kind}_{one.seconds:g}s_{one.form}"
        if one.command == "identify":
            figures[f"{name}_s"], figures[f"{name}_gb"] = one.s, one.gb
            figures[f"{name}_cutoff_hz"] = one.cutoff_hz
            figures[f"{name}_error_percent"] = 100.0 * errors[one]
        else:
            figures[f"{name}_check_s"], figures[f"{name}_check_gb"] = one.s, one.gb
    return figures


def measure() -> dict[str, float | None]:
    """All lengths and both motions; NPZ at all lengths, CSV at two."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        runs = [one for kind in MOTIONS for one in runs_of(kind, LENGTHS_S, folder, with_csv=True)]
        fits = [one for one in runs if one.command == "identify"]
        return figures_of(runs, prediction_errors(fits, folder))


def quick() -> dict[str, float | None]:
    """The motion that repeats, at a length that is held in memory and at one that is not."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        runs = [*runs_of(REPEATING, QUICK_LENGTHS_S, folder, with_csv=False)]
        fits = [one for one in runs if one.command == "identify"]
        return figures_of(runs, prediction_errors(fits, folder))
