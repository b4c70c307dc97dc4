"""FIGAROH's own environment, created once: it needs other package versions than Steelyard.

``python benchmarks/figaroh_env.py`` makes it (under benchmarks/.cache, about 1 GB) and
prints the path of its interpreter.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from contender import PeerAbsentError, run_contender
from peer_env import peer_python

REQUIREMENT = "figaroh==1.0.2"


def figaroh_python() -> Path:
    """Interpreter of the environment, which is created if it does not exist."""
    return peer_python(REQUIREMENT, "import figaroh")


def run_in_figaroh(script: str, *arguments: object) -> dict[str, Any]:
    """Run a contender's script in FIGAROH's environment, on one thread."""
    return run_contender(script, *arguments, threads=1, python=figaroh_python())


if __name__ == "__main__":
    try:
        print(figaroh_python())
    except PeerAbsentError as absent:
        sys.exit(str(absent))
