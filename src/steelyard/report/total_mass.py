"""The mass of a whole robot, in words."""

from __future__ import annotations

from steelyard.estimators.estimate import Estimate
from steelyard.model.model import Model
from steelyard.report.numbers import significant


def total_mass_words(model: Model, estimate: Estimate, level: float) -> str | None:
    """The mass of all moving links beside that of the robot file; None if the method gives none."""
    if estimate.standard is None:
        return None
    first = list(model.first_column_of_body)
    ours = float(estimate.standard.theta[first].sum())
    stated = float(model.prior_theta()[first].sum())
    parameters = estimate.standard_parameters(level)
    known = sum(parameters[k].interval_kind == "confidence" for k in first)
    links = "all links" if model.robot.floating_base else "all moving links, without the base"
    return (
        f"{significant(ours)} kg in {links}; robot file: {significant(stated)} kg; the data "
        f"determine the mass of {known} of {len(first)} links"
    )
