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
