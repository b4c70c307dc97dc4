"""Column names of a log: joint, quantity and unit.

A column is named ``<joint>.<quantity>[<unit>]``, for example ``elbow.position[deg]``. The
joint name may contain dots: the last one separates the quantity. The unit may be left
out, and is then the SI unit. The time column is named ``time[<unit>]``. Names of other programs,
such as ``q1`` or ``/joint_states/elbow/position``, are in :mod:`steelyard.logs.foreign_names`;
columns of frames, such as ``wrist.force_x``, in :mod:`steelyard.logs.frame_columns`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from steelyard.errors import LogError, shown
from steelyard.logs.foreign_names import foreign_signal
from steelyard.logs.frame_columns import FRAME_UNITS, frame_signal, is_short

QUANTITIES = ("position", "velocity", "acceleration", "torque", "current")

ALIASES = {
    "position": ("position", "positions", "pos", "q", "angle"),
    "velocity": ("velocity", "velocities", "vel", "speed", "qd", "dq", "qdot", "v"),
    "acceleration": ("acceleration", "accelerations", "acc", "accel", "qdd", "ddq", "qddot", "a"),
    "torque": ("torque", "torques", "tau", "effort", "efforts", "force"),
    "current": ("current", "currents", "cur", "i"),
}
QUANTITY_OF = {alias: name for name, aliases in ALIASES.items() for alias in aliases}
TIME_NAMES = ("time", "times", "t", "timestamp", "timestamps", "__time")

# Two columns that give the time together, as ROS writes it; the last part of a path counts.
STAMP_PARTS = {
    "sec": ("seconds", 1.0),
    "secs": ("seconds", 1.0),
    "nsec": ("nanoseconds", 1e-9),
    "nsecs": ("nanoseconds", 1e-9),
    "nanosec": ("nanoseconds", 1e-9),
}

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

_DEGREE = math.pi / 180.0
_TURN = 2.0 * math.pi

# unit as written: (factor to SI, SI unit); the SI unit says whether the joint turns or slides
UNITS: dict[str, dict[str, tuple[float, str]]] = {
    "position": {
        "rad": (1.0, "rad"),
        "mrad": (1e-3, "rad"),
        "deg": (_DEGREE, "rad"),
        "rev": (_TURN, "rad"),
        "m": (1.0, "m"),
        "cm": (1e-2, "m"),
        "mm": (1e-3, "m"),
        "um": (1e-6, "m"),
    },
    "velocity": {
        "rad/s": (1.0, "rad/s"),
        "deg/s": (_DEGREE, "rad/s"),
        "rev/s": (_TURN, "rad/s"),
        "rpm": (_TURN / 60.0, "rad/s"),
        "m/s": (1.0, "m/s"),
        "cm/s": (1e-2, "m/s"),
        "mm/s": (1e-3, "m/s"),
    },
    "acceleration": {
        "rad/s^2": (1.0, "rad/s^2"),
        "deg/s^2": (_DEGREE, "rad/s^2"),
        "rev/s^2": (_TURN, "rad/s^2"),
        "m/s^2": (1.0, "m/s^2"),
        "cm/s^2": (1e-2, "m/s^2"),
        "mm/s^2": (1e-3, "m/s^2"),
    },
    "torque": {
        "N*m": (1.0, "N*m"),
        "Nm": (1.0, "N*m"),
        "N.m": (1.0, "N*m"),
        "mN*m": (1e-3, "N*m"),
        "mNm": (1e-3, "N*m"),
        "kN*m": (1e3, "N*m"),
        "kNm": (1e3, "N*m"),
        "N": (1.0, "N"),
        "mN": (1e-3, "N"),
        "kN": (1e3, "N"),
    },
    "current": {"A": (1.0, "A"), "mA": (1e-3, "A")},
}

TURNING_UNITS = frozenset({"rad", "rad/s", "rad/s^2", "N*m"})
SLIDING_UNITS = frozenset({"m", "m/s", "m/s^2", "N"})

_WITH_UNIT = re.compile(r"^(?P<name>.*?)\s*\[(?P<unit>[^\[\]]*)\]$", re.DOTALL)


@dataclass(frozen=True)
class LogColumn:
    """One recognised column: SI value = ``factor`` × value in the file.

    ``joint`` is empty for time, and for the two columns of a stamp, whose quantities are
    ``seconds`` and ``nanoseconds``. ``unit`` is the SI unit (``rad``, ``m``,
    ``N*m``, ...), empty where the header states none.

    A component of a frame's quantity has an ``axis``, such as ``x``, and ``joint`` is then empty;
    ``frame`` may be empty, too, where the name does not tell it.
    """

    joint: str
    quantity: str
    factor: float
    unit: str
    frame: str = ""
    axis: str = ""

    @property
    def is_time(self) -> bool:
        """Whether this is the time, or one of the two columns of a stamp."""
        return not self.joint and not self.axis

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What no two columns of a log have in common."""
        return self.joint, self.frame, self.quantity, self.axis

    @property
    def words(self) -> str:
        """What the column gives, for messages."""
        if self.is_time:
            return "time"
        if self.joint:
            return f"the {self.quantity} of {shown(self.joint)}"
        of_frame = f" of frame {shown(self.frame)}" if self.frame else ""
        return f"{self.axis} of the {self.quantity.replace('_', ' ')}{of_frame}"


