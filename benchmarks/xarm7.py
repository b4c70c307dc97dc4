"""The plain default beside what people script, on a simulated xArm7 whose truth is known.

MuJoCo moves a seven-joint arm in closed loop, with its own friction, damping and armature
(`xarm7_robot`, `xarm7_log`). Contenders are given a robot file with inertials 20 to 30 % wrong
and one of three noisy logs of 30 s; their torques along another motion, of which they are given
the exact q, v and a, are compared with the simulator's torques without noise.

Scores are norms of errors over norms of torques, in percent, worst of the three logs, for all
contenders alike outside the dead band: torques of joints slower than a tenth of their speed (rms)
are left out. A joint sticks for some milliseconds where its speed changes sign, and its torque is
then whatever the controller gives; NAME_sliding_pct leaves out only these torques (one in a
hundred), NAME_with_sticking_pct none. What true parameters themselves have with all torques is
``truth_with_sticking_pct``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import xarm7_log
import xarm7_robot
from contender import PeerAbsentError, run_contender, say
from figaroh_env import run_in_figaroh
from goals import Goal
from peer_env import peer_python

NAME = "xarm7"
DESCRIPTION = "a simulated xArm7: torque error of the default, a script, mujoco.sysid and FIGAROH"
GOALS = (
    Goal("ours_pct", "<=", 0.09),
    Goal("ours_is_lowest", ">=", 1.0),
    Goal("ours_sliding_pct", "<=", 0.09),
    Goal("ours_with_sticking_pct", "<=", 1.06),
    Goal("friction_coverage", ">=", 0.93),
    Goal("friction_coverage", "<=", 0.97),
    Goal("coverage", ">=", 0.92),
    Goal("coverage", "<=", 0.98),
)
SEEDS = (1, 2, 3)
HELD_OUT_SEED = 9
TRAINING_S, HELD_OUT_S = 30.0, 20.0
CUTOFF_HZ = 10.0
"""What the peers filter with: some fifteen times the fastest sine of the motion."""
SYSID_REQUIREMENT = "mujoco[sysid]==4.0.0"
FRICTION_SYMBOLS = ("fc", "fv", "Ia")

DEAD_BAND = 0.1
"""Share of a joint's rms speed below which its torques are left out."""

Run = Callable[..., dict[str, Any]]
Scores = tuple[float, float, float]


