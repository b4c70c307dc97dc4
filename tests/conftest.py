"""What every test can rely on; helpers are modules in ``tests/helpers``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module

import pytest


def pytest_report_header() -> list[str]:
    """Say in the first lines which oracles are there: tests that need an absent one skip."""
    from importlib.util import find_spec

    oracles = ("pinocchio", "mujoco", "idyntree", "cvxpy", "figaroh")
    there = [name for name in oracles if find_spec(name) is not None]
    missing = [name for name in oracles if name not in there]
    return [f"oracles: {', '.join(there)}; absent: {', '.join(missing) or 'none'}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line how many tests found no recorded logs, so that nobody takes them for run."""
    from robot_files import NO_DATA

    missing = [
        report.longrepr[2].partition(NO_DATA)[2].strip(" '").partition("'")[0]
        for report in terminalreporter.stats.get("skipped", ())
        if isinstance(report.longrepr, tuple) and NO_DATA in report.longrepr[2]
    ]
    if missing:
        names = ", ".join(sorted(set(missing)))
        terminalreporter.write_line(
            f"{len(missing)} tests of recorded logs were SKIPPED: {names} are not there "
            "(STEELYARD_DATASETS names their folder); their twins on simulated logs: "
            "tests/identification/test_simulated_twins.py",
            yellow=True,
        )


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are compared as text: a terminal's colours and width do not matter."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture(autouse=True, scope="session")
def _one_thread_beside_other_tests() -> Iterator[None]:
    """With pytest-xdist the cores are taken: identify starts no helpers unless a test asks.

    Starting them takes a fifth of the time of a small identification. Results do not depend on
    the number of threads, which tests show that give one.
    """
    with pytest.MonkeyPatch.context() as patch:
        if "PYTEST_XDIST_WORKER" in os.environ:
            module = import_module("steelyard.identification.identify")
            patch.setattr(module, "available_threads", lambda: 1)
        yield
