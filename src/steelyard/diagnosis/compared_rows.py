"""The torque channels on which ways to prepare a log are compared.

All of them, for robots of usual size (see `steelyard.estimators.size_rules`). A comparison
compresses the log some twenty times, each time with an effort that grows with the cube of the
number of joints in a chain. Robots with many parameters are therefore compared on the joints that
carry the fewest links: filters and friction widths are shared by all joints or, as a share of each
joint's own speed, set for each of them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from steelyard.estimators.size_rules import has_many
from steelyard.model.base_map import BaseMap
from steelyard.model.model import Model
from steelyard.regression.row_mixing import RowMixing
from steelyard.regression.torque_rows import row_groups

MOST_COLUMNS = 100
"""Base parameters that the compared channels of a robot with many parameters depend on,
together."""


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """The rows that are compared.

    rows : their indices among the model's channels, increasing. base : the base parameters that
    affect them. mixing : that selects them; None for all.
    """

    rows: tuple[int, ...]
    base: BaseMap
    mixing: RowMixing | None = None


def compared_rows(model: Model, base: BaseMap, measured: Collection[str]) -> ComparedRows:
    """All channels of a robot with few parameters, the outermost measured ones of a larger one.

    measured : names of the channels with torques.
    """
    channels = row_groups(model, base)
    everything = ComparedRows(tuple(range(len(channels))), base)
    if not has_many(len(model.columns)):
        return everything
    chosen: list[int] = []
    columns: set[int] = set()
    for row in sorted(range(len(channels)), key=lambda row: len(channels[row].columns)):
        if channels[row].name not in measured:
            continue
        both = columns | set(channels[row].columns)
        if chosen and len(both) > MOST_COLUMNS:
            break
        chosen.append(row)
        columns = both
    if not chosen:
        return everything
    kept, rows = sorted(columns), sorted(chosen)
    smaller = replace(base, independent=tuple(base.independent[k] for k in kept), K=base.K[kept])
    names = tuple(channels[row].name for row in rows)
    return ComparedRows(tuple(rows), smaller, RowMixing(names, np.eye(len(channels))[rows]))
