"""Mistakes of new users: which are named, which come through in silence, and false alarms.

Every mistake of `mistake_kinds` on the arms of `mistake_arms`, each joint or pair that makes sense.
``steelyard logs check`` names it, or warns; ``--identify`` also runs what follows, with the
verdict.

    python benchmarks/mistakes.py --arms ur5 --seeds 100 101 --kinds zero-off
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mistake_arms import ARMS, Recording, recording
from mistake_kinds import MISTAKES, Joints, Mistake, write
from mistake_more import MORE

from steelyard.diagnosis.checked_log import check_log
from steelyard.errors import SteelyardError
from steelyard.findings import Finding
from steelyard.identification.identify import identify
from steelyard.logs.any_log import read_log
from steelyard.robot.robot import Robot

EVERY = (*MISTAKES, *MORE)
BESIDE = "attached-rest-at-edge", "link-differs-from-prior"
"""Warnings that blame no mistake."""


@dataclass(frozen=True)
class Outcome:
    """What was said of an input.

    findings : warnings and severe ones. error : of an error without findings, its message.
    verdict : of a result; empty where there is none.
    """

    findings: tuple[Finding, ...]
    error: str = ""
    verdict: str = ""

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings."""
        return tuple(one.code for one in self.findings)

    def names(self, mistake: Mistake, handed: Recording, joints: Joints) -> bool:
        """Whether a finding names the mistake, and its joints where it is about some."""
        who = {handed.arm.joints[k] for k in joints}
        named = any(
            one.code in mistake.codes and (not one.joints or who <= set(one.joints))
            for one in self.findings
        )
        said = [self.error, *(one.words for one in self.findings if one.code == "not-usable")]
        return named or any(words in one for words in mistake.refusal for one in said)


def outcome(handed: Recording, *, estimate: bool = False) -> Outcome:
    """What a user is told who hands this over."""
    with tempfile.TemporaryDirectory() as folder:
        robot_file, log_file = write(handed, Path(folder))
        try:
            robot, log = read_inputs(robot_file, log_file)
            if not estimate:
                return Outcome(alarms(check_log(log, robot).findings))
            found = identify(
                robot, log, certify=False, ranges=False, n_resamples=0, compare_terms=False
            )
        except SteelyardError as error:
            return Outcome(alarms(error.findings), str(error))
    return Outcome(alarms(found.estimate.findings), verdict=found.verdict.level)


def read_inputs(robot_file: Path, log_file: Path) -> tuple[Robot, object]:
    """The robot, fingers locked, and the log."""
    robot = Robot.from_urdf(robot_file)
    fingers = {name: 0.0 for name in robot.joint_names if "finger" in name}
    return (robot.lock(fingers) if fingers else robot), read_log(log_file)


def alarms(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Findings that blame something."""
    return tuple(one for one in findings if one.alarming and one.code not in BESIDE)


def cases(arm: str, seed: int, kinds: tuple[str, ...]) -> Iterator[tuple[Mistake, Joints]]:
    """The mistakes on an arm, with their joints."""
    for mistake in EVERY:
        if arm in mistake.arms and (not kinds or mistake.name in kinds):
            for joints in mistake.joints(ARMS[arm]):
                yield mistake, joints


def main() -> None:
    """Print a line for each run, then how many were named and silent."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[100])
    parser.add_argument("--kinds", nargs="+", choices=[one.name for one in EVERY], default=())
    parser.add_argument("--identify", action="store_true", help="and identify, for the verdict")
    parser.add_argument("--words", action="store_true", help="print the findings")
    options = parser.parse_args()
    count: Counter[str] = Counter()
    for arm in options.arms:
        for seed in options.seeds:
            clean = recording(arm, seed)
            said = outcome(clean, estimate=options.identify)
            count["alarms on right input"] += bool(said.findings)
            show(f"{arm} {seed} right input", "", said, options.words)
            for mistake, joints in cases(arm, seed, tuple(options.kinds)):
                handed = mistake.make(clean, np.random.default_rng(seed), joints)
                said = outcome(handed, estimate=options.identify)
                told = bool(said.findings or said.error)
                named = said.names(mistake, handed, joints)
                result = "named" if named else "not named" if told else "silent"
                count[result] += 1
                count["usable"] += said.verdict == "usable"
                show(f"{arm} {seed} {mistake.name} {joints}", result, said, options.words)
    print(dict(count))


def show(what: str, result: str, said: Outcome, words: bool) -> None:
    """One line, or one for each finding too."""
    found = [f"{one.code}{list(one.joints) or ''}" for one in said.findings]
    print(what, result, *found, said.verdict, flush=True)
    if words:
        for line in [one.sentence for one in said.findings] or [said.error]:
            print("   ", line)


if __name__ == "__main__":
    main()
