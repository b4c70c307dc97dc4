"""A reading of a log: what may be wrong with it, how well that explains it, and how to mend it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from steelyard.diagnosis.suspects.evidence import Fit, Samples


@dataclass(frozen=True, eq=False)
class Reading:
    """One hypothesis about a log.

    code : that of its finding. joints : the joints it is about, empty for all.
    size, unit : how large it is. fit : of the samples read in this way.
    cost : what a hypothesis has to be better by, because it has more freedom.
    mended : the samples as they would be without the fault; the same samples where nothing mends.
    span_s : when, where it is about a part of the log.
    """

    code: str
    joints: tuple[str, ...]
    size: float
    unit: str
    fit: Fit
    mended: Callable[[Samples], Samples]
    cost: float = 0.0
    span_s: tuple[float, float] | None = None

    @property
    def score(self) -> float:
        """Score with what its freedom costs; smaller is better."""
        return self.fit.score + self.cost


def unchanged(samples: Samples) -> Samples:
    """The samples themselves, for faults that are not mended here."""
    return samples
