"""FIGAROH's own environment, created once: it needs other package versions than Steelyard.

``python benchmarks/figaroh_env.py`` makes it (under benchmarks/.cache, about 1 GB) and
prints the path of its interpreter.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from contender import HERE, PeerAbsentError, run_contender, say

REQUIREMENT = "figaroh==1.0.2"


def figaroh_python() -> Path:
    """Interpreter of the environment, which is created if it does not exist."""
    folder = HERE / ".cache" / REQUIREMENT.replace("==", "-")
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = folder / ".complete"
    if done.exists():
        return python
    # an incomplete environment of an interrupted run would fail later and less clearly
    shutil.rmtree(folder, ignore_errors=True)
    say(f"making an environment with {REQUIREMENT} in {folder.relative_to(HERE.parent)} ...")
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", REQUIREMENT],
        [str(python), "-W", "ignore", "-c", "import figaroh"],
    ):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            why = ran.stderr.strip().splitlines()[-1:] or [f"exit code {ran.returncode}"]
            raise PeerAbsentError(f"{REQUIREMENT} cannot be installed here: {why[0]}")
    done.touch()
    return python


def run_in_figaroh(script: str, *arguments: object) -> dict[str, Any]:
    """Run a contender's script in FIGAROH's environment, on one thread."""
    return run_contender(script, *arguments, threads=1, python=figaroh_python())


if __name__ == "__main__":
    try:
        print(figaroh_python())
    except PeerAbsentError as absent:
        sys.exit(str(absent))
