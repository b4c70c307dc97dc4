"""Environments of peers that need other packages than Steelyard; each is created once.

They are under benchmarks/.cache, one folder per requirement.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from contender import HERE, PeerAbsentError, say


def peer_python(requirement: str, check: str) -> Path:
    """Interpreter of the environment with ``requirement``, created if it does not exist.

    requirement : for pip, such as ``figaroh==1.0.2``. check : a statement that runs if the peer
        is installed.
    """
    folder = HERE / ".cache" / requirement.replace("==", "-")
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    done = folder / ".complete"
    if done.exists():
        return python
    # an incomplete environment of an interrupted run would fail later and less clearly
    shutil.rmtree(folder, ignore_errors=True)
    say(f"making an environment with {requirement} in {folder.relative_to(HERE.parent)} ...")
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", requirement],
        [str(python), "-W", "ignore", "-c", check],
    ):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            why = ran.stderr.strip().splitlines()[-1:] or [f"exit code {ran.returncode}"]
            raise PeerAbsentError(f"{requirement} cannot be installed here: {why[0]}")
    done.touch()
    return python
