"""Contender: Pinocchio's rnea called from Python, and its model as text for the compiled loop.

Prints ``{"python_ns", "overhead_ns", "tau", "prefix"}``: the time of a call for the arm and for a
robot without joints, the torques of the first state, and the folder of Pinocchio's headers and
libraries. Usage: URDF STATES MODEL REPEATS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
import pinocchio


def main(urdf: str, states: str, model_text: str, repeats: int) -> None:
    """Write the model, time the calls."""
    model = pinocchio.buildModelFromUrdf(urdf)
    rows = np.fromfile(states).reshape(-1, 3, model.nv)
    Path(model_text).write_text(as_text(model), encoding="ascii")
    empty = pinocchio.Model()
    nothing = np.zeros((len(rows), 3, 0))
    first = pinocchio.rnea(model, model.createData(), *rows[0])
    answer = {
        "python_ns": median(call_ns(model, rows) for _ in range(repeats)),
        "overhead_ns": median(call_ns(empty, nothing) for _ in range(repeats)),
        "tau": first.tolist(),
        "prefix": prefix(),
    }
    json.dump(answer, sys.stdout)


def call_ns(model: pinocchio.Model, rows: np.ndarray) -> float:
    """Nanoseconds of processor time of one call, over all rows (n, 3, nv)."""
    data, compute = model.createData(), pinocchio.rnea
    states = [(q, v, a) for q, v, a in rows]
    started = process_time()
    for q, v, a in states:
        compute(model, data, q, v, a)
    return 1e9 * (process_time() - started) / len(rows)


def as_text(model: pinocchio.Model) -> str:
    """One line per joint; see code_pinocchio.cpp."""
    lines = []
    for k in range(1, model.njoints):
        name = model.joints[k].shortname()
        kind = name.removeprefix("JointModel") if name[-2:] in ("RX", "RY", "RZ") else "R"
        place, body = model.jointPlacements[k], model.inertias[k]
        axis = pinocchio_axis(model, k)
        inertia = body.inertia[np.tril_indices(3)]
        entries = [*axis, *place.rotation.ravel(), *place.translation, body.mass, *body.lever]
        numbers = " ".join(repr(float(x)) for x in (*entries, *inertia))
        lines.append(f"{model.parents[k]} {kind} {numbers}")
    return "\n".join(lines) + "\n"


def pinocchio_axis(model: pinocchio.Model, joint: int) -> np.ndarray:
    """Axis (3,) of a revolute joint, in its own frame."""
    data = model.createData()
    q = np.zeros(model.nq)
    return pinocchio.computeJointJacobian(model, data, q, joint)[3:, model.joints[joint].idx_v]


def prefix() -> str | None:
    """The folder with include/pinocchio; None if the headers are not installed."""
    for folder in Path(pinocchio.__file__).resolve().parents:
        if (folder / "include" / "pinocchio").is_dir():
            return str(folder)
    return None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
