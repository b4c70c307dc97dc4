"""The kinds of terms that a joint torque can have besides the rigid bodies: the registry.

Everything specific to a kind of term is in its entry of `TERM_KINDS`: names, units, the law, the
allowed sign of its parameter, the sides of the gears where it acts, how it is simulated. A new
kind is one more entry. Models, kernels, constraints, overlays, result files and the documentation
read the registry.

A term acts along a direction ``d`` in joint space. With its position ``x = d·q``, speed
``s = d·v`` and acceleration ``d·a`` it adds the torque

    tau = d · parameter · law(x, s, d·a)

Friction laws that jump at zero speed share one factor, the sign of s. A width or a travel of the
term replaces it for all of them: friction then builds up over a speed, or over a distance after
each change of direction (Dahl 1968), which a motion's history decides; see
`steelyard.signals.term_speeds`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from steelyard.errors import ModelError, did_you_mean, listed, shown
from steelyard.model.motion_along import MotionAlong as MotionAlong

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
Side = Literal["motor", "link"]
SIDES: tuple[Side, ...] = get_args(Side)
"""Side of the gears where torque is measured: motor (currents) or link (sensors)."""
Response = Literal["inertia", "linear", "constant", "curve", "load", "position"]
Size = Literal["inertia", "torque", "share"]

TermClass = Literal[
    "travel", "load", "stribeck", "rising", "asymmetric", "spring", "counterbalance"
]
TERM_CLASSES: tuple[TermClass, ...] = get_args(TermClass)
"""Terms besides the usual ones that a log may ask for; see `steelyard.diagnosis.term_admission`."""


@dataclass(frozen=True)
class TermKind:
    """Properties of one kind of term.

    name : in overlays, result files and messages. symbol : in the names of parameters.
    description : in sentences. formula : the torque along d as LaTeX, with s for the speed.
    plain_formula : the same as plain text, for files that other programs read.
    units : of the parameter, for revolute and prismatic joints.
    law : the factor of the parameter, (n_terms, n_samples).
    response : how the torque depends on the motion, for simulation and the mass matrix:
        "inertia" (proportional to the acceleration), "linear" (to the speed), "constant",
        "curve" (any other function of the speed alone), "load" (sign of the speed times the load
        of the gears), or "position" (a function of the position alone).
    jumps_at_zero_speed : whether its sign is undefined at rest. Such a term may have a width,
        within which a straight line replaces the jump; and a dead band leaves torques near
        standstill out. A "curve" that jumps is an odd function of the speed.
    may_be_negative : whether physics allows a negative parameter.
    default_sides : sides of the gears where a joint has this term if nothing else is stated.
    relative_size : its typical size, as a share of that of friction; where a motion cannot
        distinguish two terms, their torque is attributed mostly to the larger one.
    size : what its parameter is like: an inertia, a torque (at a speed of one, or one radian), or
        a share of the load.
    speed_slope, acceleration_slope, position_slope : derivatives of the law (n_terms, n_samples) by
        speed, acceleration and position; zero if not given.
    curve_between : of a "curve", its smallest and largest value (n,) for speeds from ``low`` to
        ``high`` (n,), a width and a shape speed; the whole jump where it jumps. Every "curve" has
        one. position_between : of a "position", the same for positions.
    has_speed : whether a speed shapes the law, see :attr:`steelyard.model.terms.Term.speed`.
    turns_only : whether it is a function of an angle, which a slide does not have.
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
    size: Size = "torque"
    speed_slope: Callable[[MotionAlong], Array] = lambda motion: motion.zeros
    acceleration_slope: Callable[[MotionAlong], Array] = lambda motion: motion.zeros
    position_slope: Callable[[MotionAlong], Array] = lambda motion: motion.zeros
    curve_between: Callable[[Array, Array, float, float], tuple[Array, Array]] | None = None
    position_between: Callable[[Array, Array], tuple[Array, Array]] | None = None
    has_speed: bool = False
    turns_only: bool = False

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
        return self.response in ("linear", "curve", "load")

    def power(self, motion: MotionAlong) -> Array:
        """Power (n_terms, n_samples) that it takes per unit of the parameter: law times speed.

        Zero for an inertia, which stores energy: ½ s² per unit of the parameter.
        """
        return motion.zeros if self.is_inertia else self.law(motion) * motion.speed

    def law_at_speed(
        self,
        speed: Array,
        width: float = 0.0,
        shape_speed: float = 1.0,
        state: Array | None = None,
        load: Array | None = None,
    ) -> Array:
        """The law (n,) at these speeds (n,), without acceleration.

        state : (n,) what replaces the sign of the speed. load : (n,) of the gears; one if not
            given.
        """
        v = np.asarray(speed, dtype=float)[None]
        rows, weights = np.zeros((1, 1), dtype=np.int64), np.ones((1, 1))
        motion = MotionAlong(
            v,
            np.zeros_like(v),
            rows,
            weights,
            np.array([width]),
            shape_speeds=np.array([shape_speed]),
            loads=np.ones_like(v) if load is None else load[None],
            states=None if state is None else state[None],
        )
        return np.asarray(self.law(motion)[0])

    def law_at_position(self, position: Array) -> Array:
        """The law (n,) of a "position" at these positions (n,), rad or m."""
        q = np.asarray(position, dtype=float)[None]
        rows, weights = np.zeros((1, 1), dtype=np.int64), np.ones((1, 1))
        motion = MotionAlong(q, q, rows, weights, np.zeros(1), q=q)
        return np.asarray(self.law(motion)[0])

    def law_between(
        self, low: Array, high: Array, width: float = 0.0, shape_speed: float = 1.0
    ) -> tuple[Array, Array]:
        """Bounds (n,) of the law, without acceleration, for all speeds from low to high (n,).

        Where the speed may be zero, a law that jumps there is anywhere within its jump: friction
        at rest is whatever holds the joint.
        """
        if self.curve_between is not None:
            return self.curve_between(low, high, width, shape_speed)
        # without a curve the law is proportional to the speed, or does not depend on it
        return self.law_at_speed(low, width), self.law_at_speed(high, width)

    def unit(self, *, slides: bool) -> str:
        """Unit of the parameter, for prismatic (``slides``) or revolute joints."""
        return self.units[1 if slides else 0]

    def typical_size(self, mass: float, length: float, force: float) -> float:
        """Typical size of the parameter for links of this mass (kg), length (m) and weight (N).

        For friction, its torque at a speed of one. ``relative_size`` is not applied.
        """
        sizes = {"inertia": mass * length**2, "torque": force * length, "share": 1.0}
        return sizes[self.size]


