"""Parts of the data left out in turn, for robots with many parameters.

Many fits leave out the same few parts. Of a robot with many parameters the QR of all time blocks
but some takes longer than the fit itself; here it is done once for each part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.estimators.parallel.workers import Shared
from steelyard.estimators.prior_weight import parts_of
from steelyard.estimators.size_rules import FEWER_PARTS
from steelyard.regression.regression import triangle

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeftOutParts:
    """The parts, and what is left without each.

    rows : (n_parts, n, n) factor of each part. counts : (n_parts,) torque values in each.
    shared : what helpers need to fit; its ``small`` has the factors without each part, and last
    that of all parts.
    """

    rows: Array
    counts: Array
    shared: Shared

    def tasks(self, draws: Array) -> Array:
        """Tasks on ``shared`` from tasks on ``rows``, which leave out one part or none.

        draws : (n_tasks, 2 + n_parts) two weights, then 0 for the part that is left out, else 1.
        """
        n_parts = len(self.rows)
        out = np.zeros((len(draws), 2 + n_parts + 1))
        out[:, :2] = draws[:, :2]
        without = draws[:, 2:] == 0.0
        which = np.where(without.any(axis=1), without.argmax(axis=1), n_parts)
        out[np.arange(len(draws)), 2 + which] = 1.0
        return out


def left_out_parts(shared: Shared, counts: Array) -> LeftOutParts:
    """At most `FEWER_PARTS` parts of neighbouring blocks.

    shared : with the factor of each block in ``small``. counts : (n_blocks,) torque values in each.
    """
    small = np.asarray(shared["small"], dtype=float)
    n = small.shape[2]
    parts = parts_of(counts, most=FEWER_PARTS)
    rows = np.array([triangle(small[part].reshape(-1, n)) for part in parts])
    left = [triangle(np.delete(rows, k, axis=0).reshape(-1, n)) for k in range(len(rows))]
    left.append(triangle(rows.reshape(-1, n)))
    return LeftOutParts(
        rows,
        np.array([counts[part].sum() for part in parts]),
        {**shared, "small": np.array(left)},
    )
