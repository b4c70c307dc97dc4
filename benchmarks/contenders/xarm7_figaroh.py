"""Contender: `BaseIdentification` of FIGAROH 1.0.2, in FIGAROH's own environment.

Its usual way: median and Butterworth filter on positions, gradients, its full regressor with
friction, drive inertia and offsets, decimation by ten, the ends masked, base parameters by QR, and
weighted least squares if asked for. Its own defaults, except for the sample rate and the cutoff.
The torque is that of its base regressor along the held-out motion.
Usage: FILE.urdf LOG.csv MOTION.npz TORQUE.npy CUTOFF_HZ ols|wls
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from figaroh.data.trajectory import TrajectoryData
from figaroh.identification.base_identification import BaseIdentification
from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced
from figaroh.tools.robot import Robot
from xarm7_robot import JOINTS, N_JOINTS

ENDS_S = 1.0
"""Left out at either end, where its filter is not settled."""


class Arm(BaseIdentification):
    """The user's class that FIGAROH asks for: its settings and its log."""

    def __init__(self, robot: Robot, log: str, cutoff_hz: float) -> None:
        table = np.genfromtxt(log, delimiter=",", names=True, deletechars="")
        names = table.dtype.names
        time = table[names[0]]
        self.measured = TrajectoryData(
            t=time,
            joint_names=JOINTS,
            q=np.stack([table[x] for x in names if ".position" in x], axis=1),
            effort=np.stack([table[x] for x in names if ".torque" in x], axis=1),
            effort_kind="joint_torque",
            effort_unit="N m",
            mask=(time > time[0] + ENDS_S) & (time < time[-1] - ENDS_S),
        )
        self.cutoff_hz = cutoff_hz
        super().__init__(robot, "")

    def load_param(self, config_file: str, setting_type: str = "identification") -> None:
        """Settings, instead of a file of them."""
        zeros = [0.0] * N_JOINTS
        rate = 1.0 / np.median(np.diff(self.measured.t))
        self.identif_config = {
            "active_joints": list(JOINTS),
            "act_idxq": list(range(N_JOINTS)),
            "act_idxv": list(range(N_JOINTS)),
            "has_friction": True,
            "has_actuator_inertia": True,
            "has_joint_offset": True,
            "is_joint_torques": True,
            "fv": zeros,
            "fs": zeros,
            "Ia": zeros,
            "off": zeros,
            "filter_config": {
                "differentiation_method": "gradient",
                "filter_params": {
                    "nbutter": 4,
                    "f_butter": self.cutoff_hz,
                    "med_fil": 5,
                    "f_sample": rate,
                },
            },
        }

    def load_trajectory_data(self, data_source: str | None = None) -> TrajectoryData:
        """The log."""
        return self.measured


def main(urdf: str, log: str, motion: str, out: str, cutoff_hz: str, method: str) -> None:
    """Identify and predict."""
    robot = Robot(urdf, package_dirs=str(Path(urdf).parent))
    # its report is printed to standard output
    with contextlib.redirect_stdout(sys.stderr):
        started = perf_counter()
        arm = Arm(robot, log, float(cutoff_hz))
        arm.initialize()
        phi = arm.solve(plotting=False, wls=method == "wls")
        seconds = perf_counter() - started
        with np.load(motion) as held_out:
            qva = (held_out[name] for name in ("q", "v", "a"))
            W = build_regressor_basic(robot, *qva, arm.identif_config)
    W = build_regressor_reduced(W, arm._idx_eliminated)[:, arm._base_indices]
    np.save(out, (W @ phi).reshape(N_JOINTS, -1).T)  # joint after joint
    json.dump({"seconds": seconds, "n_base_parameters": len(phi)}, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
