"""The fault campaign, fixed before any detector was written: kinds, sizes, robots, seeds, harm.

- Kinds: ``KINDS``, each with the mistake in words, the codes that name it rightly, and its sizes;
  a run of seed s has size number s modulo their count. Two kinds, fixed here, cannot be told from
  any training log (``untellable``): a uniform torque scale within what an untrusted file leaves
  open, and a constant payload. No other kind ever moves there.
- Robots, prior error of their files, noise, length and rate of logs: see `fault_recordings`.
- Situations: each fault is identified from alone, with a clean validation log, and with one that
  has the same fault, drawn by the same generator.
- Harm: the error of the estimate on the unseen clean recording (`fault_harm`) is more than
  ``TOLERANCE`` times that of the estimate from the clean training log.
- Seeds: a campaign runs on ``FRESH_SEEDS``; detectors are tuned on ``TUNING_SEEDS`` only. The
  clean logs for false alarms are `random_recording` of ``FRESH_CLEAN_SEEDS``, for tuning those
  of ``TUNING_CLEAN_SEEDS``.
- Cost: 1.5 to 3 s of processor for each fault, its two validations included, when written: 67
  kinds × 20 seeds × 3 robots take about 3 h of processor.
"""

from __future__ import annotations

import fault_clocks
import fault_loads
import fault_mixups
import fault_signals
import numpy as np
from fault_codes import FaultKind, Given
from fault_recordings import Recording

KINDS: tuple[FaultKind, ...] = (
    *fault_signals.KINDS,
    *fault_clocks.KINDS,
    *fault_mixups.KINDS,
    *fault_loads.KINDS,
)
TOLERANCE = 1.1
SITUATIONS = ("alone", "clean validation", "faulty validation")
TUNING_SEEDS = tuple(range(20))
FRESH_SEEDS = tuple(range(1000, 1020))
TUNING_CLEAN_SEEDS = tuple(range(5000, 5200))
FRESH_CLEAN_SEEDS = tuple(range(9000, 9200))


def kind_named(name: str) -> FaultKind:
    """A kind by its name."""
    return next(kind for kind in KINDS if kind.name == name)


def faulty(kind: FaultKind, clean: Recording, seed: int) -> Given:
    """What the user hands over: the same joints are hit in every recording of a seed.

    The generator depends on the name of the kind, not on its place in the list.
    """
    rng = np.random.default_rng([seed, *kind.name.encode()])
    return kind.make(clean, rng, kind.size_of(seed))
