"""Logs that hardly are any: the inspection and `prepare` neither fail nor warn through NumPy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest
from sampled_arm import NAMES, TAU, TIME, Q, V, arm, changed, solid

from steelyard.diagnosis.inspection import inspect_log
from steelyard.errors import SteelyardError
from steelyard.logs.log import Log
from steelyard.robot.parts import Joint, Link
from steelyard.robot.robot import Robot
from steelyard.signals.prepare import prepare


def chain(n_joints: int) -> Robot:
    """An arm of so many joints."""
    links = [Link("ground"), *(Link(f"link {k}", solid()) for k in range(n_joints))]
    joints = [
        Joint(f"joint_{k}", "revolute", links[k].name, links[k + 1].name) for k in range(n_joints)
    ]
    return Robot("chain", tuple(links), tuple(joints))


def log_of(rows: slice = slice(None), **changed: np.ndarray) -> Log:
    table = {"q": Q, "tau": TAU, "time": TIME, "v": V} | changed
    return Log.from_arrays(
        table["time"][rows], table["q"][rows], table["tau"][rows], v=table["v"][rows], joints=NAMES
    )


def read_only() -> Log:
    log = log_of()
    signals = {}
    for key, values in log.signals.items():
        signals[key] = values.copy()
        signals[key].setflags(write=False)
    return Log(log.time, signals)


def velocity_only() -> Log:
    return Log(TIME, {(name, "velocity"): V[:, k] for k, name in enumerate(NAMES)})


def of_chain(n_joints: int) -> Callable[[], Log]:
    def made() -> Log:
        row = np.arange(n_joints)
        q = np.sin(TIME[:, None] * (1.0 + 0.02 * row) + row)
        return Log.from_arrays(
            TIME, q, np.cos(q), joints=tuple(f"joint_{k}" for k in range(n_joints))
        )

    return made


AWKWARD: dict[str, Callable[[], Log]] = {
    **{f"{n} samples": (lambda n=n: log_of(slice(n))) for n in (2, 3, 8, 9, 20, 49, 51)},
    "all positions NaN": lambda: log_of(q=np.full_like(Q, np.nan)),
    "all torques NaN": lambda: log_of(tau=np.full_like(TAU, np.nan)),
    "all NaN": lambda: log_of(q=np.full_like(Q, np.nan), tau=np.full_like(TAU, np.nan)),
    "one position NaN": lambda: log_of(q=changed(Q, "elbow", slice(None), np.nan)),
    "all but nine NaN": lambda: log_of(q=changed(Q, "elbow", slice(9, None), np.nan)),
    "every second NaN": lambda: log_of(q=changed(Q, "elbow", slice(None, None, 2), np.nan)),
    "infinite": lambda: log_of(tau=np.full_like(TAU, np.inf)),
    "zeros": lambda: log_of(q=0.0 * Q, tau=0.0 * TAU, v=0.0 * V),
    "constants": lambda: log_of(q=0.0 * Q + 1.0, tau=0.0 * TAU - 3.0, v=0.0 * V + 1e-3),
    "1e300": lambda: log_of(q=0.0 * Q + 1e300, tau=0.0 * TAU - 1e300, v=0.0 * V + 1e300),
    "half 1e300": lambda: log_of(q=changed(Q, "base", slice(None, None, 2), 1e300)),
    "huge and tiny": lambda: log_of(tau=changed(TAU, "base", slice(0, 40), 1e-308)),
    "1e8 times": lambda: log_of(q=1e8 * Q, tau=1e8 * TAU, v=1e8 * V),
    "1e-9 times": lambda: log_of(q=1e-9 * Q, tau=1e-9 * TAU, v=1e-9 * V),
    "two values": lambda: log_of(q=np.sign(Q), tau=np.sign(TAU), v=np.sign(V)),
    "white noise": lambda: log_of(
        q=np.random.default_rng(0).normal(size=Q.shape),
        tau=np.random.default_rng(1).normal(size=Q.shape),
    ),
    "stamps in ns": lambda: log_of(time=1e9 * TIME),
    "stamps of 1e-9": lambda: log_of(time=1e-9 * TIME),
    "stamps in bursts": lambda: log_of(
        time=np.sort(np.round(TIME, 1) + 1e-6 * np.arange(len(TIME)))
    ),
    "read-only": read_only,
    "velocity only": velocity_only,
    "one joint": of_chain(1),
    "sixty joints": of_chain(60),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_nothing_fails(name: str) -> None:
    """NumPy's warnings are errors here; `prepare` may refuse with an error of its own."""
    robots = {"one joint": chain(1), "sixty joints": chain(60)}
    robot = robots.get(name, arm())
    log = AWKWARD[name]()
    before = log.content_hash
    found = inspect_log(log, robot)
    assert all(finding.words and finding.code for finding in found.findings)
    assert all(mask.shape == (len(log),) for mask in found.left_out.values())
    with suppress(SteelyardError):
        prepare(log, robot)
    assert log.content_hash == before
