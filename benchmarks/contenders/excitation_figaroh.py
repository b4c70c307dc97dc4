"""Contender: the objective of FIGAROH 1.0.2's trajectory optimiser, in FIGAROH's own environment.

FIGAROH minimises with IPOPT through cyipopt, which has no wheels; without it, its objective is
minimised here with SciPy's SLSQP. The objective is what ``BaseOptimalTrajectory`` computes:
``build_regressor_basic``, ``build_regressor_reduced``, ``build_baseRegressor`` and
``numpy.linalg.cond``, with the forward differences of its ``BaseTrajectoryIPOPTProblem.gradient``.
The base columns are those of the other contenders, so that all minimise the same number; FIGAROH's
own choice of columns is another one.
Usage: FILE.urdf ARRAYS.npz SECONDS
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import numpy as np
from excitation_slsqp import descend, read_arrays
from figaroh.identification.parameter import (
    add_standard_additional_parameters,
    get_standard_parameters,
)
from figaroh.tools.qrdecomposition import build_baseRegressor
from figaroh.tools.regressor import (
    build_regressor_basic,
    build_regressor_reduced,
    get_index_eliminate,
)
from figaroh.tools.robot import Robot

TERMS = {"Ia": "Ia", "fv": "fv", "fc": "fs", "fo": "off"}
"""Names of joint terms, ours and FIGAROH's."""
TOL_E = 0.001
"""Of dropped columns, as its ``BaseParameterComputer`` has it."""


def their_name(column: str) -> str:
    """FIGAROH's name of a column of ours: link3.Ixx is Ixx_joint3, joint3.fc is fs_joint3."""
    owner, symbol = column.split(".")
    return f"{TERMS.get(symbol, symbol)}_{owner.replace('link', 'joint')}"


def main(urdf: str, path: str, seconds: str) -> None:
    """Minimise for so many seconds."""
    arrays = read_arrays(path)
    n_joints = len(arrays.middle)
    zeros = [0.0] * n_joints
    settings = {
        "has_friction": True,
        "has_actuator_inertia": True,
        "has_joint_offset": True,
        "is_joint_torques": True,
        "act_idxv": list(range(n_joints)),
        "fv": zeros,
        "fs": zeros,
        "Ia": zeros,
        "off": zeros,
    }
    with contextlib.redirect_stdout(sys.stderr):
        robot = Robot(urdf, package_dirs=str(Path(urdf).parent))
        standard = get_standard_parameters(robot.model, settings)
        standard.update(add_standard_additional_parameters(robot.model, settings))
        W = build_regressor_basic(robot, *arrays.states(arrays.starts[0]), settings)
        dropped, kept = get_index_eliminate(W, standard, tol_e=TOL_E)
        base = tuple(kept.index(their_name(name)) for name in arrays.columns)

        def condition(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
            W = build_regressor_basic(robot, q, v, a, settings)
            return float(
                np.linalg.cond(build_baseRegressor(build_regressor_reduced(W, dropped), base))
            )

        at_start = condition(*arrays.states(arrays.starts[0]))
        found = descend(condition, arrays, float(seconds), logarithm=True)
    answer = {
        "trace": found.trace,
        "starts": found.starts,
        "evaluations": found.evaluations,
        "x": found.x.tolist(),
        "at_start": at_start,
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
