"""Time of the written inverse dynamics of a seven-joint arm, beside Pinocchio's rnea.

Both run over the same random states in compiled loops, compiled with -O2 by the same compiler,
in rounds that follow each other directly. Times are processor times: on a busy machine, a repeat
of the slower loop would be interrupted more often. The written code also has drive inertia,
friction and offsets of each joint; ``rnea`` has the bodies only. Pinocchio's library is that of its
wheel. If it cannot be linked (no C++ compiler, or no Eigen headers), its calls are timed from
Python, and the time of a call for a robot without joints is subtracted; that time is reported in
any case.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from contender import HERE, PeerAbsentError, run_contender, say
from goals import ratio
from numpy.typing import NDArray
from peer_env import peer_python

from steelyard import Model, base_map, c_header, torque
from steelyard.model.random_states import random_states
from steelyard.simulation.builtin_arm import arm_urdf, builtin_arm, builtin_truth

Array = NDArray[np.float64]
N_STATES = 1000
REPEATS = 50
ROUNDS = 5
EIGEN = "cmeel-eigen==3.4.1"
# as in the CMake files of Pinocchio's wheel
PINOCCHIO_FLAGS = (
    "-std=c++17",
    "-DNDEBUG",
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION",
)


@dataclass(frozen=True, eq=False)
class Task:
    """The arm's model, its parameters theta, and states q, v, a (n, 7), in a folder of files."""

    folder: Path
    model: Model
    theta: Array
    q: Array
    v: Array
    a: Array

    @property
    def states(self) -> Path:
        """q, v, a of one state after the other."""
        return self.folder / "states.bin"

    @property
    def urdf(self) -> Path:
        """The file that Pinocchio reads."""
        return self.folder / "arm.urdf"


def measure_code() -> dict[str, float | None]:
    """Nanoseconds of one evaluation, and what is needed to judge them.

    ``pinocchio_compiled`` is 1 if ``pinocchio_rnea_ns`` is from a compiled loop, and 0 if it is the
    time of a call from Python without ``pinocchio_python_overhead_ns``. ``code_difference`` is the
    largest error of the written code, as a share of the torque.
    """
    with tempfile.TemporaryDirectory() as name:
        task = make_task(Path(name))
        ours = build_c(task)
        peer, answer = None, None
        try:
            answer = run_contender(
                "code_pinocchio.py", task.urdf, task.states, task.folder / "model.txt", REPEATS,
                library="pinocchio",
            )  # fmt: skip
            peer = build_pinocchio(task, answer)
        except PeerAbsentError as absent:
            say(f"absent: {absent}")
        c_ns: list[float] = []
        rnea_ns: list[float] = []
        difference = None
        for _ in range(ROUNDS):
            if ours is not None:
                times, tau = run_loop([ours, task.states])
                c_ns += times
                difference = share(tau, torque(task.model, task.theta, task.q, task.v, task.a)[0])
            if peer is not None:
                times, tau = run_loop([peer, task.folder / "model.txt", task.states])
                rnea_ns += times
                check_rigid(task, tau)
    return figures(c_ns, rnea_ns, answer, difference)


def figures(
    c_ns: list[float],
    rnea_ns: list[float],
    answer: dict[str, Any] | None,
    difference: float | None,
) -> dict[str, float | None]:
    """Medians of what was measured."""
    called = None if answer is None else answer["python_ns"]
    overhead = None if answer is None else answer["overhead_ns"]
    compiled = median(rnea_ns) if rnea_ns else None
    subtracted = None if answer is None else called - overhead
    ours = median(c_ns) if c_ns else None
    rnea = subtracted if compiled is None else compiled
    return {
        "c_ns": ours,
        "pinocchio_rnea_ns": rnea,
        "rnea_over_c": ratio(rnea, ours),
        "pinocchio_compiled": None if rnea is None else float(compiled is not None),
        "pinocchio_python_ns": called,
        "pinocchio_python_overhead_ns": overhead,
        "code_difference": difference,
    }


