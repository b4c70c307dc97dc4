"""The package as a whole: what importing it costs, and what its names are."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT

import steelyard

HEAVY = ("numba", "scipy", "coal", "matplotlib", "pinocchio", "mujoco", "jinja2", "rich")
WHOLE_WAY = (
    "read_robot",
    "read_log",
    "prepare",
    "compress",
    "identify",
    "with_validation",
    "with_certificate",
    "ols",
    "wls",
    "prove",
    "verify",
    "read_certificate",
    "write_certificate",
    "validate_logs",
    "validate_result",
    "report_of",
    "write_report",
    "write_outputs",
    "parameters_csv",
    "standard_csv",
    "result_document",
    "read_result",
    "write_result",
    "nearest_urdf",
    "write_nearest_urdf",
    "write_inertials",
    "base_feasibility",
    "correct_base",
    "proven_correction",
    "identify_gains",
    "simulate",
)


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )


def test_every_public_name_resolves_to_what_it_says():
    """Each name exists, and is never a module, whatever was imported before."""
    code = (
        "import json, types, importlib, steelyard\n"
        "for home in sorted(set(steelyard._HOME.values())):\n"
        "    importlib.import_module('steelyard.' + home)\n"
        "kind = lambda n: isinstance(getattr(steelyard, n), types.ModuleType)\n"
        "names = {n: kind(n) for n in steelyard.__all__}\n"
        "print(json.dumps(names))"
    )
    done = run(code)
    assert done.returncode == 0, done.stderr
    assert not any(json.loads(done.stdout).values())
    assert set(dir(steelyard)) == set(steelyard.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'weigh'"):
        _ = steelyard.weigh


def test_type_checkers_see_the_same_names():
    """What is imported for type checkers is the table of lazy names, each from the same module."""
    tree = ast.parse(Path(steelyard.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    assert isinstance(guarded.test, ast.Name)
    assert guarded.test.id == "TYPE_CHECKING"
    imported = [
        (alias.name, alias.asname, node.module) for node in guarded.body for alias in node.names
    ]
    assert sorted(imported) == sorted(
        (name, name, f"steelyard.{home}") for name, home in steelyard._HOME.items()
    )


def test_the_whole_way_can_be_imported():
    """From robot and logs to the files, a user needs nothing but names of the package."""
    assert [name for name in WHOLE_WAY if name not in steelyard.__all__] == []


@pytest.mark.parametrize(
    "code",
    [
        "import steelyard",
        "from steelyard.cli import main; main(['--version'])",
        "import steelyard; steelyard.Robot, steelyard.Model, steelyard.Motion",
    ],
)
def test_importing_loads_nothing_heavy(code):
    """Neither the package nor the command line load a compiler, solver or plotter at start."""
    done = run(
        "import sys\ntry:\n    " + code.replace("; ", "\n    ") + "\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_works_on_a_read_only_install_without_a_home(tmp_path):
    """From URDF to estimate with no place for a compilation cache and no Pinocchio."""
    package = tmp_path / "site" / "steelyard"
    shutil.copytree(
        Path(steelyard.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    code = (
        "import sys\n"
        "sys.modules['pinocchio'] = None\n"
        "sys.modules['mujoco'] = None\n"
        "from steelyard import Model, Sensors, identify, multisine, simulate, Controller\n"
        "import steelyard\n"
        f"assert steelyard.__file__.startswith({str(tmp_path)!r}), steelyard.__file__\n"
        "from steelyard import Robot\n"
        "text = open(sys.argv[1] if len(sys.argv) > 1 else "
        f"{str(package / 'simulation' / 'arm7.urdf')!r}).read()\n"
        "robot = Robot.from_urdf_text(text)\n"
        "model = Model(robot)\n"
        "log = simulate(model, model.prior_theta(), multisine(robot), duration_s=8.0,\n"
        "               rate_hz=200.0, controller=Controller('ideal'),\n"
        "               sensors=Sensors(torque_noise=0.01))\n"
        "quick = {'gamma': 1.0, 'compare_terms': False, 'n_resamples': 20, 'threads': 1}\n"
        "print(identify(robot, [log], **quick).estimate.base.rank)\n"
    )
    for path in [package, *package.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    # root may write anywhere: a cache folder that cannot exist stands for a read-only disk
    done = run(
        code,
        PYTHONPATH=str(tmp_path / "site"),
        PYTHONDONTWRITEBYTECODE="1",
        HOME="/nonexistent",
        XDG_CACHE_HOME="/dev/null/none",
        NUMBA_CACHE_DIR="",
        NUMBA_OPT="0",  # whether it compiles does not depend on how well
    )
    for path in [package, *package.rglob("*")]:
        path.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "69"


def test_the_version_is_the_same_everywhere():
    """CITATION.cff and the newest released section of the changelog have the package's version."""
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [steelyard.__version__]
    sections = re.findall(r"^## \[(.+?)\](?: - \d{4}-\d\d-\d\d)?$", changelog, re.MULTILINE)
    assert sections[:2] == ["Unreleased", steelyard.__version__]
