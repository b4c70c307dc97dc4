"""Tests in a forked process, with one module of the package replaced.

The parent has imported what is heavy (NumPy, SciPy, Numba, the oracles) but nothing of Steelyard:
each child imports that anew, with the mutated text in place of the file. No file is changed, so
that any number of children may run at once, beside other work.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from targets import BUILD, PACKAGE, ROOT

HEAVY = (
    "numpy", "scipy.linalg", "scipy.optimize", "scipy.signal", "scipy.stats", "scipy.sparse",
    "numba", "clarabel", "pytest", "cvxpy", "pinocchio", "mujoco", "jsonschema",
)  # fmt: skip
OPTIONS = ("-p", "no:cacheprovider", "-p", "no:xdist")
NO_DATA = "no-recorded-data"
"""Recorded logs are hidden from the tests: mutants must be found without them."""


@dataclass(frozen=True)
class Ended:
    """How a child ended. code : of pytest, or minus the signal that stopped it."""

    code: int
    seconds: float

    @property
    def verdict(self) -> str:
        """survived, killed, or timeout, which counts as killed."""
        if self.code == 0:
            return "survived"
        if self.code in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout"
        # a process that wrong sizes of arrays made crash has noticed, too
        return "killed" if self.code < 0 or self.code in (1, 2, 3) else f"error {self.code}"


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives one module another source text."""

    def __init__(self, path: str, source: str) -> None:
        self.name = "steelyard." + path.removesuffix(".py").replace("/", ".")
        self.file, self.source = PACKAGE / path, source

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's spec, with this loader; None for any other module."""
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.file, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        """Run the text as the module."""
        exec(compile(self.source, str(self.file), "exec"), module.__dict__)


def import_heavy() -> None:
    """Import once what every child needs; what is absent is left out."""
    sys.path.insert(0, str(PACKAGE.parent))
    for name in HEAVY:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                importlib.import_module(name)
            except ImportError:
                continue
    _import_plugins()


def _import_plugins() -> None:
    """Let pytest start once, so that its plugins are imported; forget the package that it loads."""
    import pytest

    here = Path.cwd()
    os.chdir(ROOT)
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        # without the filters: pytest remembers their classes of warnings, and those of the package
        # would not be the ones that a child imports
        options = ("--collect-only", "-q", "-o", "filterwarnings=")
        pytest.main([*options, *OPTIONS, "tests/files/test_csv_cells.py"])
    os.chdir(here)
    for name in list(sys.modules):
        if name.split(".")[0] in ("steelyard", "tests", "conftest"):
            del sys.modules[name]


class Imports:
    """A pytest plugin that notices test files which cannot be imported with the mutant."""

    failed = False

    def pytest_collectreport(self, report: Any) -> None:
        """Cases that are made when a file is imported may fail there."""
        self.failed = self.failed or report.failed


def start(
    tests: Sequence[str], replaced: Replaced | None, cpu_s: float, recorder: object | None = None
) -> int:
    """Fork a child that runs these tests, to the first failure without a recorder; its process id.

    recorder : a pytest plugin.
    """
    import pytest

    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 20))
        BUILD.mkdir(parents=True, exist_ok=True)
        out = os.open(BUILD / f"last-{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(ROOT)
        os.environ["STEELYARD_DATASETS"] = NO_DATA
        if replaced is not None:
            sys.meta_path.insert(0, replaced)
        if recorder is None:
            imports = Imports()
            code = int(pytest.main(["-x", "-q", *OPTIONS, *tests], plugins=[imports]))
            # tests of a file that cannot be imported are "not found", which would be no verdict
            code = 1 if code == 4 and imports.failed else code
        else:
            code = int(pytest.main(["-q", *OPTIONS, *tests], plugins=[recorder]))
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def finished(pid: int, status: int, began: float) -> Ended:
    """How a child that `os.waitpid` returned has ended; removes what it printed if tests failed."""
    code = os.waitstatus_to_exitcode(status)
    printed = BUILD / f"last-{pid}.txt"
    ended = Ended(code, time.monotonic() - began)
    if not ended.verdict.startswith("error"):
        printed.unlink(missing_ok=True)
    return ended


def run_all(
    tasks: Sequence[Callable[[], int]],
    done: Callable[[int, Ended], None],
    *,
    workers: int,
    limit_s: float,
    wall_s: float = 900.0,
) -> int:
    """Start tasks, so many at once, until all are done or the time is over; how many were done.

    tasks : each starts a child and returns its process id. wall_s : longest time of one.
    """
    began, waiting, running, count = time.monotonic(), list(enumerate(tasks)), {}, 0
    while waiting or running:
        late = time.monotonic() - began > limit_s
        if late:
            waiting.clear()
        while waiting and len(running) < workers:
            k, task = waiting.pop(0)
            running[task()] = (k, time.monotonic())
        for pid, (k, since) in list(running.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                del running[pid]
                done(k, finished(pid, status, since))
                count += 1
            elif time.monotonic() - since > wall_s:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    return count


def results_folder() -> Path:
    """Where results are kept between runs."""
    BUILD.mkdir(parents=True, exist_ok=True)
    return BUILD
