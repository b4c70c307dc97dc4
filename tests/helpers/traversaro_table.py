"""Table I of Traversaro et al. (2016) by its printed digits, and its exact verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from steelyard.conic.exact import is_positive_definite, is_psd

TEXT = """
10   free     1.836 0.062 0.001 0.208 0.580  0.593 -0.541 1.022 0.190 -0.129
10   physical 1.836 0.062 0.001 0.208 0.215  0.012 -0.064 0.227 0.038  0.028
5    free     1.842 0.061 0.000 0.206 0.128 -0.018 -0.125 0.125 0.026 -0.001
5    physical 1.842 0.060 0.000 0.206 0.166  0.001 -0.089 0.216 0.001  0.050
2    free     1.852 0.060 0.001 0.206 0.065  0.001 -0.035 0.066 0.006  0.007
2    physical 1.852 0.060 0.001 0.206 0.067  0.001 -0.030 0.086 0.003  0.014
1    free     1.820 0.060 0.002 0.205 0.032  0.0014 -0.017 0.036 0.002 0.008
1    physical 1.820 0.060 0.002 0.205 0.034  0.001 -0.015 0.042 0.001  0.009
0.5  free     1.843 0.060 0.005 0.204 0.033  0.003 -0.014 0.035 0.000  0.008
0.5  physical 1.844 0.059 0.004 0.204 0.037  0.001 -0.013 0.039 0.000  0.008
"""
"""Time of a motion (s), "free" (R^10) or "physical" (the manifold), then m, m c (3), and the
inertia about the sensor's origin in the paper's order xx xy xz yy yz zz.
"""


@dataclass(frozen=True)
class Row:
    """One row: its texts, and the same numbers as fractions."""

    time_s: str
    kind: str
    texts: tuple[str, ...]

    @property
    def exact(self) -> tuple[Fraction, ...]:
        """m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz."""
        return tuple(Fraction(text) for text in self.texts)

    @property
    def phi(self) -> np.ndarray:
        """The ten parameters in Steelyard's order."""
        values = [float(x) for x in self.exact]
        return np.array([values[k] for k in (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)])

    def inertia_com(self) -> list[list[Fraction]]:
        """Inertia about the centre of mass, exactly."""
        m, x, y, z, xx, xy, xz, yy, yz, zz = self.exact
        h = (x, y, z)
        square = x * x + y * y + z * z
        origin = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
        return [
            [origin[i][j] - ((square if i == j else 0) - h[i] * h[j]) / m for j in range(3)]
            for i in range(3)
        ]

    def breaks_definition_1(self) -> bool:
        """Whether the mass or the inertia about the centre of mass is not positive (definite)."""
        return self.exact[0] <= 0 or not is_positive_definite(self.inertia_com())

    def is_physical(self) -> bool:
        """Whether the second moments about the centre of mass are positive semidefinite."""
        about = self.inertia_com()
        half = (about[0][0] + about[1][1] + about[2][2]) / 2
        return self.exact[0] > 0 and is_psd(
            [[(half if i == j else 0) - about[i][j] for j in range(3)] for i in range(3)]
        )


def rows() -> tuple[Row, ...]:
    """The ten rows."""
    out = []
    for line in TEXT.split("\n"):
        time_s, kind, *texts = line.split() or ("", "")
        if texts:
            out.append(Row(time_s, kind, tuple(texts)))
    return tuple(out)
