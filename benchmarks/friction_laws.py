"""Which terms the plain command adds to a model, on logs that MuJoCo made with one law each.

Arms, files, controllers, motions and noise are those of `never_loses_logs`; the log is 10 to 60 s
long. Friction is plain (Coulomb as MuJoCo's frictionloss or F_c tanh(v / w), and viscous), or has,
at some joints, one law more:

    travel          Coulomb friction that builds up over a travel (Dahl 1968)
    load            mu |tau| sign(v), with the torque that the links need
    stribeck        (F_s - F_c) exp(-(v / v_s)²) sign(v)
    rising          F_r (1 - exp(-(v / v_s)²)) sign(v)
    asymmetric      viscous friction in one direction
    spring          k (q - q_0), MuJoCo's joint stiffness
    counterbalance  -m g l of a weight on the other side: sine and cosine of the position

A run counts where the law matters: stated by hand with its true numbers, it lowers the error of the
plain terms on another motion without noise, of all samples, so that the plain error is at least
10 % above it. ``LAW_admitted``: share of these runs in which its class enters the model;
``LAW_counted`` how many there are. ``plain_stays_plain``: share of runs with plain friction in
which nothing enters. ``LAW_worse``: largest ratio of the error with what was admitted to the error
without, and ``LAW_ratio`` its median.

``python benchmarks/friction_laws.py --law load --seeds 0:20`` prints single runs; seeds below
10,000 are for tuning.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import never_loses_arms as arms
import never_loses_logs as logs
import numpy as np
from contender import say
from goals import Goal
from never_loses_arms import Array
from never_loses_logs import Case, between

if TYPE_CHECKING:
    from steelyard.logs.log import Log
    from steelyard.model.terms import Term

NAME = "friction-laws"
DESCRIPTION = "logs of arms made by MuJoCo with one friction law each: is it added to the model?"
LAWS = ("travel", "load", "stribeck", "rising", "asymmetric", "spring", "counterbalance")
SPRINGS = ("spring", "counterbalance")
GOALS = (
    *(Goal(f"{law}_admitted", ">=", 0.9) for law in LAWS),
    Goal("plain_stays_plain", ">=", 0.95),
)
MATTERS = 1.1
TINY = 1e-6
"""rad/s, over which the slope of a law is taken."""
ACCEPTED = ("other-robot", "friction-change", "gravity-removed", "payload-change", "torque-gain")
FIRST, RUNS = 20_000, 100
MOST_SEEDS = 1000
"""Seeds that are tried at most, until `RUNS` of a law count."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The law of a case: parameters (n_joints,), zero where a joint has none of it.

    value : its size. shape : travel (rad), or v_s (rad/s), or the position (rad) where a spring
    or a counterbalance has no torque.
    """

    law: str
    value: Array
    shape: Array


@dataclass(frozen=True)
class Outcome:
    """Errors on the other motion without added terms, with them, and with the law stated."""

    law: str
    seed: int
    admitted: tuple[str, ...]
    plain: float
    added: float
    stated: float

    @property
    def counts(self) -> bool:
        """Whether the law matters."""
        return self.plain >= MATTERS * self.stated

    @property
    def right(self) -> bool:
        """Whether the law was admitted; a spring may be told from a counterbalance or not."""
        same = SPRINGS if self.law in SPRINGS else (self.law,)
        return any(one in same for one in self.admitted)


def case_of(law: str, seed: int) -> Case:
    """The case of a seed, with friction that is a sharp tanh where the law needs its own loop."""
    case = logs.case_of(seed)
    rng = np.random.default_rng([31, seed])
    seconds = round(float(between(rng, 10.0, 60.0)), 1)
    own = {"travel": "dahl", "plain": str(rng.choice(["loss", "tanh"]))}
    return replace(
        case,
        law=own.get(law, "tanh"),
        seconds=seconds,
        rate_hz=float(rng.choice([100.0, 125.0, 200.0, 250.0, 500.0])),
    )


def truth_of(
    law: str, world: logs.World, size: Array, speed: float, rng: np.random.Generator
) -> Truth:
    """The law at some joints, with sizes between hardly visible and large.

    size : (n_joints,) of the torques. speed : of the motion, at most, rad/s.
    """
    n = len(world.coulomb)
    on = rng.random(n) < 0.6
    on[rng.integers(n)] = True
    if law == "travel":
        world.shape[0] = between(rng, 3e-4, 3e-2)
        return Truth(law, world.coulomb, world.shape[0])
    share = between(rng, 0.3, 2.0)
    value, shape = np.zeros(n), np.zeros(n)
    if law == "load":
        value = 0.2 * share * rng.uniform(0.5, 1.5, n)
    elif law in ("stribeck", "rising"):
        value = world.coulomb * share * rng.uniform(0.7, 1.3, n)
        shape = speed * between(rng, 0.05, 0.5) * np.ones(n)
    elif law == "asymmetric":
        value = world.viscous * share * rng.choice([-1.0, 1.0], n)
    elif law == "spring":
        value = 0.5 * size / world.ranges.half * share * rng.uniform(0.5, 1.5, n)
        shape = world.ranges.centre + 0.5 * world.ranges.half * rng.uniform(-1.0, 1.0, n)
    elif law == "counterbalance":
        value = 0.5 * size * share * rng.uniform(0.5, 1.5, n)
        shape = rng.uniform(-np.pi, np.pi, n)
    return Truth(law, np.where(on, value, 0.0), shape)


def law_torque(truth: Truth, q: Array, v: Array, load: Array) -> Array:
    """What the law adds to the torque of the motors (n_joints,); a sharp tanh for the sign."""
    x, sign = truth.value, np.tanh(v / 0.01)
    if truth.law == "load":
        return x * np.abs(load) * sign
    if truth.law in ("stribeck", "rising"):
        decay = np.exp(-((v / truth.shape) ** 2))
        return x * sign * (decay if truth.law == "stribeck" else 1.0 - decay)
    if truth.law == "asymmetric":
        return np.abs(x) * np.where(x * v > 0.0, v, 0.0)
    if truth.law == "spring":
        return x * (q - truth.shape)
    if truth.law == "counterbalance":
        return x * np.sin(q - truth.shape)
    return np.zeros_like(q)


def recorded(law: str, seed: int) -> tuple[Case, Log, logs.Motion, Truth]:
    """A log, and another motion of the same robot without noise."""
    case = case_of(law, seed)
    rng = np.random.default_rng([32, seed])
    speed, share = float(rng.uniform(0.6, 1.6)), float(rng.uniform(0.4, 1.0))
    world = logs.world_of(case, share, rng)
    size, _ = logs.sizes(world.model, world.ranges, rng)
    truth = truth_of(law, world, size, speed, rng)

    def moved(kind: str, seconds: float, rate: float) -> logs.Motion:
        return simulated(world, case.law, truth, kind, seconds, rate, speed, share, rng)

    motion = moved(case.motion, case.seconds, case.rate_hz)
    test = moved("aperiodic", logs.TEST_S, logs.TEST_HZ)
    log, zero = logs.log_of(case, motion, rng)
    return case, log, replace(test, tau=test.tau + zero), truth


def simulated(
    world: logs.World,
    law: str,
    truth: Truth,
    kind: str,
    seconds: float,
    rate_hz: float,
    speed: float,
    share: float,
    rng: np.random.Generator,
) -> logs.Motion:
    """`logs.simulated` with the law's torque taken from the motors' at each step."""
    import mujoco

    step = mujoco.mj_step
    if law == "dahl" or truth.law == "plain":
        return logs.simulated(world, law, kind, seconds, rate_hz, speed, share, rng)
    load = np.zeros(world.model.nv)
    moved = np.zeros(world.model.nv)

    def stepped(model: Any, data: Any) -> None:
        # linearised about the speed of the step, as in `logs.drive`
        q, v = data.qpos, data.qvel
        own = law_torque(truth, q, v, load)
        slope = (law_torque(truth, q, v + TINY, load) - own) / TINY
        slope = np.maximum(slope, 0.0)
        data.qfrc_applied += slope * v - own
        model.dof_damping += slope
        step(model, data)
        if truth.law == "load":
            mujoco.mj_mulM(model, data, moved, data.qacc)
            load[:] = moved - model.dof_armature * data.qacc + data.qfrc_bias

    mujoco.mj_step = stepped
    try:
        return logs.simulated(world, law, kind, seconds, rate_hz, speed, share, rng)
    finally:
        mujoco.mj_step = step


def stated_terms(terms: tuple[Term, ...], joints: tuple[str, ...], truth: Truth) -> list[Term]:
    """The terms with the law's own, where a joint has it."""
    from steelyard.model.terms import Term

    kinds = {"load": ("load_coulomb",), "counterbalance": ("sine", "cosine")}
    out = list(terms)
    for j, joint in enumerate(joints):
        if truth.value[j] == 0.0:
            continue
        if truth.law == "travel":
            out = [
                replace(one, width=0.0, travel=float(truth.shape[j]))
                if one.owner == joint and one.kind == "coulomb"
                else one
                for one in out
            ]
            continue
        sign = np.sign(truth.value[j]) if truth.law == "asymmetric" else 1.0
        speed = float(truth.shape[j]) if truth.law in ("stribeck", "rising") else 0.0
        for kind in kinds.get(truth.law, (truth.law,)):
            out.append(Term(kind, joint, ((joint, float(sign)),), speed=speed))
    return out


