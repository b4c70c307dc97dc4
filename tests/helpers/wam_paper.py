"""The WAM arm of Sousa and Cortesão (2014): the figures of their Tables 3 to 8."""

from __future__ import annotations

from functools import cache
from math import pi

import numpy as np
from combinations import parsed

from steelyard.knowledge.constraints import Box, Constraints, MassSum
from steelyard.model.base_map import BaseMap

TABLE_3 = """
Ia_1+L_1yy+L_2zz; fv_1; fc_1; fo_1;
L_2xx-L_2zz+L_3zz-1.1l_3y+0.300475(m_3+m_4+m_5+m_6+m_7); L_2xy; L_2xz;
L_2yy+Ia_2+L_3zz-1.1l_3y+0.300475(m_3+m_4+m_5+m_6+m_7); L_2yz; l_2x;
l_2z-l_3y+0.55(m_3+m_4+m_5+m_6+m_7); fv_2; fc_2; fo_2;
L_3xx-L_3zz+0.002025m_3+L_4zz; L_3xy-0.045l_3y; L_3xz;
L_3yy-0.002025m_3+L_4zz-0.00405(m_4+m_5+m_6+m_7); L_3yz;
l_3x+0.045(m_3+m_4+m_5+m_6+m_7); l_3z+l_4y; Ia_3; fv_3; fc_3; fo_3;
L_4xx-L_4zz+0.002025m_4+L_5zz-0.6l_5y+0.092025(m_5+m_6+m_7); L_4xy+0.045l_4y; L_4xz;
L_4yy-0.002025m_4+L_5zz-0.6l_5y+0.087975(m_5+m_6+m_7); L_4yz; l_4x-0.045(m_4+m_5+m_6+m_7);
l_4z-l_5y+0.3(m_5+m_6+m_7); Ia_4; fv_4; fc_4; fo_4;
L_5xx-L_5zz+L_6zz; L_5xy; L_5xz; L_5yy+L_6zz; L_5yz; l_5x; l_5z+l_6y; Ia_5; fv_5; fc_5; fo_5;
L_6xx-L_6zz+L_7yy+0.12l_7z+0.0036m_7; L_6xy; L_6xz; L_6yy+L_7yy+0.12l_7z+0.0036m_7; L_6yz; l_6x;
l_6z+l_7z+0.06m_7; Ia_6; fv_6; fc_6; fo_6;
L_7xx-L_7yy; L_7xy; L_7xz; L_7yz; L_7zz; l_7x; l_7y; Ia_7; fv_7; fc_7; fo_7
"""
"""The 69 base combinations, with two unreadable rows restored."""
# Table 5: velocity amplitudes a and b (rad/s) of five harmonics of 0.1 pi rad/s, and q0 (rad)
A = np.array(
    [[0.05, -0.29, 0.48, 0.55, 0.65], [0.03, 0.29, -0.23, 0.32, 0.82],
     [-0.07, 0.40, 0.45, 0.40, -0.03], [0.14, -0.35, 0.15, 0.11, 0.93],
     [0.21, 0.35, 0.16, -0.02, 0.03], [-0.11, 0.28, 0.36, -0.06, 0.33],
     [-0.01, 0.24, 0.37, -0.45, 0.75]]
)  # fmt: skip
B = np.array(
    [[0.19, -0.40, -0.18, 0.63, -0.46], [0.09, -0.08, 0.05, -0.02, 0.65],
     [-0.49, 0.32, -0.26, -0.63, 0.06], [-0.14, 0.06, -0.13, -0.14, -0.03],
     [-0.51, 0.14, 0.37, -0.15, -0.17], [0.13, 0.07, 0.67, -0.15, -0.22],
     [0.24, 0.24, -0.22, -0.50, -0.52]]
)  # fmt: skip
Q0 = np.array([-0.29, 0.11, -0.02, 1.67, -2.41, 0.20, 0.58])
OMEGA = 0.1 * pi
# Table 4: gains of the computed torque, 1/s² and 1/s
KP = (400.0, 204.1, 625.0, 400.0, 10_000.0, 10_000.0, 20_408.2)
KD = (40.0, 28.6, 50.0, 40.0, 200.0, 200.0, 285.7)
# Table 7: boxes that hold the centres of mass (m)
LOWER = [
    (-0.14, -0.174, -0.084), (-0.084, -0.174, -0.084), (-0.09, -0.55, -0.045),
    (-0.045, -0.045, -0.05), (-0.045, -0.02, -0.045), (-0.045, -0.06, -0.02),
    (-0.045, -0.045, -0.018),
]  # fmt: skip
UPPER = [
    (0.14, 0.174, 0.346), (0.084, 0.174, 0.17), (0.04, 0.04, 0.045), (0.095, 0.045, 0.83),
    (0.045, 0.1, 0.045), (0.045, 0.045, 0.06), (0.045, 0.045, 0.001),
]  # fmt: skip
MOST_KG = 27.0
MARGIN = 1e-6

