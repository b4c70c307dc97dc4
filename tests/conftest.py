"""What every test can rely on; helpers are modules in ``tests/helpers``."""

from __future__ import annotations

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
