"""Robots with known parameters, written in every format: what `export` compares engines on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from engines import Export, export_at
from numpy.typing import NDArray

from steelyard.export.identified_robot import IdentifiedRobot, identified_robot
from steelyard.export.identified_urdf import identified_urdf
from steelyard.export.mjcf_text import mjcf_text
from steelyard.export.sdf import sdf_text
from steelyard.export.urdf_text import urdf_text
from steelyard.model.attached_links import attached_links
from steelyard.model.model import Model
from steelyard.robot.robot import Robot
from steelyard.testing.random_robots import random_body, random_robot

Array = NDArray[np.float64]
TEXTS = {"urdf": urdf_text, "mjcf": mjcf_text, "sdf": sdf_text}
ATTACHED = (
    "a1", "alex_nub_hands", "allegro_left_hand", "baxter", "finger_edu", "g1_29dof_rev_1_0",
    "icub", "kinova", "panda", "so101", "solo12", "tiago_pro", "z1",
)  # fmt: skip
"""URDFs of example-robot-data with inertials behind fixed joints."""
REAL = (
    *ATTACHED,
    "TwoDofs", "double_pendulum_continuous", "human", "simple_humanoid", "ur10_robot",
    "ur5_gripper", "xarm7",
)  # fmt: skip


def true_parameters(model: Model, rng: np.random.Generator) -> Array:
    """theta (n_columns,) of a robot like that of the file, but with other bodies, and with terms.

    What links behind fixed joints do not keep is scaled, and gets a body of its own in addition.
    """
    theta = model.prior_theta()
    known = {one.body: one.known for one in attached_links(model)}
    for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True):
        part = slice(first, first + 10)
        kept = known.get(body.name, np.zeros(10))
        rest = theta[part] - kept
        rest = rng.uniform(0.7, 1.4) * rest if rest[0] > 0.0 else np.zeros(10)
        size = max(0.05, 0.3 * float(theta[first]))
        theta[part] = kept + rest + random_body(rng, (0.5 * size, size), 0.1)
    for k, column in enumerate(model.columns):
        if column.term_kind is not None:
            theta[k] = rng.uniform(0.05, 0.5)
    return theta


def random_exports(count: int, seed: int = 0) -> Iterator[Export]:
    """``count`` random trees with prismatic, fixed and mimic joints, in each of three formats."""
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        robot = random_robot(
            rng,
            int(rng.integers(2, 8)),
            fixed=0.4,
            mimic=0.2,
            floating_base=k % 5 == 4,
            name=f"random_{k}",
        )
        model = Model(robot)
        found = identified_robot(model, true_parameters(model, rng))
        for form, text in TEXTS.items():
            yield export_at(f"random_{k}", form, text(found), found, rng)


def example_urdf(stem: str) -> Path:
    """A URDF of example-robot-data by its name without the ending."""
    package = distribution("example-robot-data")
    file = next(file for file in package.files or () if Path(str(file)).name == f"{stem}.urdf")
    return Path(str(package.locate_file(file)))


def real_exports(stems: Sequence[str] = REAL) -> Iterator[Export]:
    """Robots of example-robot-data with other parameters: their own URDF with these written into
    it, and new URDF, MJCF and SDF texts.
    """
    for k, stem in enumerate(stems):
        path = example_urdf(stem)
        rng = np.random.default_rng(k)
        model = Model(Robot.from_urdf(path))
        if stem in ATTACHED and not attached_links(model):
            raise RuntimeError(f"{stem} has no links behind fixed joints any more")
        found = identified_robot(model, true_parameters(model, rng))
        texts = {"file": rewritten(path, found)} | {
            form: text(found) for form, text in TEXTS.items()
        }
        for form, text in texts.items():
            kind = "urdf" if form == "file" else form
            yield export_at(f"{stem}, {form}", kind, text, found, rng)


def rewritten(path: Path, found: IdentifiedRobot) -> str:
    """The robot's own URDF with its parameters."""
    return identified_urdf(found, path).data.decode()
