"""Contender: FIGAROH's regressor builder and its double QR, in FIGAROH's own environment.

The calls are those of ``BaseIdentification.calculate_full_regressor`` and ``solve`` in
FIGAROH 1.0.2, with its tolerances. Dropping the zero columns, which FIGAROH does between
the two, is not counted. Prints ``{"seconds": [...], "builder": [...], "qr": [...],
"rank": ..., "residual": ..., "n_parameters": ...}``, the residual being the norm of the
least-squares residual. Usage: REPEATS
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import wam
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


def main(repeats: int) -> None:
    """Time builder and QR ``repeats`` times; FIGAROH compiles nothing, so no warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        robot = Robot(str(wam.write_urdf(Path(folder))), package_dirs=folder)
    zeros = [0.0] * wam.N_JOINTS
    settings = {
        "has_friction": True,
        "has_actuator_inertia": True,
        "has_joint_offset": True,
        "is_joint_torques": True,
        "act_idxv": list(range(wam.N_JOINTS)),
        "fv": zeros,
        "fs": zeros,
        "Ia": zeros,
        "off": zeros,
    }
    standard = get_standard_parameters(robot.model, settings)
    standard.update(add_standard_additional_parameters(robot.model, settings))
    recording = wam.recording()
    tau = recording.tau.T.ravel()  # FIGAROH stacks joint after joint

    builder, qr, rank, residual = [], [], 0, 0.0
    for _ in range(repeats):
        started = perf_counter()
        W = build_regressor_basic(robot, recording.q, recording.v, recording.a, settings)
        builder.append(perf_counter() - started)

        dropped, kept = get_index_eliminate(W, standard, tol_e=1e-6)
        W = build_regressor_reduced(W, dropped)

        started = perf_counter()
        decomposer = QRDecomposer(tolerance=1e-6)
        W_base, _, _, phi, _ = decomposer.double_decomposition(tau, W, kept, standard)
        qr.append(perf_counter() - started)
        rank, residual = len(phi), float(np.linalg.norm(tau - W_base @ phi))
    answer = {
        "seconds": [b + q for b, q in zip(builder, qr, strict=True)],
        "builder": builder,
        "qr": qr,
        "rank": rank,
        "residual": residual,
        "n_parameters": len(standard),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
