"""Table I of Traversaro et al. 2016, with its printed digits.

Rows: seconds of a point-to-point motion, and whether the fit was constrained to physical bodies.
Numbers: m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the frame's origin (eq 3), in kg,
kg m and kg m².
"""

from __future__ import annotations

from fractions import Fraction

TABLE: dict[tuple[str, bool], str] = {
    ("10", False): "1.836 0.062 0.001 0.208 0.580 0.593 -0.541 1.022 0.190 -0.129",
    ("10", True): "1.836 0.062 0.001 0.208 0.215 0.012 -0.064 0.227 0.038 0.028",
    ("5", False): "1.842 0.061 0.000 0.206 0.128 -0.018 -0.125 0.125 0.026 -0.001",
    ("5", True): "1.842 0.060 0.000 0.206 0.166 0.001 -0.089 0.216 0.001 0.050",
    ("2", False): "1.852 0.060 0.001 0.206 0.065 0.001 -0.035 0.066 0.006 0.007",
    ("2", True): "1.852 0.060 0.001 0.206 0.067 0.001 -0.030 0.086 0.003 0.014",
    ("1", False): "1.820 0.060 0.002 0.205 0.032 0.0014 -0.017 0.036 0.002 0.008",
    ("1", True): "1.820 0.060 0.002 0.205 0.034 0.001 -0.015 0.042 0.001 0.009",
    ("0.5", False): "1.843 0.060 0.005 0.204 0.033 0.003 -0.014 0.035 0.000 0.008",
    ("0.5", True): "1.844 0.059 0.004 0.204 0.037 0.001 -0.013 0.039 0.000 0.008",
}
TO_OURS = (0, 1, 2, 3, 4, 5, 7, 6, 8, 9)
"""Places of m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz in a row."""


def printed(time: str, constrained: bool) -> tuple[list[Fraction], list[Fraction]]:
    """The ten numbers of a row in Steelyard's order, and half a unit of the last digit of each."""
    texts = TABLE[time, constrained].split()
    halves = [Fraction(1, 2 * 10 ** len(text.partition(".")[2])) for text in texts]
    return (
        [Fraction(texts[k]) for k in TO_OURS],
        [halves[k] for k in TO_OURS],
    )
