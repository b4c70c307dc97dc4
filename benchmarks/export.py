"""Written robots in other programs: does every engine take them, and compute the same torques?

Random robots, and robots of example-robot-data with other parameters, are written as URDF, MJCF
and SDF; the real ones also into their own URDF. Pinocchio (URDF, MJCF), MuJoCo (URDF, MJCF),
iDynTree (URDF) and Drake (URDF, MJCF, SDF) load each text and compute inverse dynamics at 50
states, rigid bodies with drive inertia where the format or the engine holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contender import PeerAbsentError, say
from drake_engine import drake_torques
from engines import ENGINES, Engine, Export, RejectedError, disagreement
from export_cases import random_exports, real_exports
from export_code import measure_code
from goals import Goal

NAME = "export"
DESCRIPTION = (
    "200 written robots in Pinocchio, MuJoCo, iDynTree and Drake: rejected ones, and the largest "
    "disagreement with the estimate's torques; time of the written C code beside Pinocchio's rnea"
)
GOALS = (
    Goal("exports", ">=", 200),
    Goal("rejected", "<=", 0),
    Goal("engines_agree", "<=", 1e-6),
)
N_RANDOM = 40


def measure() -> dict[str, float | None]:
    """Counts, and the worst relative disagreement of a torque, by engine and over all.

    ``drake`` is 1 if Drake could be installed, else 0 and its figures are absent.
    """
    exports = [*random_exports(N_RANDOM), *real_exports()]
    say(f"{len(exports)} texts")
    return compare(exports) | measure_code()


def compare(exports: Sequence[Export], *, with_drake: bool = True) -> dict[str, float | None]:
    """The figures of these exports."""
    rejected: set[str] = set()
    figures: dict[str, float | None] = {"exports": float(len(exports)), "rejected": None}
    worst: dict[str, float] = {}
    loaded = 0
    for engine in ENGINES:
        say(engine.name)
        taken = [export for export in exports if export.form in engine.forms]
        worst[engine.name] = _worst(engine, taken, rejected)
        loaded += len(taken)
    figures["drake"] = 0.0
    if with_drake:
        say("drake")
        try:
            worst["drake"] = _worst_of_drake(exports, rejected)
            loaded += len(exports)
            figures["drake"] = 1.0
        except PeerAbsentError as absent:
            say(f"absent: {absent}")
    figures["rejected"] = float(len(rejected))
    figures["loaded"] = float(loaded)
    figures["engines_agree"] = max(worst.values())
    names = (*(engine.name for engine in ENGINES), "drake")
    return figures | {f"{name}_disagreement": worst.get(name) for name in names}


def _worst(engine: Engine, exports: Iterable[Export], rejected: set[str]) -> float:
    """The largest disagreement of one engine; what it refuses is added to ``rejected``."""
    found = [0.0]
    for export in exports:
        try:
            torques = engine.torque(export)
        except (RejectedError, ValueError, RuntimeError) as error:
            say(f"{engine.name} rejects {export.name} ({export.form}): {error}")
            rejected.add(f"{export.name} {export.form}")
            continue
        armature = export.form in engine.with_armature
        found.append(disagreement(export, torques, armature=armature))
    return max(found)


def _worst_of_drake(exports: Sequence[Export], rejected: set[str]) -> float:
    found = [0.0]
    for export, torques in zip(exports, drake_torques(exports), strict=True):
        if isinstance(torques, str):
            say(f"drake rejects {export.name} ({export.form}): {torques}")
            rejected.add(f"{export.name} {export.form}")
        else:
            found.append(disagreement(export, torques, armature=False))
    return max(found)
