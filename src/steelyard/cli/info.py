"""Show versions, missing optional packages, the folder of compiled code, and threads."""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from steelyard.cli.output import Output
from steelyard.model.compiled import cache_folder

NAME = "info"
HELP = "show versions, and test the installation"

NEEDED = ("numpy", "scipy", "numba", "clarabel", "threadpoolctl", "rich", "matplotlib", "jinja2")
OPTIONAL = {"mujoco": "reads MJCF files", "pin": "checks collisions of designed motions"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "--self-test",
        action="store_true",
        help="compile, and compare torque and regressor of a random arm",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print; exit code 2 if a required package is missing, 1 if the self-test fails."""
    from steelyard._version import __version__
    from steelyard.estimators.parallel.threads import available_threads

    output = Output(arguments.json)
    needed = {name: _version(name) for name in NEEDED}
    optional = {name: _version(name) for name in OPTIONAL}
    cache = cache_folder()
    document: dict[str, Any] = {
        "steelyard": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "needed": needed,
        "optional": optional,
        "cache_folder": None if cache is None else str(cache),
        "threads": available_threads(),
    }
    if arguments.self_test:
        document["self_test"] = self_test()
    rows = [("steelyard", __version__, ""), ("python", document["python"], document["platform"])]
    rows += [(name, found or "absent", "" if found else "needed") for name, found in needed.items()]
    rows += [(name, found or "absent", OPTIONAL[name]) for name, found in optional.items()]
    output.table(("what", "version", ""), rows, left=("what", "version", ""))
    kept = "no folder: each process compiles again" if cache is None else str(cache)
    output.line(f"compiled code is kept in {kept}")
    output.line(f"threads: {document['threads']}")
    if arguments.self_test:
        outcome = document["self_test"]
        output.line(
            f"self-test: {'passed' if outcome['passed'] else 'FAILED'}, largest difference "
            f"{outcome['difference']:.2g} N m, {outcome['seconds']:.1f} s"
        )
    output.document(document)
    if None in needed.values():
        return 2
    return 0 if not arguments.self_test or document["self_test"]["passed"] else 1


def self_test() -> dict[str, Any]:
    """Compare the two compiled kernels on one random arm: tau against W theta."""
    from time import perf_counter

    import numpy as np

    from steelyard.model.kernels import torque, torque_regressor
    from steelyard.model.model import Model
    from steelyard.testing.random_robots import random_robot

    start = perf_counter()
    rng = np.random.default_rng(0)
    model = Model(random_robot(rng, 3))
    theta = model.prior_theta()
    states = rng.normal(size=(3, 5, model.nv))
    tau = torque(model, theta, *states)
    difference = float(np.abs(torque_regressor(model, *states) @ theta - tau).max())
    passed = difference <= 1e-9 * (1.0 + float(np.abs(tau).max()))
    return {"passed": passed, "difference": difference, "seconds": perf_counter() - start}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
