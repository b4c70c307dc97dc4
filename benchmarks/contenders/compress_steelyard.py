"""Contender: Steelyard's `compress` (timed) and `compress_stream` (for its memory).

``time THREADS REPEATS`` prints ``{"seconds": [...], "base_map_s": ..., "n_parameters": ...,
"rank": ..., "residual": ...}``, the residual being the norm of the least-squares residual.
Compilation, the reading of the file and the base map, which depends on the model alone, are
done before the clock starts. ``memory N_SAMPLES`` prints ``{"peak_mb": ..., "start_mb":
...}`` of a process that compresses that many samples, generated one chunk at a time;
``start_mb`` is the peak after the first chunks. ``rows N_SAMPLES`` prints ``{"residual": ...,
"residual_of_rows": ...}``: from the factors, and from all rows by NumPy's least squares.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import wam

from steelyard import Robot
from steelyard.model.base_map import base_map
from steelyard.model.kernels import torque_regressor
from steelyard.model.model import Model
from steelyard.model.terms import default_terms
from steelyard.regression.compress import compress, compress_stream
from steelyard.signals.motion import Measurements, Motion

WARM_UP_SAMPLES = 3 * 4096


def arm_model() -> Model:
    """The arm with rigid bodies, drive inertia, viscous, Coulomb and offset terms."""
    with tempfile.TemporaryDirectory() as folder:
        robot = Robot.from_urdf(wam.write_urdf(Path(folder)))
    return Model(robot, default_terms(robot))


def as_motion(model: Model, part: wam.Samples) -> tuple[Motion, Measurements]:
    """The samples as `Motion` and `Measurements`."""
    motion = Motion(part.time, part.q, part.v, part.a)
    return motion, Measurements(model.channels, part.tau)


def chunks(model: Model, n_samples: int) -> Iterator[tuple[Motion, Measurements]]:
    """The motion in chunks that exist one at a time."""
    for part in wam.stream(n_samples):
        yield as_motion(model, part)


def measure_time(threads: int, repeats: int) -> dict[str, object]:
    """Seconds of `compress` on the whole recording, warm."""
    base_map(arm_model())  # compiles
    model = arm_model()
    started = perf_counter()
    basis = base_map(model)
    base_map_s = perf_counter() - started
    motion, measurements = as_motion(model, wam.recording())
    warm_up = slice(0, WARM_UP_SAMPLES)
    compress(model, motion[warm_up], measurements[warm_up], base=basis, threads=threads)
    seconds, residual = [], 0.0
    for _ in range(repeats):
        started = perf_counter()
        regression = compress(model, motion, measurements, base=basis, threads=threads)
        seconds.append(perf_counter() - started)
        residual = abs(float(regression.system()[-1, -1]))
    return {
        "seconds": seconds,
        "base_map_s": base_map_s,
        "n_parameters": len(model.columns),
        "rank": basis.rank,
        "residual": residual,
    }


def measure_memory(n_samples: int) -> dict[str, object]:
    """Peak memory of `compress_stream` over ``n_samples``."""
    model = arm_model()
    compress_stream(model, chunks(model, WARM_UP_SAMPLES), threads=1)
    start_mb = peak_memory_mb()
    compress_stream(model, chunks(model, n_samples), threads=1)
    return {"peak_mb": peak_memory_mb(), "start_mb": start_mb}


def measure_rows(n_samples: int) -> dict[str, object]:
    """Norm of the least-squares residual from the factors, and from all rows of the regressor."""
    model = arm_model()
    basis = base_map(model)
    motion, measurements = as_motion(model, wam.recording(n_samples))
    regression = compress(model, motion, measurements, base=basis, threads=1)
    W = torque_regressor(model, motion.q, motion.v, motion.a)[..., list(basis.independent)]
    W, tau = W.reshape(-1, basis.rank), measurements.tau.reshape(-1)
    away = tau - W @ np.linalg.lstsq(W, tau, rcond=None)[0]
    return {
        "residual": abs(float(regression.system()[-1, -1])),
        "residual_of_rows": float(np.linalg.norm(away)),
    }


def peak_memory_mb() -> float:
    """Largest resident memory this process has had so far, in MB.

    On Linux ``ru_maxrss`` of a child includes the parent's peak, so the kernel's own peak of
    this process is used where available.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def main(mode: str, *arguments: str) -> None:
    """Run one of the measurements and print its JSON."""
    measure = {"time": measure_time, "memory": measure_memory, "rows": measure_rows}[mode]
    json.dump(measure(*map(int, arguments)), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
