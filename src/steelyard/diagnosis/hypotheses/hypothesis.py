"""A hypothesis about a log: what may be wrong with it or its robot file, or what the robot has that
the model lacks.

A hypothesis is a :class:`Kind`. Small ones are columns beside the model's, the derivative of the
predicted torque by their size: `columns` makes them, and `stepwise` compares them. Others are
finite changes, such as exchanged columns: `finite_torques`, `finite_motion`. A kind
holds its words, remedy and limits; it is registered in the tuple ``KINDS`` of its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.diagnosis.hypotheses.fit import Fit, fit_of, moments, solver_of
from steelyard.diagnosis.hypotheses.noise import Noise, Whitening, noise_of, whitening_of
from steelyard.diagnosis.hypotheses.samples import Samples, every, regressor, rows_of, term_columns
from steelyard.errors import listed
from steelyard.findings import Finding, Level
from steelyard.model.kernels import rigid_torque
from steelyard.model.mechanism import Mechanism
from steelyard.model.model import Model
from steelyard.signals.cubic_spline import cubic_spline

Array = NDArray[np.float64]
Origin = Literal["log", "file", "robot"]
STEP = 1e-5
"""Share of a size (or rad, m, s) by which torques are differentiated."""
SMOOTHED = 0.4
"""Width of a smoothing kernel in units of the inverse of the filter's cutoff."""
SPOILT = 2.0
"""Factor by which a suspect has to raise the unexplained torque in order to be severe."""


@dataclass(frozen=True)
class Suspect:
    """What is probably wrong with the input, or what the model of the robot lacks.

    kind : of the hypothesis. joints : the joints it is about, empty for all.
    size, unit : how large it is. interval : 95 % interval of the size, None where there is none.
    span_s : when, where it is about a part of the log.
    score : by how much it explains the log better than the log as it is; see `fit`.
    error : unexplained share of torque as the log is, and with it, the mean of all joints.
    could_be : other explanations, in words. option : what mends it, as a user types it.
    rivals : codes of hypotheses that explain the log about as well. by_part : the size in parts of
        the log, where it was computed. beyond : whether a delay comes on top of one that is taken
        out already.
    """

    kind: Kind
    joints: tuple[str, ...]
    size: float
    unit: str
    score: float
    error: tuple[float, float]
    interval: tuple[float, float] | None = None
    span_s: tuple[float, float] | None = None
    could_be: tuple[str, ...] = ()
    option: str = ""
    rivals: tuple[str, ...] = ()
    by_part: tuple[float, ...] = ()
    beyond: bool = False

    @property
    def code(self) -> str:
        """Of its finding."""
        return self.kind.code

    @property
    def words(self) -> str:
        """What is wrong, with joints and size."""
        return self.kind.words(self)

    @property
    def whose(self) -> str:
        """Of which joints, in words."""
        return f"of '{listed(self.joints)}'" if self.joints else "of all joints"

    @property
    def half_width(self) -> str:
        """± half of the interval, in words; empty where there is none."""
        if self.interval is None:
            return ""
        half = 0.5 * (self.interval[1] - self.interval[0])
        return f" ± {1e3 * half:.2g}" if self.unit == "s" else f" ± {half:.2g}"

    @property
    def late(self) -> str:
        """Whether a delay is late or early, in words."""
        word = "late" if self.size > 0.0 else "early"
        return f"{word} beyond the delay that is taken out already" if self.beyond else word

    @property
    def when(self) -> str:
        """From when to when, in words."""
        return "" if self.span_s is None else "{:.4g} to {:.4g} s".format(*self.span_s)


