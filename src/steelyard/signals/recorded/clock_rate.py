"""Whether a clock runs fast or slow, by positions beside measured velocities.

With x the integral of the velocity v over stamped time, x = c q where c is stamped over true time.
The log is cut into windows; in each, and for each joint, c is estimated with a lag of the velocity
left open. That of a wrong clock is the same for all joints, in each window: one curve in time, of
as few values as explain it. These estimates decide whether the clock is wrong.

They use little of what a log holds: in a window of its own, slow motion looks like an offset. How
wrong the clock is follows from the changes of x and q in short steps of all windows and joints at
once, with one lag and one offset of the velocity for each joint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steelyard.signals._timebase import unbroken, usual_period
from steelyard.signals.cubic_spline import CubicSpline, cubic_spline
from steelyard.signals.outliers import UNREACHED
from steelyard.signals.recorded.recorded import RESTS, Recorded, without_parabola

Array = NDArray[np.float64]

LEAST, MOST = 3e-3, 0.1
"""Errors of the rate (rms) that are worth a correction; larger ones are for the user to judge."""
SURE = 5.0
"""An error of the rate is at least this many standard errors."""
CLOSER = 1.1
"""Velocities and positions have to agree this many times better on true time."""
COMMON = 0.25
"""Joints agree if their own errors scatter by less than this share of the common one."""
WINDOWS, SHORTEST_S, FEWEST = 24, 0.5, 40
"""Windows of a log, their shortest length (s) and fewest rows."""
MOST_ROWS = 4000
"""Rows of a window that are looked at."""
MOST_VALUES, MOST_OF_STEPS = 5, 12
"""Most values of c, evenly over the log, with a cubic spline between them: of the estimates in
windows, and of short steps.
"""
STEP_S = 0.1
"""Length of these steps (s), in which positions change by more than the noise of a velocity."""
STRAY = 5.0
"""A step that is this many standard deviations away is something else: a slip, or a collision."""
DAMPED = 2.0
"""A filter that delays by a lag makes motion of the frequency w smaller by about half of (w lag)²;
an error of the rate is more than this many times (w lag)².
"""
UNEXPLAINED = 0.3
"""A velocity that explains less than the rest of a position's changes is something else."""


@dataclass(frozen=True, eq=False)
class RateError:
    """A clock that runs fast or slow.

    curve : c = stamped over true time, at stamped times (s). drift : how far c changes within the
    log. agrees : how many times smaller the difference of velocities and positions is on true time.
    """

    curve: CubicSpline
    drift: float
    agrees: float

    def true_time(self, time: Array) -> Array:
        """True times (n,) of stamped ones, from the same start."""
        steps = np.diff(time) / self.curve(0.5 * (time[1:] + time[:-1]))
        return np.asarray(time[0] + np.concatenate([[0.0], np.cumsum(steps)]))


@dataclass(frozen=True, eq=False)
class Estimates:
    """c of each window and joint. at : (n,) middle of the window (s). joint : (n,) its number.
    c, weight : (n,) the estimate and one over its variance, but for a common factor.
    left : (n,) mean square of what is left of the integral with c, and ``as_stamped`` with 1.
    lag : (n,) s by which velocities are late. speed : (n,) rad/s, of the motion's frequencies.
    """

    at: Array
    joint: Array
    c: Array
    weight: Array
    left: Array
    as_stamped: Array
    lag: Array
    speed: Array


def rate_error(recorded: Recorded) -> RateError | None:
    """The error of the clock's rate that all joints with velocities agree on; None without one."""
    found = _estimates(recorded, 0.0)
    lag = 0.0 if found is None else float(np.median(found.lag))
    earlier = lag if abs(lag) > 0.5 * usual_period(recorded.time) else 0.0
    if earlier:
        found = _estimates(recorded, earlier)
    if found is None:
        return None
    # a filter that delays velocities makes them smaller, too
    damped = DAMPED * float(np.median((found.speed * lag) ** 2))
    root = np.sqrt(found.weight / np.mean(found.weight))
    curve, error = _curve(
        recorded.time, MOST_VALUES, found.at, lambda basis: basis * root[:, None], found.c * root
    )
    fitted = curve(found.at)
    size = float(np.sqrt(np.average((fitted - 1.0) ** 2, weights=found.weight)))
    if size < max(LEAST, SURE * error, damped):
        return None
    # how far each joint is from what all of them say
    n = found.joint.astype(int)
    weights = np.bincount(n, found.weight)
    own = np.bincount(n, found.weight * (found.c - fitted)) / np.maximum(weights, 1e-300)
    if np.sqrt(np.average(own**2, weights=weights)) > COMMON * size:
        return None
    closer = float(np.sqrt(np.sum(found.as_stamped) / max(np.sum(found.left), 1e-300)))
    if closer < CLOSER:
        return None
    curve = _by_steps(recorded, earlier) or curve
    on = curve(np.linspace(recorded.time[0], recorded.time[-1], 101))
    if np.max(np.abs(on - 1.0)) > MOST:
        return None
    return RateError(curve, float(np.ptp(on)), closer)


