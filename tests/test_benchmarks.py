"""Benchmarks can be run by the name that they state."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def test_every_benchmark_is_found():
    """No file of the same name on the path hides one."""
    stated = {
        match[1]
        for path in FOLDER.glob("*.py")
        if (match := re.search(r'^NAME = "([^"]+)"', path.read_text("utf-8"), re.M))
    }
    command = [sys.executable, str(FOLDER / "run.py"), "--list", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    names = {one["name"] for one in found} if isinstance(found, list) else set(found)
    assert names == stated
