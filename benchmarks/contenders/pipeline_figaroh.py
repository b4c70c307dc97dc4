"""FIGAROH's own pipeline on the demo, in its own environment: from CSV to base parameters.

The table is read by pandas; positions are filtered and differentiated by FIGAROH's signal tools,
then regressor, double QR and its standard deviations. No constraints, no left-out data, no
intervals of standard parameters, no report. Prints {"seconds": [...]}. Usage: FOLDER REPEATS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from figaroh.identification.parameter import (
    add_standard_additional_parameters,
    get_standard_parameters,
)
from figaroh.tools.qrdecomposition import QRDecomposer
from figaroh.tools.regressor import (
    build_regressor_basic,
    build_regressor_reduced,
    get_index_eliminate,
)
from figaroh.tools.robot import Robot
from scipy.signal import butter, filtfilt


def main(folder: Path, repeats: int) -> None:
    """Time everything from the file names on."""
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        robot = Robot(str(folder / "arm.urdf"), package_dirs=str(folder))
        n = robot.model.nv
        zeros = [0.0] * n
        settings = {
            "has_friction": True,
            "has_actuator_inertia": True,
            "has_joint_offset": True,
            "is_joint_torques": True,
            "act_idxv": list(range(n)),
            "fv": zeros,
            "fs": zeros,
            "Ia": zeros,
            "off": zeros,
        }
        standard = get_standard_parameters(robot.model, settings)
        standard.update(add_standard_additional_parameters(robot.model, settings))
        header = (folder / "log.csv").open(encoding="utf-8").readline().strip().split(",")
        table = np.loadtxt(folder / "log.csv", delimiter=",", skiprows=1)
        time = table[:, 0]
        joints = [str(name) for name in robot.model.names[1:]]
        q, tau = (
            np.column_stack([table[:, _column(header, joint, kind)] for joint in joints])
            for kind in ("position", "torque")
        )
        b, a = butter(5, 0.1)
        q, tau = filtfilt(b, a, q, axis=0), filtfilt(b, a, tau, axis=0)
        v = np.gradient(q, time, axis=0)
        acceleration = np.gradient(v, time, axis=0)
        W = build_regressor_basic(robot, q, v, acceleration, settings)
        dropped, kept = get_index_eliminate(W, standard, tol_e=1e-6)
        W = build_regressor_reduced(W, dropped)
        QRDecomposer(tolerance=1e-6).double_decomposition(tau.T.ravel(), W, kept, standard)
        seconds.append(perf_counter() - start)
    json.dump({"seconds": seconds}, sys.stdout)


def _column(header: list[str], joint: str, kind: str) -> int:
    return next(k for k, name in enumerate(header) if name.startswith(f"{joint}.{kind}"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
