"""Options for the prior and its weight."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from steelyard.errors import PriorError, shown
from steelyard.estimators.estimator import COLUMN_CHOICES, Columns

if TYPE_CHECKING:
    from steelyard.estimators.prior_weight import GammaRule
    from steelyard.knowledge.prior import Prior, RepairRule
    from steelyard.model.model import Model


def add_prior_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the methods that take a prior."""
    parser.add_argument(
        "--prior",
        metavar="SOURCE",
        help="prior values: the inertials of the robot file (robot, default); a "
        "file of name,value lines or a result.json; mass=KG, the total mass; "
        "density=KG_PER_M3 or solids=KG, uniform solids in the shape of the collision boxes, "
        "cylinders and spheres",
    )
    parser.add_argument(
        "--repair-prior",
        choices=("floor-moments", "none"),
        help="how a prior that is not physical is repaired (default: floor-moments); with none "
        "it is refused",
    )
    parser.add_argument(
        "--gamma",
        metavar="G",
        help="weight of the prior: a number, or leave-blocks-out (default) or l-curve to "
        "choose it from the data",
    )


def parameter_columns(arguments: argparse.Namespace) -> Columns:
    """Which parameters may differ from the prior, if that is what ``--columns`` says.

    It is taken off the arguments: any other text names the columns of logs, and a log of one
    column, called "all" or "independent", does not exist.
    """
    if arguments.columns not in COLUMN_CHOICES:
        return "all"
    chosen: Columns = arguments.columns
    arguments.columns = None
    return chosen


def prior_from(arguments: argparse.Namespace) -> Callable[[Model], Prior]:
    """A function that makes the prior for a model."""
    from steelyard.knowledge.prior import (
        prior_from_file,
        prior_from_geometry,
        prior_from_mass,
        prior_from_robot,
    )

    repair: RepairRule = arguments.repair_prior or "floor-moments"
    if arguments.prior in (None, "robot"):
        return partial(prior_from_robot, repair=repair)
    kind, equals, number = arguments.prior.partition("=")
    if equals and kind in ("mass", "density", "solids"):
        try:
            value = float(number)
        except ValueError:
            raise PriorError(
                f"--prior is {shown(arguments.prior)}; it must be like {kind}=18"
            ) from None
        if kind == "mass":
            return partial(prior_from_mass, total_mass=value)
        if kind == "density":
            return partial(prior_from_geometry, density=value)
        return partial(prior_from_geometry, total_mass=value)
    return partial(prior_from_file, path=arguments.prior, repair=repair)


def gamma_from(arguments: argparse.Namespace) -> float | GammaRule:
    """The weight of the prior, or a rule to find it."""
    from steelyard.estimators.prior_weight import GAMMA_RULES

    if arguments.gamma is None:
        return "leave-blocks-out"
    if arguments.gamma in GAMMA_RULES:
        return arguments.gamma  # type: ignore[no-any-return]
    try:
        value = float(arguments.gamma)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < float("inf"):
        raise PriorError(
            f"--gamma is {shown(arguments.gamma)}; it must be a positive number, or "
            f"{' or '.join(GAMMA_RULES)}; --method feasible uses no prior"
        )
    return value
