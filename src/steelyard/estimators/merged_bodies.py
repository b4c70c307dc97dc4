"""Bodies of several links in an estimate: how each is spread over its links, and whether it fits.

The rules are in `steelyard.model.attached_links`, the condition that the rest is physical in
`steelyard.knowledge.attached_rest`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import quoted_list
from steelyard.estimators.estimate import Estimate
from steelyard.estimators.estimate_record import MergedBodies, MergedBody, verb
from steelyard.findings import Finding
from steelyard.knowledge.statements import AttachedRest
from steelyard.model.attached_links import AttachedLinks, AttachedRule, attached_links
from steelyard.model.model import Model

Array = NDArray[np.float64]


def merged_bodies(model: Model, theta: Array, rule: AttachedRule) -> MergedBodies | None:
    """The bodies of several links at the parameters theta (n_columns,); None without any."""
    found = attached_links(model, rule)
    if not found:
        return None
    mass = {
        body.name: float(theta[first])
        for body, first in zip(model.mechanism.bodies, model.first_column_of_body, strict=True)
    }
    return MergedBodies(rule, tuple(_merged(one, mass[one.body]) for one in found))


def _merged(one: AttachedLinks, mass: float) -> MergedBody:
    known = float(one.known[0]) if one.kept else 0.0
    return MergedBody(one.body, one.receiver, one.kept, one.emptied, mass, known)


def with_merged_bodies(estimate: Estimate, model: Model, rule: AttachedRule) -> Estimate:
    """The estimate with its bodies of several links, as data and in findings.

    Unchanged where there are none, or no standard parameters.
    """
    if estimate.standard is None:
        return estimate
    merged = merged_bodies(model, estimate.standard.theta, rule)
    if merged is None:
        return estimate
    findings = (*_emptied_findings(merged), *_edge_findings(estimate, merged))
    return replace(
        estimate,
        standard=replace(estimate.standard, merged=merged),
        findings=(*estimate.findings, *findings),
    )


def _emptied_findings(merged: MergedBodies) -> Iterable[Finding]:
    """Links that cannot keep their inertials although they should."""
    if merged.rule != "keep":
        return
    for one in merged.bodies:
        if one.emptied:
            yield Finding(
                "warning",
                "attached-not-physical",
                f"{quoted_list(one.emptied)} of body '{one.body}' "
                f"{verb(one.emptied, 'is', 'are')} not physical in the robot file and cannot "
                f"keep {verb(one.emptied, 'its inertial', 'their inertials')}: "
                f"{verb(one.emptied, 'its', 'their')} mass is part of '{one.receiver}' in this "
                "estimate; to write the robot file, correct it first ('steelyard check --fix'), or "
                "give --attached lump",
            )


def _edge_findings(estimate: Estimate, merged: MergedBodies) -> Iterable[Finding]:
    """Bodies of which the data would take more than the attached links leave."""
    assert estimate.standard is not None
    active = {s.body for s in estimate.standard.active if isinstance(s, AttachedRest)}
    for one in merged.bodies:
        if one.body in active:
            yield Finding(
                "warning",
                "attached-rest-at-edge",
                f"the rest of body '{one.body}' is at the edge of what is physical: the robot "
                f"file gives {one.kept_mass:.4g} kg to {quoted_list(one.kept)}, with an inertia "
                f"for which the data leave no room in the whole body of {one.mass:.4g} kg; correct "
                f"these inertials in the file, or let '{one.body}' have the whole body (--attached "
                "lump)",
            )
