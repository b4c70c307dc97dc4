"""Running a contender: one Python script in one fresh process with limited threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


class PeerAbsentError(Exception):
    """A peer that is not and cannot be installed; its figures are reported as absent."""


def run_contender(
    script: str,
    *arguments: object,
    threads: int = 1,
    python: str | Path = sys.executable,
    library: str | None = None,
) -> dict[str, Any]:
    """Run ``contenders/script`` and return the JSON object that it prints.

    library : module that a peer's script imports; if that import fails, `PeerAbsentError` is
        raised. Any other failure is a defect and is raised as such.
    """
    environment = {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    environment["PYTHONPATH"] = str(HERE)
    # the peer must not import packages of this environment
    environment.pop("VIRTUAL_ENV", None)
    environment.pop("PYTHONHOME", None)
    if Path(python) == Path(sys.executable):
        source = HERE.parent / "src"
        environment["PYTHONPATH"] = os.pathsep.join([str(HERE), str(source)])
    command = [str(python), str(HERE / "contenders" / script), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    if library and f"No module named '{library}'" in done.stderr:
        raise PeerAbsentError(f"{library} is not installed ({last[0]})")
    raise RuntimeError(f"{script} failed:\n{done.stderr}")


def say(message: str) -> None:
    """Print progress on standard error; standard output is for the figures."""
    print(message, file=sys.stderr, flush=True)
