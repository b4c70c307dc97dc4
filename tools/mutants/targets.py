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
    "verify": (
        "certificates/verify.py",
        "certificates/document.py",
        "certificates/bound.py",
        "certificates/comparison.py",
        "certificates/result_binding.py",
        "certificates/robot_binding.py",
        "certificates/file_binding.py",
    ),
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
    "tests/robot/test_inertia.py",
    "tests/robot/test_conventions.py",
    "tests/robot/test_nearest_body.py",
    "tests/model/test_base_map.py",
    "tests/model/test_linkwise_base.py",
    "tests/model/test_kernels.py",
    "tests/knowledge/test_constraints.py",
    "tests/knowledge/test_prior.py",
    "tests/knowledge/test_attached_rest.py",
    "tests/knowledge/test_conflicts.py",
    "tests/regression",
    "tests/conic/test_settle.py",
    "tests/conic/test_integers.py",
    "tests/certificates",
    "tests/estimators/test_least_squares.py",
    "tests/estimators/test_feasible.py",
    "tests/estimators/test_entropic.py",
    "tests/estimators/test_prior_fit.py",
    "tests/estimators/test_prior_influence.py",
    "tests/estimators/test_prior_weight.py",
    "tests/estimators/test_intervals.py",
    "tests/estimators/test_essential.py",
    "tests/estimators/test_cad.py",
    "tests/estimators/test_bodies.py",
    "tests/estimators/test_credible.py",
    "tests/estimators/test_drawn_fits.py",
    "tests/estimators/test_quantiles.py",
    "tests/estimators/test_range_ends.py",
    "tests/estimators/test_measurements.py",
    "tests/identification/test_many_joints.py",
    "tests/identification/test_identify.py",
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
