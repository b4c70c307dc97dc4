"""Contender: a bare loop over Pinocchio's torque regressor; nothing stored, no QR.

Prints ``{"seconds": [...]}``, one number per repeat. Usage: REPEATS
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import pinocchio
import wam


def main(repeats: int) -> None:
    """Time the loop ``repeats`` times after one short warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        model = pinocchio.buildModelFromUrdf(str(wam.write_urdf(Path(folder))))
    data = model.createData()
    recording = wam.recording()
    compute = pinocchio.computeJointTorqueRegressor

    def loop(n_samples: int) -> float:
        rows = zip(
            recording.q[:n_samples],
            recording.v[:n_samples],
            recording.a[:n_samples],
            strict=True,
        )
        started = perf_counter()
        for q, v, a in rows:
            compute(model, data, q, v, a)
        return perf_counter() - started

    loop(1000)
    seconds = [loop(wam.N_SAMPLES) for _ in range(repeats)]
    json.dump({"seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main(int(sys.argv[1]))