@dataclass(frozen=True, eq=False)
class Scene:
    """A log and the fit that predicts its torques: what columns are made from.

    full : all samples. samples : at most some of them, on which columns are compared.
    fit : of ``samples``, with regressor W (n, n_joints, p): the model's columns, then those of
    hypotheses that were admitted, ``admitted``. noise : of the torques.
    """

    full: Samples
    samples: Samples
    W: Array
    fit: Fit
    noise: Noise
    admitted: tuple[Candidate, ...] = ()

    @cached_property
    def whitened(self) -> Whitened:
        """The problem in rows that are independent of each other, in units of their noise."""
        s, p = self.samples, self.W.shape[2]
        white = whitening_of(self.noise, s.time, s.moving)
        table = white(np.concatenate([self.W, (s.tau * s.moving)[:, :, None]], axis=2))
        A = table[:, :, :p].reshape(-1, p) * self.fit.spread
        file = self.model.prior_theta() / self.fit.spread[: len(self.model.columns)]
        r = table[:, :, p].ravel() - A[:, : len(file)] @ file
        H = A.T @ A
        H[np.diag_indices(p)] += 1.0
        solve = solver_of(H)
        x = solve(A.T @ r)
        return Whitened(white, A, solve, x, r - A @ x)

    @property
    def model(self) -> Model:
        """The model of the samples."""
        return self.samples.model

    @property
    def theta(self) -> Array:
        """The fitted parameters (p,) of the model alone."""
        return self.fit.theta[: len(self.model.columns)]

    @cached_property
    def shares(self) -> Array:
        """Where in the log each sample is (n,), from 0 to 1."""
        time = self.samples.time
        return np.asarray((time - time[0]) / (time[-1] - time[0]))

    @cached_property
    def rigid(self) -> Array:
        """Torque (n, n_joints) of the fitted bodies."""
        return self.torque()

    @cached_property
    def friction(self) -> Array:
        """Torque (n, n_joints) of the fitted friction."""
        own, s = term_columns(self.model), self.samples
        return np.asarray(self.theta[own[:, 1]] * s.v + self.theta[own[:, 2]] * s.jump)

    @cached_property
    def predicted(self) -> Array:
        """Torque (n, n_joints) of the fit; it has no noise, unlike the measured one."""
        own = term_columns(self.model)
        drives = self.theta[own[:, 0]] * self.samples.a + self.theta[own[:, 3]]
        return np.asarray(self.rigid + self.friction + drives)

    @cached_property
    def whole(self) -> Scene:
        """The scene of all samples: derivatives by time need samples that are near each other."""
        return replace(self, samples=self.full)

    def thinned(self, table: Array) -> Array:
        """The rows of a table of all samples that are compared."""
        step = int(np.searchsorted(self.full.time, self.samples.time[1]))
        return np.asarray(table[::step][: len(self.samples.time)])

    @cached_property
    def slopes(self) -> Array:
        """Derivative (n, n_joints) of the predicted torque by time."""
        return self.thinned(self.derivative(self.whole.predicted))

    def derivative(self, table: Array) -> Array:
        """Derivative of a table of all samples by time."""
        return cubic_spline(self.full.time, table).slopes

    def smoothed(self, table: Array) -> Array:
        """A table of all samples without its fastest waves, which noise of the positions makes: in
        a column that is differentiated twice it would look like what it does to the residual.
        """
        step_s = float(np.median(np.diff(self.full.time)))
        width = SMOOTHED * self.full.lag_s / step_s
        reach = np.arange(-int(3.0 * width) - 1, int(3.0 * width) + 2)
        weights = np.exp(-0.5 * (reach / width) ** 2)
        padded = np.pad(table, ((len(reach) // 2,) * 2, (0, 0)), mode="edge")
        rows = np.lib.stride_tricks.sliding_window_view(padded, len(reach), axis=0)
        return np.asarray(rows @ (weights / weights.sum()))

    def torque(
        self,
        q: Array | None = None,
        v: Array | None = None,
        a: Array | None = None,
        gravity: Array | None = None,
        mechanism: Mechanism | None = None,
    ) -> Array:
        """Torque (n, n_joints) of bodies, as fitted and along the log's motion but for these."""
        s = self.samples
        q, v, a = s.q if q is None else q, s.v if v is None else v, s.a if a is None else a
        gravity = np.array(self.model.mechanism.gravity) if gravity is None else gravity
        return np.asarray(rigid_torque(self.model, self.theta, q, v, a, gravity, mechanism))

    def moved(self, joint: int, dq: Array, dv: Array, da: Array) -> Array:
        """Derivative (n, n_joints) of the bodies' torque along a change (n,) of a joint's motion:
        where positions are measured too large by this, torques are too small by it.
        """
        s, unit = self.samples, np.arange(self.samples.q.shape[1]) == joint
        step = STEP * unit
        q, v, a = s.q + dq[:, None] * step, s.v + dv[:, None] * step, s.a + da[:, None] * step
        return np.asarray((self.torque(q, v, a) - self.rigid) / STEP)


@dataclass(frozen=True, eq=False)
class Whitened:
    """The least-squares problem of a scene, in rows that are independent.

    white : makes them. A : (n n_joints, p) in units of the parameters' spread. solve : with
    AᵀA + 1. x : (p,) distance of the parameters from the file's. r : (n n_joints,) residual.
    """

    white: Whitening
    A: Array
    solve: Callable[[Array], Array]
    x: Array
    r: Array

    @property
    def score(self) -> float:
        """Squares of the residual and of the distance from the file; smaller is better."""
        return float(self.r @ self.r + self.x @ self.x)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A hypothesis of one kind about some joints.

    columns : (n, n_joints, k) of a size of one, or (n, n_joints) if k is one. typical : (k,) sizes
    that are likely.
    span_s : when, for what is about a part of the log. variant : of a hypothesis in several forms.
    least : a size (as told) that matters in this log, if it is larger than that of the kind.
    cost : gain that it has to bring because it was chosen among many.
    """

    kind: Kind
    joints: tuple[str, ...]
    columns: Array
    typical: Array
    span_s: tuple[float, float] | None = None
    variant: float = 0.0
    least: float = 0.0
    cost: float = 0.0

    @property
    def table(self) -> Array:
        """The columns (n, n_joints, k)."""
        return self.columns if self.columns.ndim == 3 else self.columns[:, :, None]

    def possible(self, size: float) -> bool:
        """Whether a size (as told) matters and can be."""
        return self.kind.possible(size) and abs(size - self.kind.from_size) >= self.least

    @property
    def name(self) -> tuple[str, tuple[str, ...], float]:
        """What is known of it without its numbers."""
        return self.kind.code, self.joints, self.variant


Columns = Callable[["Kind", Scene], Iterator[Candidate]]
Mended = Callable[[Samples, tuple[int, ...], Array], Samples]


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind of hypothesis.

    code : of findings. of : whether it is a fault of the log, of the file, or the robot has it.
    words : what is wrong, in words, with joints and size.
    unit : of its size. to_do : what a user does about it, besides or for want of an option.
    could_be : what cannot be told apart from it on any log.
    severity : of a fault, "always", "spoils" (where it spoils the fit), "never"; "note" for what
        is no fault.
    columns : candidates of this kind, for a small one.
    told : the size in ``unit`` from the sizes (k,) of the columns.
    least, most : sizes (as told) that matter and that are possible, counted from ``from_size`` (1
        for factors). positive : whether others than positive ones are not. lowest : of any sign.
    mended : the samples without it, by joints (none for all) and sizes (k,) of the columns.
    option : that mends it, as a user types it. because : what speaks for it, in words.
    """

    code: str
    of: Origin
    words: Callable[[Suspect], str]
    unit: str = ""
    to_do: str = ""
    could_be: tuple[str, ...] = ()
    severity: Literal["always", "spoils", "never", "note"] = "spoils"
    columns: Columns | None = None
    told: Callable[[Array], float] = field(default=lambda sizes: float(sizes[0]))
    least: float = 0.0
    most: float = np.inf
    positive: bool = False
    lowest: float = -np.inf
    from_size: float = 0.0
    mended: Mended | None = None
    option: Callable[[Suspect], str] = field(default=lambda suspect: "")
    because: Callable[[Suspect], str] = field(default=lambda suspect: evidence(suspect))

    @property
    def may_stop(self) -> bool:
        """Whether its finding may be severe."""
        return self.severity in ("always", "spoils")

    def possible(self, size: float) -> bool:
        """Whether a size (as told) matters and can be."""
        away = size - self.from_size
        wrong_sign = self.positive and away < 0.0
        return self.least <= abs(away) <= self.most and size >= self.lowest and not wrong_sign


MOST = 960
"""Samples of a log on which columns are compared."""
PARTS = 16
"""Parts of a log, each of which is left out of a size that it is predicted with."""
LEAST_NOISE = 0.0015
"""Noise of a torque as a share of it, below which no simulator nor robot is."""


def scene_of(samples: Samples, noise: Noise | None = None) -> Scene:
    """The log with the fit of its model; without its noise, that of the fit."""
    step = max(1, -(-len(samples.time) // MOST))
    # filtered samples that are nearer to each other say the same
    apart_s = float(np.median(np.diff(samples.time)))
    step = max(step, int(0.5 * samples.lag_s / apart_s))
    some = every(samples, step)
    # as many in each part: with others, a fit of all would not be one of the parts
    some = rows_of(some, slice(len(some.time) - len(some.time) % PARTS))
    W = regressor(some)
    fit = fit_of(moments(some, W))
    return Scene(samples, some, W, fit, noise_left(some, W, fit) if noise is None else noise)


def noise_left(samples: Samples, W: Array, fit: Fit) -> Noise:
    """The noise that the residual of a fit has."""
    residual = samples.tau * samples.moving - W @ fit.theta
    return noise_of(residual, samples.time, samples.moving, LEAST_NOISE * fit.size)


def one_row(values: Array, joint: int, n_joints: int) -> Array:
    """A column (n, n_joints) that is in the torque of one joint alone, from its values (n,)."""
    out = np.zeros((len(values), n_joints))
    out[:, joint] = values
    return out


def each_joint(scene: Scene) -> Iterator[tuple[int, str, int]]:
    """Number and name of every joint, and how many there are."""
    names = scene.model.channels
    return ((k, name, len(names)) for k, name in enumerate(names))


def rms(table: Array) -> Array:
    """Root mean square (n_joints,) of a table (n, n_joints), never zero."""
    return np.asarray(np.sqrt(np.mean(table**2, axis=0)) + 1e-12)


def norm(sizes: Array) -> float:
    """The size that several columns have together."""
    return float(np.linalg.norm(sizes))


def finding_of(suspect: Suspect) -> Finding:
    """The finding that names a suspect."""
    kind = suspect.kind
    spoils = suspect.error[0] > SPOILT * suspect.error[1]
    severe = kind.severity == "always" or (spoils and kind.severity == "spoils")
    level: Level = "info" if kind.severity == "note" else "severe" if severe else "warning"
    to_do = f"; {kind.to_do}" if kind.to_do else ""
    return _finding(suspect, level, f"{kind.because(suspect)}{to_do}")


def corrected_finding(suspect: Suspect) -> Finding:
    """The finding that says that a delay was found and taken out."""
    other_way = "earlier" if suspect.size > 0.0 else "later"
    words = (
        f"{suspect.kind.because(suspect)}; corrected: these torques are read that much "
        f"{other_way}; --torque-delay none leaves them as they were recorded"
    )
    return replace(_finding(suspect, "warning", words), corrected=True)


def _finding(suspect: Suspect, level: Level, words: str) -> Finding:
    return Finding(
        level,
        suspect.code,
        f"{suspect.words}; {words}",
        joints=suspect.joints,
        span_s=suspect.span_s,
        size=suspect.size,
        unit=suspect.unit,
        could_be=suspect.could_be,
        option=suspect.option,
        rivals=suspect.rivals,
    )


def evidence(suspect: Suspect) -> str:
    """What speaks for a suspect, in words."""
    before, after = suspect.error
    if before < 1.05 * after:
        return "as it is, the log needs links or friction that no robot has"
    return (
        f"as the log is, {100 * before:.2g} % of the torques are unexplained, with this "
        f"{100 * after:.2g} %"
    )


OF_MOTORS = (
    "torque-sign",
    "position-sign",
    "torque-gain",
    "torque-scale",
    "currents",
    "position-factor",
    "other-robot",
)
"""Suspects that what an overlay states of motors explains as well."""


def of_motors(found: Iterable[Suspect]) -> tuple[Suspect, ...]:
    """The suspects of a log of motors, which were computed with what the overlay states."""
    stated = "torque constants, gains or gear ratios in the overlay that are not the robot's"
    return tuple(
        replace(one, could_be=(*one.could_be, stated)) if one.code in OF_MOTORS else one
        for one in found
    )