def _curve(
    time: Array, most: int, at: Array, columns: Callable[[Array], Array], y: Array
) -> tuple[CubicSpline, float]:
    """c by least squares, and its standard error (rms).

    at : (n,) s. columns : of the equation with the right side y (n,), for a basis (n, k) of c;
    its own come first. Each of at most so many values has to pay: Schwarz's criterion.
    """
    n, n_places = len(y), len(np.unique(at))
    best: tuple[float, CubicSpline, float] | None = None
    for k in range(1, most + 1):
        if k > 1 and (n < 3 * k or n_places < 2 * k - 1):
            break
        places = np.linspace(time[0], time[-1], k)
        A = columns(cubic_spline(places, np.eye(k))(at))
        b, *_ = np.linalg.lstsq(A, y, rcond=None)
        residual = y - A @ b
        # the median keeps single windows, as with a collision, from deciding
        left = float(np.mean(np.minimum(residual**2, 9.0 * np.median(residual**2) + 1e-300)))
        score = n * np.log(max(left, 1e-300)) + k * np.log(n)
        error = float(np.sqrt(k * np.mean(residual**2) / n))
        if best is None or score < best[0] - 6.0:
            best = (score, cubic_spline(places, np.asarray(b[:k], dtype=float)), error)
    assert best is not None
    return best[1], best[2]


def _by_steps(recorded: Recorded, lag_s: float) -> CubicSpline | None:
    """c by short steps of all joints, positions taken ``lag_s`` earlier; None of too few steps."""
    time, windows = recorded.time, _windows(recorded.time)
    parts: list[Array] = []
    for _, q, v in _moving(recorded):
        steps = [_steps(time[w], q[w], v[w], lag_s) for w in windows]
        table = np.vstack([one for one in steps if one is not None] or [np.zeros((0, 5))])
        if len(table) < 3 * MOST_OF_STEPS:
            continue
        at, integral, moved, *others = table.T
        places = np.linspace(time[0], time[-1], MOST_OF_STEPS)
        basis = cubic_spline(places, np.eye(MOST_OF_STEPS))(at)
        A = np.column_stack([basis * moved[:, None], *others])
        off = np.abs(integral - A @ np.linalg.lstsq(A, integral, rcond=None)[0])
        noise = 1.4826 * float(np.median(off)) + 1e-300
        table[:, 1:] /= noise
        parts.append(table[off <= STRAY * noise])
    if not parts:
        return None
    at, integral, moved = np.vstack(parts)[:, :3].T
    # a lag and an offset of the velocity of each joint
    own = np.zeros((len(at), 2 * len(parts)))
    first = 0
    for k, part in enumerate(parts):
        own[first : first + len(part), 2 * k : 2 * k + 2] = part[:, 3:]
        first += len(part)

    def columns(basis: Array) -> Array:
        return np.column_stack([basis * moved[:, None], own])

    return _curve(time, MOST_OF_STEPS, at, columns, integral)[0]


def _steps(t: Array, q: Array, v: Array, lag_s: float) -> Array | None:
    """Middle, and changes of the integrated velocity, position, velocity and time (n_steps, 5), of
    the steps in one window (n,).
    """
    known = _known(t, q, v, lag_s)
    if known is None:
        return None
    t, q, v, x = known
    ends = np.searchsorted(t, np.arange(t[0], t[-1], STEP_S))
    ends = np.unique(np.append(ends, len(t) - 1))
    return np.column_stack(
        [0.5 * (t[ends[1:]] + t[ends[:-1]]), *(np.diff(one[ends]) for one in (x, q, v, t))]
    )