def measure() -> dict[str, float | None]:
    """Scores of all contenders on each log, and the coverage of our intervals."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        say("simulating")
        urdf, logs, motion = write_inputs(work)
        answers: list[dict[str, Any]] = []
        seconds: dict[str, list[float]] = {}

        def ours(*arguments: object) -> dict[str, Any]:
            answers.append(run_contender("xarm7_steelyard.py", *arguments))
            return answers[-1]

        contenders: dict[str, tuple[Run, tuple[tuple[object, ...], ...]]] = {
            "ours": (ours, ((),)),
            "script": (script, ((CUTOFF_HZ, "same"), (CUTOFF_HZ, "none"))),
            "script_20hz": (script, ((20.0, "none"),)),
            "sysid": (mujoco_sysid, ((CUTOFF_HZ,),)),
            "figaroh": (figaroh, ((CUTOFF_HZ, "wls"),)),
        }
        scores = {
            name: [best_score(name, run, variants, (urdf, log, motion), seconds) for log in logs]
            for name, (run, variants) in contenders.items()
        }
    figures: dict[str, float | None] = {}
    for name, found in scores.items():
        outside = [None if score is None else score[0] for score in found]
        figures[f"{name}_pct"] = worst(outside)
        figures |= {f"{name}_pct_{k}": value for k, value in enumerate(outside, start=1)}
    for which, ending in ((1, "sliding_pct"), (2, "with_sticking_pct")):
        for name, found in scores.items():
            values = [None if score is None else score[which] for score in found]
            figures[f"{name}_{ending}"] = worst(values)
    figures["truth_with_sticking_pct"] = score_of(torque_of_truth())[2]
    figures["ours_is_lowest"] = ours_is_lowest(scores)
    figures |= coverage(answers)
    figures |= {f"{name}_s": median(values) for name, values in seconds.items()}
    return figures


def write_inputs(folder: Path) -> tuple[Path, list[Path], Path]:
    """The robot file, the logs, and the held-out motion."""
    import numpy as np

    from steelyard import write_csv

    logs = []
    for seed in SEEDS:
        log, _ = xarm7_log.simulate_log(seed, TRAINING_S)
        logs.append(folder / f"run{seed}.csv")
        write_csv(log, logs[-1])
    held_out = xarm7_log.simulate(HELD_OUT_SEED, HELD_OUT_S)
    motion = folder / "motion.npz"
    np.savez(motion, time=held_out.time, q=held_out.q, v=held_out.v, a=held_out.a)
    return xarm7_robot.write_file(folder), logs, motion


def script(*arguments: object) -> dict[str, Any]:
    """Pinocchio, SciPy and CVXPY."""
    return run_contender("xarm7_script.py", *arguments, library="pinocchio")


def mujoco_sysid(*arguments: object) -> dict[str, Any]:
    """`mujoco.sysid`, in an environment with the packages that it needs."""
    python = peer_python(SYSID_REQUIREMENT, "from mujoco.sysid import ParameterDict")
    return run_contender("xarm7_sysid.py", *arguments, python=python)


def figaroh(*arguments: object) -> dict[str, Any]:
    """FIGAROH, in its own environment."""
    return run_in_figaroh("xarm7_figaroh.py", *arguments)


def best_score(
    name: str,
    run: Run,
    variants: Sequence[tuple[object, ...]],
    inputs: tuple[Path, Path, Path],
    seconds: dict[str, list[float]],
) -> Scores | None:
    """The lower score of a contender's variants on one log; None if it is absent.

    seconds : gets the time of each run, from the log to the parameters, added under its name.
    """
    import numpy as np

    urdf, log, motion = inputs
    torque = log.with_suffix(".npy")
    scores = []
    for variant in variants:
        say(f"{name} on {log.stem} {' '.join(map(str, variant))}".rstrip())
        try:
            seconds.setdefault(name, []).append(run(urdf, log, motion, torque, *variant)["seconds"])
        except PeerAbsentError as absent:
            say(f"absent: {absent}")
            return None
        scores.append(score_of(np.load(torque)))
    return min(scores)


def score_of(torque: xarm7_robot.Array) -> Scores:
    """Relative error in percent outside the dead band, of sliding joints, and of all torques."""
    import numpy as np

    true = xarm7_log.simulate(HELD_OUT_SEED, HELD_OUT_S)
    error = torque - true.tau
    fast = abs(true.v) > DEAD_BAND * np.sqrt(np.mean(true.v**2, axis=0))
    outside, sliding, every = (
        100.0 * float(np.linalg.norm(error[used]) / np.linalg.norm(true.tau[used]))
        for used in (fast, true.slides, np.ones_like(fast))
    )
    return outside, sliding, every


def torque_of_truth() -> xarm7_robot.Array:
    """What the true parameters predict along the held-out motion."""
    from steelyard import Model, Robot, torque

    model = Model(Robot.from_urdf_text(xarm7_robot.urdf_text(xarm7_robot.true_inertials())))
    along = xarm7_log.simulate(HELD_OUT_SEED, HELD_OUT_S)
    return torque(model, model.theta(xarm7_robot.true_values()), along.q, along.v, along.a)


def worst(values: Sequence[float | None]) -> float | None:
    """The largest; None for an absent peer."""
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def ours_is_lowest(scores: dict[str, list[Scores | None]]) -> float | None:
    """1 if ours is the lowest score on every log; None if a peer is absent."""
    peers = [found for name, found in scores.items() if name != "ours"]
    for k, ours in enumerate(scores["ours"]):
        theirs = [peer[k] for peer in peers]
        if any(score is None for score in theirs):
            return None
        if any(score[0] <= ours[0] for score in theirs if score is not None and ours is not None):
            return 0.0
    return 1.0


def coverage(answers: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Share of true base parameters inside their 95 % intervals: friction and drives, and all."""
    pairs = [pair for a in answers for pair in zip(a["names"], a["inside"], strict=True)]
    friction = [inside for name, inside in pairs if name.split(".")[-1] in FRICTION_SYMBOLS]
    return {
        "friction_coverage": sum(friction) / len(friction),
        "coverage": sum(inside for _, inside in pairs) / len(pairs),
    }