def outcome(law: str, seed: int) -> Outcome:
    """One run."""
    from steelyard.identification.identify import identify
    from steelyard.model.model import Model
    from steelyard.robot.robot import Robot
    from steelyard.signals.motion import Motion

    case, log, test, truth = recorded(law, seed)
    robot = Robot.from_urdf_text(arms.urdf_text(case.arm))
    joints = arms.ARMS[case.arm].joints
    motion = Motion(test.time, test.q, test.v, test.a)

    def error(found: Any) -> float:
        tau = found.predict(motion)
        order = [found.model.channels.index(joint) for joint in joints]
        return float(np.linalg.norm(tau[:, order] - test.tau) / np.linalg.norm(test.tau))

    def identified(**options: Any) -> Any:
        return identify(
            robot, log, n_resamples=0, ranges=False, compare_terms=False, certify=False,
            accept=ACCEPTED, threads=1, **options,
        )  # fmt: skip

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = identified(admit="none")
        added = identified(admit="auto")
        right = error(plain)
        if law != "plain":
            terms = stated_terms(Model(robot).terms, joints, truth)
            right = error(identified(admit="none", terms=terms))
    names = tuple(dict.fromkeys(one.what for one in added.admission.admitted))
    return Outcome(law, seed, names, error(plain), error(added), right)


