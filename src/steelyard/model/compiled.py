"""Where the compiled loops are cached on disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path


def cache_folder() -> Path | None:
    """Where Numba will cache compiled loops: the first of its folders that can be written."""
    for folder in _cache_folders():
        existing = folder
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        if existing.is_dir() and os.access(existing, os.W_OK):
            return folder
    return None


def compiled_before() -> bool:
    """Whether compiled loops for this Python are in one of Numba's cache folders."""
    index = f"_loops.*py{sys.version_info.major}{sys.version_info.minor}*.nbi"
    return any(
        next(folder.glob(pattern), None) is not None
        for folder in _cache_folders()
        for pattern in (index, f"*/{index}")
    )


def _cache_folders() -> Iterator[Path]:
    stated = os.environ.get("NUMBA_CACHE_DIR")
    if stated:
        yield Path(stated)
        return
    yield Path(__file__).resolve().parent / "__pycache__"
    try:
        home = Path.home()
    except RuntimeError:  # no home directory
        return
    yield Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "numba"