def _estimates(recorded: Recorded, lag_s: float) -> Estimates | None:
    """c in each window of each joint that has a velocity, positions taken ``lag_s`` earlier; None
    for less than three of them, or two joints.
    """
    time = recorded.time
    rows: list[tuple[float, ...]] = []
    windows = _windows(time)
    for number, q, v in _moving(recorded):
        found = [(w, _window(time[w], q[w], v[w], lag_s)) for w in windows]
        mine = [(w, one) for w, one in found if one is not None]
        if not mine:
            continue
        noise = float(np.median([one[2] for _, one in mine])) + 1e-300
        for w, (c, size, left, *rest) in mine:
            weight = size / max(noise, left)
            rows.append((0.5 * (time[w][0] + time[w][-1]), number, c, weight, left, *rest))
    if len({row[1] for row in rows}) < 2 or len(rows) < 3:
        return None
    return Estimates(*np.array(rows).T)


def _moving(recorded: Recorded) -> Iterator[tuple[int, Array, Array]]:
    """Number, positions and velocities (n_rows,) of each joint that moves and has both."""
    for number, (joint, v) in enumerate(recorded.of_quantity("velocity")):
        q = recorded.signals[joint.name, "position"]
        known = q[np.isfinite(q)]
        if len(known) and float(np.ptp(known)) >= RESTS:
            yield number, q, v


def _windows(time: Array) -> list[slice]:
    """Windows of the log, without holes."""
    length = max((time[-1] - time[0]) / WINDOWS, SHORTEST_S)
    out = []
    for piece in unbroken(time):
        t = time[piece]
        n = max(1, int((t[-1] - t[0]) / length))
        edges = piece.start + np.searchsorted(t, np.linspace(t[0], t[-1], n + 1))
        for first, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            middle = max(0, (end - first - MOST_ROWS) // 2)
            one = slice(first + middle, end - middle)
            if one.stop - one.start >= FEWEST:
                out.append(one)
    return out


def _window(t: Array, q: Array, v: Array, lag_s: float) -> tuple[float, ...] | None:
    """c in one window (n,), its information, what is left (mean squares) with c and with 1, the lag
    of the velocity (s), and the frequency of the motion (rad/s).
    """
    known = _known(t, q, v, lag_s)
    if known is None:
        return None
    t, q, v, x = known
    # the velocity as it is stands for the change by a lag
    x, q, rate = without_parabola(np.column_stack([x, q, v])).T
    size, moved = float(rate @ rate), float(q @ q)
    if not size > 0.0 or not moved > 0.0:
        return None
    before = x, q
    # without what a lag explains
    x, late = x - rate * (rate @ x) / size, q - rate * (rate @ q) / size
    information = float(late @ late)
    if information < 1e-3 * moved:
        return None
    c = float(x @ late) / information
    left = float(np.mean((x - c * late) ** 2))
    if not np.isfinite(c) or left > UNEXPLAINED**2 * information / len(t):
        return None
    lag = lag_s - float(rate @ (before[0] - c * before[1])) / (c * size)
    return c, information, left, float(np.mean((x - late) ** 2)), lag, float(np.sqrt(size / moved))


def _known(t: Array, q: Array, v: Array, lag_s: float) -> tuple[Array, Array, Array, Array] | None:
    """Times, positions ``lag_s`` earlier, velocities, and their integral (n_known,) where a window
    (n,) has them.
    """
    known = np.isfinite(q) & np.isfinite(v) & (np.abs(q) <= UNREACHED) & (np.abs(v) <= UNREACHED)
    if np.count_nonzero(known) < max(FEWEST, 0.8 * len(t)):
        return None
    t, q, v = t[known], np.unwrap(q[known]), v[known]
    if lag_s:
        inside = (t - lag_s >= t[0]) & (t - lag_s <= t[-1])
        if np.count_nonzero(inside) < FEWEST:
            return None
        q = cubic_spline(t, q)(t[inside] - lag_s)
        t, v = t[inside], v[inside]
    h = np.diff(t)
    slope = cubic_spline(t, v).slopes
    steps = 0.5 * h * (v[1:] + v[:-1]) + h**2 * (slope[:-1] - slope[1:]) / 12.0
    return t, q, v, np.concatenate([[0.0], np.cumsum(steps)])
