"""Drake's inverse dynamics of robot texts: reads and writes the NPZ files of `drake_engine`.

It knows nothing of Steelyard: the texts, the names of their joints and the states are given.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import MultibodyForces


class Said(logging.Handler):
    """Keeps what Drake logs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.words: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.words.append(record.getMessage())


def inverse_dynamics(case: Any, form: str, floating: bool, root: str) -> tuple[np.ndarray, ...]:
    """Base wrenches (n, 6) or (n, 0) in the base frame, and torques of the named joints (n, k)."""
    plant = MultibodyPlant(0.0)
    parser = Parser(plant)
    parser.AddModelsFromString(str(case["text"]), {"mjcf": "xml"}.get(form, form))
    if form == "urdf" and not floating and root != "world":
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(root))
    plant.mutable_gravity_field().set_gravity_vector(case["gravity"])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joints = [plant.GetJointByName(str(name)) for name in case["names"]]
    q_at = np.array([joint.position_start() for joint in joints], dtype=int)
    v_at = np.array([joint.velocity_start() for joint in joints], dtype=int)
    body = plant.GetBodyByName(root) if floating else None
    nothing = MultibodyForces(plant)
    wrenches, torques = [], []
    for s in range(len(case["q"])):
        R = case["rotation"][s]
        v, a = np.zeros(plant.num_velocities()), np.zeros(plant.num_velocities())
        q = plant.GetPositions(context)
        q[q_at], v[v_at], a[v_at] = case["q"][s], case["v"][s], case["a"][s]
        plant.SetPositions(context, q)
        if body is not None:
            first = body.floating_velocities_start_in_v()
            speed, turn = case["base_v"][s, :3], case["base_v"][s, 3:]
            pose = RigidTransform(RotationMatrix(R), case["position"][s])
            plant.SetFloatingBaseBodyPoseInWorldFrame(context, body, pose)
            v[first : first + 6] = np.concatenate([R @ turn, R @ speed])
            a[first : first + 3] = R @ case["base_a"][s, 3:]
            a[first + 3 : first + 6] = R @ (case["base_a"][s, :3] + np.cross(turn, speed))
        plant.SetVelocities(context, v)
        tau = plant.CalcInverseDynamics(context, a, nothing)
        tau = tau - plant.CalcGravityGeneralizedForces(context)
        torques.append(tau[v_at])
        if body is not None:
            moment, force = tau[first : first + 3], tau[first + 3 : first + 6]
            wrenches.append(np.concatenate([R.T @ force, R.T @ moment]))
    return np.array(wrenches).reshape(len(torques), -1), np.array(torques)


def main() -> None:
    """Compute every case of a folder; print what was refused, and why."""
    folder = Path(sys.argv[1])
    said = Said()
    logger = logging.getLogger("drake")
    logger.addHandler(said)
    logger.propagate = False
    refused: dict[str, str] = {}
    for path in sorted(folder.glob("case_*.npz")):
        case = np.load(path)
        said.words.clear()
        try:
            base, joints = inverse_dynamics(
                case, str(case["form"]), bool(case["floating"]), str(case["root"])
            )
        except RuntimeError as error:
            refused[path.stem] = str(error)
            continue
        about_inertia = [words for words in said.words if "inertia" in words.lower()]
        if about_inertia:
            refused[path.stem] = about_inertia[0]
            continue
        np.savez(folder / f"answer_{path.stem}.npz", base=base, joints=joints)
    print(json.dumps({"refused": refused}))


if __name__ == "__main__":
    main()
