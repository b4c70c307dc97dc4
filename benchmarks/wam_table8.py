"""Table 8 of Sousa and Cortesão (2014): errors of four solutions on four recordings of a WAM arm.

    STEELYARD_WAM_RECORDINGS=wam7_dyn_ident/data/recdata python benchmarks/run.py wam-table8

reads the authors' recordings, rbtlog_traj1.dat to rbtlog_traj4.dat of
https://github.com/cdsousa/wam7_dyn_ident (CC BY-NC-SA 4.0), which are not part of this project.
Without them, four logs of a synthetic twin stand in, in the same format: a WAM whose links lie in
the boxes of Table 7, with the computed torque and the gains of Table 4, on the motion of Table 5
and three others. The processing is that of section 5.2.2. The solutions are fitted to the first
recording, all joints with the same weight:

    ols      least squares                                     base parameters of Table 6
    bpfc     the closest feasible base parameters (52-56)
    fbpe     the feasible parameters that fit best (64-75)
    boxed    the same with the boxes of Table 7 and at most 27 kg
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from contender import say
from goals import Goal
from numpy.typing import NDArray

from steelyard.certificates.base_correction import proven_correction
from steelyard.estimators.feasible import fit_feasible
from steelyard.estimators.least_squares import ols, relative_error
from steelyard.excitation.motions.fourier import FourierTrajectory
from steelyard.knowledge.constraint_blocks import blocks
from steelyard.knowledge.constraints import Constraints
from steelyard.logs.reading import read_log
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale
from steelyard.regression.compress import compress
from steelyard.regression.regression import Regression
from steelyard.robot.inertia import from_com
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare
from steelyard.signals.processing import Processing
from steelyard.simulation.simulate import Controller, Sensors, simulate

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from wam_paper import KD, KP, LOWER, MARGIN, OMEGA, Q0, TABLE_8, UPPER, A, B, known

Array = NDArray[np.float64]

NAME = "wam-table8"
DESCRIPTION = "Table 8 of Sousa and Cortesão 2014, from the authors' recordings or a synthetic twin"
VARIABLE = "STEELYARD_WAM_RECORDINGS"
ROBOT = Path(__file__).resolve().parents[1] / "examples" / "robots" / "wam.toml"
FILES = tuple(f"rbtlog_traj{k}.dat" for k in range(1, 5))
ROWS = ("identification", "validation_a", "validation_b", "validation_c")
SOLUTIONS = ("ols", "bpfc", "fbpe", "boxed")
# of the twin: not the paper's
MASSES_KG = (10.0, 3.8, 1.8, 2.4, 0.6, 0.4, 0.1)
VISCOUS = (1.6, 1.2, 0.4, 0.4, 0.02, 0.02, 0.002)
COULOMB = (2.0, 2.0, 1.0, 1.0, 0.1, 0.1, 0.01)
DRIVE_INERTIA = (0.02, 0.02, 0.01, 0.01, 1e-4, 1e-4, 1e-5)
TORQUE_NOISE = 0.4
SECONDS = 58.0

GOALS = (
    Goal("order_holds", ">=", 1.0),
    Goal("identification_boxed_above_ols", "<=", 1.0),
)
QUICK_GOALS = GOALS


def measure() -> dict[str, float | None]:
    """Errors of every solution on every recording, in per cent."""
    folder = os.environ.get(VARIABLE)
    if folder is not None:
        return table(Path(folder), printed=True)
    say(f"{VARIABLE} names no folder: a synthetic twin stands in for the recordings")
    with tempfile.TemporaryDirectory() as place:
        return table(twin(Path(place)))


def quick() -> dict[str, float | None]:
    """The twin's table, from 20 s of each motion at 200 Hz."""
    with tempfile.TemporaryDirectory() as place:
        return table(twin(Path(place), seconds=24.0, rate_hz=200.0))


def wam() -> Model:
    """The arm of Table 2, with drive inertia, viscous and Coulomb friction and an offset each."""
    return Model(Robot.from_dh_file(ROBOT)).with_widths({})


