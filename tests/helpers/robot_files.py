"""Where the real robots of example-robot-data, and the recorded logs, are."""

from __future__ import annotations

import os
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from project import BESIDE

NO_DATA = "no data set"
"""How the reason of a skipped test starts that needs recorded logs which are not there."""


def example_urdfs() -> list[Path]:
    """Every URDF of example-robot-data, or a skip where it is not installed."""
    try:
        package = distribution("example-robot-data")
    except PackageNotFoundError:
        pytest.skip("example-robot-data is not installed")
    files = [Path(str(package.locate_file(file))) for file in package.files or ()]
    return sorted(path for path in files if path.suffix == ".urdf")


def readable_urdfs() -> list[Path]:
    """The files of example-robot-data that have links (one has none)."""
    return [path for path in example_urdfs() if b"<link" in path.read_bytes()]


def dataset_folder(name: str) -> Path:
    """Where a recorded data set should be."""
    beside = BESIDE / "datasets"
    return Path(os.environ.get("STEELYARD_DATASETS", beside)) / name


def has_dataset(name: str) -> bool:
    """Whether a recorded data set is at hand."""
    return dataset_folder(name).is_dir()


def dataset(name: str) -> Path:
    """Folder of a recorded data set, or a skip where it is not at hand."""
    if not has_dataset(name):
        pytest.skip(f"{NO_DATA} '{name}': set STEELYARD_DATASETS to the folder that holds it")
    return dataset_folder(name)
