"""A payload stream at 1 kHz on a 7-joint arm: speed, detection of pick-ups, false alarms.

    python benchmarks/streaming_payload.py

The arm moves between random postures, with rests, and holds 1 kg; a wrench sensor (0.2 N and
0.01 N m rms, bias up to 5 N and 0.3 N m) and joint torques (0.1 to 0.3 N m rms) are two streams.
Half as much noise again is slow (20 ms). Another 0.5 kg is picked up and put down in motion. In a
second world the friction of the arm differs from its frozen model by 5 % (rms) in each parameter.
Kinematics are exact.

Times are processor time of one thread, in the caller's Python loop.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import process_time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

N_TIMED = 20_000
N_ESTIMATES = 200
N_PICK_UPS = 40
HOURS = 1.0
STILL_S = 60.0
MOVES_BETWEEN_STILL = 300
WRONG_FRICTION = 0.05
SLOW_NOISE = 0.5


def streaming_figures(hours: float = HOURS, n_pick_ups: int = N_PICK_UPS) -> dict[str, float]:
    """update_us, estimate_ms, detect_s, false_alarms_per_hour, and the parts they are made of."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))
    figures = _speed()
    exact = _World(friction_error=0.0)
    alarms = exact.false_alarms(hours)
    delays = exact.delays(n_pick_ups)
    wrong = _World(friction_error=WRONG_FRICTION)
    alarms_wrong = wrong.false_alarms(hours)
    delays_wrong = wrong.delays(n_pick_ups)
    return {
        **figures,
        "update_us": max(figures["update_wrench_us"], figures["update_torque_us"]),
        "detect_s": max(max(one) for one in delays.values()),
        "false_alarms_per_hour": max(*alarms.values(), *alarms_wrong.values()) / hours,
        "detect_wrench_s": max(delays["wrench"]),
        "detect_torque_s": max(delays["torque"]),
        "detect_torque_wrong_friction_s": max(delays_wrong["torque"]),
        "detect_torque_wrong_friction_mean_s": sum(delays_wrong["torque"]) / n_pick_ups,
        "pick_ups": 2.0 * n_pick_ups,
        "hours": hours,
    }


def _speed() -> dict[str, float]:
    """Time of one update and of one estimate, the body inside and at the edge of the physical."""
    import numpy as np
    from streamed_arm import StreamedArm, held

    from steelyard.robot.inertia import from_com

    figures = {}
    for edge in (False, True):
        arm = StreamedArm(1)
        # a flat body: half of its estimates are not physical without the condition
        moments = [0.0, 2e-3, 2e-3] if edge else [2e-3, 2.2e-3, 1e-3]
        body = from_com(1.0, [0.02, -0.01, 0.08], np.diag(moments))
        parts = list(arm.moves(N_TIMED / 1000.0, held(body)))
        for name, (stream, signals) in _streams(arm).items():
            samples = [
                (part.time[k], *(signal[k] for signal in signals(part)))
                for part in parts
                for k in range(len(part.time))
            ]
            begin = process_time()
            for sample in samples:
                stream.update(*sample)
            if not edge:
                figures[f"update_{name}_us"] = 1e6 * (process_time() - begin) / len(samples)
            begin = process_time()
            for _ in range(N_ESTIMATES):
                stream.estimate()
            taken = 1e3 * (process_time() - begin) / N_ESTIMATES
            figures["estimate_ms"] = max(taken, figures.get("estimate_ms", 0.0))
    return figures


class _World:
    """An arm and its two streams."""

    def __init__(self, friction_error: float) -> None:
        import numpy as np
        from streamed_arm import StreamedArm

        from steelyard.robot.inertia import from_com

        self.arm = StreamedArm(3, coloured=SLOW_NOISE, friction_error=friction_error)
        self.streams = _streams(self.arm)
        self.bodies = [
            from_com(1.0, [0.02, -0.01, 0.08], np.diag([2e-3, 2.2e-3, 1e-3])),
            from_com(1.5, [0.02, -0.01, 0.10], np.diag([3e-3, 3.2e-3, 2e-3])),
        ]

    def feed(self, samples: Any) -> dict[str, list[Any]]:
        """Changes that each stream reports."""
        return {
            name: list(stream.update_many(samples.time, *signals(samples)))
            for name, (stream, signals) in self.streams.items()
        }

    def false_alarms(self, hours: float) -> dict[str, float]:
        """Changes that are reported while nothing changes."""
        from streamed_arm import held

        payload = held(self.bodies[0])
        alarms = dict.fromkeys(self.streams, 0.0)
        for k, move in enumerate(self.arm.moves(3600.0 * hours, payload)):
            still = k % MOVES_BETWEEN_STILL == MOVES_BETWEEN_STILL - 1
            samples = self.arm.still(STILL_S, payload) if still else move
            for name, changes in self.feed(samples).items():
                alarms[name] += len(changes)
        return alarms

    def delays(self, n: int) -> dict[str, list[float]]:
        """Time (s) from each pick-up or release until it is reported; infinite if it is not."""
        from streamed_arm import held, picked_up

        delays: dict[str, list[float]] = {name: [] for name in self.streams}
        for k in range(n):
            now, then = self.bodies[k % 2], self.bodies[(k + 1) % 2]
            for move in self.arm.moves(8.0, held(now)):
                self.feed(move)
            time = self.arm.time + self.arm.rng.uniform(0.5, 2.0)
            first = dict.fromkeys(self.streams, float("inf"))
            for move in self.arm.moves(5.0, picked_up(now, then, time)):
                for name, changes in self.feed(move).items():
                    for change in changes:
                        first[name] = min(first[name], change.reported - time)
            for name, delay in first.items():
                delays[name].append(delay)
        return delays


def _streams(arm: Any) -> dict[str, tuple[Any, Any]]:
    """A stream of wrenches and one of torques, and the signals of each."""
    from streamed_arm import TOOL, TORQUE_SIGMA

    from steelyard.payload.stream_sources import JointTorques, RobotWrenches
    from steelyard.payload.streaming import PayloadStream

    return {
        "wrench": (
            PayloadStream(RobotWrenches(arm.model, TOOL)),
            lambda s: (s.q, s.v, s.a, s.wrench[:, :3], s.wrench[:, 3:]),
        ),
        "torque": (
            PayloadStream(JointTorques(arm.model, arm.theta, TOOL, TORQUE_SIGMA)),
            lambda s: (s.q, s.v, s.a, s.tau),
        ),
    }


if __name__ == "__main__":
    print(json.dumps(streaming_figures(), indent=2))