def split_unit(name: str) -> tuple[str, str | None]:
    """The name without its bracketed unit, and the unit (None where there is none)."""
    match = _WITH_UNIT.match(name.strip())
    if match is None:
        return name.strip(), None
    if match["unit"].strip().isdigit():  # an index: position[0]
        return name.strip(), None
    unit = match["unit"].replace(" ", "").replace("²", "^2").replace("**2", "^2")
    unit = unit.replace("·", "*").replace("⋅", "*").replace("µ", "u").replace("°", "deg")
    return match["name"], re.sub(r"s2$", "s^2", unit)


def quantity_column(joint: str, quantity: str, unit: str | None, where: str) -> LogColumn:
    """The column of a joint's quantity, its unit checked; ``where`` names it in errors."""
    if unit is None:
        return LogColumn(joint, quantity, 1.0, "")
    factor, si = _checked_unit(UNITS[quantity], quantity, unit, where)
    return LogColumn(joint, quantity, factor, si)


def frame_column(frame: str, quantity: str, axis: str, unit: str | None, where: str) -> LogColumn:
    """The column of a component of a frame's quantity, its unit checked."""
    if unit is None:
        return LogColumn("", quantity, 1.0, "", frame, axis)
    factor, si = _checked_unit(FRAME_UNITS[quantity], quantity, unit, where)
    return LogColumn("", quantity, factor, si, frame, axis)


def _checked_unit(
    known: dict[str, tuple[float, str]], quantity: str, unit: str, where: str
) -> tuple[float, str]:
    if unit not in known:
        raise LogError(
            f"{where}: {shown(unit)} is not a unit of {quantity}; the units are {', '.join(known)}"
        )
    return known[unit]


def time_column(unit: str | None, where: str) -> LogColumn:
    """The time column, its unit checked."""
    if (unit or "s") not in TIME_UNITS:
        raise LogError(
            f"{where}: {shown(unit or '')} is not a unit of time; the units are "
            f"{', '.join(TIME_UNITS)}"
        )
    return LogColumn("", "time", TIME_UNITS[unit or "s"], "s")


def parse_column(name: str, where: str) -> LogColumn | None:
    """The column of this name; None where the name is not known."""
    bare, unit = split_unit(name)
    column = f"{where}: column {shown(name)}"
    if bare.lower() in TIME_NAMES:
        return time_column(unit, column)
    stamp = STAMP_PARTS.get(re.split("[./]", bare.lower())[-1])
    if stamp is not None and unit is None:
        return LogColumn("", *stamp, "s")
    joint, dot, word = bare.rpartition(".")
    quantity = QUANTITY_OF.get(word.strip().lower())
    if dot and joint.strip() and quantity is not None:
        return quantity_column(joint.strip(), quantity, unit, column)
    foreign = foreign_signal(bare, QUANTITY_OF)
    if foreign is not None:
        return quantity_column(*foreign, unit, column)
    framed = frame_signal(bare)
    # a short name with another unit is something else
    if framed is None or (is_short(bare) and unit not in (None, *FRAME_UNITS[framed[1]])):
        return None
    return frame_column(*framed, unit, column)


def parse_table(name: str) -> tuple[str, str | None] | None:
    """Quantity and unit of a name that is a quantity alone, as of a table of all joints."""
    bare, unit = split_unit(name)
    quantity = QUANTITY_OF.get(bare.strip().lower())
    return None if quantity is None else (quantity, unit)