def _sign_between(low: Array, high: Array, width: float, shape_speed: float) -> tuple[Array, Array]:
    """The sign, or clip(s / width, -1, 1), of speeds from low to high."""
    if width:
        return np.clip(low / width, -1.0, 1.0), np.clip(high / width, -1.0, 1.0)
    return np.where(low > 0.0, 1.0, -1.0), np.where(high < 0.0, -1.0, 1.0)


def _stribeck_between(
    low: Array, high: Array, width: float, shape_speed: float
) -> tuple[Array, Array]:
    """sign(s) exp(-(s / v_s)²), or clip(s / width, -1, 1) exp(-(s / v_s)²), from low to high."""

    def decay(speed: Array) -> Array:
        return np.asarray(np.exp(-((speed / shape_speed) ** 2)))

    if not width:
        # the law falls on either side of the jump
        least = np.where(low > 0.0, decay(high), np.where(low == high, -decay(low), -1.0))
        most = np.where(high < 0.0, -decay(low), np.where(low == high, decay(high), 1.0))
        least = np.where(high < 0.0, -decay(high), least)
        most = np.where(low > 0.0, decay(low), most)
        return least, most
    # it rises to the smaller of the width and v_s / √2, and falls from there on
    peak = min(width, shape_speed / np.sqrt(2.0))

    def law(speed: Array) -> Array:
        return np.asarray(np.clip(speed / width, -1.0, 1.0) * decay(speed))

    ends = np.array([law(low), law(high)])
    top = law(np.full_like(low, peak))
    least = np.where((low <= -peak) & (high >= -peak), -top, ends.min(axis=0))
    most = np.where((low <= peak) & (high >= peak), top, ends.max(axis=0))
    return least, most


def _rising_between(
    low: Array, high: Array, width: float, shape_speed: float
) -> tuple[Array, Array]:
    def law(speed: Array) -> Array:
        return np.asarray(np.sign(speed) * (1.0 - np.exp(-((speed / shape_speed) ** 2))))

    return law(low), law(high)


def _one_way_between(
    low: Array, high: Array, width: float, shape_speed: float
) -> tuple[Array, Array]:
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


