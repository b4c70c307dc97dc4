"""When a statistic of change is too large to be noise: a threshold from a rate of false alarms.

The statistic is chi-square with ten degrees of freedom where the noise is white and its scale
known. Residuals of real robots are autocorrelated, and the error of a model changes with the
motion. So the mean and the variance of the statistic while nothing changes are watched, and its
distribution is taken as a multiple of a chi-square with these two moments (Satterthwaite).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt
from statistics import NormalDist

FULL_FREEDOM = 10.0
MEMORY_S = 300.0
"""Time constant (s) with which the moments of the statistic are forgotten."""
LEAST_FREEDOM = 0.5
SMALLEST = 1e-300
"""Probability of a false alarm at one look that is as good as none."""
CAUTION = 2.0
"""Standard deviations by which the watched mean is raised: it is an estimate, too."""


class ChangeTest:
    """Running moments of a statistic for several windows, and its thresholds.

    windows_s : length of each window. block_s : time between two looks.
    """

    def __init__(
        self, windows_s: Sequence[float], block_s: float, false_alarms_per_hour: float
    ) -> None:
        self.windows_s = tuple(windows_s)
        looks_per_hour = len(windows_s) * 3600.0 / block_s
        # by the lower tail: one minus a small probability would be one
        tail = min(0.5, max(false_alarms_per_hour / looks_per_hour, SMALLEST))
        self.quantile = -NormalDist().inv_cdf(tail)
        self.watched_s = 0.0
        # of two or three windows: floats, on which NumPy would take longer
        self.mean = [0.0] * len(windows_s)
        self.square = [0.0] * len(windows_s)

    def inflation(self, variance: float) -> float:
        """Variance of a mean over the longest window, as a multiple of that for white noise."""
        if not self.watched_s > 0.0 or not variance > 0.0:
            return 1.0
        return max(1.0, self.mean[-1] / (FULL_FREEDOM * variance))

    def thresholds(self, variance: float) -> list[float]:
        """For each window, for noise of this variance, in units of the weights' noise."""
        white = variance * chi_square_quantile(FULL_FREEDOM, self.quantile)
        out = [white] * len(self.windows_s)
        for k, window_s in enumerate(self.windows_s):
            mean = self.mean[k]
            spread = self.square[k] - mean * mean
            if not (mean > 0.0 and spread > 0.0):
                continue
            freedom = min(max(2.0 * mean * mean / spread, LEAST_FREEDOM), FULL_FREEDOM)
            independent = max(min(self.watched_s, MEMORY_S) / window_s, 1.0)
            raised = mean * (1.0 + CAUTION * sqrt(2.0 / (freedom * independent)))
            out[k] = max(white, raised / freedom * chi_square_quantile(freedom, self.quantile))
        return out

    def watch(
        self, statistics: Sequence[float], thresholds: Sequence[float], passed_s: float
    ) -> None:
        """Learn from the statistic of each window while nothing changed.

        Outliers count as the threshold.
        """
        self.watched_s += passed_s
        share = max(passed_s / self.watched_s, 1.0 - exp(-passed_s / MEMORY_S))
        for k, (statistic, threshold) in enumerate(zip(statistics, thresholds, strict=True)):
            usual = min(max(statistic, 0.0), threshold)
            self.mean[k] += share * (usual - self.mean[k])
            self.square[k] += share * (usual * usual - self.square[k])


def chi_square_quantile(freedom: float, quantile: float) -> float:
    """Upper quantile of chi-square, by that of the normal distribution (Wilson and Hilferty 1931).

    For few degrees of freedom and far tails it is a little too large.
    """
    spread = 2.0 / (9.0 * freedom)
    return freedom * max(1.0 - spread + quantile * sqrt(spread), 0.0) ** 3