def outcomes(law: str, seeds: range) -> Iterator[Outcome]:
    """The runs of one law; a run that ends with a refusal is left out and told."""
    from steelyard.errors import SteelyardError

    for seed in seeds:
        try:
            one = outcome(law, seed)
        except (SteelyardError, ValueError) as failure:
            say(f"{law} {seed}: {str(failure)[:150]}")
            continue
        say(
            f"{law} {seed}: plain {100 * one.plain:.2f} %, added {100 * one.added:.2f} %, stated "
            f"{100 * one.stated:.2f} %; {', '.join(one.admitted) or 'nothing'}"
            f"{' (counts)' if one.counts else ''}"
        )
        yield one


def figures_of(law: str, found: list[Outcome]) -> dict[str, float | None]:
    """The figures of one law."""
    ratios = [one.added / one.plain for one in found]
    out: dict[str, float | None] = {
        f"{law}_ratio": float(np.median(ratios)),
        f"{law}_worse": float(np.max(ratios)),
    }
    if law == "plain":
        out["plain_stays_plain"] = float(np.mean([not one.admitted for one in found]))
        return out
    counted = [one for one in found if one.counts]
    out[f"{law}_counted"] = float(len(counted))
    out[f"{law}_admitted"] = float(np.mean([one.right for one in counted])) if counted else None
    return out


def measure() -> dict[str, float | None]:
    """All laws: 100 runs each, of those in which the law matters."""
    figures: dict[str, float | None] = {}
    for law in ("plain", *LAWS):
        found: list[Outcome] = []
        for one in outcomes(law, range(FIRST, FIRST + MOST_SEEDS)):
            found.append(one)
            if sum(law == "plain" or each.counts for each in found) >= RUNS:
                break
        figures |= figures_of(law, found)
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--law", choices=("plain", *LAWS), nargs="+", default=("plain", *LAWS))
    parser.add_argument("--seeds", default="0:10", help="such as 0:20")
    given = parser.parse_args()
    first, last = (int(one) for one in given.seeds.split(":"))
    for name in given.law:
        say(str(figures_of(name, list(outcomes(name, range(first, last))))))