def table(folder: Path, *, printed: bool = False) -> dict[str, float | None]:
    """Table 8 from the four recordings in a folder; printed : with the paper's in brackets."""
    model = wam()
    runs = []
    for name in FILES:
        say(name)
        runs.append(compressed(model, folder / name))
    betas = solutions(model, runs[0])
    errors = 100.0 * np.array([[relative_error(run, beta) for beta in betas] for run in runs])
    say("recording        " + " ".join(f"{name:>14}" for name in SOLUTIONS))
    for row, name in enumerate(ROWS):
        beside = [f" ({TABLE_8[row, k]:.2f})" if printed else "" for k in range(4)]
        cells = [f"{errors[row, k]:.2f}{beside[k]}" for k in range(4)]
        say(f"{name:16} " + " ".join(f"{cell:>14}" for cell in cells))
    first = dict(zip(SOLUTIONS, errors[0], strict=True))
    figures: dict[str, float | None] = {
        f"{row}_{name}": float(errors[i, k])
        for i, row in enumerate(ROWS)
        for k, name in enumerate(SOLUTIONS)
    }
    for row, run in zip(ROWS, runs, strict=True):
        figures[f"{row}_condition"] = float(np.linalg.cond(run.system(np.ones(7))[:, :-1]))
    figures["order_holds"] = float(
        first["ols"] <= first["fbpe"] <= min(first["boxed"], first["bpfc"])
    )
    figures["identification_boxed_above_ols"] = first["boxed"] - first["ols"]
    return figures


def compressed(model: Model, path: Path) -> Regression:
    """The factors of one recording, processed as in section 5.2.2; friction is sgn(v)."""
    prepared = prepare(read_log(path), model, Processing.sousa2014())
    return compress(model, prepared.motion, prepared.measurements)


def solutions(model: Model, run: Regression) -> list[Array]:
    """Base parameters (69,) of the four solutions."""
    scale = parameter_scale(model)
    plain = ols(run).beta
    given = blocks(model, Constraints(consistency="sousa", margin=MARGIN, second_moment=None))
    closest = proven_correction(base_map(model), plain, given, scale).beta
    fits = [
        fit_feasible(model, run, known(boxes=boxes), weighting="ols", pull=1e-6).beta
        for boxes in (False, True)
    ]
    return [plain, closest, *fits]


def twin(folder: Path, *, seconds: float = SECONDS, rate_hz: float = 1000.0) -> Path:
    """Four recordings of a synthetic WAM in the authors' format, and the folder."""
    model = wam()
    truth = twin_theta(model)
    gains = [dict(zip(model.channels, values, strict=True)) for values in (KP, KD)]
    # what the controller of the paper believes: CAD values, some per cent off
    bodies = np.array([column.term_kind is None for column in model.columns])
    controller = Controller("computed_torque", *gains, theta=np.where(bodies, 0.95 * truth, 0.0))
    for k, name in enumerate(FILES):
        turn = np.roll(np.arange(5), k)
        motion = FourierTrajectory(
            model.robot.joint_names, OMEGA, A[:, turn], (-1.0) ** k * B[:, turn], Q0
        )
        log = simulate(
            model,
            truth,
            motion,
            duration_s=seconds,
            rate_hz=rate_hz,
            controller=controller,
            sensors=Sensors(torque_noise=TORQUE_NOISE, torque_noise_bandwidth_hz=0.2 * rate_hz),
            seed=k,
        )
        signals = [
            log.signals[joint, quantity]
            for quantity in ("position", "torque")
            for joint in model.channels
        ]
        np.savetxt(folder / name, np.stack([log.time, *signals], axis=1), fmt="%.9g")
    return folder


def twin_theta(model: Model) -> Array:
    """Parameters (n_columns,) of the twin: boxes a third as long as Table 7's, in their middle."""
    values: dict[str, float] = {}
    for k, (mass, low, up) in enumerate(zip(MASSES_KG, LOWER, UPPER, strict=True), start=1):
        edges = (np.array(up) - np.array(low)) / 3.0
        inertia = mass / 12.0 * np.diag((edges**2).sum() - edges**2)
        phi = from_com(mass, 0.5 * (np.array(low) + np.array(up)), inertia)
        first = model.column_names.index(f"link_{k}.m")
        values |= dict(zip(model.column_names[first : first + 10], phi.tolist(), strict=True))
        values |= {f"joint_{k}.fv": VISCOUS[k - 1], f"joint_{k}.fc": COULOMB[k - 1]}
        values |= {f"joint_{k}.Ia": DRIVE_INERTIA[k - 1], f"joint_{k}.fo": 0.1 * COULOMB[k - 1]}
    return model.theta(values)
