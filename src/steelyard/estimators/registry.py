"""The estimators by name, collected from the modules of `steelyard.estimators.methods`.

The command line, `steelyard.identify`, the documentation and the contract test read this registry.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from steelyard.errors import EstimationError, listed
from steelyard.estimators import methods
from steelyard.estimators.estimator import (
    CHOICES,
    COLUMN_CHOICES,
    DEFAULT_METHOD,
    EstimationOptions,
    EstimationTask,
    Estimator,
    check_columns,
)
from steelyard.findings import Finding

if TYPE_CHECKING:
    from steelyard.estimators.constrained import ConstrainedFit
    from steelyard.estimators.estimate import Estimate
    from steelyard.knowledge.constraints import Constraints
    from steelyard.knowledge.prior import Prior
    from steelyard.model.model import Model
    from steelyard.regression.regression import Regression


@cache
def all_estimators() -> tuple[Estimator, ...]:
    """Every estimator: the default, then those with physical results, then the others."""
    found: dict[str, Estimator] = {}
    for module in pkgutil.iter_modules(methods.__path__):
        if module.name.startswith("_"):
            continue
        for estimator in import_module(f"{methods.__name__}.{module.name}").ESTIMATORS:
            if estimator.name in found:
                raise EstimationError(f"two estimators are named '{estimator.name}'; rename one")
            found[estimator.name] = estimator
    order = sorted(found.values(), key=lambda e: (e.name != DEFAULT_METHOD, not e.physical, e.name))
    return tuple(order)


def method_names() -> tuple[str, ...]:
    """Names of the estimators."""
    return tuple(estimator.name for estimator in all_estimators())


def estimator_named(name: str) -> Estimator:
    """The estimator of this name."""
    for estimator in all_estimators():
        if estimator.name == name:
            return estimator
    raise EstimationError(f"there is no method '{name}'; there are {', '.join(method_names())}")


def estimate_by(
    options: EstimationOptions,
    model: Model,
    regression: Regression,
    *,
    prior: Prior | None = None,
    constraints: Constraints | None = None,
    threads: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[Estimate, ConstrainedFit | None]:
    """The estimate by a method, and the constrained fit that it is from, if any.

    prior : required by the methods that take one; the others refuse it.
    progress : called with the name of the work, the number of solved problems and their total.
    """
    estimator = estimator_named(options.method)
    if estimator.takes_prior and prior is None:
        raise EstimationError(f"the method '{estimator.name}' needs a prior")
    refuse_needless_prior(estimator, prior)
    refuse_needless_options(estimator, options)
    task = EstimationTask(model, regression, options, prior, constraints, threads, progress)
    estimate, fit = estimator.run(task)
    return with_options_said(estimate, options), fit


def with_options_said(estimate: Estimate, options: EstimationOptions) -> Estimate:
    """The estimate with a note on options that are not the method's own."""
    plain = EstimationOptions()
    said = [
        f"{name} {value}"
        for name in ("weighting", "towards", "drive_terms")
        if (value := getattr(options, name)) != getattr(plain, name)
    ]
    said += [
        f"essential {field.name} {getattr(options.essential, field.name):g}"
        for field in fields(options.essential)
        if getattr(options.essential, field.name) != field.default
    ]
    if not said:
        return estimate
    finding = Finding("info", "method-options", f"estimated with {', '.join(said)}, as asked")
    return replace(estimate, findings=(*estimate.findings, finding))


def refuse_needless_prior(estimator: Estimator, prior: object) -> None:
    """Refuse a prior for an estimator that takes none."""
    if prior is not None and not estimator.takes_prior:
        raise EstimationError(f"a prior is given, but the method '{estimator.name}' takes none")


def refuse_needless_options(estimator: Estimator, options: EstimationOptions) -> None:
    """Refuse options that the estimator does not use, and values that there are not."""
    refuse_needless_budget(estimator, options.budget_s)
    refuse_needless_sweeps(estimator, options.sweeps)
    refuse_needless_columns(estimator, options.columns)
    plain = EstimationOptions()
    for name in ("weighting", "towards", "drive_terms", "essential"):
        value = getattr(options, name)
        if value == getattr(plain, name):
            continue
        if name in CHOICES and value not in CHOICES[name]:
            raise EstimationError(f"{name} is {value!r:.60}; it is one of {listed(CHOICES[name])}")
        if name not in estimator.options:
            able = ", ".join(one.name for one in all_estimators() if name in one.options)
            raise EstimationError(
                f"{name} is given, but the method '{estimator.name}' does not use it; methods that "
                f"do: {able}"
            )


def refuse_needless_budget(estimator: Estimator, budget_s: float | None) -> None:
    """Refuse a time budget for an estimator that cannot be stopped, and a budget that is none."""
    if budget_s is None:
        return
    if "budget_s" not in estimator.options:
        able = ", ".join(one.name for one in all_estimators() if "budget_s" in one.options)
        raise EstimationError(
            f"a budget of {budget_s:g} s is given, but the method '{estimator.name}' cannot be "
            f"stopped early; methods that can: {able}"
        )
    if not 0.0 < budget_s < float("inf"):
        raise EstimationError(f"budget_s is {budget_s:g}; it must be a positive number of seconds")


def refuse_needless_sweeps(estimator: Estimator, sweeps: int | None) -> None:
    """Refuse a number of sweeps for an estimator that makes none, and a number below zero."""
    if sweeps is None:
        return
    if "sweeps" not in estimator.options:
        able = ", ".join(one.name for one in all_estimators() if "sweeps" in one.options)
        raise EstimationError(
            f"{sweeps} sweeps are given, but the method '{estimator.name}' makes none; methods "
            f"that do: {able}"
        )
    if not 0 <= sweeps <= 10_000:
        raise EstimationError(f"sweeps is {sweeps}; it must be 0 to 10000")


def refuse_needless_columns(estimator: Estimator, columns: str) -> None:
    """Refuse a choice of columns for an estimator that is not drawn to values of all columns."""
    check_columns(columns)
    if columns == COLUMN_CHOICES[0] or "columns" in estimator.options:
        return
    able = ", ".join(one.name for one in all_estimators() if "columns" in one.options)
    raise EstimationError(
        f"the columns '{columns}' are given, but the method '{estimator.name}' does not choose "
        f"between columns; methods that do: {able}"
    )
