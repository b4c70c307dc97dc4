"""The kinds of terms that a joint torque can have besides the rigid bodies: the registry.

Everything specific to a kind of term is in its entry of `TERM_KINDS`: names, units, the law, the
allowed sign of its parameter, the sides of the gears where it acts, how it is simulated. A new
kind is one more entry. Models, kernels, constraints, overlays, result files and the documentation
read the registry.

A term acts along a direction ``d`` in joint space. With its speed ``s = d·v`` and acceleration
``d·a`` it adds the torque

    tau = d · parameter · law(s, d·a)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError, did_you_mean, listed, shown

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Side = Literal["motor", "link"]
SIDES: tuple[Side, ...] = get_args(Side)
"""Side of the gears where torque is measured: motor (currents) or link (sensors)."""
Response = Literal["inertia", "linear", "constant", "curve"]


@dataclass(frozen=True, eq=False)
class MotionAlong:
    """Motion along the directions of some terms; speed and acceleration are computed on access.

    v, a : (nv, n_samples) joint speeds and accelerations.
    rows, weights : (n_terms, n_entries) the rows that a direction involves, and their weights; a
        direction with fewer entries than others is padded with weights of zero.
    widths : (n_terms,) rad/s or m/s, see :attr:`steelyard.model.terms.Term.width`.
    """

    v: Array
    a: Array
    rows: IntArray
    weights: Array
    widths: Array

    @property
    def speed(self) -> Array:
        """s = d·v (n_terms, n_samples), rad/s or m/s."""
        return self._along(self.v)

    @property
    def acceleration(self) -> Array:
        """d·a (n_terms, n_samples), rad/s² or m/s²."""
        return self._along(self.a)

    @property
    def sign(self) -> Array:
        """The sign of s (n_terms, n_samples), or clip(s / width, -1, 1) of a term with a width."""
        speed = self.speed
        out = np.sign(speed)
        for k in np.flatnonzero(self.widths):
            out[k] = np.clip(speed[k] / self.widths[k], -1.0, 1.0)
        return out

    @property
    def sign_slope(self) -> Array:
        """Derivative of `sign` by the speed (n_terms, n_samples); zero where it jumps."""
        width = self.widths[:, None]
        inside = np.abs(self.speed) < width
        return np.where(inside, 1.0 / np.where(inside, width, 1.0), 0.0)

    def _along(self, motion: Array) -> Array:
        # entry by entry and not as a matrix product, whose last digits depend on the number of
        # samples: triangular factors must not depend on how samples are cut into chunks
        total = motion.take(self.rows[:, 0], axis=0)
        total *= self.weights[:, 0, None]
        for k in range(1, self.rows.shape[1]):
            total += self.weights[:, k, None] * motion.take(self.rows[:, k], axis=0)
        return total

    @property
    def ones(self) -> Array:
        """One (n_terms, n_samples), for a law that does not depend on the motion."""
        return np.ones((len(self.rows), self.v.shape[1]))

    @property
    def zeros(self) -> Array:
        """Zero (n_terms, n_samples), the slope of such a law."""
        return np.zeros((len(self.rows), self.v.shape[1]))


@dataclass(frozen=True)
class TermKind:
    """Properties of one kind of term.

    name : in overlays, result files and messages. symbol : in the names of parameters.
    description : in sentences. formula : the torque along d as LaTeX, with s for the speed.
    plain_formula : the same as plain text, for files that other programs read.
    units : of the parameter, for revolute and prismatic joints.
    law : the factor of the parameter, (n_terms, n_samples).
    response : how the torque depends on the motion, for simulation and the mass matrix:
        "inertia" (proportional to the acceleration), "linear" (to the speed), "constant", or
        "curve" (any other function of the speed alone).
    jumps_at_zero_speed : whether its sign is undefined at rest. Such a term may have a width,
        within which a straight line replaces the jump; and a dead band leaves torques near
        standstill out. A "curve" that jumps is an odd function of the speed.
    may_be_negative : whether physics allows a negative parameter.
    default_sides : sides of the gears where a joint has this term if nothing else is stated.
    relative_size : its typical size, as a share of that of friction; where a motion cannot
        distinguish two terms, their torque is attributed mostly to the larger one.
    speed_slope, acceleration_slope : derivatives of the law (n_terms, n_samples) by speed and
        acceleration; zero if not given.
    curve_between : of a "curve", its smallest and largest value (n,) for speeds from ``low`` to
        ``high`` (n,) and a width; the whole jump where it jumps. Every "curve" has one.
    """

    name: str
    symbol: str
    description: str
    formula: str
    plain_formula: str
    units: tuple[str, str]
    law: Callable[[MotionAlong], Array]
    response: Response
    jumps_at_zero_speed: bool = False
    may_be_negative: bool = False
    default_sides: tuple[Side, ...] = ()
    relative_size: float = 1.0
    speed_slope: Callable[[MotionAlong], Array] = lambda motion: motion.zeros
    acceleration_slope: Callable[[MotionAlong], Array] = lambda motion: motion.zeros
    curve_between: Callable[[Array, Array, float], tuple[Array, Array]] | None = None

    def __reduce__(self) -> tuple[Callable[[str], TermKind], tuple[str]]:
        """Kinds are pickled and copied by their name."""
        return term_kind, (self.name,)

    @property
    def is_inertia(self) -> bool:
        """Whether it is part of the mass matrix."""
        return self.response == "inertia"

    @property
    def is_friction(self) -> bool:
        """Whether it depends on the speed."""
        return self.response in ("linear", "curve")

    def power(self, motion: MotionAlong) -> Array:
        """Power (n_terms, n_samples) that it takes per unit of the parameter: law times speed.

        Zero for an inertia, which stores energy: ½ s² per unit of the parameter.
        """
        return motion.zeros if self.is_inertia else self.law(motion) * motion.speed

    def law_at_speed(self, speed: Array, width: float = 0.0) -> Array:
        """The law (n,) at these speeds (n,), without acceleration."""
        v = np.asarray(speed, dtype=float)[None]
        rows, weights = np.zeros((1, 1), dtype=np.int64), np.ones((1, 1))
        motion = MotionAlong(v, np.zeros_like(v), rows, weights, np.array([width]))
        return np.asarray(self.law(motion)[0])

    def law_between(self, low: Array, high: Array, width: float = 0.0) -> tuple[Array, Array]:
        """Bounds (n,) of the law, without acceleration, for all speeds from low to high (n,).

        Where the speed may be zero, a law that jumps there is anywhere within its jump: friction
        at rest is whatever holds the joint.
        """
        if self.curve_between is not None:
            return self.curve_between(low, high, width)
        # without a curve the law is proportional to the speed, or does not depend on it
        return self.law_at_speed(low, width), self.law_at_speed(high, width)

    def unit(self, *, slides: bool) -> str:
        """Unit of the parameter, for prismatic (``slides``) or revolute joints."""
        return self.units[1 if slides else 0]

    def typical_size(self, mass: float, length: float, force: float) -> float:
        """Typical size of the parameter for links of this mass (kg), length (m) and weight (N).

        For friction, its torque at a speed of one. ``relative_size`` is not applied.
        """
        return mass * length**2 if self.is_inertia else force * length


def _sign_between(low: Array, high: Array, width: float) -> tuple[Array, Array]:
    """The sign, or clip(s / width, -1, 1), of speeds from low to high."""
    if width:
        return np.clip(low / width, -1.0, 1.0), np.clip(high / width, -1.0, 1.0)
    return np.where(low > 0.0, 1.0, -1.0), np.where(high < 0.0, -1.0, 1.0)


TERM_KINDS = (
    TermKind(
        name="drive_inertia",
        symbol="Ia",
        description="drive inertia",
        formula=r"I_a \dot s",
        plain_formula="value * acceleration",
        units=("kg m²", "kg"),
        law=lambda motion: motion.acceleration,
        acceleration_slope=lambda motion: motion.ones,
        response="inertia",
        default_sides=("motor",),
    ),
    TermKind(
        name="viscous",
        symbol="fv",
        description="viscous friction",
        formula="f_v s",
        plain_formula="value * speed",
        units=("N m s/rad", "N s/m"),
        law=lambda motion: motion.speed,
        speed_slope=lambda motion: motion.ones,
        response="linear",
        default_sides=("motor",),
    ),
    TermKind(
        name="coulomb",
        symbol="fc",
        description="Coulomb friction",
        formula=r"f_c\,\mathrm{sign}(s)\ \text{or}\ f_c\,\mathrm{clip}(s / w, -1, 1)",
        plain_formula="value * sign(speed); with a width: value * clip(speed / width, -1, 1)",
        units=("N m", "N"),
        law=lambda motion: motion.sign,
        speed_slope=lambda motion: motion.sign_slope,
        response="curve",
        jumps_at_zero_speed=True,
        default_sides=("motor", "link"),
        curve_between=_sign_between,
    ),
    TermKind(
        name="offset",
        symbol="fo",
        description="offsets",
        formula="f_o",
        plain_formula="value",
        units=("N m", "N"),
        law=lambda motion: motion.ones,
        response="constant",
        may_be_negative=True,
        default_sides=("motor", "link"),
        # every joint has friction: where a joint turns in one direction only, an offset cannot be
        # distinguished from Coulomb friction, and the torque is attributed to friction
        relative_size=0.1,
    ),
)
"""Every kind of term, in the order in which a joint's terms are listed."""

_BY_NAME = {kind.name: kind for kind in TERM_KINDS}
TERM_NAMES = tuple(_BY_NAME)


def term_kind(name: str) -> TermKind:
    """The entry of this name."""
    if name not in _BY_NAME:
        raise ModelError(
            f"there is no term {shown(name)}{did_you_mean(name, TERM_NAMES)}; the terms are "
            f"{listed(TERM_NAMES)}"
        )
    return _BY_NAME[name]


def default_kinds(side: Side) -> tuple[str, ...]:
    """Terms that a joint has if nothing else is stated, by where its torque is measured."""
    return tuple(kind.name for kind in TERM_KINDS if side in kind.default_sides)
