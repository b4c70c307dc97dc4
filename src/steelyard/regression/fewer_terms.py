"""The regression of a model with fewer terms, from that of a model with more; samples not needed.

The narrower model is the wider one with the parameters of some terms at zero, so its base columns
are combinations of those of the wider one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import RegressionError
from steelyard.model.base_map import base_map
from steelyard.model.model import Model
from steelyard.regression.compress import row_maker
from steelyard.regression.regression import Regression, triangle

Array = NDArray[np.float64]


def with_fewer_terms(regression: Regression, wide: Model, narrow: Model) -> Regression:
    """The regression of ``narrow``, whose columns are some of those of ``wide``."""
    if regression.model_hash != wide.hash:
        raise RegressionError("the regression does not belong to the wider model")
    if narrow.hash == wide.hash:
        return regression
    equation = regression.equation
    if regression.groups != row_maker(wide, regression.base, equation).groups:
        raise RegressionError(
            "the rows of this regression are sums of the model's torques, which cannot be reduced "
            "to fewer terms: compress the runs with the narrower model"
        )
    index = {name: i for i, name in enumerate(wide.column_names)}
    missing = [name for name in narrow.column_names if name not in index]
    if missing or narrow.channels != wide.channels:
        what = f"'{missing[0]}' is not a column" if missing else "its torques are not those"
        raise RegressionError(f"the narrower model is not part of it: {what} of the wider one")
    base = base_map(narrow)
    groups = row_maker(narrow, base, equation).groups
    # each narrow base column is a column of the wide model: K gives it in wide base columns
    chosen = [index[narrow.column_names[j]] for j in base.independent]
    wide_to_narrow = regression.base.K[:, chosen]
    factors = []
    for group, old, blocks in zip(groups, regression.groups, regression.factors, strict=True):
        T = wide_to_narrow[np.ix_(old.columns, group.columns)]
        k = len(old.columns)
        rows = [triangle(np.column_stack([block[:, :k] @ T, block[:, k:]])) for block in blocks]
        n = len(group.columns) + len(regression.extra) + 1
        factors.append(np.array(rows).reshape(len(blocks), n, n))
    pooled = regression.pooled
    if pooled is not None:
        n = regression.base.rank
        rows = [
            triangle(np.column_stack([block[:, :n] @ wide_to_narrow, block[:, n:]]))
            for block in pooled.factors
        ]
        pooled = replace(pooled, factors=np.array(rows))
    return replace(regression, base=base, groups=groups, factors=tuple(factors), pooled=pooled)
