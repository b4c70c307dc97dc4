"""Sentences that belong to a table of standard parameters, wherever it is shown."""

from __future__ import annotations

from steelyard.estimators.estimate import Estimate

PRIOR_SPREADS = (
    "Torques fix only certain sums of masses and moments. The prior spreads each change over the "
    "links and keeps the shape of each link plausible, so a mass can differ from that of the robot "
    "file although it is marked 'prior only', which means that no measured torque depends on it "
    "alone."
)
OPEN_MASSES = (
    "Wide ranges of masses do not affect predicted torques: every mass in its range, with the "
    "other parameters to match it, gives the measured torques as well."
)


def standard_notes(estimate: Estimate) -> tuple[str, ...]:
    """How a prior changes what no torque shows; what wide ranges of masses mean, and what to do.

    Empty for an estimate without standard parameters.
    """
    if estimate.standard is None:
        return ()
    notes = []
    if estimate.prior is not None and estimate.prior.rule != "no prior":
        notes.append(PRIOR_SPREADS)
    advice = estimate.measurement_advice
    if advice is not None:
        notes.append(f"{OPEN_MASSES} To narrow them, {advice.words}.")
    return tuple(notes)
