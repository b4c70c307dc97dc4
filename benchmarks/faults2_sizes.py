"""How large the faults of the second matrix are: found by a plain fit, without any detector.

For every kind and robot, the sizes that raise the error of a plain fit on the unseen motion to
1.2 and to 10 times that of the clean log, as geometric mean over ``CALIBRATION_SEEDS``; at most
the kind's largest plausible size. A pair that does not reach 1.2 times at its largest size in most
seeds has no sizes, and is left out of the matrix.

The plain fit is weighted least squares on the regressor, regularised towards the file. A property
of a simulated robot is added to its given motion here, since no simulation is needed to see how
large an error is; only elastic gears and gears with play are simulated.

    python benchmarks/faults2_sizes.py --kinds spring brake     writes faults2_sizes.csv
"""

from __future__ import annotations

import argparse
import csv
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from faults2_kinds import CALIBRATION_SEEDS, KINDS, SIZES, Kind, generator_of, kind_named
from faults2_properties import (
    ROBOTS,
    SIMULATED_BY_MUJOCO,
    robot_of,
    unseen_error,
    with_property,
    without_noise,
)
from faults2_recordings import Array, Case, case_with, clean_case
from scipy.signal import butter, filtfilt

from steelyard.logs.log import Log
from steelyard.model.kernels import torque, torque_regressor
from steelyard.model.model import Model
from steelyard.model.typical_sizes import parameter_scale

LEAST, MOST = 1.2, 10.0
CUTOFF_HZ, ENDS_S, MOVING, MOST_ROWS = 20.0, 0.5, 0.1, 4000
BODY_TRUST, TERM_TRUST = 0.3, 10.0
"""Standard deviations of the plain fit's prior, in typical sizes of the parameters."""
STEPS, CLOSE = 8, 0.05
FIELDS = ("kind", "robot", "smallest", "largest", "unit", "error_at_largest")


@dataclass(frozen=True, eq=False)
class PlainFit:
    """A model and its parameters (n_columns,)."""

    model: Model
    theta: Array

    def predict(self, q: Array, v: Array, a: Array) -> Array:
        """Torque (n, n_joints)."""
        return torque(self.model, self.theta, q, v, a)


