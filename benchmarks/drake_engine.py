"""Drake in an environment of its own: it is large, and no dependency of Steelyard or its tests.

``python benchmarks/drake_engine.py`` makes the environment (under benchmarks/.cache, about 1 GB)
and prints the path of its interpreter. The variable STEELYARD_DRAKE_PYTHON names another one.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from contender import PeerAbsentError, run_contender
from engines import Array, Export, free_states, without_shapes
from peer_env import peer_python

REQUIREMENT = "drake==1.51.1"
VARIABLE = "STEELYARD_DRAKE_PYTHON"
FORMS = ("urdf", "sdf", "mjcf")


def drake_python() -> Path:
    """Interpreter of the environment, which is created if it does not exist."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else peer_python(REQUIREMENT, "import pydrake.multibody.plant")


def drake_torques(exports: Sequence[Export]) -> list[Array | str]:
    """Torques (n, nv) of each export without drive inertia, or why Drake refused it."""
    python = drake_python()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for k, export in enumerate(exports):
            states = free_states(export)
            text = without_shapes(export.text) if export.form == "urdf" else export.text
            np.savez(
                folder / f"case_{k:04d}.npz",
                text=text,
                form=export.form,
                floating=export.robot.floating_base,
                root=export.robot.root,
                gravity=export.robot.gravity,
                names=list(states.names),
                q=states.q,
                v=states.v,
                a=states.a,
                position=states.position,
                rotation=states.rotation,
                base_v=states.base_v,
                base_a=states.base_a,
            )
        answer = run_contender("export_drake.py", folder, python=python, library="pydrake")
        found: list[Array | str] = []
        for k, export in enumerate(exports):
            refused = answer["refused"].get(f"case_{k:04d}")
            if refused is not None:
                found.append(refused)
                continue
            with np.load(folder / f"answer_case_{k:04d}.npz") as saved:
                found.append(free_states(export).combined(saved["base"], saved["joints"]))
        return found


if __name__ == "__main__":
    try:
        print(drake_python())
    except PeerAbsentError as absent:
        sys.exit(str(absent))
