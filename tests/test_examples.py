"""Every example runs as it stands, and prints what its text promises."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from project import EXAMPLES

# findings about the logs are part of an example; other warnings are errors
RUN = """\
import runpy, sys, warnings
from steelyard import SteelyardWarning
warnings.simplefilter("default", SteelyardWarning)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
SCRIPTS = sorted(EXAMPLES.glob("[0-9][0-9]_*.py"))
PROMISED = {
    "01_base_parameters": "69 of 98 parameters",
    "02_torque_and_mass_matrix": "regressor: (1000, 7, 98)",
    "03_identify": "held-out relative error",
    "04_coupled_wrist": "60 of 86",
    "05_prior_and_terms": "the data do not need drive inertia and viscous friction",
    "06_constraints_and_proof": "verified in integer arithmetic: True",
    "07_five_lines": "wrote identified.urdf",
    "08_design_a_motion": "the friction of the elbow would be recovered: True",
    "09_payload_stream": "picked up 0.50 kg",
    "10_floating_base": "base wrench: 38 of 54 combinations",
    "11_many_links": "proven to be within 0.1 % of the optimum: True",
}


def test_every_example_is_covered():
    """A new example says here what it promises."""
    assert [path.stem for path in SCRIPTS] == sorted(PROMISED)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    """In a fresh process, in an empty folder, with other libraries' warnings as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ.copy(),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert PROMISED[path.stem] in done.stdout
