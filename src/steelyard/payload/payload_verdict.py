"""The verdict on a weighed payload, in the words of other results."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from steelyard.diagnosis.verdict.verdict import (
    DO_NOT_USE,
    WITH_CARE,
    Reason,
    Verdict,
    about,
    share,
    verdict_of,
)
from steelyard.findings import Finding

NEEDED = ("m", "cx", "cy", "cz")
"""Values without which a payload is not known."""
POOR_FIT = "poor-fit"
"""Code of the warning that the fit is worse than noise explains, so that it is not to be relied
on."""

IMPLAUSIBLE_DENSITY = "implausible-density"
"""Code of the warning that no material is as dense, whatever the inertia in its intervals is."""


def payload_verdict(
    determined: Collection[str], error: float, findings: Sequence[Finding]
) -> Verdict:
    """Whether a payload can be used: not if its mass or centre of mass stay open, or the fit is
    poor, or no body can have its mass and inertia, or its logs are wrong; with care if something
    else is a warning.

    determined : names of the values that the data determine. error : what the body leaves
    unexplained, as a share of what the payload causes. findings : about the estimate and its logs.
    """
    reasons = []
    left_open = [name for name in NEEDED if name not in determined]
    if left_open:
        words = f"the logs do not determine {', '.join(left_open)} of the payload"
        reasons.append(Reason(DO_NOT_USE, "not-determined", words))
    if any(one.code == POOR_FIT for one in findings):
        words = (
            f"{share(error)} of what the payload causes is unexplained on the data that was used"
        )
        reasons.append(Reason(DO_NOT_USE, "large-error", words, error))
    if any(one.code == IMPLAUSIBLE_DENSITY for one in findings):
        words = "no body has this mass and this inertia: its density is that of no material"
        reasons.append(Reason(DO_NOT_USE, IMPLAUSIBLE_DENSITY, words))
    severe = [one for one in findings if one.level == "severe"]
    if severe:
        reasons.append(Reason(DO_NOT_USE, "input", f"the log is wrong ({about(severe)})"))
    told = (POOR_FIT, IMPLAUSIBLE_DENSITY)
    warned = [one for one in findings if one.level == "warning" and one.code not in told]
    if warned:
        reasons.append(Reason(WITH_CARE, "doubts", f"warnings say why ({about(warned)})"))
    return verdict_of(None, reasons)