TABLE_8 = np.array(
    [[6.60, 6.68, 6.64, 6.65], [7.16, 7.14, 7.01, 6.98], [8.47, 8.49, 8.44, 8.40],
     [6.81, 6.79, 6.76, 6.74]]
)  # fmt: skip
"""Table 8, per cent: a row for each recording, a column for each solution."""

TABLE_6 = """
Ia_1+L_1yy+L_2zz Ia_1+0.1328 0.3381 0.53 0.3049
fv_1 - 1.63 0.28 1.648
fc_1 - 1.601 0.26 1.605
fo_1 - 0.01037 18 0.007658
L_2xx-L_2zz+L_3zz-1.1l_3y+0.300475(m_3+m_4+m_5+m_6+m_7) 1.181 1.017 0.29 1.04
L_2xy 1.347e-5 -0.0505 3.2 -0.05561
L_2xz 0.0001170 -0.02539 4.8 -0.02304
L_2yy+Ia_2+L_3zz-1.1l_3y+0.300475(m_3+m_4+m_5+m_6+m_7) Ia_2+1.189 1.451 0.23 1.446
L_2yz -3.659e-5 -0.03322 4.3 -0.038
l_2x -0.009183 0.08154 1.7 0.08391
l_2z-l_3y+0.55(m_3+m_4+m_5+m_6+m_7) 2.333 2.358 0.027 2.36
fv_2 - 2.372 0.21 2.364
fc_2 - 0.533 0.71 0.5332
fo_2 - 0.898 1.2 0.9296
L_3xx-L_3zz+0.002025m_3+L_4zz 0.003856 -0.01168 20 0.0183
L_3xy-0.045l_3y -2.509e-5 0.03663 2.9 0.02517
L_3xz -5.098e-6 0.002625 45 -0.00827
L_3yy-0.002025m_3+L_4zz-0.00405(m_4+m_5+m_6+m_7) -0.006954 -0.06614 2.2 0.001251
L_3yz 5.295e-6 -0.04278 2.5 -0.03598
l_3x+0.045(m_3+m_4+m_5+m_6+m_7) 0.1476 0.1194 0.44 0.1255
l_3z+l_4y -0.0004910 -0.002107 18 -0.0009105
Ia_3 - 0.1139 1.3 0.06988
fv_3 - 0.8554 0.52 0.8111
fc_3 - 0.3454 1.1 0.3718
fo_3 - -0.09566 2.1 -0.08749
L_4xx-L_4zz+0.002025m_4+L_5zz-0.6l_5y+0.092025(m_5+m_6+m_7) 0.1149 0.165 0.9 0.1385
L_4xy+0.045l_4y -3.944e-5 0.01292 5.4 0.009043
L_4xz -8.193e-5 -0.02431 2.4 -0.01386
L_4yy-0.002025m_4+L_5zz-0.6l_5y+0.087975(m_5+m_6+m_7) 0.1057 0.1213 1.1 0.1239
L_4yz 9.417e-5 -0.01128 6.2 -0.005383
l_4x-0.045(m_4+m_5+m_6+m_7) -0.1235 -0.1057 0.35 -0.101
l_4z-l_5y+0.3(m_5+m_6+m_7) 0.5010 0.5209 0.088 0.5174
Ia_4 - -0.005825 27 1.009e-06
fv_4 - 0.6153 0.8 0.6005
fc_4 - 0.6291 0.57 0.6417
fo_4 - 0.05353 5.4 0.03402
L_5xx-L_5zz+L_6zz 0.0005648 -0.008932 12 -0.01554
L_5xy -2.564e-7 0.005089 7.4 -0.002231
L_5xz 1.882e-9 0.0198 2.4 0.01646
L_5yy+L_6zz 0.0006530 0.006071 11 0.007886
L_5yz 8.326e-7 -0.0092 4.5 -0.002773
l_5x 1.104e-5 0.006003 4.9 0.006159
l_5z+l_6y -0.006580 -0.01351 2 -0.01388
Ia_5 - -0.0009694 81 1.004e-06
fv_5 - 0.1457 3.3 0.1387
fc_5 - 0.03597 7.7 0.03627
fo_5 - 0.004681 43 0.001217
L_6xx-L_6zz+L_7yy+0.12l_7z+0.0036m_7 0.0006155 0.003965 20 0.009329
L_6xy -1.483e-6 0.001507 22 -0.002418
L_6xz 2.005e-6 -0.01062 3.4 -0.003334
L_6yy+L_7yy+0.12l_7z+0.0036m_7 0.0007576 0.01942 3 0.01731
L_6yz 0.0002216 0.00495 7.2 0.004267
l_6x -5.125e-5 -0.007862 3.2 -0.006727
l_6z+l_7z+0.06m_7 0.01421 0.009031 2.4 0.009509
Ia_6 - -0.008871 10 1.003e-06
fv_6 - 0.1437 3.2 0.1344
fc_6 - 0.06428 4.7 0.07144
fo_6 - -0.007354 26 -0.007547
L_7xx-L_7yy -3.286e-7 -0.01584 3.2 -0.01357
L_7xy 1.909e-7 -0.002082 12 -0.0009831
L_7xz -1.771e-8 0.0002248 61 6.76e-05
L_7yz 3.623e-8 0.0002694 52 0.0007734
L_7zz 7.408e-5 -0.0005387 29 0.0003627
l_7x -5.474e-6 0.00782 2.4 0.007006
l_7y 1.120e-5 -0.0003508 52 -0.0003549
Ia_7 - 0.0009977 27 0.0001039
fv_7 - 0.05763 5.6 0.05625
fc_7 - 0.0118 27 0.01253
fo_7 - -0.002192 84 -0.002699
"""
"""Combination, CAD value, least squares, its sigma in per cent, feasible with boxes."""


@cache
def _rows() -> tuple[tuple[dict[str, float], tuple[str, ...]], ...]:
    cells = (line.split() for line in TABLE_6.strip().splitlines())
    return tuple((parsed(first), tuple(rest)) for first, *rest in cells)


def table_6(base: BaseMap, column: int) -> np.ndarray:
    """One column of Table 6 (69,) in the order of the base map: 1 least squares, 2 its standard
    deviation in per cent, 3 the feasible estimate with boxes.
    """
    ours = [parsed(text) for text in base.combinations("papers")]
    values = np.full(len(ours), np.nan)
    for combination, cells in _rows():
        values[ours.index(combination)] = float(cells[column])
    return values


def known(*, boxes: bool) -> Constraints:
    """The paper's conditions: its 6×6 matrices with a margin, and the boxes if asked for."""
    links = [f"link_{k}" for k in range(1, 8)]
    if not boxes:
        return Constraints(consistency="sousa", margin=MARGIN)
    return Constraints(
        consistency="sousa",
        margin=MARGIN,
        mass_sums=(MassSum(tuple(links), (None, MOST_KG)),),
        com={name: Box(lo, up) for name, lo, up in zip(links, LOWER, UPPER, strict=True)},
    )
