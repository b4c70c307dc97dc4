"""A weighed payload as a body of known inertia, for whatever needs one."""

from __future__ import annotations

from steelyard.errors import EstimationError, listed
from steelyard.knowledge.payload import Payload
from steelyard.payload.intervals import VALUE_NAMES
from steelyard.payload.payload_estimate import PayloadEstimate


def known_payload(estimate: PayloadEstimate, *, link: str | None = None) -> Payload:
    """The body on its link, with the standard deviation of its mass, and what is known of it.

    link : that carries it, in whose frame the estimate is stated; by default the frame's name.

    Refuses a payload whose mass the data do not determine. What else they do not determine is not
    known of the payload either, although it has the estimated numbers.
    """
    named = {value.name: value for value in estimate.values}
    missing = [name for name in VALUE_NAMES if name not in named]
    if missing:
        raise EstimationError(
            f"the payload at '{estimate.frame}' has no values of {listed(missing)}, so that it is "
            "not known what its data determine; weigh it"
        )
    mass = named["m"]
    if mass.kind != "confidence" or mass.sigma is None:
        raise EstimationError(
            f"the mass of the payload at '{estimate.frame}' is not determined by its data "
            f"({mass.kind}), so it cannot be used as a known payload; weigh it"
        )
    left = {value.name for value in estimate.values if value.kind != "confidence"}
    return Payload(
        link or estimate.frame,
        estimate.phi,
        mass.sigma,
        com_known=left.isdisjoint(("cx", "cy", "cz")),
        inertia_known=not any(name.endswith("_com") for name in left),
    )
