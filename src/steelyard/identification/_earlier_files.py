"""Robot files of an earlier run, in a folder where a run writes none."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

EARLIER = ".earlier"
"""Ending that robot files of an earlier run get where a run writes none."""


def put_aside(folder: Path, names: Collection[str]) -> None:
    """Give files of an earlier run an ending by which nobody takes them for new."""
    for path in (folder / name for name in names):
        if path.is_file():
            path.replace(path.with_name(path.name + EARLIER))