def _sine_between(low: Array, high: Array) -> tuple[Array, Array]:
    """sin(x) for x from low to high."""
    ends = np.sort(np.array([np.sin(low), np.sin(high)]), axis=0)

    def passes(angle: float) -> Array:
        return np.asarray(np.floor((high - angle) / (2 * np.pi)) >= (low - angle) / (2 * np.pi))

    return (
        np.where(passes(-0.5 * np.pi), -1.0, ends[0]),
        np.where(passes(0.5 * np.pi), 1.0, ends[1]),
    )


def _cosine_between(low: Array, high: Array) -> tuple[Array, Array]:
    return _sine_between(low + 0.5 * np.pi, high + 0.5 * np.pi)


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
        size="inertia",
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
    TermKind(
        name="load_coulomb",
        symbol="fl",
        description="load-dependent Coulomb friction",
        formula=r"f_l\,|\tau_\mathrm{load}|\,\mathrm{sign}(s)",
        plain_formula="value * abs(load) * sign(speed); load: torque of the links at this joint",
        units=("1", "1"),
        law=lambda motion: motion.sign * motion.load,
        response="load",
        jumps_at_zero_speed=True,
        size="share",
        relative_size=0.1,
    ),
    TermKind(
        name="stribeck",
        symbol="fs",
        description="Stribeck friction",
        formula=r"f_s\,\mathrm{sign}(s)\,e^{-(s / v_s)^2}",
        plain_formula="value * sign(speed) * exp(-(speed / stribeck_speed)^2)",
        units=("N m", "N"),
        law=lambda motion: motion.sign * np.exp(-(motion.per_shape_speed**2)),
        speed_slope=lambda motion: (
            (motion.sign_slope - 2.0 * motion.sign * motion.per_shape_speed / motion.shape_column)
            * np.exp(-(motion.per_shape_speed**2))
        ),
        response="curve",
        jumps_at_zero_speed=True,
        curve_between=_stribeck_between,
        has_speed=True,
    ),
    TermKind(
        name="rising",
        symbol="fr",
        description="friction that rises with speed to a constant",
        formula=r"f_r\,\mathrm{sign}(s)\,(1 - e^{-(s / v_s)^2})",
        plain_formula="value * sign(speed) * (1 - exp(-(speed / stribeck_speed)^2))",
        units=("N m", "N"),
        law=lambda motion: motion.way * (1.0 - np.exp(-(motion.per_shape_speed**2))),
        speed_slope=lambda motion: (
            2.0
            * np.abs(motion.per_shape_speed)
            / motion.shape_column
            * np.exp(-(motion.per_shape_speed**2))
        ),
        response="curve",
        curve_between=_rising_between,
        has_speed=True,
    ),
    TermKind(
        name="asymmetric",
        symbol="fa",
        description="additional viscous friction in one direction",
        formula=r"f_a \max(s, 0)",
        plain_formula="value * max(speed, 0)",
        units=("N m s/rad", "N s/m"),
        law=lambda motion: 0.5 * (motion.speed + np.abs(motion.speed)),
        speed_slope=lambda motion: np.where(motion.speed > 0.0, 1.0, 0.0),
        response="curve",
        curve_between=_one_way_between,
    ),
    TermKind(
        name="spring",
        symbol="ks",
        description="a spring",
        formula=r"k_s x",
        plain_formula="value * position",
        units=("N m/rad", "N/m"),
        law=lambda motion: motion.position,
        position_slope=lambda motion: motion.ones,
        position_between=lambda low, high: (low, high),
        response="position",
        may_be_negative=True,
    ),
    TermKind(
        name="sine",
        symbol="bs",
        description="a counterbalance (sine)",
        formula=r"b_s \sin x",
        plain_formula="value * sin(position)",
        units=("N m", "N"),
        law=lambda motion: np.sin(motion.position),
        position_slope=lambda motion: np.cos(motion.position),
        position_between=_sine_between,
        response="position",
        may_be_negative=True,
        turns_only=True,
    ),
    TermKind(
        name="cosine",
        symbol="bc",
        description="a counterbalance (cosine)",
        formula=r"b_c \cos x",
        plain_formula="value * cos(position)",
        units=("N m", "N"),
        law=lambda motion: np.cos(motion.position),
        position_slope=lambda motion: -np.sin(motion.position),
        position_between=_cosine_between,
        response="position",
        may_be_negative=True,
        turns_only=True,
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
