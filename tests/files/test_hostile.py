"""Hostile files are refused by name, in one line, before they take time or memory.

The corpus of ``tests/files/hostile`` runs in one process of its own, see `hostile.run`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hostile.run import all_cases

import steelyard

CASES = {case.name: case for case in all_cases()}
RUNNER = Path(__file__).parent / "hostile" / "run.py"
PROCESSOR_S = 8.0
"""Measured refusals take less than two; machines differ, and this one does other things."""
MEMORY_MB = 500.0
LONGEST = 2_000
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and /proc")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of every case, by its name."""
    package = str(Path(steelyard.__file__).parents[1])
    environment = {
        **os.environ,
        "PYTHONPATH": package,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    found = subprocess.run(
        [sys.executable, str(RUNNER), str(tmp_path_factory.mktemp("hostile"))],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return {outcome["name"]: outcome for outcome in map(json.loads, found.stdout.splitlines())}


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file_is_refused_in_one_line(outcomes, name):
    """With the exit code and the cause that the case states, and nothing besides."""
    case, found = CASES[name], outcomes[name]
    lines = found["stderr"].splitlines()
    assert found["code"] in case.codes, found
    if found["code"] != 2:
        assert lines == []
        return
    assert len(lines) == 1, found["stderr"]
    assert lines[0].startswith("steelyard: error: ")
    assert lines[0].isprintable()
    assert len(lines[0]) <= LONGEST
    assert not any(words in lines[0] for words in ("internal error", "enough memory", "Traceback"))
    assert any(words in lines[0] for words in case.words), lines[0]


def test_no_hostile_file_takes_much_memory_or_time(outcomes):
    """Below 500 MB, and a few seconds of the processor even on a busy machine."""
    assert set(outcomes) == set(CASES)
    large = {n: one["memory_mb"] for n, one in outcomes.items() if one["memory_mb"] > MEMORY_MB}
    slow = {
        n: one["processor_s"] for n, one in outcomes.items() if one["processor_s"] > PROCESSOR_S
    }
    assert large == {}
    assert slow == {}