def make_task(folder: Path) -> Task:
    """The built-in arm with the bodies of its file and the drives of its truth; random states."""
    model = Model(builtin_arm())
    rigid = [column.kind == "rigid_body" for column in model.columns]
    theta = np.where(rigid, model.prior_theta(), builtin_truth(model))
    q, v, a = random_states(np.random.default_rng(0), model.robot, N_STATES)
    task = Task(folder, model, theta, q, v, a)
    np.stack([q, v, a], axis=1).tofile(task.states)
    task.urdf.write_text(arm_urdf(), encoding="utf-8")
    base = base_map(model)
    header = c_header(model, base, base.K @ theta, name="arm")
    (folder / "arm.h").write_text(header, encoding="ascii")
    return task


def build_c(task: Task) -> Path | None:
    """The loop over the written header; None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        say("absent: there is no C compiler 'cc'")
        return None
    source, program = HERE / "contenders" / "code_loop.c", task.folder / "code_loop"
    flags = ["-std=c99", "-O2", "-Wall", "-Werror", f"-I{task.folder}"]
    compile_with([compiler, *flags, str(source), "-o", str(program), "-lm"])
    return program


def build_pinocchio(task: Task, answer: dict[str, Any]) -> Path | None:
    """The loop over rnea; None if it cannot be compiled here."""
    compiler, prefix = shutil.which("c++"), answer["prefix"]
    if compiler is None or prefix is None:
        say("absent: there is no C++ compiler 'c++', or Pinocchio's headers are not installed")
        return None
    source, program = HERE / "contenders" / "code_pinocchio.cpp", task.folder / "code_pinocchio"
    say("compiling Pinocchio's loop ...")
    try:
        compile_with(
            [
                compiler,
                "-O2",
                *PINOCCHIO_FLAGS,
                f"-I{eigen_headers(Path(prefix))}",
                f"-I{prefix}/include",
                str(source),
                "-o",
                str(program),
                f"-L{prefix}/lib",
                "-lpinocchio_default",
                f"-Wl,-rpath,{prefix}/lib",
                "-Wl,--allow-shlib-undefined",
            ]
        )
    except (PeerAbsentError, RuntimeError) as failed:
        say(f"Pinocchio is timed from Python: {failed}")
        return None
    return program


def eigen_headers(prefix: Path) -> Path:
    """Folder of Eigen's headers: beside Pinocchio's, the system's, or in their own environment."""
    for folder in (prefix / "include" / "eigen3", Path("/usr/include/eigen3")):
        if folder.is_dir():
            return folder
    where = "from importlib.metadata import distribution as d; print(d('cmeel-eigen').locate_file("
    where += "'cmeel.prefix/include/eigen3'))"
    python = peer_python(EIGEN, where)
    done = subprocess.run([str(python), "-c", where], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def compile_with(command: list[str]) -> None:
    """Run a compiler; its messages are part of the error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")


def run_loop(command: list[Path]) -> tuple[list[float], Array]:
    """Nanoseconds of each repeat, and the torques (7,) of the first state."""
    done = subprocess.run(
        [*map(str, command), str(REPEATS)], capture_output=True, text=True, check=True
    )
    *times, last = done.stdout.strip().splitlines()
    return [float(time) for time in times], np.array([float(x) for x in last.split()])


def check_rigid(task: Task, tau: Array) -> None:
    """Both loops must have the same task: refuse torques that are not those of the bodies."""
    rigid = [column.kind == "rigid_body" for column in task.model.columns]
    bodies = np.where(rigid, task.theta, 0.0)
    if share(tau, torque(task.model, bodies, task.q, task.v, task.a)[0]) > 1e-9:
        raise RuntimeError("Pinocchio's loop has another robot or other states")


def share(found: Array, truth: Array) -> float:
    """Largest error as a share of the largest torque."""
    return float(np.abs(found - truth).max() / np.abs(truth).max())


if __name__ == "__main__":
    for figure, value in measure_code().items():
        print(f"{figure:<30}  {'absent' if value is None else format(value, '.4g')}")
