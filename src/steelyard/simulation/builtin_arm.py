"""A simulated arm that comes with the package, and its true parameters.

`builtin_arm` is what a user would have: a URDF with nominal (CAD) inertials and no friction.
`builtin_truth` are the parameters of the arm that a user would measure: links that differ a
little from the URDF, drives, friction and offsets.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.simulation.likely_truth import deform_bodies

Array = NDArray[np.float64]

# drive inertia (kg m²), viscous (N m s/rad), Coulomb (N m), offset (N m)
JOINTS = {
    "shoulder_yaw": {"Ia": 0.90, "fv": 6.0, "fc": 7.0, "fo": 0.40},
    "shoulder_pitch": {"Ia": 0.95, "fv": 6.5, "fc": 8.0, "fo": -0.60},
    "upper_arm_roll": {"Ia": 0.45, "fv": 3.4, "fc": 4.2, "fo": 0.25},
    "elbow_pitch": {"Ia": 0.48, "fv": 3.7, "fc": 4.6, "fo": -0.30},
    "forearm_roll": {"Ia": 0.16, "fv": 1.4, "fc": 1.8, "fo": 0.12},
    "wrist_pitch": {"Ia": 0.12, "fv": 1.1, "fc": 1.5, "fo": -0.10},
    "wrist_roll": {"Ia": 0.10, "fv": 0.9, "fc": 1.2, "fo": 0.06},
}


def arm_urdf() -> str:
    """The text of the built-in arm's URDF."""
    return (files("steelyard") / "simulation" / "arm7.urdf").read_text(encoding="utf-8")


def builtin_arm() -> Robot:
    """The built-in arm, "steelyard_arm": seven joints, a flange and a tool."""
    with as_file(files("steelyard") / "simulation" / "arm7.urdf") as path:
        # results must not depend on the folder in which the package is installed
        return replace(Robot.from_urdf(path), source=None)


def builtin_truth(model: Model, *, seed: int = 0) -> Array:
    """True parameters theta (n_columns,) of the built-in arm, which differ from its URDF.

    Bodies are deformed by `steelyard.simulation.likely_truth.deform_bodies`. Drives, friction and
    offsets are those of ``JOINTS``, if the model has such terms.
    """
    foreign = [joint for joint in model.channels if joint not in JOINTS]
    if foreign:
        raise ModelError(
            f"the built-in arm has no joints {', '.join(foreign)}; its joints are "
            f"{', '.join(JOINTS)}"
        )
    rng = np.random.default_rng(seed)
    theta = model.prior_theta()
    deform_bodies(model, theta, rng)
    for i, column in enumerate(model.columns):
        if column.kind != "rigid_body":
            theta[i] = JOINTS.get(column.owner, {}).get(column.symbol, 0.0)
    return theta
