"""What is mutated, and which tests are asked."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "steelyard"
BUILD = ROOT / "build" / "mutants"

TARGETS = {
    "inertia": ("robot/inertia.py",),
    "base map": ("model/base_map.py", "model/dependent_columns.py"),
    "conditions": (
        "knowledge/constraint_blocks.py",
        "knowledge/physical_blocks.py",
        "knowledge/_region_blocks.py",
        "knowledge/attached_rest.py",
    ),
    "regression": (
        "regression/compress.py",
        "regression/regression.py",
        "regression/torque_rows.py",
        "regression/row_maker.py",
        "regression/_lapack.py",
        "regression/_staircase.py",
        "estimators/least_squares.py",
    ),
    "certificates": (
        "certificates/base_feasibility.py",
        "certificates/certificate.py",
        "certificates/infeasibility.py",
        "certificates/optimality.py",
        "certificates/writing.py",
        "conic/exact.py",
        "conic/settle.py",
    ),
    "verify": ("certificates/verify.py", "certificates/document.py"),
    "intervals": (
        "estimators/intervals.py",
        "estimators/_ranges.py",
        "estimators/_resampling.py",
        "estimators/cluster.py",
    ),
    "prior's weight": (
        "estimators/prior_weight.py",
        "estimators/prior_influence.py",
        "estimators/prior_fit.py",
        "knowledge/prior.py",
    ),
}
"""Subjects, and the files below src/steelyard that hold them."""

TESTS = (
    "tests/robot",
    "tests/model",
    "tests/knowledge",
    "tests/regression",
    "tests/conic",
    "tests/certificates",
    "tests/estimators",
    "tests/identification/test_identify.py",
    "tests/identification/test_many_joints.py",
    "tests/identification/test_default_coverage.py",
    "tests/identification/test_logs_as_they_are.py",
)
"""Folders and files of tests. Which of them touch a line is found out by running them once."""


def modules() -> dict[str, str]:
    """Subject of every target, by its path below src/steelyard; targets that are gone left out."""
    return {
        path: subject
        for subject, paths in TARGETS.items()
        for path in paths
        if (PACKAGE / path).exists()
    }


def test_files() -> list[str]:
    """The test files, as paths below the project."""
    found = []
    for one in TESTS:
        path = ROOT / one
        files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        found += [file.relative_to(ROOT).as_posix() for file in files if file.exists()]
    return found