def plain_fit(urdf: str, log: Log) -> PlainFit:
    """Parameters that minimise the weighted squares of the torque's errors where joints move:

        sum_j |tau_j - W_j theta|² / s_j² + sum_k ((theta_k - theta0_k) / (trust_k scale_k))²

    s_j is the rms error of joint j in the fit before; theta0 and the scales are of the file.
    """
    model = Model(robot_of(urdf))
    q, tau = (
        np.column_stack([log.signal(joint, one) for joint in model.channels])
        for one in ("position", "torque")
    )
    step = float(log.time[1] - log.time[0])
    q = filtfilt(*butter(4, 2.0 * step * CUTOFF_HZ), q, axis=0)
    v = np.gradient(q, step, axis=0)
    a = np.gradient(v, step, axis=0)
    ends = round(ENDS_S / step)
    rows = slice(ends, len(q) - ends, max(1, len(q) // MOST_ROWS))
    q, v, a, tau = q[rows], v[rows], a[rows], tau[rows]
    W = torque_regressor(model, q, v, a)
    moving = np.abs(v) > MOVING * np.sqrt(np.mean(v**2, axis=0))
    parts = [(W[m, j], tau[m, j]) for j, m in enumerate(moving.T)]
    body = np.array([column.term_kind is None for column in model.columns])
    trust = parameter_scale(model) * np.where(body, BODY_TRUST, TERM_TRUST)
    theta, sizes = model.prior_theta(), [float(np.std(one)) for _, one in parts]
    start = theta
    for _ in range(3):
        A = np.diag(trust**-2.0)
        b = A @ start
        for (rows_of, measured), size in zip(parts, sizes, strict=True):
            A = A + rows_of.T @ rows_of / size**2
            b = b + rows_of.T @ measured / size**2
        unit = np.sqrt(np.diag(A))
        theta = np.linalg.solve(A / np.outer(unit, unit), b / unit) / unit
        sizes = [float(np.sqrt(np.mean((y - X @ theta) ** 2))) for X, y in parts]
    return PlainFit(model, theta)


def error_of(kind: Kind, case: Case) -> float:
    """Error of the plain fit on the unseen motion, as it is judged for a kind."""
    fit = plain_fit(case.urdf, case.training.log())
    return unseen_error(fit, case.unseen, low_passed=kind.low_passed)


def quick_case(kind: Kind, robot: str, seed: int, size: float) -> Case:
    """The case with a fault; but for gears, a simulated robot moves as the clean one does."""
    clean, rng = clean_case(robot, seed), generator_of(kind, seed)
    if kind.file is not None:
        return Case(kind.file(clean.urdf, rng, size), clean.training, clean.unseen)
    if kind.log is not None:
        return faulty_log(kind, clean, rng, size)
    assert kind.law is not None
    given = kind.law(clean.training, rng, size)
    if given.gear is not None and robot in SIMULATED_BY_MUJOCO:
        return case_with(robot, seed, given, unseen=kind.lasting)
    unseen = without_noise(with_property(clean.unseen, given)) if kind.lasting else clean.unseen
    return Case(clean.urdf, with_property(clean.training, given), unseen)


def faulty_log(kind: Kind, clean: Case, rng: np.random.Generator, size: float) -> Case:
    """The case with a fault of the log."""
    assert kind.log is not None
    signals = kind.log(clean.training, rng, size)
    return Case(clean.urdf, replace(clean.training, **signals), clean.unseen)


def sizes_of(kind: Kind, robot: str, seed: int) -> tuple[float, float, float]:
    """Sizes that raise the error of the plain fit to `LEAST` and `MOST` times the clean one (NaN,
    and the largest, where it does not rise so far), and how far the largest size raises it.
    """
    before = error_of(kind, clean_case(robot, seed))

    def raised(size: float) -> float:
        return error_of(kind, quick_case(kind, robot, seed, size)) / before

    at_largest = raised(kind.largest)
    found = []
    for target in (LEAST, MOST):
        if at_largest < target:
            found.append(np.nan if target == LEAST else kind.largest)
            continue
        low, high = 0.0, kind.largest
        size, ratio = kind.largest, at_largest
        for _ in range(STEPS):
            # errors of the fault and of the clean fit are about orthogonal
            guess = size * np.sqrt((target**2 - 1.0) / max(ratio**2 - 1.0, 1e-4))
            inside = max(low, 1e-3 * high) < guess < high
            size = float(guess if inside else np.sqrt(max(low, 1e-3 * high) * high))
            ratio = raised(size)
            if abs(np.log(ratio / target)) < CLOSE:
                break
            low, high = (size, high) if ratio < target else (low, size)
        found.append(size)
    return found[0], found[1], at_largest


def row_of(kind: str, robot: str) -> dict[str, str]:
    """A row of the table."""
    one = kind_named(kind)
    low, high, most = np.array([sizes_of(one, robot, seed) for seed in CALIBRATION_SEEDS]).T
    reached = np.isfinite(low)
    row = {"kind": kind, "robot": robot, "smallest": "", "largest": "", "unit": one.unit}
    if 2 * np.count_nonzero(reached) > len(low):
        row["smallest"] = f"{np.exp(np.mean(np.log(low[reached]))):.3g}"
        row["largest"] = f"{np.exp(np.mean(np.log(high[reached]))):.3g}"
    return {**row, "error_at_largest": f"{np.median(most):.3g}"}


def main(arguments: list[str] | None = None) -> int:
    """Find the sizes, and write them to faults2_sizes.csv."""
    names = [kind.name for kind in KINDS]
    parser = argparse.ArgumentParser(prog="benchmarks/faults2_sizes.py", description=main.__doc__)
    parser.add_argument("--kinds", nargs="+", choices=names, default=names, metavar="KIND")
    parser.add_argument("--robots", nargs="+", choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("-o", "--out", type=Path, default=SIZES)
    options = parser.parse_args(arguments)
    table = {}
    if options.out.exists():
        with options.out.open(encoding="utf-8", newline="") as file:
            table = {(row["kind"], row["robot"]): row for row in csv.DictReader(file)}
    pairs = [(kind, robot) for robot in options.robots for kind in options.kinds]
    with ProcessPoolExecutor(options.workers, get_context("spawn")) as pool:
        for row in pool.map(row_of, *zip(*pairs, strict=True)):
            print(*row.values(), flush=True)
            table[row["kind"], row["robot"]] = row
    order = [(kind, robot) for kind in names for robot in ROBOTS]
    with options.out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table[pair] for pair in order if pair in table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
