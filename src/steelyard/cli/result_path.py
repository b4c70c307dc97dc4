"""Where the result is that a user names: a result file, or the folder that it is in."""

from __future__ import annotations

from pathlib import Path

from steelyard.errors import ResultError, shown_path

RESULT = "result.json"


def result_path(given: str) -> Path:
    """The result file that a folder or path stands for."""
    path = Path(given)
    if not path.is_dir():
        return path
    if not (path / RESULT).exists():
        raise ResultError(
            f"{shown_path(given)} has no {RESULT}; give a folder that identify -o wrote"
        )
    return path / RESULT
