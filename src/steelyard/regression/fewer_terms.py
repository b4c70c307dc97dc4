"""The compressed data of a model with fewer terms, from those of a wider one.

A torque without some terms is the wider torque with their parameters at zero, so the columns that
the narrower model estimates are combinations of those that the wider factors have: no sample is
needed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RegressionError
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.regression.compress import row_groups
from steelyard.regression.regression import Regression, triangle

Array = NDArray[np.float64]


def narrowed(regression: Regression, wide: Model, narrow: Model) -> Regression:
    """The regression of ``narrow``, whose columns are some of those of ``wide``."""
    if regression.model_hash != wide.hash:
        raise RegressionError("the regression belongs to another model than the wider one")
    if narrow.hash == wide.hash:
        return regression
    if regression.groups != row_groups(wide, regression.base):
        raise RegressionError(
            "the rows of this regression are sums of the model's torques, which cannot be reduced "
            "to fewer terms: compress the runs with the narrower model"
        )
    index = {name: i for i, name in enumerate(wide.column_names)}
    missing = [name for name in narrow.column_names if name not in index]
    if missing or narrow.channels != wide.channels:
        what = f"'{missing[0]}' is no column" if missing else "its torques are not those"
        raise RegressionError(f"the narrower model is none: {what} of the wider one")
    base = base_map(narrow)
    groups = row_groups(narrow, base)
    # narrow base column j is the wide column index[...] = wide.K[:, that] in wide base columns
    chosen = [index[narrow.column_names[j]] for j in base.independent]
    turn = regression.base.K[:, chosen]
    factors = []
    for group, old, blocks in zip(groups, regression.groups, regression.factors, strict=True):
        T = turn[np.ix_(old.columns, group.columns)]
        k = len(old.columns)
        rows = [triangle(np.column_stack([block[:, :k] @ T, block[:, k:]])) for block in blocks]
        n = len(group.columns) + len(regression.extra) + 1
        factors.append(np.array(rows).reshape(len(blocks), n, n))
    return replace(regression, base=base, groups=groups, factors=tuple(factors))
